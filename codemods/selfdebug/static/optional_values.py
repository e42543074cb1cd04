"""Which expressions may be None by what the source says of them, and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from codemods.selfdebug.expressions import is_none
from codemods.selfdebug.scopes import parameter_defaults
from codemods.selfdebug.static.optional_functions import Function, GivesNone, allows_none

# Of the standard library, by dotted name; the number is that of the arguments with which None is the default.
_KNOWN = {
    "re.match": None,
    "re.search": None,
    "re.fullmatch": None,
    "shutil.which": None,
    "inspect.getmodule": None,
    "inspect.getdoc": None,
    "inspect.currentframe": None,
    "importlib.util.find_spec": None,
    "os.getenv": 1,
    "os.environ.get": 1,
}
_DICTS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "Counter", "ChainMap"})


@dataclass(frozen=True, slots=True)
class Names:
    """What names mean in a module: those that imports bind, as dotted names, and the functions that may give None.

    `functions` are keyed as a call names them after imports are resolved: `find`, `Shop.find`, `shop.register.find`.
    """

    tree: ast.Module
    imports: Mapping[str, str]
    functions: Mapping[str, GivesNone]

    @classmethod
    def of(cls, tree: ast.Module, functions: Mapping[str, GivesNone]) -> Names:
        """The names of a module; `functions` holds those of other modules under their dotted names, and its own."""
        return cls(tree, dict(imported_names(tree)), functions)

    def why_optional(self, node: ast.expr, scope: ast.AST, owner: ast.ClassDef | None) -> str | None:
        """Why an expression in `scope` (a method of `owner`) may be None; None where nothing says so."""
        if isinstance(node, ast.Await):
            return self._of_call(node.value, scope, owner, awaited=True) if isinstance(node.value, ast.Call) else None
        if isinstance(node, ast.IfExp):
            branches = [(node.body, node.orelse), (node.orelse, node.body)]
            return next(("one of its branches is None" for one, _ in branches if is_none(one)), None)
        if not isinstance(node, ast.Call):
            return None
        return self._of_call(node, scope, owner, awaited=False)

    def _of_call(self, node: ast.Call, scope: ast.AST, owner: ast.ClassDef | None, *, awaited: bool) -> str | None:
        name = self._dotted(node.func, owner)
        given = self.functions.get(name)
        if awaited or given is not None:
            return given.reason if given is not None and given.awaited is awaited else None
        count = len(node.args) + len(node.keywords)
        if name in _KNOWN and _KNOWN[name] in (None, count):
            return f"{ast.unparse(node.func)}() may find nothing"
        if name in ("next", "getattr") and node.args and is_none(node.args[-1]) and len(node.args) > 1:
            return f"the default of {name}() is None"
        is_get = isinstance(node.func, ast.Attribute) and node.func.attr == "get" and count == 1
        if is_get and isinstance(node.func, ast.Attribute) and self._is_dict(node.func.value, scope):
            return f"{ast.unparse(node.func.value)} may lack the key"
        return None

    def _dotted(self, node: ast.expr, owner: ast.ClassDef | None) -> str:
        """The dotted name of what is called, with its first part as imports bind it."""
        first, dot, rest = ast.unparse(node).partition(".")
        if first == "self" and owner is not None:
            return f"{owner.name}.{rest}"
        return self.imports.get(first, first) + dot + rest

    def _is_dict(self, node: ast.expr, scope: ast.AST) -> bool:
        if isinstance(node, ast.Dict | ast.DictComp):
            return True
        if not isinstance(node, ast.Name):
            return False
        bindings = list(_bindings(scope, node.id)) or list(_bindings(self.tree, node.id))
        return bool(bindings) and all(map(_gives_dict, bindings))


def imported_names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The names that absolute imports bind anywhere in a module, with the dotted names that they stand for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def parameter_reason(function: Function, name: str) -> str | None:
    """Why a parameter may be None: by its annotation, or by its default where it has no annotation."""
    given = function.args
    arguments = {each.arg: each for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    if name not in arguments:
        return None
    annotation = arguments[name].annotation
    if annotation is not None:
        return "its annotation allows None" if allows_none(annotation) else None
    default = dict(parameter_defaults(function)).get(name)
    return "its default is None" if default is not None and is_none(default) else None


def _bindings(scope: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """What a name is bound to in a scope: a value, an annotation, or None where that is something else."""
    for node in ast.walk(scope):
        if isinstance(node, ast.arg | ast.AnnAssign):
            bound = node.arg if isinstance(node, ast.arg) else ast.unparse(node.target)
            yield from [node.annotation] if bound == name else []
        elif isinstance(node, ast.Assign) and name in map(ast.unparse, node.targets):
            yield node.value
        elif isinstance(node, ast.For | ast.AsyncFor) and ast.unparse(node.target) == name:
            yield None


def _gives_dict(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func).rpartition(".")[2] in _DICTS
    if isinstance(node, ast.Subscript | ast.Name | ast.Attribute):
        whole = node.value if isinstance(node, ast.Subscript) else node
        return ast.unparse(whole).rpartition(".")[2] in _DICTS
    return isinstance(node, ast.Dict | ast.DictComp)
