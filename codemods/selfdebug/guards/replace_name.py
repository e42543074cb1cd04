"""Guard: the name that was meant, for one that does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import (
    DefaultRole,
    DefaultUse,
    Example,
    Family,
    Guard,
    Parameters,
    Refusal,
    RefusedError,
    Test,
)
from codemods.selfdebug.scopes import is_dotted_name

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


class ReplaceName(Guard):
    """Puts the name given as default in the place of an undefined name, or of a missing attribute's name."""

    family = Family.NAME
    summary = "use the name that was meant"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.NAME
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example("x = «lenght» + 1\n", "x = length + 1\n", Parameters("length", Test.NO_EXCEPTION)),
        Example(
            "def f(self):\n    g(«name»)\n",
            "def f(self):\n    g(self.name)\n",
            Parameters("self.name", Test.NO_EXCEPTION),
        ),
        Example("x = ‹«text».stirp›()\n", "x = text.strip()\n", Parameters("strip", Test.NO_EXCEPTION)),
    )
    refusals = (
        Refusal("x = «f(a)»\n", "no name", Parameters("b", Test.NO_EXCEPTION)),
        Refusal("x = «a»\n", "no dotted name", Parameters("b + 1", Test.NO_EXCEPTION)),
        Refusal("x = ‹«a».b›\n", "no dotted name", Parameters("b.c", Test.NO_EXCEPTION)),
        Refusal("x = «a»\n", "changes nothing", Parameters("a", Test.NO_EXCEPTION)),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        node = site.expression
        name = parameters.default or ""
        parts = name.split(".")
        if not is_dotted_name(name) or (len(parts) > 1 and isinstance(node, cst.Attribute)):
            raise RefusedError("what is to be used instead is no dotted name")
        if isinstance(node, cst.Attribute):
            return site.changed(node.attr, cst.Name(parts[0]))
        if not isinstance(node, cst.Name):
            raise RefusedError("there is no name to replace")
        new: cst.BaseExpression = cst.Name(parts[0])
        for part in parts[1:]:
            new = cst.Attribute(new, cst.Name(part))
        return site.replaced(node, new)
