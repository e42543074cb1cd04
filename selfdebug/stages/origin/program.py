"""The static side of a file: which clause stands on a line, what it binds, and which function a name belongs to.

A clause is a statement without the statements inside it, an `except` clause or a `case` clause: what one line event of
a trace stands for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from codemods.selfdebug.expressions import constant_of, last_name
from codemods.selfdebug.source import Clause, Source
from codemods.selfdebug.spans import Span, text_at

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.expr
"""What has names of its own: comprehensions too."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (ast.Module, ast.ClassDef, *FUNCTIONS, *COMPREHENSIONS)
_COMPREHENSION_NAMES: dict[type, str] = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}


@dataclass(frozen=True, eq=False)
class Program:
    """One parsed file of the project."""

    file: str
    source: Source

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for node in ast.walk(self.source.tree) for child in ast.iter_child_nodes(node)}

    @cached_property
    def _clauses(self) -> dict[int, list[Clause]]:
        """The clauses whose own code touches a line, in source order."""
        found: dict[int, list[Clause]] = {}
        nodes = (node for node in ast.walk(self.source.tree) if isinstance(node, Clause))
        for clause in sorted(nodes, key=_position):
            first, last = own_lines(clause)
            for line in range(first, last + 1):
                found.setdefault(line, []).append(clause)
        return found

    def clauses_at(self, line: int) -> Sequence[Clause]:
        """The clauses that a line event at `line` can stand for, in source order."""
        return self._clauses.get(line, ())

    @cached_property
    def _nodes(self) -> dict[int, list[tuple[Clause, ast.AST]]]:
        """The nodes of the clauses that touch a line: a trace asks for the same lines again and again."""
        return {
            line: [(clause, node) for clause in clauses for node in clause_nodes(clause)]
            for line, clauses in self._clauses.items()
        }

    @cached_property
    def _calls(self) -> dict[int, list[tuple[Clause, ast.Call]]]:
        found: dict[int, list[tuple[Clause, ast.Call]]] = {}
        for line, nodes in self._nodes.items():
            for clause, node in nodes:
                if isinstance(node, ast.Call):
                    found.setdefault(line, []).append((clause, node))
        return found

    def calls_at(self, line: int) -> Sequence[tuple[Clause, ast.Call]]:
        """The calls in the clauses that a line event at `line` can stand for."""
        return self._calls.get(line, ())

    @cached_property
    def _stored(self) -> dict[int, list[tuple[Clause, ast.Attribute | ast.Subscript]]]:
        found: dict[int, list[tuple[Clause, ast.Attribute | ast.Subscript]]] = {}
        for line, nodes in self._nodes.items():
            for clause, node in nodes:
                if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                    found.setdefault(line, []).append((clause, node))
        return found

    def stored_at(self, line: int) -> Sequence[tuple[Clause, ast.Attribute | ast.Subscript]]:
        """The attributes and items that the clauses at a line store or delete."""
        return self._stored.get(line, ())

    def stores_under(self, key: object) -> Sequence[tuple[Clause, ast.expr]]:
        """The clauses that store under a constant key, each with the expression of the container."""
        return self._stores_by_key.get(key, ())

    @cached_property
    def _stores_by_key(self) -> dict[object, list[tuple[Clause, ast.expr]]]:
        found: dict[object, list[tuple[Clause, ast.expr]]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                constant = constant_of(node.slice)
                clause = self.clause_of(node)
                if clause is not None and constant is not None:
                    found.setdefault(constant[0], []).append((clause, node.value))
        return found

    def attribute(self, node: ast.Attribute) -> str:
        """The name of an attribute as it is in the object: with that of the class, where it is private to it."""
        name = node.attr
        if not name.startswith("__") or name.endswith("__"):
            return name
        owner = next((around.name for around in self.around(node) if isinstance(around, ast.ClassDef)), "")
        return f"_{owner.lstrip('_')}{name}" if owner else name

    def attributes_set(self, method: ast.AST, owner: str) -> Iterator[tuple[Clause, str]]:
        """The clauses of a method that store an attribute of the object that it calls `owner`."""
        for node in ast.walk(method):
            match node:
                case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()) if name == owner:
                    clause = self.clause_of(node)
                    if clause is not None:
                        yield clause, self.attribute(node)

    def clause_of(self, node: ast.AST) -> Clause | None:
        """The clause to which an expression belongs."""
        while not isinstance(node, Clause):
            if node not in self.parents:
                return None
            node = self.parents[node]
        return node

    def scope_of(self, node: ast.AST) -> Scope:
        """The innermost scope around a node (for a function: the one in which it is defined)."""
        below, node = node, self.parents[node]
        while not isinstance(node, _SCOPES) or _is_outside(below, node):
            below, node = node, self.parents[node]
        return node

    def around(self, clause: ast.AST, scope: ast.AST | None = None) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first, up to `scope` (left out) or the module."""
        node: ast.AST | None = clause
        while node is not None and (node := self.parents.get(node)) is not scope and node is not None:
            yield node

    @cached_property
    def _scopes(self) -> dict[tuple[str, int], Scope]:
        """The scopes by the name and the first line of their code objects."""
        found: dict[tuple[str, int], Scope] = {}
        for node in ast.walk(self.source.tree):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    found[node.name, node.lineno] = found[node.name, own_lines(node)[0]] = node
                case ast.Lambda():
                    found.setdefault(("<lambda>", node.lineno), node)
                case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                    found.setdefault((_COMPREHENSION_NAMES[type(node)], node.lineno), node)
        return found

    def scope_named(self, name: str, first_line: int) -> Scope | None:
        """The scope of a code object of that name and first line."""
        return self.source.tree if name == "<module>" else self._scopes.get((name, first_line))

    def text(self, node: ast.expr) -> str:
        """The source of an expression on one line."""
        return " ".join(text_at(self.source.lines, self.source.span(node)).split())

    def header(self, node: Clause) -> str:
        """The first line of a clause, without blanks around it."""
        first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
        return self.source.lines[first - 1].strip()

    def expression_at(self, span: Span) -> ast.expr | None:
        """The outermost expression that lies exactly at `span`."""
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.expr) and node.lineno == span.start_line and self.source.span(node) == span:
                return node
        return None

    @cached_property
    def imported_modules(self) -> frozenset[str]:
        """The last parts of the names of the modules that the file imports, or may import names from."""
        found: set[str] = set()
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                found |= {alias.name.rpartition(".")[2] for alias in node.names}
                found.add((getattr(node, "module", None) or "").rpartition(".")[2])
        return frozenset(found)

    @cached_property
    def globals_of(self) -> dict[str, list[ast.AST]]:
        """The functions that declare a name as global."""
        found: dict[str, list[ast.AST]] = {}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.Global):
                for name in node.names:
                    found.setdefault(name, []).append(self.scope_of(node))
        return found


def _is_outside(node: ast.AST, scope: ast.AST) -> bool:
    """Whether a part of a scope's node is evaluated outside of it: decorators, defaults, bases, the first iterable."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return node is scope.args or node in scope.decorator_list or node is scope.returns
    if isinstance(scope, ast.Lambda):
        return node is scope.args
    if isinstance(scope, ast.ClassDef):
        return node in scope.decorator_list or node in scope.bases or node in scope.keywords
    return False


