"""Guard: `', '.join(map(str, xs))` for `', '.join(xs)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import About, Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.elements import argument_of
from codemods.selfdebug.scopes import is_dotted_name

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_STR = Parameters(None, Test.IS_INSTANCE, ("str",))


class ElementConversion(Guard):
    """Converts every element to the class that is needed, where a container is added up, joined or sorted."""

    family = Family.COERCION
    summary = "convert the elements to the class that is needed"
    tests = frozenset({Test.IS_INSTANCE})
    about = About.ELEMENTS
    lateness = -6  # it loses no element
    examples = (Example("x = ', '.join(«xs»)  # all\n", "x = ', '.join(map(str, xs))  # all\n", _STR),)
    refusals = (
        Refusal("x = ', '.join(«map(str, xs)»)\n", "already", _STR),
        Refusal("x = ', '.join(x for x in «xs»)\n", "no argument of its own", _STR),
        Refusal("x = ', '.join(«xs»)\n", "one class", Parameters(None, Test.IS_INSTANCE, ("str", "int"))),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        if len(parameters.classes) != 1 or not is_dotted_name(parameters.classes[0]):
            raise RefusedError("a conversion needs one class")
        argument = argument_of(site)
        if isinstance(site.receiver, cst.Call) and site.code(site.receiver.func) == "map":
            raise RefusedError("the elements are converted already")
        kind = cst.parse_expression(parameters.classes[0])
        call = cst.Call(cst.Name("map"), [cst.Arg(kind), cst.Arg(site.receiver)])
        return site.changed(argument, argument.with_changes(value=call))
