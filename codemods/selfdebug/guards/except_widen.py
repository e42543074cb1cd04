"""Guard: `except (ValueError, TypeError):` where only the first was caught."""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import Example, Family, Guard, Parameters, Refusal, RefusedError, Test
from codemods.selfdebug.exceptions import caught_by, exception_names, handler_to_widen, refuse_caught
from codemods.selfdebug.sites import changed_in, expression_at
from codemods.selfdebug.units import header_unit

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_TYPE_ERROR = Parameters(None, Test.NO_EXCEPTION, ("TypeError",))


class ExceptWiden(Guard):
    """Adds the exception that came through to the clause of the nearest `try` that recovers from such mistakes."""

    family = Family.HANDLER
    summary = "widen the handler around the statement by one exception"
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example(
            "try:\n    n = int(«s»)\nexcept ValueError as e:  # not a number\n    n = 1\n",
            "try:\n    n = int(s)\nexcept (ValueError, TypeError) as e:  # not a number\n    n = 1\n",
            _TYPE_ERROR,
        ),
        Example(
            "try:\n    n = int(«s»)\nexcept OSError: raise\nexcept (KeyError, IndexError,): n = 1\n",
            "try:\n    n = int(s)\nexcept OSError: raise\nexcept (KeyError, IndexError, TypeError,): n = 1\n",
            _TYPE_ERROR,
        ),
    )
    refusals = (
        Refusal("n = int(«s»)\n", "no except clause", _TYPE_ERROR),
        Refusal("try: n = int(«s»)\nexcept (A, TypeError): pass\n", "already", _TYPE_ERROR),
        Refusal("try: n = int(«s»)\nexcept: pass\n", "already", _TYPE_ERROR),
        Refusal("try: n = int(«s»)\nexcept ERRORS: pass\n", "no plain class", _TYPE_ERROR),
        Refusal(
            "try: n = int(«s»)\nexcept A: pass\n", "hide every mistake",
            Parameters(None, Test.NO_EXCEPTION, ("Exception",)),
        ),
        Refusal("try: n = int(«s»)\nexcept A: pass\n", "no exception class", Parameters(None, Test.NO_EXCEPTION)),
        Refusal(
            "try: n = int(«s»)\nexcept A: pass\n", "no name", Parameters(None, Test.NO_EXCEPTION, ("a b",))
        ),
    )  # fmt: skip

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        names = exception_names(parameters)
        refuse_caught(site, names)
        handler = handler_to_widen(site)
        node = handler.node
        assert isinstance(node, ast.ExceptHandler) and node.type is not None  # a bare one catches already
        if not all(_looks_like_class(name) for name in caught_by(node)):
            raise RefusedError("what the clause catches is no plain class")
        unit = header_unit(site.source, handler)
        old = expression_at(unit, site.source.span(node.type))
        return changed_in(unit, old, _widened(old, names))


def _looks_like_class(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.isidentifier() and (not last.isupper() or hasattr(builtins, last) or len(last) == 1)


def _widened(old: cst.BaseExpression, names: tuple[str, ...]) -> cst.BaseExpression:
    new = [cst.Element(cst.parse_expression(name)) for name in names]
    if isinstance(old, cst.Tuple):
        *first, last = old.elements
        separated = last.with_changes(comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
        return old.with_changes(elements=[*first, separated, *new[:-1], new[-1].with_changes(comma=last.comma)])
    return cst.Tuple([cst.Element(old.with_changes(lpar=(), rpar=())), *new])
