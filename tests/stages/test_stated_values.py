"""What tests and docstrings state apart from plain comparisons: rows of parametrised tests, and return sections."""

from __future__ import annotations

import ast

import pytest

from selfdebug.stages.propose import read_expectations
from selfdebug.stages.propose.docstrings import returned_by_docstring


@pytest.mark.parametrize(
    ("rows", "neutral", "answers"),
    [
        ('"given, expected", [(1, None), (2, "x"), (3, [])]', ("None", "[]"), ('"x"',)),
        ('["given", "expected"], [[None, 0]]', ("0",), ()),
        ('("given", "expected"), (pytest.param(1, "", id="none"),)', ('""',), ()),
        ('"expected", [None, 5]', ("None",), ("5",)),
        ('"given, other", [(None, 1)]', (), ()),
        ('"given, expected", ROWS', (), ()),
        ("NAMES, [(1, None)]", (), ()),
    ],
)
def test_rows_state_what_the_compared_names_are(rows: str, neutral: tuple[str, ...], answers: tuple[str, ...]) -> None:
    test = f"@mark.slow\n@mark.parametrize({rows})\ndef test_f(given, expected):\n    assert f(given) == expected\n"
    found = read_expectations(test, 4)
    assert (found.neutral, found.answers) == (neutral, answers)


def test_rows_are_read_for_unittest_methods_of_comparison_too() -> None:
    test = "@mark.parametrize('a, b', [(1, {})])\ndef test_f(self, a, b):\n    self.assertEqual(f(a), b)\n"
    assert read_expectations(test, 3).neutral == ("{}",)


@pytest.mark.parametrize(
    ("docstring", "expected"),
    [
        ("Find it.\n\n    Returns:\n        The user, or None if there is none.\n", ["None"]),
        ("Find it.\n\n    Returns\n    -------\n    list\n        The rows, an empty list without any.\n", ["[]"]),
        (
            "Find it.\n\n    :param x: None\n    :returns: the text, ``''`` if missing\n    :raises: KeyError\n",
            ['""'],
        ),
        ("Find it.\n\n    :rtype: dict\n    :return: an empty dict or False\n", ["{}", "False"]),
        ("Find it.\n\n    Return: -1 if it is not there, 0 if it is empty.\n", ["-1", "0"]),
        ("Find it.\n\n    @return: ``()`` or an empty set\n    @param x: None\n", ["()", "set()"]),
        ("Returns the user, None for nobody.\n", []),
        ("Find it.\n\n    Args:\n        x: None or -1.\n\n    Raises:\n        KeyError: with None.\n", []),
    ],
)
def test_return_sections_name_neutral_values(docstring: str, expected: list[str]) -> None:
    function = ast.parse(f'def f(x):\n    """{docstring}    """\n').body[0]
    assert [default.code for default in returned_by_docstring(function)] == expected


def test_without_a_function_or_a_docstring_nothing_is_said() -> None:
    assert list(returned_by_docstring(None)) == list(returned_by_docstring(ast.parse("def f(): pass").body[0])) == []
