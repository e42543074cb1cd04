"""A target located in its unit: the nodes of receiver and dereference, and what is evaluated around them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import libcst as cst

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.evaluation import Reach, Step, steps
from codemods.selfdebug.precedence import fit
from codemods.selfdebug.spans import Span, text_at
from codemods.selfdebug.units import Unit, is_elif, line_unit

if TYPE_CHECKING:
    from codemods.selfdebug.base import Target
    from codemods.selfdebug.source import Source, Statement

Change = Callable[[cst.CSTNode], cst.CSTNode]

Holder = cst.BaseSmallStatement | cst.BaseCompoundStatement | cst.ExceptHandler | cst.MatchCase


@dataclass(frozen=True, slots=True, eq=False)
class Rewrite:
    """What a guard gives back: the tree that takes the place of its unit's."""

    unit: Unit
    module: cst.Module


@dataclass(frozen=True, eq=False)
class Site:
    """Where a guard works. `expression` is the receiver itself where no single expression dereferences it."""

    source: Source
    target: Target
    statement: Statement
    unit: Unit
    expression: cst.BaseExpression
    receiver: cst.BaseExpression

    @cached_property
    def path(self) -> tuple[Step, ...]:
        """The steps from the receiver up to the statement that evaluates it."""
        return tuple(steps(self.unit.parents, self.receiver))

    @cached_property
    def holder(self) -> Holder:
        """The statement (or `except` or `case` clause) of the unit that evaluates the receiver."""
        top = self.path[-1].parent
        assert isinstance(top, Holder)
        return top

    @property
    def is_elif(self) -> bool:
        """Whether the receiver stands in the condition of an `elif`."""
        return is_elif(self.source, self.statement)

    @property
    def block_scope(self) -> ast.AST:
        """The function, class or module in which the statement runs."""
        scopes = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return next(
            (each.node for each in self.statement.ancestors() if isinstance(each.node, scopes)), self.source.tree
        )

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function in which the statement runs, if any."""
        scope = self.block_scope
        return scope if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef) else None

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The parent of a node of the unit."""
        return self.unit.parents[node]

    def code(self, node: cst.CSTNode) -> str:
        """The source of a node of the unit."""
        return self.unit.module.code_for_node(node)

    def steps_from(self, node: cst.CSTNode) -> tuple[Step, ...]:
        """The steps from `node` up to its statement."""
        return tuple(steps(self.unit.parents, node))

    def with_following(self, count: int) -> Site:
        """The same site in a unit of `count` statements of its block, from its own on (itself for one)."""
        if count == 1:
            return self
        unit = line_unit(self.source, self.statement, whole=True, count=count)
        return _located(self.source, self.target, self.statement, unit)

    def replaced(self, old: cst.BaseExpression, new: cst.BaseExpression) -> Rewrite:
        """The unit with `new` in the place of `old`, in the parentheses of `old` or in new ones where needed."""
        return replaced_in(self.unit, old, new)

    def changed_each(self, changes: Mapping[cst.CSTNode, Change]) -> Rewrite:
        """The unit with several nodes changed; each change gets its node with the changes below it made."""
        module = self.unit.module.visit(_Changes(changes))
        assert isinstance(module, cst.Module)
        return Rewrite(self.unit, module)

    def changed(self, old: cst.CSTNode, new: cst.CSTNode) -> Rewrite:
        """The unit with `new` in the place of `old`, just as it is."""
        return changed_in(self.unit, old, new)


def replaced_in(unit: Unit, old: cst.BaseExpression, new: cst.BaseExpression) -> Rewrite:
    """The unit with `new` in the place of `old`, in the parentheses of `old` or in new ones where needed."""
    has_own = bool(old.lpar)
    fitted = new.with_changes(lpar=old.lpar, rpar=old.rpar) if has_own else fit(new, unit.parents[old], old)
    return changed_in(unit, old, fitted)


def changed_in(unit: Unit, old: cst.CSTNode, new: cst.CSTNode) -> Rewrite:
    """The unit with `new` in the place of `old`, just as it is."""
    module = unit.module.deep_replace(old, new)
    assert isinstance(module, cst.Module)
    return Rewrite(unit, module)


class _Changes(cst.CSTTransformer):
    """Changes several nodes at once (libcst's own replacement copies the tree: a second one would miss its node)."""

    def __init__(self, changes: Mapping[cst.CSTNode, Change]) -> None:
        super().__init__()
        self.changes = changes

    def on_leave(self, original_node: cst.CSTNodeT, updated_node: cst.CSTNodeT) -> cst.CSTNodeT:
        change = self.changes.get(original_node)
        return updated_node if change is None else cast("cst.CSTNodeT", change(updated_node))


