"""Which expressions of a unit a probe may record, and where a recorder call goes around each of them.

A recorder call takes a value and gives it back, so only an expression that is loaded for its value may stand in one.
Read off the concrete syntax tree rather than `ast`, whose positions inside f-strings are wrong before Python 3.12.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch

import libcst as cst

from codemods.selfdebug.probe_unit import ProbeUnit
from codemods.selfdebug.spans import Span

# Names that the compiler or the interpreter looks at, and constants that only look like names.
_UNTOUCHED_NAMES = frozenset(
    {"None", "True", "False", "__debug__", "__class__", "super", "locals", "globals", "vars", "dir", "eval", "exec"}
    | {"__import__", "__selfdebug_probe__", "__selfdebug_caught__"}
)
# Expressions that are written down rather than computed (their parts still are), or that cannot be an argument.
_NEVER_RECORDED = (
    cst.BaseNumber,
    cst.SimpleString,
    cst.TemplatedString,
    cst.Ellipsis,
    cst.Lambda,
    cst.StarredElement,
)
_KEEPS_PARENTHESES = (cst.Tuple, cst.GeneratorExp, cst.Yield)


@dataclass(frozen=True, slots=True)
class Recordable:
    """An expression of the file, and the (larger or equal) stretch that a recorder call is put around."""

    expression: Span
    wrapped: Span


def recordable(unit: ProbeUnit, within: Span) -> Iterator[Recordable]:
    """The expressions of `unit` that may be recorded, as nearly as possible in the order of their evaluation.

    Of a compound statement these are the expressions of its header (of an `if`, those of its `elif` lines too) and of
    those one-line suites that overlap `within`; of a line with semicolons, the statements that overlap `within`.
    """
    walk = _Walk(unit, within)
    for node in unit.body:
        yield from walk.visit(node)


@dataclass(frozen=True, slots=True)
class _Walk:
    unit: ProbeUnit
    within: Span

    def visit(self, node: cst.CSTNode) -> Iterator[Recordable]:
        if isinstance(node, cst.IndentedBlock):
            return
        if isinstance(node, cst.BaseSmallStatement) and not _overlap(self.unit.positions[node], self.within):
            return
        for part in _parts(node):
            yield from self.visit(part)
        span = self._wrapped(node) if isinstance(node, cst.BaseExpression) and _is_computed(node) else None
        if span is not None and self._may_begin_call(span):
            yield Recordable(self.unit.positions[node], span)

    def _wrapped(self, node: cst.BaseExpression) -> Span | None:
        """What the call goes around: mostly what stands inside the parentheses, so that they stay where they are."""
        if not isinstance(node, _KEEPS_PARENTHESES):
            return self.unit.positions[node]
        if not node.lpar:
            return None
        opening, closing = self.unit.positions[node.lpar[0]], self.unit.positions[node.rpar[-1]]
        return Span(opening.start_line, opening.start_column, closing.end_line, closing.end_column)

    def _may_begin_call(self, span: Span) -> bool:
        """Whether a name may start here: in `return[x]` it would grow together with the keyword."""
        before = self.unit.lines[span.start_line - self.unit.first_line][: span.start_column][-1:]
        return not (before == "_" or before.isalnum())


def _is_computed(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Name():
            return node.value not in _UNTOUCHED_NAMES
        case cst.UnaryOperation():
            return not isinstance(node.expression, cst.BaseNumber)
        case cst.ConcatenatedString():
            return any(isinstance(part, cst.FormattedString) for part in _joined(node))
    return not isinstance(node, _NEVER_RECORDED)


def _overlap(one: Span, other: Span) -> bool:
    return (one.start_line, one.start_column) <= (other.end_line, other.end_column) and (
        other.start_line,
        other.start_column,
    ) <= (one.end_line, one.end_column)


# ---------------------------------------------------------------- what of a node is evaluated, and in what order


def _evaluated(*found: cst.CSTNode | Sequence[cst.CSTNode] | cst.MaybeSentinel | None) -> list[cst.CSTNode]:
    nodes: list[cst.CSTNode] = []
    for entry in found:
        if isinstance(entry, cst.CSTNode):
            nodes.append(entry)
        elif isinstance(entry, Sequence):
            nodes.extend(entry)
    return nodes


@singledispatch
def _parts(node: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The children of `node` whose evaluation belongs to that of `node`, in that order."""
    return node.children


@_parts.register
def _nothing(
    _node: cst.Import | cst.ImportFrom | cst.Global | cst.Nonlocal | cst.TypeAlias | cst.MatchPattern | cst.Annotation,
) -> Sequence[cst.CSTNode]:
    return ()


