"""Chains that begin in a test, or lead through what pytest and mock hand to it: a table of small programs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from origin.traced_programs import Table, check_chain
from selfdebug.model import Link

TABLE = Table()
case = TABLE.case

SHOUT = """
def shout(name):
    return name.upper()
"""

case(
    "fixture",
    SHOUT,
    "test_app:9 parameter",
    "test_app:8 fixture",
    "test_app:6 explicit-none",
    test="""
    import pytest
    import app

    @pytest.fixture
    def who():
        return None

    def test_it(who):
        app.shout(who)
    """,
)
case(
    "yielding fixture of a wider scope",
    SHOUT,
    "test_app:10 parameter",
    "test_app:9 fixture",
    "test_app:7 yield",
    "test_app:6 assignment",
    "test_app:6 missing-key",
    test="""
    import pytest
    import app

    @pytest.fixture(scope="module", name="who")
    def make_who():
        found = {}.get("who")
        yield found

    def test_it(who):
        app.shout(who)
    """,
)
case(
    "parametrisation",
    SHOUT,
    "test_app:6 parameter",
    "test_app:4 parametrisation",
    test="""
    import pytest
    import app

    @pytest.mark.parametrize("times, who", [(1, "a"), (2, None)])
    def test_it(times, who):
        app.shout(who)
    """,
)
case(
    "parametrisation of one name",
    SHOUT,
    "test_app:6 parameter",
    "test_app:4 parametrisation",
    test="""
    import pytest
    import app

    @pytest.mark.parametrize("who", ["a", pytest.param(None, id="nobody")])
    def test_it(who):
        app.shout(who)
    """,
)
case(
    "monkeypatch of a module's name",
    """
    HOST = "localhost"

    def connect():
        return HOST.upper()
    """,
    "test_app:4 mock",
    test="""
    import app

    def test_it(monkeypatch):
        monkeypatch.setattr(app, "HOST", None)
        app.connect()
    """,
)
case(
    "monkeypatch of an attribute",
    """
    class Client:
        host = "localhost"

        def connect(self):
            return self.host.upper()
    """,
    "test_app:5 mock",
    test="""
    import app

    def test_it(monkeypatch):
        client = app.Client()
        monkeypatch.setattr(client, "host", None)
        client.connect()
    """,
)
case(
    "patch",
    """
    def find():
        return "x"

    def main():
        return find().upper()
    """,
    "test_app:5 mock",
    test="""
    from unittest import mock
    import app

    def test_it():
        with mock.patch("app.find", return_value=None):
            app.main()
    """,
)
case(
    "assertion about a None",
    """
    def double(number):
        if number > 0:
            return number * 2
    """,
    "app:2 fell-off-end",
    "app:2 branch-not-taken",
    test="""
    import app

    def test_it():
        assert app.double(-1) == -2
    """,
)
case(
    "assertion about a name",
    """
    def total(numbers):
        result = sum(numbers)
    """,
    "test_app:4 assignment",
    "app:2 fell-off-end",
    test="""
    import app

    def test_it():
        got = app.total([1, 2])
        assert got == 3
    """,
)
case(
    "assertion of unittest",
    """
    def double(number):
        number * 2
    """,
    "app:2 fell-off-end",
    test="""
    import unittest
    import app

    class TestIt(unittest.TestCase):
        def test_it(self):
            self.assertEqual(app.double(2), 4)
    """,
)
case(
    "function defined in the test",
    """
    def main(find):
        return find("x").upper()
    """,
    "test_app:5 return",
    "test_app:5 missing-key",
    test="""
    import app

    def test_it():
        def find(key):
            return {}.get(key)
        app.main(find)
    """,
)


@pytest.mark.parametrize("name", TABLE)
def test_the_chain_is_that_of_the_table(name: str, followed: dict[str, Sequence[Link]]) -> None:
    check_chain(followed[name], TABLE[name])
