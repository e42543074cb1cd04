"""What belongs to a function itself: its nodes, its statements, the defaults of its parameters."""

from __future__ import annotations

import ast

from codemods.selfdebug.scopes import own_nodes, own_statements, parameter_defaults

TEXT = """
def f():
    try:
        a
    except KeyError:
        b
    else:
        c
    finally:
        d
    def g():
        hidden
    class C:
        hidden
    match e:
        case 1:
            lambda: hidden
"""


def test_statements_come_in_the_order_of_the_source() -> None:
    (function,) = ast.parse(TEXT).body
    lines = [statement.lineno for statement in own_statements(function)]
    assert lines == [3, 4, 6, 8, 10, 11, 13, 15, 17]


def test_what_is_nested_in_a_function_has_its_own_nodes() -> None:
    (function,) = ast.parse(TEXT).body
    names = {node.id for node in own_nodes(function) if isinstance(node, ast.Name)}
    assert names == {"KeyError", "a", "b", "c", "d", "e"}


def test_a_thousand_alternatives_are_no_depth() -> None:
    choices = "".join(f"elif x == {number}:\n    {number}\n" for number in range(1, 1200))
    statements = list(own_statements(ast.parse(f"if x == 0:\n    0\n{choices}")))
    assert len(statements) == 2400


def test_parameters_with_a_default_are_told_with_it() -> None:
    (function,) = ast.parse("def f(a, /, b=1, *, c, d=2): ...").body
    assert isinstance(function, ast.FunctionDef)
    assert [(name, ast.unparse(value)) for name, value in parameter_defaults(function)] == [("b", "1"), ("d", "2")]
