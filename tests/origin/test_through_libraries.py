"""Values that library code passed on: a long table of small programs with their chains."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from origin.traced_programs import Table, check_chain
from selfdebug.model import Link

TABLE = Table()
case = TABLE.case

case(
    "map in list",
    """
    def clean(text):
        return text or None

    def main():
        texts = list(map(clean, ["a", ""]))
        return texts[1].upper()
    """,
    "app:5 assignment",
    "app:2 return",
    "app:2 explicit-none",
)
case(
    "map through a variable",
    """
    def clean(text):
        return text or None

    def main():
        cleaned = map(clean, ["a", ""])
        for text in cleaned:
            text.upper()
    """,
    "app:6 for-target",
    "app:5 assignment",
    "app:2 return",
    "app:2 explicit-none",
)
case(
    "sorted key",
    """
    def age(row):
        return row.get("age")

    def main():
        rows = [{"age": 1}, {}]
        return sorted(rows, key=age)[0]["age"]
    """,
    "app:2 return",
    "app:2 missing-key",
)
case(
    "sorted lambda arg",
    """
    def main():
        rows = ["b", None]
        return sorted(rows, key=lambda row: row.upper())
    """,
    "app:3 through-library?",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "max key",
    """
    def main():
        rows = ["b", None]
        return max(rows, key=lambda row: row.upper())
    """,
    "app:3 through-library?",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "filter",
    """
    def main():
        rows = ["b", None]
        return list(filter(lambda row: row.upper(), rows))
    """,
    "app:3 through-library?",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "reduce",
    """
    from functools import reduce

    def join(left, right):
        if right:
            return left + right

    def main():
        return reduce(join, ["a", "", "b"])
    """,
    "app:4 fell-off-end",
    "app:4 branch-not-taken",
)
case(
    "partial keyword",
    """
    from functools import partial

    def shout(name):
        return name.upper()

    def main():
        who = None
        nobody = partial(shout, name=who)
        return nobody()
    """,
    "app:8 parameter",
    "app:7 explicit-none",
)
case(
    "partial stored",
    """
    from functools import partial

    def shout(name, times):
        return name.upper()

    def main():
        nobody = partial(shout, None)
        return nobody(2)
    """,
    "app:7 parameter",
    "app:7 explicit-none",
)
case(
    "lru_cache",
    """
    from functools import lru_cache

    @lru_cache
    def find(key):
        return {}.get(key)

    def main():
        find("x")
        found = find("x")
        return found.upper()
    """,
    "app:9 assignment",
    "app:9 through-library?",
    "app:5 return",
    "app:5 missing-key",
)
case(
    "lru_cache first",
    """
    from functools import lru_cache

    @lru_cache
    def find(key):
        return {}.get(key)

    def main():
        return find("x").upper()
    """,
    "app:5 return",
    "app:5 missing-key",
)
case(
    "wraps",
    """
    import functools

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)
        return wrapper

    @logged
    def find(key):
        return None

    def main():
        return find("x").upper()
    """,
    "app:6 return",
    "app:11 explicit-none",
)
case(
    "decorator without wraps that drops the return",
    """
    def logged(function):
        def wrapper(*args):
            function(*args)
        return wrapper

    @logged
    def find(key):
        return key

    def main():
        return find("x").upper()
    """,
    "app:3 fell-off-end",
)
case(
    "deepcopy",
    """
    import copy

    class Node:
        def __init__(self, name):
            self.name = name

    def main():
        node = Node(None)
        twin = copy.deepcopy(node)
        return twin.name.upper()
    """,
    "app:9 through-library?",
    "app:5 attribute",
    "app:8 parameter",
    "app:8 explicit-none",
)
case(
    "copy of a dict",
    """
    import copy

    def main():
        config = {"host": None}
        mine = copy.copy(config)
        return mine["host"].upper()
    """,
    "app:5 assignment",
    "app:5 through-library?",
    "app:4 assignment",
    "app:4 explicit-none",
)
case(
    "dict.copy",
    """
    def main():
        config = {"host": None}
        mine = config.copy()
        return mine["host"].upper()
    """,
    "app:3 assignment",
    "app:3 through-library?",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "dict(...)",
    """
    def main():
        config = dict(host=None)
        return config["host"].upper()
    """,
    "app:2 assignment",
    "app:2 parameter",
    "app:2 explicit-none",
)
case(
    "dict from pairs",
    """
    def main():
        config = dict([("host", None)])
        return config["host"].upper()
    """,
    "app:2 assignment",
    "app:2 through-library?",
    "app:2 explicit-none",
)
case(
    "dict union",
    """
    def main():
        base = {"host": None}
        config = {**base, "port": 1}
        return config["host"].upper()
    """,
    "app:3 assignment",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "dict or",
    """
    def main():
        base = {"host": None}
        config = base | {"port": 1}
        return config["host"].upper()
    """,
    "app:3 assignment",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "update",
    """
    def main():
        config = {"host": "x"}
        config.update({"host": None})
        return config["host"].upper()
    """,
    "app:3 explicit-none",
)
case(
    "update keyword",
    """
    def main():
        config = {"host": "x"}
        config.update(host=None)
        return config["host"].upper()
    """,
    "app:3 explicit-none",
)
case(
    "fromkeys",
    """
    def main():
        table = dict.fromkeys(["a", "b"])
        return table["a"].upper()
    """,
    "app:2 assignment",
    "app:2 default",
)
case(
    "append",
    """
    def main():
        rows = []
        rows.append("x")
        rows.append(None)
        return rows[1].upper()
    """,
    "app:4 explicit-none",
)
case(
    "append and loop",
    """
    def main():
        rows = []
        rows.append(None)
        for row in rows:
            row.upper()
    """,
    "app:4 for-target",
    "app:3 explicit-none",
)
case(
    "insert",
    """
    def main():
        rows = ["x"]
        rows.insert(0, None)
        return rows[0].upper()
    """,
    "app:3 explicit-none",
)
case(
    "pop of a list",
    """
    def main():
        rows = ["a"]
        rows.append(None)
        last = rows.pop()
        return last.upper()
    """,
    "app:4 assignment",
    "app:3 explicit-none",
)
case(
    "setdefault value",
    """
    def main():
        table = {}
        name = None
        table.setdefault("k", name)
        return table["k"].upper()
    """,
    "app:4 put",
    "app:3 explicit-none",
)
case(
    "setdefault existing",
    """
    def main():
        table = {"k": None}
        return table.setdefault("k", "x").upper()
    """,
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "slice",
    """
    def main():
        rows = ["a", None, "c"]
        part = rows[1:]
        return part[0].upper()
    """,
    "app:3 assignment",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "slice store",
    """
    def main():
        rows = ["a", "b"]
        rows[0:1] = [None]
        return rows[0].upper()
    """,
    "app:3 put",
    "app:3 explicit-none",
)
case(
    "set items",
    """
    def main():
        names = {"a", None}
        for name in names:
            if name != "a":
                name.upper()
    """,
    "app:3 for-target",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "set add",
    """
    def main():
        names = set()
        names.add(None)
        for name in names:
            name.upper()
    """,
    "app:4 for-target",
    "app:3 explicit-none",
)
case(
    "json loads",
    """
    import json

    def main():
        text = '{"host": null}'
        data = json.loads(text)
        host = data["host"]
        return host.upper()
    """,
    "app:6 assignment",
    "app:5 assignment",
    "app:5 outside?",
)
case(
    "json nested",
    """
    import json

    def main():
        data = json.loads('{"db": {"host": null}}')
        db = data["db"]
        return db["host"].upper()
    """,
    "app:5 assignment",
    "app:4 assignment",
    "app:4 outside?",
)
case(
    "json object hook",
    """
    import json

    def hook(row):
        if "name" in row:
            return row

    def main():
        return json.loads('{"x": 1}', object_hook=hook)["x"]
    """,
    "app:4 fell-off-end",
    "app:4 branch-not-taken",
)
case(
    "re group",
    """
    import re

    def main():
        found = re.match("(a)(b)?", "a")
        return found.group(2).upper()
    """,
    "app:5 nothing-found",
)
case(
    "re sub callback",
    """
    import re

    def swap(match):
        name = {}.get(match.group())
        return name.upper()

    def main():
        return re.sub("a", swap, "a")
    """,
    "app:4 assignment",
    "app:4 missing-key?",
)
case(
    "thread target args",
    """
    import threading

    FOUND = []
    def work(name):
        FOUND.append(name)

    def main():
        thread = threading.Thread(target=work, args=(None,))
        thread.start()
        thread.join()
        return FOUND[0].upper()
    """,
    "app:5 put",
    "app:8 parameter?",
    "app:8 explicit-none",
)
case(
    "executor submit",
    """
    from concurrent.futures import ThreadPoolExecutor

    def find(key):
        return {}.get(key)

    def main():
        with ThreadPoolExecutor() as pool:
            future = pool.submit(find, "x")
            return future.result().upper()
    """,
    "app:9 task",
    "app:4 return",
    "app:4 missing-key",
)
case(
    "executor map",
    """
    from concurrent.futures import ThreadPoolExecutor

    def find(key):
        return {}.get(key)

    def main():
        with ThreadPoolExecutor() as pool:
            for found in pool.map(find, ["x"]):
                found.upper()
    """,
    "app:8 for-target",
    "app:4 return",
    "app:4 missing-key",
)
case(
    "asyncio gather",
    """
    import asyncio

    async def fetch(key):
        return {}.get(key)

    async def work():
        one, two = await asyncio.gather(fetch("a"), fetch("b"))
        return two.upper()

    def main():
        asyncio.run(work())
    """,
    "app:7 unpacking",
    "app:4 return?",
    "app:4 missing-key",
)
case(
    "asyncio run result",
    """
    import asyncio

    async def fetch(key):
        return {}.get(key)

    def main():
        return asyncio.run(fetch("a")).upper()
    """,
    "app:4 return",
    "app:4 missing-key",
)
case(
    "asyncio wait_for",
    """
    import asyncio

    async def fetch(key):
        return {}.get(key)

    async def work():
        return (await asyncio.wait_for(fetch("a"), 1)).upper()

    def main():
        asyncio.run(work())
    """,
    "app:4 return",
    "app:4 missing-key",
)
case(
    "asyncio queue",
    """
    import asyncio

    async def work():
        queue = asyncio.Queue()
        await queue.put(None)
        item = await queue.get()
        return item.upper()

    def main():
        asyncio.run(work())
    """,
    "app:6 assignment",
    "app:5 explicit-none",
)
case(
    "async for",
    """
    import asyncio

    async def rows():
        yield None

    async def work():
        async for row in rows():
            row.upper()

    def main():
        asyncio.run(work())
    """,
    "app:7 for-target",
    "app:4 explicit-none?",
)
case(
    "async with",
    """
    import asyncio

    class Session:
        async def __aenter__(self):
            return None
        async def __aexit__(self, *exc):
            pass

    async def work():
        async with Session() as session:
            session.get()

    def main():
        asyncio.run(work())
    """,
    "app:10 with",
    "app:5 explicit-none",
)
case(
    "queue",
    """
    import queue

    def main():
        jobs = queue.Queue()
        jobs.put(None)
        job = jobs.get()
        return job.upper()
    """,
    "app:6 assignment",
    "app:5 explicit-none",
)
case(
    "deque",
    """
    from collections import deque

    def main():
        jobs = deque()
        jobs.append(None)
        return jobs[0].upper()
    """,
    "app:5 explicit-none",
)
case(
    "namedtuple",
    """
    from collections import namedtuple

    Point = namedtuple("Point", "x y")

    def main():
        point = Point(1, None)
        return point.y.upper()
    """,
    "app:6 parameter",
    "app:6 explicit-none",
)
case(
    "NamedTuple class",
    """
    from typing import NamedTuple

    class Point(NamedTuple):
        x: int
        y: str = None

    def main():
        point = Point(1)
        return point.y.upper()
    """,
    "app:5 default",
)
case(
    "SimpleNamespace",
    """
    from types import SimpleNamespace

    def main():
        options = SimpleNamespace(host=None)
        return options.host.upper()
    """,
    "app:4 parameter",
    "app:4 explicit-none",
)
case(
    "argparse",
    """
    import argparse

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--host")
        options = parser.parse_args([])
        return options.host.upper()
    """,
    "app:5 default?",
)
case(
    "itemgetter",
    """
    from operator import itemgetter

    def main():
        row = {"name": None}
        name = itemgetter("name")(row)
        return name.upper()
    """,
    "app:5 assignment",
    "app:4 assignment",
    "app:4 explicit-none",
)
case(
    "attrgetter",
    """
    from operator import attrgetter

    class User:
        def __init__(self):
            self.name = None

    def main():
        user = User()
        return attrgetter("name")(user).upper()
    """,
    "app:5 explicit-none",
)
case(
    "getattr",
    """
    class User:
        def __init__(self):
            self.name = None

    def main():
        user = User()
        return getattr(user, "name").upper()
    """,
    "app:3 explicit-none",
)
case(
    "setattr",
    """
    class User:
        pass

    def main():
        user = User()
        setattr(user, "name", None)
        return user.name.upper()
    """,
    "app:6 attribute",
    "app:6 explicit-none",
)
case(
    "vars update",
    """
    class User:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    def main():
        user = User(name=None)
        return user.name.upper()
    """,
    "app:3 attribute",
    "app:6 parameter",
    "app:6 explicit-none",
)
case(
    "cached_property",
    """
    from functools import cached_property

    class User:
        @cached_property
        def name(self):
            return None

    def main():
        user = User()
        return user.name.upper()
    """,
    "app:10 property",
    "app:6 explicit-none",
)
case(
    "itertools chain",
    """
    from itertools import chain

    def main():
        for name in chain(["a"], [None]):
            name.upper()
    """,
    "app:4 for-target",
    "app:4 explicit-none",
)
case(
    "zip longest",
    """
    from itertools import zip_longest

    def main():
        for one, two in zip_longest([1, 2], ["a"]):
            two.upper()
    """,
    "app:4 for-target",
    "app:4 exhausted",
)
case(
    "groupby",
    """
    from itertools import groupby

    def main():
        for key, rows in groupby([None]):
            key.upper()
    """,
    "app:4 for-target",
    "app:4 explicit-none",
)
case(
    "str join",
    """
    def main():
        names = ["a", None]
        return ",".join(names)
    """,
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "ChainMap",
    """
    from collections import ChainMap

    def main():
        table = ChainMap({"a": None}, {"a": 1})
        return table["a"].upper()
    """,
    "app:4 assignment",
    "app:4 through-library?",
    "app:4 explicit-none",
)
case(
    "contextvar",
    """
    from contextvars import ContextVar

    USER = ContextVar("user", default=None)

    def main():
        return USER.get().upper()
    """,
    "app:3 put",
    "app:3 explicit-none",
)
case(
    "shelve-like class",
    """
    class Table:
        def __init__(self):
            self._rows = {}
        def __getitem__(self, key):
            return self._rows.get(key)
        def __setitem__(self, key, value):
            self._rows[key] = value

    def main():
        table = Table()
        table["a"] = "x"
        return table["b"].upper()
    """,
    "app:12 item",
    "app:5 return",
    "app:5 missing-key",
)
case(
    "inspect default",
    """
    import dataclasses

    @dataclasses.dataclass
    class User:
        name: str
        tags: list = dataclasses.field(default_factory=lambda: None)

    def main():
        user = User("a")
        return user.tags.append(1)
    """,
    "app:6 default",
)
case(
    "an identity that a copy of another class had",
    """
    import copy, dataclasses

    class Node:
        def __init__(self, name):
            self.name = name
            self.tags = ["x"]

    @dataclasses.dataclass
    class User:
        name: str
        tags: list = dataclasses.field(default_factory=lambda: None)

    def main():
        node = copy.deepcopy(Node("a"))
        place = id(node)
        del node
        users = []
        user = User("a")
        while id(user) != place and len(users) < 200:
            users.append(user)
            user = User("a")
        return user.tags.append(1)
    """,
    "app:11 default",
)
case(
    "dataclass replace",
    """
    import dataclasses

    @dataclasses.dataclass
    class User:
        name: str

    def main():
        user = dataclasses.replace(User("a"), name=None)
        return user.name.upper()
    """,
    "app:8 parameter",
    "app:8 explicit-none",
)
case(
    "dict comprehension value",
    """
    def find(key):
        return {}.get(key)

    def main():
        table = {key: find(key) for key in ["a"]}
        return table["a"].upper()
    """,
    "app:5 assignment",
    "app:5 comprehension?",
    "app:2 return",
    "app:2 missing-key",
)
case(
    "list comprehension value",
    """
    def find(key):
        if key == "a":
            return key

    def main():
        rows = [find(key) for key in ["a", "b"]]
        return rows[1].upper()
    """,
    "app:6 assignment",
    "app:6 comprehension?",
    "app:2 fell-off-end",
    "app:2 branch-not-taken",
)
case(
    "generator expression",
    """
    def find(key):
        return {}.get(key)

    def main():
        rows = (find(key) for key in ["a", "b"])
        for row in rows:
            row.upper()
    """,
    "app:6 for-target",
    "app:5 assignment",
    "app:5 comprehension?",
    "app:2 return",
    "app:2 missing-key",
)

# ---------------------------------------------------------------- mappings, sets and deques; other processes; pickles

case(
    "chainmap item",
    """
    from collections import ChainMap

    def main():
        defaults = {"name": None}
        given = {}
        table = ChainMap(given, defaults)
        return table["name"].upper()
    """,
    "app:6 assignment",
    "app:6 through-library?",
    "app:4 assignment",
    "app:4 explicit-none",
)
case(
    "chainmap get",
    """
    from collections import ChainMap

    def main():
        defaults = {"other": 1}
        given = {}
        table = ChainMap(given, defaults)
        return table.get("name").upper()
    """,
    "app:7 missing-key?",
)
case(
    "set pop",
    """
    def main():
        names = {None}
        return names.pop().upper()
    """,
    "app:3 outside",
)
case(
    "set element",
    """
    def main():
        names = set()
        names.add(None)
        for name in names:
            name.upper()
    """,
    "app:4 for-target",
    "app:3 explicit-none",
)
case(
    "dict keys",
    """
    def main():
        table = {"a": 1, None: 2}
        for key in table.keys():
            key.upper()
    """,
    "app:3 for-target",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "dict keys plain",
    """
    def main():
        table = {}
        table[None] = 2
        for key in table:
            key.upper()
    """,
    "app:4 for-target",
    "app:3 explicit-none",
)
case(
    "key that is an object",
    """
    def first():
        return 1

    def main():
        table = {}
        for name in ("a", first):
            table[name] = 1
        for key in table:
            key.upper()
    """,
    "app:8 for-target",
    "app:7 put",
    "app:6 for-target",
    "app:6 item",
    "app:1 definition",
)
case(
    "dict comprehension key",
    """
    def main():
        table = {name: 1 for name in ["a", None]}
        for key in table:
            key.upper()
    """,
    "app:3 for-target",
    "app:2 assignment",
    "app:2 comprehension?",
    "app:2 comprehension",
    "app:2 explicit-none",
)
case(
    "key of an argument",
    """
    def main():
        table = {}
        wanted = None
        table[wanted] = 1
        return [key.upper() for key in table]
    """,
    "app:5 comprehension",
    "app:4 put",
    "app:3 explicit-none",
)
case(
    "dict items",
    """
    def main():
        table = {"a": "x"}
        table["b"] = None
        for key, value in table.items():
            value.upper()
    """,
    "app:4 for-target",
    "app:3 explicit-none",
)
case(
    "dict items key",
    """
    def main():
        table = {"a": "x", None: "y"}
        for key, value in table.items():
            key.upper()
    """,
    "app:3 for-target",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "dict values list",
    """
    def main():
        table = {"a": None}
        return list(table.values())[0].upper()
    """,
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "deque pop",
    """
    from collections import deque

    def main():
        queue = deque(["a", None])
        return queue.pop().upper()
    """,
    "app:4 assignment",
    "app:4 explicit-none",
)
case(
    "deque rotate",
    """
    from collections import deque

    def main():
        queue = deque(["a", None])
        queue.rotate(1)
        return queue[0].upper()
    """,
    "app:4 assignment",
    "app:4 explicit-none",
)
case(
    "pool map",
    """
    import multiprocessing

    def find(number):
        return None if number == 2 else "x"

    def main():
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found = pool.map(find, [1, 2])
        return found[1].upper()
    """,
    "app:8 assignment",
    "app:8 outside?",
)
case(
    "process queue",
    """
    import multiprocessing

    def work(queue):
        queue.put(None)

    def main():
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        process = context.Process(target=work, args=(queue,))
        process.start()
        found = queue.get()
        process.join()
        return found.upper()
    """,
    "app:11 assignment",
    "app:11 outside?",
)
case(
    "process future",
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    def find(number):
        return None

    def main():
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            future = pool.submit(find, 1)
            found = future.result()
        return found.upper()
    """,
    "app:10 assignment",
    "app:10 outside?",
)
case(
    "subprocess stdout",
    """
    import subprocess
    import sys

    def main():
        done = subprocess.run([sys.executable, "-c", "print(1)"])
        return done.stdout.strip()
    """,
    "app:6 default",
)
case(
    "subprocess returncode",
    """
    import subprocess
    import sys

    def main():
        process = subprocess.Popen([sys.executable, "-c", "print(1)"])
        code = process.poll()
        process.wait()
        out, err = process.communicate()
        return out.decode()
    """,
    "app:8 unpacking",
    "app:8 default",
)
case(
    "subprocess running",
    """
    import subprocess
    import sys

    def main():
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try:
            return process.returncode + 1
        finally:
            process.communicate(b"x")
    """,
    "app:7 default",
)
case(
    "pickle",
    """
    import pickle

    class Box:
        def __init__(self, name):
            self.name = name

    def main():
        original = Box(None)
        box = pickle.loads(pickle.dumps(original))
        return box.name.upper()
    """,
    "app:9 through-library?",
    "app:5 attribute",
    "app:8 parameter",
    "app:8 explicit-none",
)
case(
    "pickle getstate",
    """
    import pickle

    class Box:
        def __init__(self, name):
            self.name = name

        def __getstate__(self):
            return {"name": None}

        def __setstate__(self, state):
            self.name = state["name"]

    def main():
        box = pickle.loads(pickle.dumps(Box("x")))
        return box.name.upper()
    """,
    "app:11 attribute",
    "app:11 unknown?",
)
case(
    "pickled bytes",
    """
    import pickle

    def main():
        data = pickle.dumps({"name": None})
        table = pickle.loads(data)
        return table["name"].upper()
    """,
    "app:5 assignment",
    "app:5 through-library?",
    "app:4 explicit-none",
)
case(
    "copyreg",
    """
    import copy
    import copyreg

    class Box:
        def __init__(self, name=None):
            self.name = name

    def reduced(box):
        return Box, ()

    def main():
        copyreg.pickle(Box, reduced)
        box = copy.copy(Box("x"))
        return box.name.upper()
    """,
    "app:6 attribute",
    "app:6 unknown?",
)


@pytest.mark.parametrize("name", TABLE)
def test_the_chain_is_that_of_the_table(name: str, followed: dict[str, Sequence[Link]]) -> None:
    check_chain(followed[name], TABLE[name])
