"""Why a key, an index, a name or an attribute is not there: a long table of small programs with their chains."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from origin.traced_programs import Table, check_chain
from selfdebug.model import Link

TABLE = Table()
case = TABLE.case

case(
    "missing key, stores",
    """
    def load():
        table = {}
        table["a"] = 1
        table["c"] = 2
        return table

    def main():
        found = load()
        return found["b"]
    """,
    "app:9 missing-key",
    "app:8 assignment",
    "app:5 return",
    "app:2 assignment",
    "app:4 put",
    "app:3 put",
    "app:2 literal",
)
case(
    "missing key, deleted",
    """
    def clean(table):
        del table["b"]

    def main():
        table = {"a": 1, "b": 2}
        clean(table)
        return table["b"]
    """,
    "app:7 missing-key",
    "app:5 assignment",
    "app:2 removed",
    "app:5 literal",
)
case(
    "missing key, popped",
    """
    def main():
        table = {"a": 1, "b": 2}
        table.pop("b")
        return table["b"]
    """,
    "app:4 missing-key",
    "app:2 assignment",
    "app:3 removed",
    "app:2 literal",
)
case(
    "missing key, update",
    """
    def main():
        table = {}
        table.update(a=1, c=2)
        table.setdefault("d", []).append(3)
        return table["b"]
    """,
    "app:5 missing-key",
    "app:2 assignment",
    "app:4 put",
    "app:3 put",
    "app:2 literal",
)
case(
    "missing key, variable",
    """
    def key_of(name):
        return name.lower()

    def main():
        table = {"Ann": 1}
        key = key_of("Ann")
        return table[key]
    """,
    "app:7 missing-key",
    "app:6 assignment",
    "app:2 return",
    "app:2 outside",
    "app:5 assignment",
    "app:5 literal",
)
case(
    "missing key, other class",
    """
    def main():
        table = {"1": "x"}
        key = 1
        return table[key]
    """,
    "app:4 missing-key",
    "app:3 literal",
    "app:2 assignment",
    "app:2 literal",
)
case(
    "missing key, cleared",
    """
    def main():
        table = {"b": 1}
        table.clear()
        return table["b"]
    """,
    "app:4 missing-key",
    "app:2 assignment",
    "app:3 removed",
    "app:2 literal",
)
case(
    "missing key, branch",
    """
    def main():
        strict = False
        table = {}
        if strict:
            table["b"] = 1
        return table["b"]
    """,
    "app:6 missing-key",
    "app:3 assignment",
    "app:3 literal",
    "app:4 branch-not-taken",
)
case(
    "missing key, loop",
    """
    def main():
        table = {}
        for name in ["a", "c"]:
            table[name] = len(name)
        return table["b"]
    """,
    "app:5 missing-key",
    "app:2 assignment",
    "app:4 put",
    "app:4 put",
    "app:2 literal",
)
case(
    "missing key, pop",
    """
    def main():
        table = {"a": 1}
        return table.pop("b")
    """,
    "app:3 missing-key",
    "app:2 assignment",
    "app:2 literal",
)
case(
    "missing key, attribute",
    """
    class Cache:
        def __init__(self):
            self.rows = {}

        def put(self, key, row):
            self.rows[key] = row

        def get(self, key):
            return self.rows[key]

    def main():
        cache = Cache()
        cache.put("a", 1)
        return cache.get("b")
    """,
    "app:9 missing-key",
    "app:14 parameter",
    "app:14 literal",
    "app:3 attribute",
    "app:6 put",
    "app:3 literal",
)
case(
    "missing key, environ",
    """
    import os

    def main():
        return os.environ["NOT_SET_ANYWHERE"]
    """,
    "app:4 environment",
)
case(
    "missing key, comprehension",
    """
    def main():
        table = {name: len(name) for name in ["a", "c"]}
        return table["b"]
    """,
    "app:3 missing-key",
    "app:2 assignment",
    "app:2 literal",
)
case(
    "index, empty",
    """
    def main():
        rows = []
        return rows[0]
    """,
    "app:3 missing-index",
    "app:2 assignment",
    "app:2 literal",
)
case(
    "index, appended",
    """
    def main():
        rows = []
        rows.append("a")
        rows.append("b")
        return rows[2]
    """,
    "app:5 missing-index",
    "app:2 assignment",
    "app:4 put",
    "app:3 put",
    "app:2 literal",
)
case(
    "index, popped",
    """
    def main():
        rows = ["a"]
        rows.pop()
        return rows[0]
    """,
    "app:4 missing-index",
    "app:2 assignment",
    "app:3 removed",
    "app:2 literal",
)
case(
    "index, variable",
    """
    def last(rows):
        return len(rows)

    def main():
        rows = ["a", "b"]
        index = last(rows)
        return rows[index]
    """,
    "app:7 missing-index",
    "app:6 assignment",
    "app:2 return",
    "app:2 outside",
    "app:5 assignment",
    "app:5 literal",
)
case(
    "index, split",
    """
    def main():
        line = "a"
        parts = line.split(",")
        return parts[1]
    """,
    "app:4 missing-index",
    "app:3 assignment",
    "app:3 outside",
)
case(
    "index, filtered",
    """
    def main():
        rows = [row for row in ["a"] if row == "b"]
        return rows[0]
    """,
    "app:3 missing-index",
    "app:2 assignment",
    "app:2 literal",
)
case(
    "index, pop from empty",
    """
    def main():
        rows = []
        return rows.pop()
    """,
    "app:3 missing-index",
    "app:2 assignment",
    "app:2 literal",
)
case(
    "index, string",
    """
    def main():
        name = ""
        return name[0]
    """,
    "app:3 missing-index",
    "app:2 literal",
)
case(
    "index, tuple",
    """
    def pair():
        return ("a",)

    def main():
        return pair()[1]
    """,
    "app:5 missing-index",
    "app:2 return",
    "app:2 literal",
)
case(
    "unbound, deleted",
    """
    def main():
        name = "x"
        del name
        return name.upper()
    """,
    "app:3 deletion",
)
case(
    "unbound, except name",
    """
    def main():
        try:
            int("x")
        except ValueError as error:
            pass
        return str(error)
    """,
    "app:4 deletion",
)
case(
    "unbound, loop",
    """
    def main():
        for row in []:
            last = row
        return last
    """,
    "app:2 loop-not-entered",
)
case(
    "unbound, loop variable",
    """
    def main():
        for row in []:
            pass
        return row
    """,
    "app:2 loop-not-entered",
)
case(
    "unbound, swallowed",
    """
    def main():
        try:
            value = int("x")
        except ValueError:
            pass
        return value
    """,
    "app:3 swallowed-exception",
)
case(
    "unbound, assigned later",
    """
    count = 0

    def main():
        print(count)
        count = 1
    """,
    "app:5 assigned-later",
)
case(
    "unbound, augmented global",
    """
    count = 0

    def main():
        count += 1
    """,
    "app:4 assigned-later",
)
case(
    "unbound, nested if",
    """
    def main():
        a, b = True, False
        if a:
            if b:
                name = "x"
        return name
    """,
    "app:4 branch-not-taken",
)
case(
    "undefined global",
    """
    FLAG = False
    if FLAG:
        HOST = "x"

    def main():
        return HOST
    """,
    "app:2 branch-not-taken",
)
case(
    "undefined global, deleted",
    """
    HOST = "x"
    del HOST

    def main():
        return HOST
    """,
    "app:2 deletion",
)
case(
    "undefined name, set by function not called",
    """
    def setup():
        global HOST
        HOST = "x"

    def main():
        return HOST
    """,
    "app:3 not-called",
)
case(
    "attribute never set",
    """
    class Store:
        def connect(self):
            self.connection = object()

        def query(self):
            return self.connection.cursor()

    def main():
        Store().query()
    """,
    "app:3 not-called",
    "app:9 parameter",
    "app:9 constructed",
)
case(
    "attribute deleted",
    """
    class Store:
        def __init__(self):
            self.connection = "x"

        def close(self):
            del self.connection

    def main():
        store = Store()
        store.close()
        return store.connection
    """,
    "app:6 deletion",
    "app:9 assignment",
    "app:9 constructed",
)
case(
    "attribute in a branch",
    """
    class Store:
        def __init__(self, lazy):
            self.lazy = lazy
            if not lazy:
                self.connection = "x"

    def main():
        store = Store(True)
        return store.connection
    """,
    "app:4 branch-not-taken",
    "app:8 assignment",
    "app:8 constructed",
)
case(
    "attribute of a wrong class",
    """
    def load():
        return ["x"]

    def main():
        user = load()
        return user.name
    """,
    "app:5 assignment",
    "app:2 return",
    "app:2 literal",
)
case(
    "attribute typo",
    """
    class User:
        def __init__(self):
            self.name = "x"

    def main():
        user = User()
        return user.nmae
    """,
    "app:3 near-miss",
    "app:6 assignment",
    "app:6 constructed",
)
case(
    "wrong class, call",
    """
    class Shop:
        name = "x"

    def main():
        shop = Shop()
        return shop.name()
    """,
    "app:2 literal",
)
case(
    "wrong class, argument",
    """
    def main():
        size = "3"
        return range(size)
    """,
    "app:2 literal",
)
case(
    "wrong class, iteration",
    """
    def count():
        return 3

    def main():
        for row in count():
            pass
    """,
    "app:2 literal",
)
case(
    "wrong class, subscript",
    """
    def load():
        return 3

    def main():
        data = load()
        return data["x"]
    """,
    "app:5 assignment",
    "app:2 literal",
)
case(
    "unpack count",
    """
    def parts(text):
        return text.split("=")

    def main():
        name, value = parts("a")
        return name
    """,
    "app:2 return",
    "app:2 outside",
)
case(
    "deliberate raise",
    """
    def check(name):
        if name is None:
            raise ValueError("no name")
        return name

    def main():
        who = {}.get("who")
        check(who)
    """,
    "app:2 branch-taken",
    "app:8 parameter",
    "app:7 assignment",
    "app:7 missing-key",
)
case(
    "int of text",
    """
    def main():
        text = "x"
        return int(text)
    """,
    "app:2 literal",
)

# ---------------------------------------------------------------- containers whose own methods find nothing

case(
    "set remove",
    """
    def main():
        names = {"a", "b"}
        names.discard("a")
        names.remove("a")
    """,
    "app:4 missing-key",
    "app:2 assignment",
    "app:3 removed",
    "app:2 literal",
)
case(
    "set remove never",
    """
    def main():
        names = set()
        names.add("b")
        names.remove("a")
    """,
    "app:4 missing-key",
    "app:2 assignment",
    "app:3 put",
    "app:2 constructed",
)
case(
    "deque empty",
    """
    from collections import deque

    def main():
        queue = deque(["a"])
        queue.popleft()
        return queue.popleft()
    """,
    "app:6 missing-index",
    "app:4 assignment",
    "app:5 removed",
    "app:4 constructed",
)
case(
    "list remove missing",
    """
    def main():
        names = ["a"]
        names.remove("b")
    """,
    "app:3 missing-key",
    "app:2 assignment",
    "app:2 literal",
)


@pytest.mark.parametrize("name", TABLE)
def test_the_chain_is_that_of_the_table(name: str, followed: dict[str, Sequence[Link]]) -> None:
    check_chain(followed[name], TABLE[name])


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing key, variable", "table has no key 'ann' here (but 'Ann'); it was {'Ann': 1}."),
        (
            "missing key, other class",
            "table has no key 1 here (but '1', which is of the class str); it was {'1': 'x'}.",
        ),
        ("missing key, environ", "The environment variable 'NOT_SET_ANYWHERE' is not set."),
        ("index, appended", "rows has 2 elements here, so there is no element 2."),
        ("index, pop from empty", "rows has no elements here, so there is nothing to take."),
        ("attribute never set", "connection is set by connect() here, which was not called."),
    ],
)
def test_the_first_sentence_says_what_is_missing(name: str, told: str, followed: dict[str, Sequence[Link]]) -> None:
    assert followed[name][0].sentence == told
