"""Guard: `try: ... except KeyError: return D` around one statement."""

from __future__ import annotations

import ast
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
from codemods.selfdebug.defaults import default_apart
from codemods.selfdebug.exceptions import handled
from codemods.selfdebug.exits import check_return
from codemods.selfdebug.runs import surely_bound_before
from codemods.selfdebug.scopes import bound_by

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_KEY_ERROR = Parameters(None, Test.NO_EXCEPTION, ("KeyError",))
_KEY_ERROR_0 = Parameters("0", Test.NO_EXCEPTION, ("KeyError",))


class TryAround(Guard):
    """Catches the one exception around the one statement: returns the default, assigns it, or goes on.

    It also hides the same exception raised anywhere below the statement, so other guards are better where they fit.
    """

    family = Family.HANDLER
    summary = "catch the exception around the statement"
    default_use = DefaultUse.OPTIONAL
    default_role = DefaultRole.RESULT
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example(
            "def f(d):\n    return ‹«d»['k']›  # k\n",
            "def f(d):\n    try:\n        return d['k']  # k\n    except KeyError:\n        return 0\n",
            _KEY_ERROR_0,
        ),
        Example(
            "x = ‹«d»['k']›; y = 1\n",
            "try:\n    x = d['k']\nexcept KeyError:\n    x = 0\ny = 1\n",
            _KEY_ERROR_0,
        ),
        Example(
            "if a: ‹«d»['k']›.close()\n",
            "if a:\n    try:\n        d['k'].close()\n    except (KeyError, OSError):\n        pass\n",
            Parameters(None, Test.NO_EXCEPTION, ("KeyError", "OSError")),
        ),
    )
    refusals = (
        Refusal("try:\n    x = ‹«d»['k']›\nexcept KeyError: x = 1\n", "already", _KEY_ERROR_0),
        Refusal("for x in ‹«d»['k']›: pass\n", "more than one statement", _KEY_ERROR),
        Refusal("x = ‹«d»['k']›\n", "would have no value", _KEY_ERROR),
        Refusal("def f(d):\n    return ‹«d»['k']›\n", "needs a default", _KEY_ERROR),
        Refusal("f(lambda: ‹«d»['k']›)\n", "later", _KEY_ERROR),
        Refusal("g(‹«d»['k']›)\n", "no use for a default", _KEY_ERROR_0),
        Refusal("x.y = ‹«d»['k']›\n", "plain names", _KEY_ERROR_0),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        return handled(site, parameters, lambda: _fallback(site, parameters))


def _fallback(site: Site, parameters: Parameters) -> cst.BaseSmallStatement:
    holder = site.holder
    if isinstance(holder, cst.Return):
        check_return(site, parameters.default)
        return cst.Return(default_apart(site, parameters))
    if isinstance(holder, cst.Assign) and parameters.default is not None:
        if not all(_is_plain(target.target) for target in holder.targets):
            raise RefusedError("the default can be given to plain names only")
        return cst.Assign(list(holder.targets), default_apart(site, parameters))
    if parameters.default is not None:
        raise RefusedError("the statement has no use for a default")
    _refuse_unbound(site)
    return cst.Pass()


def _is_plain(target: cst.BaseExpression) -> bool:
    if isinstance(target, cst.Tuple):
        return all(_is_plain(element.value) for element in target.elements)
    return isinstance(target, cst.Name)


def _refuse_unbound(site: Site) -> None:
    """Raise RefusedError when the statement binds a name that has no value otherwise."""
    node = site.statement.node
    needed = bound_by([node]) - surely_bound_before(site.statement)
    if needed and not isinstance(node, ast.AugAssign | ast.Delete):
        raise RefusedError("a name would have no value")
