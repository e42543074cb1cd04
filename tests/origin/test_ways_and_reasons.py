"""More kinds of links, of births, and of reasons why a value stayed: a long table of small programs and chains."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from origin.traced_programs import Table, check_chain
from selfdebug.model import Link

TABLE = Table()
case = TABLE.case

case(
    "two conditions in a chain",
    """
    def main():
        config = {}
        ready = False
        if config.get("fast"):
            ready = True
        name = None
        if ready:
            name = "x"
        return name.upper()
    """,
    "app:6 explicit-none",
    "app:7 branch-not-taken",
    "app:3 literal",
    "app:4 branch-not-taken",
)
case(
    "a return behind its condition in one line",
    """
    def find(user):
        if user: return user.name

    def main():
        return find(None).upper()
    """,
    "app:2 fell-off-end",
)
case(
    "a return behind a condition that cannot be looked up in one line",
    """
    def find(user):
        if str(user): return user

    def main():
        found = find(None)
        return found.upper()
    """,
    "app:5 assignment",
    "app:5 unknown?",
)
case(
    "a part of a tuple that was put on a stack",
    """
    class Parser:
        def __init__(self):
            self.item = None
            self.stack = []

        def push(self, data):
            self.stack.append((self.item, data))
            self.item = {}

        def pop(self):
            item, data = self.stack.pop()
            return item["x"]

    def main():
        parser = Parser()
        parser.push("a")
        parser.pop()
    """,
    "app:11 unpacking",
    "app:7 put",
    "app:7 item",
    "app:3 explicit-none",
)
case(
    "an empty list that somebody filled",
    """
    import json

    def main():
        rows = []
        json.JSONDecoder(object_hook=rows.append).decode("{}")
        rows.extend([{}.get("x")])
        taken = rows.pop()
        return taken.upper()
    """,
    "app:7 assignment",
    "app:4 assignment",
    "app:4 unknown?",
)
case(
    "attributes that are private to two classes",
    """
    class Base:
        def __init__(self):
            self.__name = "base"

    class Part(Base):
        def __init__(self):
            self.__name = None
            super().__init__()

        def shown(self):
            name = self.__name
            return name.upper()

    def main():
        Part().shown()
    """,
    "app:11 assignment",
    "app:7 explicit-none",
)
case(
    "an object whose method gives it back",
    """
    class Table:
        def add(self, row):
            self.row = row
            return self

        def draw(self):
            return self.width

    def main():
        return Table().add([1]).draw()
    """,
    "app:10 parameter",
    "app:4 return",
    "app:10 parameter",
    "app:10 constructed",
)
case(
    "nothing to number",
    """
    def main(rows=None):
        for number, row in enumerate(rows):
            print(number, row)
    """,
    "app:1 default",
)
case(
    "keywords from a mapping without the key",
    """
    class Signer:
        def __init__(self, key, method=None):
            self.method = method

        def sign(self):
            return self.method()

    def main():
        options = {}
        return Signer("k", **options).sign()
    """,
    "app:3 attribute",
    "app:2 default",
)
case(
    "no further keywords",
    """
    def options(**given):
        return given.pop("size")

    def main():
        options()
    """,
    "app:2 missing-key",
    "app:5 parameter",
)
case(
    "nested conditions",
    """
    def find(user, strict):
        if user:
            if strict:
                return user

    def main():
        return find("x", False).upper()
    """,
    "app:3 fell-off-end",
    "app:3 branch-not-taken",
)
case(
    "two ifs",
    """
    def find(key):
        if key == "a":
            return "A"
        if key == "b":
            return "B"
        return None

    def main():
        return find("c").upper()
    """,
    "app:6 explicit-none",
    "app:2 branch-not-taken",
    "app:4 branch-not-taken",
)
case(
    "while not entered",
    """
    def last(rows):
        found = None
        while rows:
            found = rows.pop()
        return found

    def main():
        return last([]).upper()
    """,
    "app:5 return",
    "app:2 explicit-none",
    "app:3 branch-not-taken",
)
case(
    "loop found nothing",
    """
    def find(rows):
        found = None
        for row in rows:
            if row > 2:
                found = row
        return found

    def main():
        return find([1, 2]).bit_length()
    """,
    "app:6 return",
    "app:2 explicit-none",
    "app:4 branch-not-taken",
)
case(
    "break before",
    """
    def find(rows):
        found = None
        for row in rows:
            if row == "stop":
                break
            found = row
        return found

    def main():
        return find(["stop", "a"]).upper()
    """,
    "app:7 return",
    "app:2 explicit-none",
    "app:4 branch-taken",
)
case(
    "early continue",
    """
    def find(rows):
        found = None
        for row in rows:
            if not row:
                continue
            found = row
        return found

    def main():
        return find(["", ""]).upper()
    """,
    "app:7 return",
    "app:2 explicit-none",
    "app:4 branch-taken",
)
case(
    "and",
    """
    def main():
        user = {}
        name = user and user["name"]
        return name.upper()
    """,
    "app:3 assignment",
    "app:2 assignment",
    "app:2 literal",
)
case(
    "conditional on attribute",
    """
    class Config:
        def __init__(self):
            self.host = None
            self.debug = False
            if self.debug:
                self.host = "localhost"

    def main():
        return Config().host.upper()
    """,
    "app:3 explicit-none",
    "app:5 branch-not-taken",
)
case(
    "suppress",
    """
    from contextlib import suppress

    def main():
        value = None
        with suppress(ValueError):
            value = int("x")
        return value.bit_length()
    """,
    "app:4 explicit-none",
    "app:6 swallowed-exception",
)
case(
    "except pass through a call",
    """
    def parse(text):
        return int(text)

    def main():
        value = None
        try:
            value = parse("x")
        except ValueError:
            pass
        return value.bit_length()
    """,
    "app:5 explicit-none",
    "app:7 swallowed-exception",
)
case(
    "except returns default",
    """
    def load(path):
        try:
            with open(path) as stream:
                return stream.read()
        except OSError:
            return None

    def main():
        return load("/nonexistent/x").upper()
    """,
    "app:6 explicit-none",
    "app:3 swallowed-exception",
)
case(
    "except in a loop",
    """
    def first(texts):
        for text in texts:
            try:
                return int(text)
            except ValueError:
                continue

    def main():
        return first(["x", "y"]).bit_length()
    """,
    "app:2 fell-off-end",
    "app:4 swallowed-exception",
)
case(
    "exception args",
    """
    def check():
        raise ValueError(None)

    def main():
        try:
            check()
        except ValueError as error:
            return error.args[0].upper()
    """,
    "app:2 raised",
    "app:2 explicit-none",
)
case(
    "exception attribute",
    """
    class Wrong(Exception):
        def __init__(self, field):
            super().__init__("wrong")
            self.field = field

    def check():
        raise Wrong(None)

    def main():
        try:
            check()
        except Wrong as error:
            return error.field.upper()
    """,
    "app:4 attribute",
    "app:7 parameter",
    "app:7 explicit-none",
)
case(
    "StopIteration value",
    """
    def gen():
        yield 1
        return None

    def main():
        steps = gen()
        next(steps)
        try:
            next(steps)
        except StopIteration as end:
            return end.value.upper()
    """,
    "app:3 explicit-none",
)
case(
    "yield from result",
    """
    def inner():
        yield 1

    def outer():
        result = yield from inner()
        return result.upper()

    def main():
        list(outer())
    """,
    "app:5 assignment",
    "app:2 fell-off-end",
)
case(
    "exec",
    """
    def main():
        names = {}
        exec("name = None", names)
        return names["name"].upper()
    """,
    "app:2 assignment",
    "app:2 outside?",
)
case(
    "eval",
    """
    def main():
        name = eval("None")
        return name.upper()
    """,
    "app:2 assignment",
    "app:2 outside",
)
case(
    "exec function",
    """
    names = {}
    exec("def find(key): return None", names)
    find = names["find"]

    def main():
        return find("x").upper()
    """,
    "app:6 outside",
)
case(
    "class decorator",
    """
    def with_default(cls):
        cls.host = None
        return cls

    @with_default
    class Client:
        pass

    def main():
        return Client().host.upper()
    """,
    "app:2 explicit-none",
)
case(
    "class attribute set later",
    """
    class Client:
        host = "x"

    def reset():
        Client.host = None

    def main():
        reset()
        return Client().host.upper()
    """,
    "app:5 explicit-none",
)
case(
    "classmethod",
    """
    class Client:
        @classmethod
        def make(cls, host=None):
            return host

    def main():
        return Client.make().upper()
    """,
    "app:4 return",
    "app:3 default",
)
case(
    "staticmethod",
    """
    class Client:
        @staticmethod
        def find(key):
            return {}.get(key)

    def main():
        return Client.find("x").upper()
    """,
    "app:4 return",
    "app:4 missing-key",
)
case(
    "super call",
    """
    class Base:
        def find(self):
            return None

    class Child(Base):
        def find(self):
            return super().find()

    def main():
        return Child().find().upper()
    """,
    "app:7 return",
    "app:3 explicit-none",
)
case(
    "metaclass call",
    """
    class Meta(type):
        def __call__(cls):
            return None

    class Client(metaclass=Meta):
        pass

    def main():
        return Client().host
    """,
    "app:3 explicit-none",
)
case(
    "__new__ returns None",
    """
    class Client:
        def __new__(cls):
            pass

    def main():
        client = Client()
        return client.host
    """,
    "app:6 assignment",
    "app:3 fell-off-end",
)
case(
    "descriptor",
    """
    class Field:
        def __get__(self, owner, cls):
            return None

    class User:
        name = Field()

    def main():
        return User().name.upper()
    """,
    "app:9 property",
    "app:3 explicit-none",
)
case(
    "property setter",
    """
    class User:
        def __init__(self):
            self.name = "x"
        @property
        def name(self):
            return self._name
        @name.setter
        def name(self, value):
            self._name = None

    def main():
        user = User()
        return user.name.upper()
    """,
    "app:13 property",
    "app:6 return",
    "app:9 explicit-none",
)
case(
    "operator",
    """
    class Money:
        def __add__(self, other):
            pass

    def main():
        total = Money() + Money()
        return total.amount
    """,
    "app:6 assignment",
    "app:6 computed",
    "app:3 fell-off-end",
)
case(
    "__getitem__",
    """
    class Row:
        def __getitem__(self, key):
            return None

    def main():
        row = Row()
        return row["x"].upper()
    """,
    "app:7 item",
    "app:3 explicit-none",
)
case(
    "__iter__",
    """
    class Rows:
        def __iter__(self):
            yield None

    def main():
        for row in Rows():
            row.upper()
    """,
    "app:6 for-target",
    "app:3 explicit-none",
)
case(
    "__next__",
    """
    class Rows:
        def __iter__(self):
            return self
        def __next__(self):
            return None

    def main():
        for row in Rows():
            row.upper()
    """,
    "app:8 for-target",
    "app:5 explicit-none",
)
case(
    "generator in a variable",
    """
    def names():
        yield "a"
        yield None

    def main():
        all_names = names()
        for name in all_names:
            name.upper()
    """,
    "app:7 for-target",
    "app:3 explicit-none",
)
case(
    "next of a generator",
    """
    def names():
        yield None

    def main():
        name = next(names())
        return name.upper()
    """,
    "app:5 assignment",
    "app:2 explicit-none",
)
case(
    "generator to list",
    """
    def names():
        yield "a"
        yield None

    def main():
        found = list(names())
        return found[1].upper()
    """,
    "app:6 assignment",
    "app:3 explicit-none",
)
case(
    "unpack generator",
    """
    def names():
        yield "a"
        yield None

    def main():
        one, two = names()
        return two.upper()
    """,
    "app:6 unpacking",
    "app:3 explicit-none",
)
case(
    "star unpacking",
    """
    def main():
        first, *rest = ["a", None]
        return rest[0].upper()
    """,
    "app:2 unpacking",
    "app:2 explicit-none",
)
case(
    "swap",
    """
    def main():
        a, b = "x", None
        a, b = b, a
        return a.upper()
    """,
    "app:3 unpacking",
    "app:3 item",
    "app:2 unpacking",
    "app:2 explicit-none",
)
case(
    "chained assignment",
    """
    def main():
        a = b = None
        return b.upper()
    """,
    "app:2 explicit-none",
)
case(
    "global augmented",
    """
    COUNT = None

    def main():
        global COUNT
        COUNT += 1
    """,
    "app:1 explicit-none",
)
case(
    "nested attribute chain",
    """
    class A:
        pass

    def main():
        a = A()
        a.b = A()
        a.b.c = None
        return a.b.c.upper()
    """,
    "app:7 explicit-none",
)
case(
    "list of objects",
    """
    class User:
        def __init__(self, name):
            self.name = name

    def main():
        users = [User("a"), User(None)]
        for user in users:
            user.name.upper()
    """,
    "app:3 attribute",
    "app:6 parameter",
    "app:6 explicit-none",
)
case(
    "dict of objects",
    """
    class User:
        def __init__(self, name):
            self.name = name

    def main():
        users = {"x": User(None)}
        return users["x"].name.upper()
    """,
    "app:3 attribute",
    "app:6 parameter",
    "app:6 explicit-none",
)
case(
    "returned object's attribute",
    """
    class User:
        def __init__(self, name=None):
            self.name = name

    def make():
        return User()

    def main():
        user = make()
        return user.name.upper()
    """,
    "app:3 attribute",
    "app:2 default",
)
case(
    "attrs",
    """
    import attr

    @attr.s(auto_attribs=True)
    class User:
        email: str
        name: str = None

    def main():
        user = User("x")
        return user.name.upper()
    """,
    "app:6 default",
)
case(
    "slots without value",
    """
    class User:
        __slots__ = ("name",)

    def main():
        user = User()
        return user.name.upper()
    """,
    "app:5 assignment",
    "app:5 constructed",
)
case(
    "mock attribute",
    """
    from unittest.mock import Mock

    def main():
        client = Mock()
        client.find.return_value = None
        return client.find("x").upper()
    """,
    "app:5 mock",
)
case(
    "mock made with return value",
    """
    from unittest.mock import Mock

    def main():
        find = Mock(return_value=None)
        return find("x").upper()
    """,
    "app:4 mock",
)
case(
    "mock side effect",
    """
    from unittest.mock import Mock

    def main():
        find = Mock(side_effect=[None])
        return find("x").upper()
    """,
    "app:5 mock",
)
case(
    "mock attribute value",
    """
    from unittest.mock import Mock

    def main():
        client = Mock(host=None)
        return client.host.upper()
    """,
    "app:4 mock",
)
case(
    "kwargs default pop",
    """
    def connect(**options):
        host = options.pop("host", None)
        return host.upper()

    def main():
        return connect(port=1)
    """,
    "app:2 assignment",
    "app:2 missing-key",
)
case(
    "args index",
    """
    def connect(*values):
        return values[0].upper()

    def main():
        return connect(None)
    """,
    "app:5 parameter",
    "app:5 explicit-none",
)
case(
    "loop over kwargs",
    """
    def connect(**options):
        for key, value in options.items():
            value.upper()

    def main():
        connect(host=None)
    """,
    "app:2 for-target",
    "app:6 parameter",
    "app:6 explicit-none",
)
case(
    "context manager return",
    """
    class Ctx:
        def __enter__(self):
            return self
        def __exit__(self, *exc):
            return False
        def name(self):
            return None

    def main():
        with Ctx() as ctx:
            ctx.name().upper()
    """,
    "app:7 explicit-none",
)
case(
    "with tuple",
    """
    from contextlib import contextmanager

    @contextmanager
    def pair():
        yield "a", None

    def main():
        with pair() as (one, two):
            two.upper()
    """,
    "app:8 with",
    "app:5 yield",
    "app:5 explicit-none",
)
case(
    "finally overrides a value",
    """
    def find():
        result = "x"
        try:
            return result
        finally:
            return None

    def main():
        return find().upper()
    """,
    "app:6 explicit-none",
)
case(
    "comprehension condition",
    """
    def main():
        names = [name for name in ["a", None] if name != "a"]
        return names[0].upper()
    """,
    "app:2 assignment",
    "app:2 comprehension?",
    "app:2 comprehension",
    "app:2 explicit-none",
)
case(
    "nested comprehension",
    """
    def main():
        rows = [["a"], [None]]
        return [name.upper() for row in rows for name in row]
    """,
    "app:3 comprehension",
    "app:3 comprehension",
    "app:2 assignment",
    "app:2 item",
    "app:2 explicit-none",
)
case(
    "dict comprehension from items",
    """
    def main():
        source = {"a": None}
        copy = {key: value for key, value in source.items()}
        return copy["a"].upper()
    """,
    "app:3 assignment",
    "app:3 comprehension?",
    "app:3 comprehension",
    "app:2 assignment",
    "app:2 explicit-none",
)
case(
    "lambda default",
    """
    def main():
        find = lambda key, default=None: default
        return find("x").upper()
    """,
    "app:2 return",
    "app:2 default",
)
case(
    "sum of None",
    """
    def price(row):
        return row.get("price")

    def main():
        rows = [{"price": 1}, {}]
        return sum(price(row) for row in rows)
    """,
    "app:6 yield",
    "app:2 return",
    "app:2 missing-key",
)
case(
    "format",
    """
    def main():
        name = None
        return "{:>10}".format(name)
    """,
    "app:2 explicit-none",
)
case(
    "f-string attr",
    """
    def main():
        user = None
        return f"hello {user.name}"
    """,
    "app:2 explicit-none",
)
case(
    "subprocess-like",
    """
    import shutil

    def main():
        tool = shutil.which("no-such-tool-anywhere")
        return tool.upper()
    """,
    "app:4 assignment",
    "app:4 nothing-found",
)
case(
    "import failed default",
    """
    try:
        import no_such_module_anywhere as fast
    except ImportError:
        fast = None

    def main():
        return fast.run()
    """,
    "app:4 explicit-none",
)
case(
    "global set in a branch",
    """
    MODE = "a"
    HOST = None
    if MODE == "b":
        HOST = "x"

    def main():
        return HOST.upper()
    """,
    "app:2 explicit-none",
    "app:3 branch-not-taken",
)
case(
    "attribute never replaced",
    """
    class Store:
        def __init__(self):
            self.connection = None
        def open(self):
            self.connection = "x"
        def query(self):
            return self.connection.upper()

    def main():
        store = Store()
        return store.query()
    """,
    "app:3 explicit-none",
    "app:5 not-called",
)
case(
    "del then default",
    """
    def main():
        table = {"a": "x"}
        del table["a"]
        return table.get("a").upper()
    """,
    "app:4 missing-key",
)
case(
    "recursion through attribute",
    """
    class Node:
        def __init__(self, value, parent=None):
            self.value = value
            self.parent = parent
        def root(self):
            return self.parent.root() if self.value else self.parent

    def main():
        return Node(1, Node(0)).root().value
    """,
    "app:6 return",
    "app:6 branch",
    "app:6 return",
    "app:6 branch",
    "app:4 attribute",
    "app:2 default",
)
case(
    "str method chain",
    """
    def main():
        text = "a=b"
        name, _, value = text.partition(":")
        found = {"a": 1}.get(value)
        return found.bit_length()
    """,
    "app:4 assignment",
    "app:4 missing-key",
)


@pytest.mark.parametrize("name", TABLE)
def test_the_chain_is_that_of_the_table(name: str, followed: dict[str, Sequence[Link]]) -> None:
    check_chain(followed[name], TABLE[name])
