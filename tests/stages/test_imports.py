"""Which imports would bind an undefined name: as other files have it or define it, or as the library gives it."""

from __future__ import annotations

import pytest

from selfdebug.stages.propose.imports import imports_of


def imports(name: str, **files: str) -> list[tuple[str, str | None]]:
    texts = [(f"{file.replace('__', '/')}.py", text.encode()) for file, text in files.items()]
    return [(default.code, default.donor) for default in imports_of(name, "here.py", texts)]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("Shop", "import os\nfrom shops.core import Shop\n", "from shops.core import Shop"),
        ("Shop", "from shops import Bar, Shop, Zoo\n", "from shops import Shop"),
        ("Shop", "from shops import Bar as Shop\n", "from shops import Bar as Shop"),
        ("sh", "import shops.core as sh  # short\n", "import shops.core as sh"),
    ],
)
def test_a_name_is_imported_as_another_file_does_it(name: str, text: str, expected: str) -> None:
    line = text[: text.index(expected.split()[1])].count("\n") + 1
    assert imports(name, other=text) == [(expected, f"as in other.py:{line}")]


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("shops__core", "class Shop(Base):\n    pass\n", "from shops.core import Shop"),
        ("src__shops__core", "\nasync def Shop():\n    pass\n", "from shops.core import Shop"),
        ("lib__shops", "Shop: type = 3\n", "from shops import Shop"),
        ("shops", "Shop = make()\n", "from shops import Shop"),
    ],
)
def test_a_name_is_imported_from_where_it_is_defined(file: str, text: str, expected: str) -> None:
    assert [code for code, _ in imports("Shop", **{file: text})] == [expected]


def test_a_package_is_named_without_its_init() -> None:
    texts = [("shops/__init__.py", b"Shop = 1\n"), ("2020/old.py", b"Shop = 2\n"), ("here.py", b"Shop = 3\n")]
    assert [default.code for default in imports_of("Shop", "here.py", texts)] == ["from shops import Shop"]


@pytest.mark.parametrize(
    "text",
    [
        "x = Shop == 1\n",
        "    from shops import Shop\n",
        "# from a import Shop\n",
        "from .core import Shop\n",
        "from a import (Shop,\n",
    ],
)
def test_what_does_not_bind_the_name_at_the_top_is_no_import(text: str) -> None:
    assert imports("Shop", other=text) == []


def test_the_library_comes_after_the_project() -> None:
    found = imports("Path", other="from paths import Path\n")
    assert found == [("from paths import Path", "as in other.py:1"), ("from pathlib import Path", None)]
    assert imports("json") == [("import json", None)]
    assert imports("_private") == []
