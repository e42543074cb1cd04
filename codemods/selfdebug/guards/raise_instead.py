"""Guard: `try: ... except KeyError as error: raise X(...) from error` around one statement."""

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
from codemods.selfdebug.defaults import default_for
from codemods.selfdebug.exceptions import handled
from codemods.selfdebug.exits import refuse_no_exception
from codemods.selfdebug.scopes import mentioned

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_NAMES = ("error", "exc", "err", "cause")
_NOT_FOUND = Parameters("NotFound('name')", Test.NO_EXCEPTION, ("KeyError",))


class RaiseInstead(Guard):
    """Catches the one exception around the one statement and raises the one given as default, with its cause."""

    family = Family.HANDLER
    summary = "raise the exception that callers expect in place of the one that came"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.EXCEPTION
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example(
            "def f(d):\n    return ‹«d»['name']›  # given\n",
            "def f(d):\n"
            "    try:\n"
            "        return d['name']  # given\n"
            "    except KeyError as error:\n"
            "        raise NotFound('name') from error\n",
            _NOT_FOUND,
        ),
        Example(
            "def f(error):\n    if error: n = int(«error.code»); use(n)\n",
            "def f(error):\n"
            "    if error:\n"
            "        try:\n"
            "            n = int(error.code)\n"
            "        except ValueError as exc:\n"
            "            raise BadCode from exc\n"
            "        use(n)\n",
            Parameters("BadCode", Test.NO_EXCEPTION, ("ValueError",)),
        ),
    )
    refusals = (
        Refusal("try:\n    x = ‹«d»['k']›\nexcept KeyError: x = 1\n", "already", _NOT_FOUND),
        Refusal("for x in ‹«d»['k']›: pass\n", "more than one statement", _NOT_FOUND),
        Refusal("f(lambda: ‹«d»['k']›)\n", "later", _NOT_FOUND),
        Refusal("x = ‹«d»['k']›\n", "no exception", Parameters("1 + 1", Test.NO_EXCEPTION, ("KeyError",))),
        Refusal("x = ‹«d»['k']›\n", "the same", Parameters("KeyError()", Test.NO_EXCEPTION, ("KeyError",))),
        Refusal("error, exc, err, cause = ‹«d»['k']›\n", "name for the cause", _NOT_FOUND),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        cause = _free_name(site)

        def raising() -> cst.Raise:
            error = default_for(site, parameters)
            refuse_no_exception(error)
            if site.code(error.func if isinstance(error, cst.Call) else error) in parameters.classes:
                raise RefusedError("it would raise the same exception again")
            return cst.Raise(error, cst.From(cst.Name(cause)))

        return handled(site, parameters, raising, cause)


def _free_name(site: Site) -> str:
    """A name for the caught exception, which Python unbinds after the clause."""
    scope: ast.AST = site.function or site.source.tree
    taken = mentioned(scope)
    for name in _NAMES:
        if name not in taken:
            return name
    raise RefusedError("there is no free name for the cause")
