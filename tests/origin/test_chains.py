"""Each kind of link and of birth at least once: a long table of small programs with their chains."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from origin.traced_programs import Table, check_chain
from selfdebug.model import Link

TABLE = Table()
case = TABLE.case

# ---------------------------------------------------------------- assignments

case(
    "local",
    """
    def main():
        name = None
        return name.upper()
    """,
    "app:2 explicit-none",
)
case(
    "two names",
    """
    def main():
        first = None
        second = first
        return second.upper()
    """,
    "app:3 assignment",
    "app:2 explicit-none",
)
case(
    "the last of several assignments",
    """
    def main():
        name = "x"
        name.upper()
        name = None
        return name.upper()
    """,
    "app:4 explicit-none",
)
case(
    "annotated",
    """
    from typing import Optional

    def main():
        name: Optional[str] = None
        return name.upper()
    """,
    "app:4 explicit-none",
)
case(
    "walrus",
    """
    def main():
        table = {}
        if (found := table.get("k")) is not None or True:
            return found.upper()
    """,
    "app:3 walrus",
    "app:3 missing-key",
)
case(
    "unpacking",
    """
    def pair():
        return 1, None

    def main():
        number, name = pair()
        return name.upper()
    """,
    "app:5 unpacking",
    "app:2 return",
    "app:2 explicit-none",
)
case(
    "tuple to tuple",
    """
    def main():
        a, b = "x", None
        return b.upper()
    """,
    "app:2 unpacking",
    "app:2 explicit-none",
)
case(
    "for target over a list",
    """
    def main():
        names = ["a", None, "b"]
        for name in names:
            name.upper()
    """,
    "app:3 for-target",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "for over dict items",
    """
    def main():
        table = {"a": "x", "b": None}
        for key, value in table.items():
            value.upper()
    """,
    "app:3 for-target",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "enumerate",
    """
    def main():
        for number, name in enumerate(["a", None]):
            name.upper()
    """,
    "app:2 for-target",
    "app:2 explicit-none",
)
case(
    "comprehension variable",
    """
    def main():
        names = ["a", None]
        return [name.upper() for name in names]
    """,
    "app:3 comprehension",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "with as",
    """
    class Context:
        def __enter__(self):
            pass

        def __exit__(self, *exc):
            return False

    def main():
        with Context() as value:
            value.upper()
    """,
    "app:9 with",
    "app:3 fell-off-end",
)
case(
    "contextmanager",
    """
    from contextlib import contextmanager

    @contextmanager
    def connection():
        yield None

    def main():
        with connection() as value:
            value.upper()
    """,
    "app:8 with",
    "app:5 explicit-none",
)
case(
    "global of the module",
    """
    CONNECTION = None

    def main():
        return CONNECTION.cursor()
    """,
    "app:1 explicit-none",
)
case(
    "global set by a function",
    """
    CONNECTION = object()

    def reset():
        global CONNECTION
        CONNECTION = None

    def main():
        reset()
        return CONNECTION.cursor()
    """,
    "app:5 explicit-none",
)

# ---------------------------------------------------------------- parameters

case(
    "positional argument",
    """
    def shout(name):
        return name.upper()

    def main():
        who = None
        return shout(who)
    """,
    "app:6 parameter",
    "app:5 explicit-none",
)
case(
    "keyword argument",
    """
    def shout(times, name):
        return name.upper() * times

    def main():
        return shout(2, name=None)
    """,
    "app:5 parameter",
    "app:5 explicit-none",
)
case(
    "default never replaced",
    """
    def shout(name=None):
        return name.upper()

    def main():
        return shout()
    """,
    "app:1 default",
)
case(
    "keyword-only default",
    """
    def shout(*, name=None):
        return name.upper()

    def main():
        return shout()
    """,
    "app:1 default",
)
case(
    "argument of a method",
    """
    class Shouter:
        def shout(self, name):
            return name.upper()

    def main():
        return Shouter().shout(None)
    """,
    "app:6 parameter",
    "app:6 explicit-none",
)
case(
    "argument through *args of a decorator",
    """
    import functools

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return function(*args, **kwargs)
        return wrapper

    @logged
    def shout(name):
        return name.upper()

    def main():
        who = None
        return shout(who)
    """,
    "app:6 parameter",
    "app:15 parameter",
    "app:14 explicit-none",
)
case(
    "argument through **kwargs",
    """
    def shout(name):
        return name.upper()

    def relay(**options):
        return shout(**options)

    def main():
        return relay(name=None)
    """,
    "app:5 parameter",
    "app:8 parameter",
    "app:8 explicit-none",
)
case(
    "partial",
    """
    from functools import partial

    def shout(times, name):
        return name.upper() * times

    def main():
        twice = partial(shout, 2)
        who = None
        return twice(who)
    """,
    "app:9 parameter",
    "app:8 explicit-none",
)
case(
    "constructor argument",
    """
    class User:
        def __init__(self, name):
            self.name = name

    def main():
        user = User(None)
        return user.name.upper()
    """,
    "app:3 attribute",
    "app:6 parameter",
    "app:6 explicit-none",
)

# ---------------------------------------------------------------- returns

case(
    "explicit return",
    """
    def find(key):
        if key == "x":
            return "found"
        return None

    def main():
        return find("y").upper()
    """,
    "app:4 explicit-none",
    "app:2 branch-not-taken",
)
case(
    "fell off its end",
    """
    def find(key):
        if key == "x":
            return "found"

    def main():
        value = find("y")
        return value.upper()
    """,
    "app:6 assignment",
    "app:2 fell-off-end",
    "app:2 branch-not-taken",
)
case(
    "forgot to return",
    """
    def build(key):
        text = key.upper()

    def main():
        return build("y").lower()
    """,
    "app:2 fell-off-end",
)
case(
    "bare return",
    """
    def find(key):
        if not key:
            return
        return key

    def main():
        return find("").upper()
    """,
    "app:3 explicit-none",
)
case(
    "loop without a hit",
    """
    def find(rows, key):
        for row in rows:
            if row == key:
                return row

    def main():
        return find(["a", "b"], "c").upper()
    """,
    "app:2 fell-off-end",
    "app:3 branch-not-taken",
)
case(
    "loop over nothing",
    """
    def find(rows):
        for row in rows:
            return row

    def main():
        return find([]).upper()
    """,
    "app:2 fell-off-end",
    "app:2 loop-not-entered",
)
case(
    "finally overrides the return",
    """
    def find():
        try:
            return "x"
        finally:
            return None

    def main():
        return find().upper()
    """,
    "app:5 explicit-none",
)
case(
    "return inside a with",
    """
    import contextlib

    def find(table):
        with contextlib.nullcontext():
            return table.get("k")

    def main():
        return find({}).upper()
    """,
    "app:5 return",
    "app:5 missing-key",
)
case(
    "return of a return",
    """
    def inner():
        return None

    def outer():
        return inner()

    def main():
        return outer().upper()
    """,
    "app:5 return",
    "app:2 explicit-none",
)
case(
    "the second of two calls on one line",
    """
    def find(key):
        return {"a": "x"}.get(key)

    def main():
        return find("a").upper() + find("b").upper()
    """,
    "app:2 return",
    "app:2 missing-key",
)
case(
    "lambda",
    """
    def main():
        find = lambda key: None
        return find("a").upper()
    """,
    "app:2 explicit-none",
)
case(
    "conditional expression",
    """
    def main():
        flag = False
        name = "x" if flag else None
        return name.upper()
    """,
    "app:3 assignment",
    "app:3 branch",
)
case(
    "or",
    """
    def main():
        table = {}
        name = table.get("a") or table.get("b")
        return name.upper()
    """,
    "app:3 assignment",
    "app:3 missing-key",
)

# ---------------------------------------------------------------- attributes

case(
    "attribute set in __init__",
    """
    class Store:
        def __init__(self):
            self.connection = None

        def query(self):
            return self.connection.cursor()

    def main():
        Store().query()
    """,
    "app:3 explicit-none",
)
case(
    "attribute set elsewhere",
    """
    class Store:
        def __init__(self):
            self.connection = object()

        def close(self):
            self.connection = None

        def query(self):
            return self.connection.cursor()

    def main():
        store, other = Store(), Store()
        other.close()
        store.close()
        store.query()
    """,
    "app:6 explicit-none",
)
case(
    "class attribute",
    """
    class Store:
        connection = None

        def query(self):
            return self.connection.cursor()

    def main():
        Store().query()
    """,
    "app:2 class-attribute",
)
case(
    "class attribute of a base",
    """
    class Base:
        connection = None

    class Store(Base):
        def query(self):
            return self.connection.cursor()

    def main():
        Store().query()
    """,
    "app:2 class-attribute",
)
case(
    "property",
    """
    class User:
        @property
        def name(self):
            return None

    def main():
        return User().name.upper()
    """,
    "app:7 property",
    "app:4 explicit-none",
)
case(
    "__getattr__",
    """
    class Lazy:
        def __getattr__(self, name):
            return None

    def main():
        lazy = Lazy()
        return lazy.name.upper()
    """,
    "app:7 property",
    "app:3 explicit-none",
)
case(
    "slots",
    """
    class User:
        __slots__ = ("name",)

        def __init__(self):
            self.name = None

    def main():
        user = User()
        return user.name.upper()
    """,
    "app:5 explicit-none",
)
case(
    "dataclass default",
    """
    from dataclasses import dataclass

    @dataclass
    class User:
        email: str
        name: str = None

    def main():
        user = User("a@b")
        return user.name.upper()
    """,
    "app:6 default",
)
case(
    "dataclass argument",
    """
    from dataclasses import dataclass

    @dataclass
    class User:
        email: str
        name: str = ""

    def main():
        who = None
        user = User("a@b", name=who)
        return user.name.upper()
    """,
    "app:10 parameter",
    "app:9 explicit-none",
)
case(
    "attribute of an attribute",
    """
    class Node:
        def __init__(self, parent):
            self.parent = parent

    def main():
        root = Node(None)
        leaf = Node(root)
        return leaf.parent.parent.upper()
    """,
    "app:3 attribute",
    "app:6 parameter",
    "app:6 explicit-none",
)
case(
    "attribute of a module",
    """
    import settings

    def main():
        return settings.HOST.upper()
    """,
    "settings:1 explicit-none",
    settings="HOST = None\n",
)
case(
    "imported name",
    """
    from settings import HOST

    def main():
        return HOST.upper()
    """,
    "app:1 import",
    "settings:1 explicit-none",
    settings="HOST = None\n",
)

# ---------------------------------------------------------------- containers

case(
    "dict display",
    """
    def main():
        config = {"host": None}
        return config["host"].upper()
    """,
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "item store",
    """
    def main():
        config = {"host": "x"}
        config["host"] = None
        return config["host"].upper()
    """,
    "app:3 explicit-none",
)
case(
    "item stored by another function",
    """
    def reset(settings):
        settings["host"] = None

    def main():
        config = {"host": "x"}
        reset(config)
        return config["host"].upper()
    """,
    "app:2 explicit-none",
)
case(
    "list item",
    """
    def main():
        rows = ["a", None]
        return rows[1].upper()
    """,
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "get of a key that holds None",
    """
    def main():
        config = {"host": None}
        return config.get("host", "x").upper()
    """,
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "get with a default",
    """
    def main():
        fallback = None
        config = {}
        return config.get("host", fallback).upper()
    """,
    "app:4 missing-key",
    "app:2 explicit-none",
)
case(
    "setdefault",
    """
    def main():
        config = {}
        return config.setdefault("host").upper()
    """,
    "app:3 missing-key",
)
case(
    "pop with None",
    """
    def main():
        config = {}
        return config.pop("host", None).upper()
    """,
    "app:3 missing-key",
)
case(
    "nested dict",
    """
    CONFIG = {"db": {"host": None}}

    def main():
        section = CONFIG["db"]
        return section["host"].upper()
    """,
    "app:4 assignment",
    "app:1 assignment",
    "app:1 item",
    "app:1 explicit-none",
)
case(
    "default factory",
    """
    from collections import defaultdict

    def main():
        table = defaultdict(lambda: None)
        return table["x"].upper()
    """,
    "app:5 item",
    "app:4 explicit-none",
)

# ---------------------------------------------------------------- closures, generators, coroutines, threads

case(
    "closure",
    """
    def outer():
        name = None
        def inner():
            return name.upper()
        return inner

    def main():
        outer()()
    """,
    "app:4 closure",
    "app:2 explicit-none",
)
case(
    "parameter of the enclosing function",
    """
    def outer(name):
        def inner():
            return name.upper()
        return inner

    def main():
        outer(None)()
    """,
    "app:3 closure",
    "app:7 parameter",
    "app:7 explicit-none",
)
case(
    "nonlocal",
    """
    def outer():
        name = "x"
        def forget():
            nonlocal name
            name = None
        def inner():
            return name.upper()
        forget()
        return inner()

    def main():
        outer()
    """,
    "app:7 closure",
    "app:5 explicit-none",
)
case(
    "generator",
    """
    def names():
        yield "a"
        yield None

    def main():
        for name in names():
            name.upper()
    """,
    "app:6 for-target",
    "app:3 explicit-none",
)
case(
    "yield from",
    """
    def names():
        yield from ["a", None]

    def main():
        for name in names():
            name.upper()
    """,
    "app:5 for-target",
    "app:2 yield",
    "app:2 explicit-none",
)
case(
    "send",
    """
    def echo():
        while True:
            got = yield
            got.upper()

    def main():
        generator = echo()
        next(generator)
        who = None
        generator.send(who)
    """,
    "app:3 assignment",
    "app:10 send",
    "app:9 explicit-none",
)
case(
    "coroutine",
    """
    import asyncio

    async def fetch():
        await asyncio.sleep(0)

    async def work():
        value = await fetch()
        return value.upper()

    def main():
        asyncio.run(work())
    """,
    "app:7 assignment",
    "app:4 fell-off-end",
)
case(
    "task",
    """
    import asyncio

    async def fetch():
        return None

    async def work():
        task = asyncio.create_task(fetch())
        value = await task
        return value.upper()

    def main():
        asyncio.run(work())
    """,
    "app:8 assignment",
    "app:8 task?",
    "app:4 explicit-none",
)
case(
    "thread",
    """
    import threading

    class Worker:
        def __init__(self):
            self.result = "x"

        def work(self):
            self.result = None

    def main():
        worker = Worker()
        thread = threading.Thread(target=worker.work)
        thread.start()
        thread.join()
        return worker.result.upper()
    """,
    "app:8 explicit-none",
)

# ---------------------------------------------------------------- births outside the project

case(
    "no match",
    """
    import re

    def main():
        return re.match(r"(a+)", "b").group(1)
    """,
    "app:4 no-match",
)
case(
    "no match of a compiled pattern",
    """
    import re

    PATTERN = re.compile("a+")

    def main():
        found = PATTERN.search("b")
        return found.group()
    """,
    "app:6 assignment",
    "app:6 no-match",
)
case(
    "environment variable",
    """
    import os

    def main():
        home = os.environ.get("NOT_SET_ANYWHERE")
        return home.upper()
    """,
    "app:4 assignment",
    "app:4 environment",
)
case(
    "getenv",
    """
    import os

    def main():
        return os.getenv("NOT_SET_ANYWHERE").upper()
    """,
    "app:4 environment",
)
case(
    "in place",
    """
    def main():
        rows = [2, 1].sort()
        return rows[0]
    """,
    "app:2 assignment",
    "app:2 in-place",
)
case(
    "next with a default",
    """
    def main():
        found = next((row for row in ["a"] if row == "b"), None)
        return found.upper()
    """,
    "app:2 assignment",
    "app:2 exhausted",
)
case(
    "getattr with a default",
    """
    def main():
        name = getattr(object(), "name", None)
        return name.upper()
    """,
    "app:2 assignment",
    "app:2 missing-attribute?",
)
case(
    "json",
    """
    import json

    def main():
        data = json.loads('{"host": null}')
        return data["host"].upper()
    """,
    "app:4 assignment",
    "app:4 outside?",
)
case(
    "map",
    """
    def clean(text):
        return text or None

    def main():
        for text in map(clean, ["a", ""]):
            text.upper()
    """,
    "app:5 for-target",
    "app:2 return",
    "app:2 explicit-none",
)

# ---------------------------------------------------------------- control

case(
    "branch not taken",
    """
    def main():
        mode = "slow"
        name = None
        if mode == "fast":
            name = "x"
        return name.upper()
    """,
    "app:3 explicit-none",
    "app:4 branch-not-taken",
)
case(
    "exception swallowed",
    """
    def main():
        value = None
        try:
            value = int("x")
        except ValueError:
            pass
        return value.bit_length()
    """,
    "app:2 explicit-none",
    "app:4 swallowed-exception",
)
case(
    "None from an except clause",
    """
    def parse(text):
        try:
            return int(text)
        except ValueError:
            return None

    def main():
        return parse("x").bit_length()
    """,
    "app:5 explicit-none",
    "app:3 swallowed-exception",
)
case(
    "match",
    """
    def name_of(shape):
        match shape:
            case "square":
                return "a square"

    def main():
        return name_of("circle").upper()
    """,
    "app:3 fell-off-end",
    "app:2 branch-not-taken",
)
case(
    "pattern variable",
    """
    def main():
        match {"name": None}:
            case {"name": name}:
                return name.upper()
    """,
    "app:3 pattern",
    "app:2 explicit-none",
)

# ---------------------------------------------------------------- other faults

case(
    "wrong class",
    """
    def load():
        return "12"

    def main():
        count = load()
        return 1 + count
    """,
    "app:5 assignment",
    "app:2 literal",
)
case(
    "zero",
    """
    def main():
        rows = []
        count = len(rows)
        return 1 / count
    """,
    "app:3 assignment",
    "app:3 outside",
)
case(
    "unbound local",
    """
    def main():
        flag = False
        if flag:
            name = "x"
        return name.upper()
    """,
    "app:3 branch-not-taken",
)

# ---------------------------------------------------------------- shapes of code

case(
    "a call over several lines",
    """
    def find(table, key):
        return table.get(
            key
        )

    def main():
        value = find(
            {},
            "k",
        )
        return (
            value
            .upper()
        )
    """,
    "app:7 assignment",
    "app:2 return",
    "app:2 missing-key",
)
case(
    "recursion",
    """
    def last(node):
        if node["next"] is not None:
            return last(node["next"])
        return node.get("name")

    def main():
        return last({"next": {"next": None}}).upper()
    """,
    "app:3 return",
    "app:4 return",
    "app:4 missing-key",
)
case(
    "while",
    """
    def main():
        names = ["a", None]
        while names:
            name = names.pop()
            name.upper()
    """,
    "app:4 assignment",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "augmented",
    """
    def main():
        count = "1"
        count += "2"
        return 3 + count
    """,
    "app:3 augmented",
)
case(
    "elif",
    """
    def rate(kind):
        if kind == "a":
            return 1
        elif kind == "b":
            return 2

    def main():
        return rate("c") + 1
    """,
    "app:4 fell-off-end",
    "app:2 branch-not-taken",
    "app:4 branch-not-taken",
)
case(
    "module under another name",
    """
    import settings as conf

    def main():
        return conf.HOST.upper()
    """,
    "settings:1 explicit-none",
    settings="HOST = None\n",
)

# ---------------------------------------------------------------- constructors that are inherited, and copies

case(
    "inherited init",
    """
    class Base:
        def __init__(self, *parts, kind=None):
            self.kind = kind

    class One(Base):
        pass

    class Two(Base):
        pass

    def main():
        made = [One(Two("x"), 1), Two(None)]
        return made[1].kind.upper()
    """,
    "app:3 attribute",
    "app:2 default",
)
case(
    "inherited init alone",
    """
    class Base:
        def __init__(self, *parts, kind=None):
            self.kind = kind

    class One(Base):
        pass

    class Other:
        def __init__(self, kind):
            super().__init__()

    def build():
        return One(None)

    def main():
        Other(1)
        return build().kind.upper()
    """,
    "app:3 attribute",
    "app:2 default",
)
case(
    "inherited init via super",
    """
    class Base:
        def __init__(self, name, kind=None):
            self.kind = kind

    class One(Base):
        def __init__(self, name):
            super().__init__(name)

    def main():
        return One(None).kind.upper()
    """,
    "app:3 attribute",
    "app:2 default",
)
case(
    "not on this object",
    """
    class Table:
        def align(self, rows):
            self._align = rows

        def draw(self):
            return self._align[0]

    def main():
        first = Table()
        first.align(["l"])
        first.draw()
        second = Table()
        return second.draw()
    """,
    "app:3 not-called",
    "app:13 parameter",
    "app:12 assignment",
    "app:12 constructed",
)
case(
    "setstate",
    """
    import copy

    class Box:
        def __init__(self, name):
            self.name = name

        def __setstate__(self, state):
            self.name = state.get("names")

        def __getstate__(self):
            return {"name": self.name}

    def main():
        box = copy.copy(Box("x"))
        return box.name.upper()
    """,
    "app:8 attribute",
    "app:8 missing-key",
)


@pytest.mark.parametrize("name", TABLE)
def test_the_chain_is_that_of_the_table(name: str, followed: dict[str, Sequence[Link]]) -> None:
    check_chain(followed[name], TABLE[name])
