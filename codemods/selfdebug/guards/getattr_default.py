"""Guard: `getattr(x, "name", D)` for `x.name`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import DefaultUse, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.defaults import default_for, expression_of, with_last_argument
from codemods.selfdebug.extent import refuse_stored

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_MISSING = Parameters("None", Test.NO_EXCEPTION, ("AttributeError",))


class GetattrDefault(Guard):
    """Reads an attribute that some objects do not have. Never for None: it would hide every misspelt name."""

    family = Family.LOOKUP_DEFAULT
    summary = "read the attribute with a default"
    default_use = DefaultUse.REQUIRED
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example("x = ‹«shape.outer».area› + 1\n", "x = getattr(shape.outer, 'area', None) + 1\n", _MISSING),
        Example("x = ‹getattr(«shape», 'area')› or 1\n", "x = getattr(shape, 'area', None) or 1\n", _MISSING),
    )
    refusals = (
        Refusal("x = ‹«shape»['area']›\n", "no attribute", _MISSING),
        Refusal("‹«shape».area› = 1\n", "assigned to", _MISSING),
        Refusal("class A:\n    x = ‹«shape».__area›\n", "private", _MISSING),
        Refusal("x = ‹«shape».area›\n", "cannot express", Parameters("None")),
        Refusal("x = ‹getattr(«shape», 'area', 0)›\n", "no attribute", _MISSING),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        node = site.expression
        if isinstance(node, cst.Call) and _has_room(node):
            return site.changed(
                node, node.with_changes(args=with_last_argument(node.args, default_for(site, parameters)))
            )
        if not isinstance(node, cst.Attribute):
            raise RefusedError("the dereference is no attribute")
        refuse_stored(site, node)
        name = node.attr.value
        if name.startswith("__") and not name.endswith("__"):
            raise RefusedError("a private name means something else in a string")
        arguments = [node.value, expression_of(site, repr(name)), default_for(site, parameters)]
        return site.replaced(node, cst.Call(cst.Name("getattr"), [cst.Arg(each) for each in arguments]))


def _has_room(call: cst.Call) -> bool:
    """Whether it is a `getattr` of two plain arguments."""
    is_getattr = isinstance(call.func, cst.Name) and call.func.value == "getattr"
    return is_getattr and len(call.args) == 2 and not any(each.star or each.keyword for each in call.args)