def bare(node: cst.BaseExpression) -> cst.BaseExpression:
    """`node` without the parentheses around it."""
    if isinstance(node, cst.GeneratorExp | cst.Tuple) or not node.lpar:
        return node
    return node.with_changes(lpar=(), rpar=())


def locate(source: Source, target: Target, *, whole: bool) -> Site:
    """Find the target. Raises TargetNotFoundError, or RefusedError where its surroundings cannot be parsed."""
    statement = source.statement_at(_checked(source, target.receiver))
    return _located(source, target, statement, line_unit(source, statement, whole=whole))


def _located(source: Source, target: Target, statement: Statement, unit: Unit) -> Site:
    receiver = expression_at(unit, target.receiver)
    expression = _expression_if_any(unit, target.expression) or receiver
    if not any(step.child is expression for step in steps(unit.parents, receiver)):
        raise TargetNotFoundError("the dereference does not contain the receiver")
    return Site(source, target, statement, unit, expression, receiver)


def _checked(source: Source, span: Span) -> Span:
    last = len(source.lines)
    if not 1 <= span.start_line <= span.end_line <= last or min(span.start_column, span.end_column) < 0:
        raise TargetNotFoundError(f"the file has no {_words(span)}")
    return span


def _words(span: Span) -> str:
    return f"line {span.start_line}, columns {span.start_column} to {span.end_line}:{span.end_column}"


def expression_at(unit: Unit, span: Span) -> cst.BaseExpression:
    """The expression at `span`, with or without the parentheses around it. Raises TargetNotFoundError for none."""
    found = _expression_if_any(unit, span)
    if found is None:
        raise TargetNotFoundError(f"no expression at {_words(span)}")
    return found


def _expression_if_any(unit: Unit, span: Span) -> cst.BaseExpression | None:
    found = _by_span(unit, [span])
    if found is None:
        found = _by_span(unit, _inside_parentheses(unit, span))
    return found


def _by_span(unit: Unit, spans: Sequence[Span]) -> cst.BaseExpression | None:
    for span in spans:
        for node, where in unit.positions.items():
            if where == span and isinstance(node, cst.BaseExpression) and _is_evaluated(unit, node):
                return node
    return None


def _is_evaluated(unit: Unit, node: cst.BaseExpression) -> bool:
    """Whether the node is an expression by itself, not the name of an attribute, keyword, parameter or function."""
    parent = unit.parents[node]
    if isinstance(parent, cst.Attribute):
        return node is parent.value
    if isinstance(parent, cst.Arg):
        return node is parent.value
    named = cst.Param | cst.FunctionDef | cst.ClassDef | cst.AsName | cst.ImportAlias | cst.NameItem
    if isinstance(parent, named):
        return isinstance(parent, cst.Param) and node is parent.default
    return True


def _inside_parentheses(unit: Unit, span: Span) -> list[Span]:
    """The spans of `(x)` less its parentheses and the blanks inside, one a layer."""
    lines = unit.source.lines
    if span.end_line > len(lines):
        return []
    text, layers = text_at(lines, span), []
    start = unit.source.offset(span.start_line, span.start_column)
    while text.startswith("(") and text.endswith(")"):
        inner = text[1:-1]
        start += 1 + len(inner) - len(inner.lstrip())
        text = inner.strip()
        layers.append(_span_of(unit.source, start, start + len(text)))
    return layers


def _span_of(source: Source, start: int, end: int) -> Span:
    before, through = source.text[:start], source.text[:end]
    return Span(
        before.count("\n") + 1,
        start - (before.rfind("\n") + 1),
        through.count("\n") + 1,
        end - (through.rfind("\n") + 1),
    )


def require_function(site: Site) -> ast.FunctionDef | ast.AsyncFunctionDef:
    """The function around the statement. Raises RefusedError outside functions."""
    if site.function is None:
        raise RefusedError("the statement is not inside a function")
    return site.function


def branches(path: Sequence[Step]) -> list[Step]:
    """The steps that depend on a condition. Raises RefusedError for one that is taken later or repeatedly."""
    if any(step.reach is Reach.OTHERWISE for step in path):
        raise RefusedError("the receiver is evaluated later, repeatedly or not always, apart from its statement")
    return [step for step in path if step.reach is not Reach.ALWAYS]


def earlier(path: Sequence[Step]) -> list[cst.CSTNode]:
    """Everything that the steps evaluate before the node they start from."""
    return [node for step in path for node in step.earlier]
