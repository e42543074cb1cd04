"""Guard: `self.x = None` at the start of `__init__`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import DefaultUse, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.defaults import default_apart
from codemods.selfdebug.edits import insert_at_unit, line
from codemods.selfdebug.sites import require_function
from codemods.selfdebug.source import Level, Statement
from codemods.selfdebug.units import line_unit

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_MISSING = Parameters("None", Test.NO_EXCEPTION, ("AttributeError",))


class InitialiseAttribute(Guard):
    """Gives an attribute of `self` a value at the start of `__init__`, below its docstring."""

    family = Family.INITIALISATION
    summary = "give the attribute a value in __init__"
    default_use = DefaultUse.REQUIRED
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example(
            "class A:\n    def __init__(self, x):\n        '''An A.'''\n        self.x = x\n\n"
            "    def f(self):\n        return ‹«self».y›\n",
            "class A:\n    def __init__(self, x):\n        '''An A.'''\n        self.y = None\n        self.x = x\n\n"
            "    def f(self):\n        return self.y\n",
            _MISSING,
        ),
    )
    refusals = (
        Refusal("def f(x):\n    return ‹«x».y›\n", "no method", _MISSING),
        Refusal("class A:\n    def f(self):\n        return ‹«self».y›\n", "no __init__", _MISSING),
        Refusal("class A:\n    def f(self, b):\n        return ‹«b».y›\n", "not of the object", _MISSING),
        Refusal("class A:\n    def f(self, b):\n        return «b»\n", "no attribute", _MISSING),
        Refusal(
            "class A:\n    def __init__(self): self.x = 1\n    def f(self):\n        return ‹«self».y›\n",
            "its own line", _MISSING,
        ),
        Refusal(
            "class A:\n    def __init__(self):\n        self.y = 1\n    def f(self):\n        return ‹«self».y›\n",
            "already", _MISSING,
        ),
    )  # fmt: skip

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        attribute = _own_attribute(site)
        statement = _start_of_init(site, attribute.attr.value)
        target = cst.AssignTarget(cst.Attribute(cst.Name(_self_of(statement.owner)), attribute.attr))
        new = line(cst.Assign([target], default_apart(site, parameters)))
        unit = line_unit(site.source, statement, whole=False)
        if unit.levels[-1].owner is not statement.owner:
            raise RefusedError("the first statement of __init__ does not start its own line")
        return insert_at_unit(unit, [new])


def _own_attribute(site: Site) -> cst.Attribute:
    node = site.expression
    function = require_function(site)
    if not isinstance(node, cst.Attribute):
        raise RefusedError("the dereference is no attribute")
    if not isinstance(_owner_of(site, function), ast.ClassDef):
        raise RefusedError("the statement is in no method")
    if not (isinstance(node.value, cst.Name) and node.value.value == _self_of(function)):
        raise RefusedError("the attribute is not of the object itself")
    return node


def _owner_of(site: Site, function: ast.AST) -> ast.AST:
    return next(level.owner for level in site.statement.levels if level.node is function)


def _self_of(function: ast.AST) -> str:
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    arguments = [*function.args.posonlyargs, *function.args.args]
    return arguments[0].arg if arguments else ""


def _start_of_init(site: Site, attribute: str) -> Statement:
    """The first statement of the class's `__init__` after its docstring."""
    function = site.function
    depth = next(place for place, level in enumerate(site.statement.levels) if level.node is function)
    level = site.statement.levels[depth]
    for index, node in enumerate(level.siblings):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            if _stores(node, attribute):
                raise RefusedError("__init__ gives the attribute a value already")
            first = 1 if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1 else 0
            inner = Level(node, "body", first)
            return Statement((*site.statement.levels[:depth], Level(level.owner, level.block, index), inner))
    raise RefusedError("the class has no __init__ of its own")


def _stores(node: ast.AST, attribute: str) -> bool:
    return any(
        isinstance(each, ast.Attribute) and each.attr == attribute and isinstance(each.ctx, ast.Store)
        for each in ast.walk(node)
    )
