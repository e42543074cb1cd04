"""Chains that begin in a test, or lead through what pytest and mock hand to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from traced_programs import chains, short, traced, write

from selfdebug.model import Link

CASES: dict[str, tuple[str, str, list[str]]] = {}


def case(name: str, app: str, test: str, *chain: str) -> None:
    CASES[name] = (app, test, list(chain))


SHOUT = """
def shout(name):
    return name.upper()
"""

case(
    "fixture",
    SHOUT,
    """
    import pytest
    import app

    @pytest.fixture
    def who():
        return None

    def test_it(who):
        app.shout(who)
    """,
    "test_app:9 parameter",
    "test_app:8 fixture",
    "test_app:6 explicit-none",
)
case(
    "yielding fixture of a wider scope",
    SHOUT,
    """
    import pytest
    import app

    @pytest.fixture(scope="module", name="who")
    def make_who():
        found = {}.get("who")
        yield found

    def test_it(who):
        app.shout(who)
    """,
    "test_app:10 parameter",
    "test_app:9 fixture",
    "test_app:7 yield",
    "test_app:6 assignment",
    "test_app:6 missing-key",
)
case(
    "parametrisation",
    SHOUT,
    """
    import pytest
    import app

    @pytest.mark.parametrize("times, who", [(1, "a"), (2, None)])
    def test_it(times, who):
        app.shout(who)
    """,
    "test_app:6 parameter",
    "test_app:4 parametrisation",
)
case(
    "parametrisation of one name",
    SHOUT,
    """
    import pytest
    import app

    @pytest.mark.parametrize("who", ["a", pytest.param(None, id="nobody")])
    def test_it(who):
        app.shout(who)
    """,
    "test_app:6 parameter",
    "test_app:4 parametrisation",
)
case(
    "monkeypatch of a module's name",
    """
    HOST = "localhost"

    def connect():
        return HOST.upper()
    """,
    """
    import app

    def test_it(monkeypatch):
        monkeypatch.setattr(app, "HOST", None)
        app.connect()
    """,
    "test_app:4 mock",
)
case(
    "monkeypatch of an attribute",
    """
    class Client:
        host = "localhost"

        def connect(self):
            return self.host.upper()
    """,
    """
    import app

    def test_it(monkeypatch):
        client = app.Client()
        monkeypatch.setattr(client, "host", None)
        client.connect()
    """,
    "test_app:5 mock",
)
case(
    "patch",
    """
    def find():
        return "x"

    def main():
        return find().upper()
    """,
    """
    from unittest import mock
    import app

    def test_it():
        with mock.patch("app.find", return_value=None):
            app.main()
    """,
    "test_app:5 mock",
)
case(
    "assertion about a None",
    """
    def double(number):
        if number > 0:
            return number * 2
    """,
    """
    import app

    def test_it():
        assert app.double(-1) == -2
    """,
    "app:2 fell-off-end",
    "app:2 branch-not-taken",
)
case(
    "assertion about a name",
    """
    def total(numbers):
        result = sum(numbers)
    """,
    """
    import app

    def test_it():
        got = app.total([1, 2])
        assert got == 3
    """,
    "test_app:4 assignment",
    "app:2 fell-off-end",
)
case(
    "assertion of unittest",
    """
    def double(number):
        number * 2
    """,
    """
    import unittest
    import app

    class TestIt(unittest.TestCase):
        def test_it(self):
            self.assertEqual(app.double(2), 4)
    """,
    "app:2 fell-off-end",
)
case(
    "function defined in the test",
    """
    def main(find):
        return find("x").upper()
    """,
    """
    import app

    def test_it():
        def find(key):
            return {}.get(key)
        app.main(find)
    """,
    "test_app:5 return",
    "test_app:5 missing-key",
)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Sequence[Link]]:
    """The chain of each case; all of them are run by one pytest."""
    root = tmp_path_factory.mktemp("cases")
    for number, (app, test, _) in enumerate(CASES.values()):
        write(root, f"app_{number}.py", app)
        module = f"app_{number}"
        write(
            root,
            f"test_app_{number}.py",
            test.replace("import app", f"import {module} as app").replace('"app.', f'"{module}.'),
        )
    found = {node.partition("::")[0]: links for node, links in chains(root, traced(root)).items()}
    return {name: found[f"test_app_{number}.py"] for number, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_the_chain_is_the_one_written_by_hand(name: str, followed: dict[str, Sequence[Link]]) -> None:
    links = followed[name]
    assert [re.sub(r"_\d+:", ":", line) for line in short(links)] == CASES[name][2], [link.sentence for link in links]