@_parts.register
def _no_parts(_node: cst.SimpleString | cst.TemplatedString | cst.Name) -> Sequence[cst.CSTNode]:
    return ()


def _stored(target: cst.CSTNode) -> list[cst.CSTNode]:
    """What is evaluated in order to store into `target` or to delete it: receivers and subscripts, not the target."""
    match target:
        case cst.Attribute():
            return [target.value]
        case cst.Subscript():
            return _evaluated(target.value, target.slice)
        case cst.Tuple() | cst.List():
            return [part for element in target.elements for part in _stored(element.value)]
    return []


@_parts.register
def _assign(node: cst.Assign) -> Sequence[cst.CSTNode]:
    return _evaluated(node.value, [part for target in node.targets for part in _stored(target.target)])


@_parts.register
def _annotated(node: cst.AnnAssign) -> Sequence[cst.CSTNode]:
    return _evaluated(node.value, _stored(node.target))


@_parts.register
def _augmented(node: cst.AugAssign) -> Sequence[cst.CSTNode]:
    return _evaluated(_stored(node.target), node.value)


@_parts.register
def _delete(node: cst.Del) -> Sequence[cst.CSTNode]:
    return _stored(node.target)


@_parts.register
def _named(node: cst.NamedExpr) -> Sequence[cst.CSTNode]:
    return (node.value,)


@_parts.register
def _attribute(node: cst.Attribute) -> Sequence[cst.CSTNode]:
    return (node.value,)


@_parts.register
def _argument(node: cst.Arg) -> Sequence[cst.CSTNode]:
    return (node.value,)


@_parts.register
def _conditional(node: cst.IfExp) -> Sequence[cst.CSTNode]:
    return node.test, node.body, node.orelse


@_parts.register
def _loop(node: cst.For) -> Sequence[cst.CSTNode]:
    return _evaluated(node.iter, _stored(node.target), node.body, node.orelse)


@_parts.register
def _comprehension(node: cst.BaseSimpleComp) -> Sequence[cst.CSTNode]:
    return node.for_in, node.elt


@_parts.register
def _dictionary_comprehension(node: cst.DictComp) -> Sequence[cst.CSTNode]:
    return node.for_in, node.key, node.value


@_parts.register
def _comprehension_clause(node: cst.CompFor) -> Sequence[cst.CSTNode]:
    return _evaluated(node.iter, _stored(node.target), node.ifs, node.inner_for_in)


@_parts.register
def _with_item(node: cst.WithItem) -> Sequence[cst.CSTNode]:
    return _evaluated(node.item, _stored(node.asname.name) if node.asname else ())


@_parts.register
def _except(node: cst.ExceptHandler | cst.ExceptStarHandler) -> Sequence[cst.CSTNode]:
    return _evaluated(node.type, node.body)


@_parts.register
def _match(node: cst.Match) -> Sequence[cst.CSTNode]:
    return _evaluated(node.subject, node.cases)


@_parts.register
def _match_case(node: cst.MatchCase) -> Sequence[cst.CSTNode]:
    return _evaluated(node.guard, node.body)


@_parts.register
def _parameter(node: cst.Param) -> Sequence[cst.CSTNode]:
    return _evaluated(node.default)


@_parts.register
def _function(node: cst.FunctionDef) -> Sequence[cst.CSTNode]:
    return _evaluated(node.decorators, node.params, node.body)


@_parts.register
def _class(node: cst.ClassDef) -> Sequence[cst.CSTNode]:
    return _evaluated(node.decorators, node.bases, node.keywords, node.body)


def _joined(node: cst.ConcatenatedString) -> Iterator[cst.BaseString]:
    for side in (node.left, node.right):
        if isinstance(side, cst.ConcatenatedString):
            yield from _joined(side)
        else:
            yield side


@_parts.register
def _concatenated(node: cst.ConcatenatedString) -> Sequence[cst.CSTNode]:
    """Of the joined strings only the replacement fields; a call around one part would end the joining."""
    return [field for part in _joined(node) if isinstance(part, cst.FormattedString) for field in part.parts]


@_parts.register
def _replacement_field(node: cst.FormattedStringExpression) -> Sequence[cst.CSTNode]:
    """Nothing of `{x=}`: the text of its expression is part of the result."""
    return () if node.equal else _evaluated(node.expression, node.format_spec)


@_parts.register
def _boolean(node: cst.BooleanOperation) -> Sequence[cst.CSTNode]:
    """The operands: `a or b or c` is one operation, although libcst nests it."""
    left = node.left
    if isinstance(left, cst.BooleanOperation) and not left.lpar and type(left.operator) is type(node.operator):
        return [*_parts(left), node.right]
    return left, node.right
