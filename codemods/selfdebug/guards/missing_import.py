"""Guard: `import json` below the other imports."""

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
from codemods.selfdebug.edits import insert_at_unit
from codemods.selfdebug.scopes import bound_by
from codemods.selfdebug.source import Level, Statement
from codemods.selfdebug.units import line_unit

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site
    from codemods.selfdebug.source import Source

_JSON = Parameters("import json", Test.NO_EXCEPTION)


class MissingImport(Guard):
    """Adds the import given as default after the module's other imports, or below its docstring."""

    family = Family.NAME
    summary = "import the module that the name stands for"
    default_use = DefaultUse.REQUIRED
    default_role = DefaultRole.IMPORT
    tests = frozenset({Test.NO_EXCEPTION})
    examples = (
        Example(
            "import os  # paths\n\nx = ‹«json».dumps›(os)\n",
            "import os  # paths\nimport json\n\nx = json.dumps(os)\n",
            _JSON,
        ),
        Example("'''Doc.'''\n\nx = ‹«json».dumps›(1)\n", "'''Doc.'''\n\nimport json\n\nx = json.dumps(1)\n", _JSON),
        Example(
            "'''Doc.'''\n\n\ndef f(x):\n    return ‹«json».dumps›(x)\n",
            "'''Doc.'''\n\n\nimport json\n\n\ndef f(x):\n    return json.dumps(x)\n",
            _JSON,
        ),
    )
    refusals = (
        Refusal("import json\nx = ‹«json».dumps›(1)\n", "already", _JSON),
        Refusal("x = ‹«jsno».dumps›(1)\n", "another name", _JSON),
        Refusal("x = ‹«f()».dumps›(1)\n", "no name", _JSON),
        Refusal("x = «a»\n", "no import", Parameters("a = 1", Test.NO_EXCEPTION)),
        Refusal("x = «a»\n", "no import", Parameters("import", Test.NO_EXCEPTION)),
        Refusal("x = «a»\n", "no import", Parameters("from __future__ import a", Test.NO_EXCEPTION)),
        Refusal("import b; x = «a»\n", "shares its line", Parameters("import a", Test.NO_EXCEPTION)),
    )

    def rewrite(self, site: Site, parameters: Parameters) -> Rewrite:
        """See the base class."""
        if not isinstance(site.receiver, cst.Name):
            raise RefusedError("the receiver is no name")
        name = site.receiver.value
        new = (parameters.default or "").strip()
        if name not in bound_by([_import(new)]):
            raise RefusedError("the import binds another name")
        if name in bound_by(site.source.tree.body):
            raise RefusedError("the module binds the name already")
        place, after = _place(site.source, site.statement.levels[0].index)
        unit = line_unit(site.source, place, whole=False)
        if unit.count > 1 and after:
            raise RefusedError("the last import before the use shares its line")
        return insert_at_unit(
            unit, [cst.parse_statement(new)], after=after, blank_lines=0 if after else _blank_lines(place)
        )


def _blank_lines(first: Statement) -> int:
    """How many blank lines part the imports from what comes first behind them."""
    return 2 if isinstance(first.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else 1


def _import(code: str) -> ast.stmt:
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError):
        body = []
    if len(body) != 1 or not isinstance(body[0], ast.Import | ast.ImportFrom):
        raise RefusedError("the default is no import")
    if isinstance(body[0], ast.ImportFrom) and body[0].module == "__future__":
        raise RefusedError("the default is no import of a name")
    return body[0]


def _place(source: Source, used: int) -> tuple[Statement, bool]:
    """The last import before the use (the new one goes after it), else the first statement below the docstring.

    `used` is the index of the module's statement that uses the name.
    """
    body = source.tree.body
    first = 1 if ast.get_docstring(source.tree, clean=False) is not None else 0
    imports = [index for index in range(used) if isinstance(body[index], ast.Import | ast.ImportFrom)]
    place = imports[-1] if imports else min(first, used)
    return Statement((Level(source.tree, "body", place),)), bool(imports)
