"""Guard: `x = None` before the branch or loop that may or may not bind it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import DefaultUse, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.defaults import default_apart
from codemods.selfdebug.edits import assignment, insert_at_unit
from codemods.selfdebug.purity import is_named
from codemods.selfdebug.runs import surely_bound_before
from codemods.selfdebug.scopes import bound_by
from codemods.selfdebug.sites import Rewrite
from codemods.selfdebug.source import Level, Statement
from codemods.selfdebug.units import line_unit

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Site

_NAME_ERRORS = frozenset({"NameError", "UnboundLocalError"})


class InitialiseName(Guard):
    """Gives a name a value before the first statement of its scope that may bind it.

    Where the scope asks `'x' in locals()`, it asks `x is not None` instead (for None as the value, else it refuses).
    """

    family = Family.INITIALISATION
    summary = "give the name a value before the branch that may bind it"
    default_use = DefaultUse.REQUIRED
    tests = frozenset({Test.NOT_NONE, Test.NO_EXCEPTION})
    examples = (
        Example(
            "def f(words):\n    # look\n    for w in words:\n        if w: best = w\n    return «best»\n",
            "def f(words):\n    # look\n    best = None\n    for w in words:\n"
            "        if w: best = w\n    return best\n",
            Parameters("None"),
        ),
        Example(
            "def f(words):\n    for w in words:\n        if 'best' not in locals() or w > best:\n"
            "            best = w\n    return «best»\n",
            "def f(words):\n    best = None\n    for w in words:\n        if best is None or w > best:\n"
            "            best = w\n    return best\n",
            Parameters("None"),
        ),
        Example("if a:\n    x = 1\nprint(«x»)\n", "x = 0\nif a:\n    x = 1\nprint(x)\n", Parameters("0")),
    )
    refusals = (
        Refusal("def f(x):\n    return «x»\n", "surely has a value", Parameters("None")),
        Refusal("def f():\n    return «x»\n", "nowhere bound", Parameters("None")),
        Refusal("def f():\n    return ‹«x».y›\n", "nowhere bound", Parameters("None")),
        Refusal("def f(a):\n    return «a.b»\n", "no name", Parameters("None")),
        Refusal("def f():\n    global x\n    if a: x = 1\n    return «x»\n", "another scope", Parameters("None")),
        Refusal("def f():\n    if a: x = 1\n    del y, x\n    return «x»\n", "deleted", Parameters("None")),
        Refusal(
            "def f():\n    try:\n        return «x»\n    except NameError:\n        x = 1\n",
            "counts on",
            Parameters("1"),
        ),
        Refusal("def f():\n    if a: x = 1\n    vars()\n    return «x»\n", "asks which names", Parameters("0")),
        Refusal("def f():\n    if a: x = 1; return «x»\n", "surely has a value", Parameters("0")),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        name = _unbound_name(site)
        statement = _first_binding(site, name)
        default = default_apart(site, parameters)
        questions = _asked_locals(site.block_scope, statement.node, name)
        if questions and parameters.default != "None":
            raise RefusedError("the scope asks which names have a value")
        unit = line_unit(site.source, statement, whole=questions)
        if unit.levels[-1].owner is not statement.owner:
            raise RefusedError("the statement does not start its own line")
        rewrite = insert_at_unit(unit, [assignment(name, default)])
        return Rewrite(unit, _without_questions(rewrite.module, name)) if questions else rewrite


def _unbound_name(site: Site) -> str:
    if not isinstance(site.receiver, cst.Name):
        raise RefusedError("the receiver is no name")
    name, scope = site.receiver.value, site.block_scope
    if name in surely_bound_before(site.statement):
        raise RefusedError("the name surely has a value here")
    for node in ast.walk(scope):
        if isinstance(node, ast.Global | ast.Nonlocal) and name in node.names:
            raise RefusedError("the name belongs to another scope")
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Del):
            raise RefusedError("the name is deleted in this scope")
        if isinstance(node, ast.ExceptHandler) and node.type and _NAME_ERRORS & set(_names(node.type)):
            raise RefusedError("the scope counts on the error")
    return name


def _names(node: ast.expr) -> list[str]:
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def _first_binding(site: Site, name: str) -> Statement:
    """The first statement of the scope's own body that may bind the name."""
    depth = next((place for place, level in enumerate(site.statement.levels) if level.owner is site.block_scope), 0)
    level = site.statement.levels[depth]
    for index, node in enumerate(level.siblings):
        if name in bound_by([node]):
            return Statement((*site.statement.levels[:depth], Level(level.owner, level.block, index)))
    raise RefusedError("the name is nowhere bound in this scope")


def _asked_locals(scope: ast.AST, inside: ast.AST, name: str) -> bool:
    """Whether the scope asks `'name' in locals()`. Raises RefusedError where it looks at its names in another way."""
    calls = [node for node in ast.walk(scope) if _is_locals(node)]
    questions = [
        node
        for node in ast.walk(inside)
        if isinstance(node, ast.Compare)
        and isinstance(node.left, ast.Constant)
        and node.left.value == name
        and len(node.ops) == 1
        and isinstance(node.ops[0], ast.In | ast.NotIn)
        and _is_locals(node.comparators[0])
    ]
    if len(calls) != len(questions):
        raise RefusedError("the scope asks which names have a value")
    return bool(questions)


def _is_locals(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args
    return is_call and node.func.id in ("locals", "vars", "dir")  # type: ignore[attr-defined]  # seen one line above


def _without_questions(module: cst.Module, name: str) -> cst.Module:
    return module.visit(_Answered(name))


class _Answered(cst.CSTTransformer):
    """Asks about None where the module asked whether a name is bound."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def leave_Comparison(  # noqa: N802 - the visitor's name for the node
        self, original_node: cst.Comparison, updated_node: cst.Comparison
    ) -> cst.BaseExpression:
        """See the base class."""
        del original_node
        return _answer(updated_node, self._name) or updated_node


def _answer(node: cst.Comparison, name: str) -> cst.BaseExpression | None:
    """What stands for `'name' in locals()`; None for any other comparison."""
    match node:
        case cst.Comparison(
            left=cst.SimpleString(value=text),
            comparisons=[
                cst.ComparisonTarget(
                    operator=cst.In() | cst.NotIn() as operator, comparator=cst.Call(func=func, args=[])
                )
            ],
        ) if text.strip("'\"") == name and is_named(func, ("locals", "vars")):
            asked = cst.parse_expression(f"{name} {'is not' if isinstance(operator, cst.In) else 'is'} None")
            return asked.with_changes(lpar=node.lpar, rpar=node.rpar)
    return None
