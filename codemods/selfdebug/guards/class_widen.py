"""Guard: `isinstance(x, (int, float))` for `isinstance(x, int)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.scopes import is_dotted_name

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_FLOAT = Parameters(None, Test.IS_INSTANCE, ("float",))


class ClassWiden(Guard):
    """Adds a class to those that the condition about the receiver accepts; what it accepted stays accepted."""

    family = Family.CONDITION_PREFIX
    summary = "accept one more class"
    tests = frozenset({Test.IS_INSTANCE})
    examples = (
        Example("if not isinstance(«x», int): f()\n", "if not isinstance(x, (int, float)): f()\n", _FLOAT),
        Example(
            "y = isinstance( «a.b» , (int, str,) )  # plain\n",
            "y = isinstance( a.b , (int, str, float,) )  # plain\n",
            _FLOAT,
        ),
    )
    refusals = (
        Refusal("y = «x»\n", "asks for the class", _FLOAT),
        Refusal("y = isinstance(«x», (int, float))\n", "already", _FLOAT),
        Refusal("y = isinstance(«x», (*A, int))\n", "no plain class", _FLOAT),
        Refusal("y = isinstance(«x», int | str)\n", "no plain class", _FLOAT),
        Refusal("y = isinstance(«x», int)\n", "one class", Parameters(None, Test.IS_INSTANCE, ("a b",))),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        if len(parameters.classes) != 1 or not is_dotted_name(parameters.classes[0]):
            raise RefusedError("the condition is widened by one class")
        accepted = _accepted(site)
        known = accepted.elements if isinstance(accepted, cst.Tuple) else [cst.Element(accepted)]
        if not all(
            isinstance(each, cst.Element) and isinstance(each.value, cst.Name | cst.Attribute) for each in known
        ):
            raise RefusedError("what is accepted is no plain class")
        if any(site.code(each.value) == parameters.classes[0] for each in known):
            raise RefusedError("the class is accepted already")
        added = cst.Element(cst.parse_expression(parameters.classes[0]))
        return site.changed(accepted, _with(accepted, added))


def _accepted(site: Site) -> cst.BaseExpression:
    """The classes that the condition asks the receiver for."""
    argument = site.parent(site.receiver)
    call = site.parent(argument)
    if isinstance(call, cst.Call) and len(call.args) == 2 and site.code(call.func) == "isinstance":
        return call.args[1].value
    raise RefusedError("no condition asks for the class of the receiver")


def _with(accepted: cst.BaseExpression, added: cst.Element) -> cst.Tuple:
    if not isinstance(accepted, cst.Tuple):
        return cst.Tuple([cst.Element(accepted), added])
    *first, last = accepted.elements
    separated = last.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    return accepted.with_changes(elements=[*first, separated, added.with_changes(comma=last.comma)])
