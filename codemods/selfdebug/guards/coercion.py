"""Guard: `str(x)`, `x.decode() if isinstance(x, bytes) else x`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.conditions import bind, condition_for
from codemods.selfdebug.extent import refuse_stored
from codemods.selfdebug.precedence import operand_of_or
from codemods.selfdebug.scopes import is_dotted_name
from codemods.selfdebug.sites import bare

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_TO_STR = Parameters(None, Test.NO_EXCEPTION, ("str",))
_BYTES_TO_STR = Parameters(None, Test.NO_EXCEPTION, ("bytes", "str"))
_METHODS = {("bytes", "str"): "decode", ("bytearray", "str"): "decode", ("str", "bytes"): "encode"}


class Coercion(Guard):
    """Converts the receiver to the last of the classes; with two classes only where it is of the first."""

    family = Family.COERCION
    summary = "convert the receiver to the class that is needed"
    tests = frozenset({Test.NO_EXCEPTION, Test.IS_INSTANCE})
    examples = (
        Example("x = 'n' + «n»\n", "x = 'n' + str(n)\n", _TO_STR),
        Example("x = 'n' + «n»\n", "x = 'n' + (n.decode() if isinstance(n, bytes) else n)\n", _BYTES_TO_STR),
        Example(
            "def f():\n    return 1 + «read()»\n",
            "def f():\n    return 1 + (int(found) if isinstance((found := read()), str) else found)\n",
            Parameters(None, Test.NO_EXCEPTION, ("str", "int")),
        ),
    )
    refusals = (
        Refusal("x = 'n' + «str(n)»\n", "already", _TO_STR),
        Refusal("x = 'n' + «n»\n", "one class or two", Parameters(None, Test.NO_EXCEPTION)),
        Refusal("x = 'n' + «n»\n", "no name", Parameters(None, Test.NO_EXCEPTION, ("a b",))),
        Refusal("«x» += 1\n", "assigned to", _TO_STR),
        Refusal("x = 'n' + (n.decode() if isinstance(n, bytes) else «n»)\n", "already", _BYTES_TO_STR),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        classes, receiver = parameters.classes, site.receiver
        refuse_stored(site, receiver)
        if not all(map(is_dotted_name, classes)):
            raise RefusedError("a class name is no name")
        if len(classes) == 1:
            return _always(site, classes[0])
        if len(classes) != 2:
            raise RefusedError("a conversion needs one class or two")
        _refuse_alternative(site)
        question = Parameters(None, Test.IS_INSTANCE, classes[:1])
        bound = bind(site, condition_for(site, question), receiver)
        value = bound.body(bare(receiver) if bound.name is None else receiver)
        converted = _converted(value, classes[0], classes[1])
        orelse = value.deep_clone()
        return site.replaced(receiver, cst.IfExp(test=bound.positive, body=converted, orelse=operand_of_or(orelse)))


def _always(site: Site, name: str) -> Rewrite:
    receiver = site.receiver
    code = site.code(site.parent(site.parent(receiver))) if len(site.path) > 1 else ""
    is_converted = isinstance(receiver, cst.Call) and site.code(receiver.func) == name
    if is_converted or code.startswith(f"{name}("):
        raise RefusedError("the receiver is converted already")
    return site.replaced(receiver, cst.Call(cst.parse_expression(name), [cst.Arg(bare(receiver))]))


def _converted(value: cst.BaseExpression, old: str, new: str) -> cst.BaseExpression:
    method = _METHODS.get((old, new))
    if method is not None:
        return cst.Call(cst.Attribute(value, cst.Name(method)))
    return cst.Call(cst.parse_expression(new), [cst.Arg(value)])


def _refuse_alternative(site: Site) -> None:
    """Raise RefusedError where the receiver is a branch of a conditional expression that asks for its class."""
    parent = site.parent(site.receiver)
    is_branch = isinstance(parent, cst.IfExp) and parent.orelse is site.receiver
    choice = parent if is_branch else site.receiver
    if isinstance(choice, cst.IfExp) and "isinstance(" in site.code(choice.test):
        raise RefusedError("the receiver is converted already")