def _position(clause: Clause) -> tuple[int, int]:
    node: ast.stmt | ast.excepthandler | ast.pattern = clause.pattern if isinstance(clause, ast.match_case) else clause
    return node.lineno, node.col_offset


def clause_nodes(clause: ast.AST) -> Iterator[ast.AST]:
    """The expressions and patterns of a clause that do not belong to a clause inside it, in source order."""
    for child in ast.iter_child_nodes(clause):
        if not isinstance(child, Clause):
            yield child
            yield from clause_nodes(child)


def own_lines(clause: Clause) -> tuple[int, int]:
    """The first and the last line of a clause's own code, decorators included."""
    lines = [line for node in clause_nodes(clause) for line in _lines(node)]
    first = [clause.lineno] if not isinstance(clause, ast.match_case) else []
    if isinstance(clause, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        lines = [*lines, clause.lineno]
    return min([*first, *lines]), max([*first, *lines])


def _lines(node: ast.AST) -> tuple[int, ...]:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return (first, last or first) if first is not None else ()


def evaluated(clause: ast.AST) -> Iterator[ast.AST]:
    """The own nodes of a clause that run in its own frame: not the inside of lambdas."""
    for child in ast.iter_child_nodes(clause):
        if not isinstance(child, Clause):
            yield child
            if not isinstance(child, ast.Lambda):
                yield from evaluated(child)


def in_order_of_evaluation(node: ast.AST) -> Iterator[ast.AST]:
    """The own expressions of a clause, arguments before the call that takes them."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case | ast.Lambda):
            yield from in_order_of_evaluation(child)
            yield child


def stored_names(clause: Clause) -> Iterator[tuple[str, ast.AST]]:
    """The names that a clause binds or deletes in its own scope, each with the node that does."""
    if isinstance(clause, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield clause.name, clause
        return
    if isinstance(clause, ast.Import | ast.ImportFrom):
        for alias in clause.names:
            yield alias.asname or alias.name.partition(".")[0], alias
    if isinstance(clause, ast.ExceptHandler) and clause.name:
        yield clause.name, clause
    yield from _stored(clause)


def _stored(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Clause | ast.Lambda):
            continue
        if isinstance(child, ast.Name) and not isinstance(child.ctx, ast.Load):
            yield child.id, child
        elif isinstance(child, ast.MatchAs | ast.MatchStar) and child.name:
            yield child.name, child
        elif isinstance(child, ast.MatchMapping) and child.rest:
            yield child.rest, child
        if isinstance(child, COMPREHENSIONS):
            yield from ((name, found) for name, found in _stored(child) if _is_walrus(child, found))
        else:
            yield from _stored(child)


def _is_walrus(comprehension: ast.AST, target: ast.AST) -> bool:
    return any(isinstance(node, ast.NamedExpr) and node.target is target for node in ast.walk(comprehension))


def key_of(node: ast.AST) -> str | None:
    """The key under which a trace records an expression: a name, or attributes and plain items of one."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            base = key_of(node.value)
            return f"{base}.{node.attr}" if base else None
        case ast.Subscript():
            base, index = key_of(node.value), _index_of(node.slice)
            return f"{base}[{index}]" if base and index else None
    return None


def _index_of(node: ast.expr) -> str | None:
    constant = constant_of(node)
    return repr(constant[0]) if constant is not None else key_of(node)


def called_name(node: ast.expr) -> str:
    """The last part of a name; of a call, and so of a decorator with arguments, that of what is called."""
    return called_name(node.func) if isinstance(node, ast.Call) else last_name(node)
