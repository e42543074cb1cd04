"""Probe: record what a failing statement saw, without changing what it does.

The statement is put into a `try` whose handler records the exception and the local names and raises it again, and a
recorder call goes around each evaluated expression. Both are pure insertions of ASCII text: no byte of the statement
is replaced, so continuation lines, multi-line strings and comments stay as they are, and `probe_removal` has only to
delete what was inserted.

    try:
        <statement, each expression E in it written as __selfdebug_probe__(ID, E)>
    except BaseException:
        __selfdebug_caught__(ID)
        raise

`__selfdebug_probe__(id, value)` has to return `value`, `__selfdebug_caught__(id)` finds the exception in
`sys.exc_info()`; whoever runs the file puts both into `builtins`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.logical_lines import LogicalLine, logical_lines, split_end
from codemods.selfdebug.probe_removal import CATCHER, RECORDER, is_probe, remove
from codemods.selfdebug.probe_unit import ProbeUnit, unit_at
from codemods.selfdebug.recorded import Recordable, recordable
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span, text_at

_INERT = (cst.Pass, cst.Break, cst.Continue, cst.Global, cst.Nonlocal, cst.TypeAlias)


@dataclass(frozen=True, slots=True)
class ProbedExpression:
    """A recorded expression: the number its recorder call carries, its place in the unprobed file, its source."""

    id: int
    span: Span
    code: str


@dataclass(frozen=True, slots=True)
class Probed:
    """A file with a probe in it.

    `id` is the probe's own number, `expressions` are in order of evaluation as far as that can be told, `statement` is
    the place of the wrapped statement in the unprobed file; in `source` its lines stand one line lower.
    """

    source: bytes
    id: int
    expressions: tuple[ProbedExpression, ...]
    statement: Span


def probe(source: bytes, at: int | Span, first_id: int = 1) -> Probed:
    """Put a probe around the statement at the 1-based line `at`, or around the one that contains the span `at`.

    The probe takes the number `first_id`, its expressions those that follow. Wrapped is the smallest statement with
    lines of its own: statements that share a line go together, an `elif` line takes its whole `if`. The AssertionError
    of an `assert` that pytest rewrites (those of test files) shows the recorder calls in its message; nothing else of
    what the program does changes. What runs later than the statement, a lambda's body, is recorded but not caught; of a
    function on one line the body is caught and not its defaults.

    Raises TargetNotFoundError when no statement stands there and RefusedError, with the reason, where a probe could
    change what the program means.
    """
    try:
        return _probed(source, at, first_id)
    except RecursionError as error:
        raise RefusedError("the statement is too deeply nested to be probed") from error


def _probed(source: bytes, at: int | Span, first_id: int) -> Probed:
    parsed = Source.parse(source)
    within = _whole_line(parsed, at) if isinstance(at, int) else at
    unit = unit_at(parsed, within.start_line)
    if not any(line.covers(within.start_line - unit.first_line) for line in logical_lines(unit.lines)):
        raise TargetNotFoundError(f"no statement at line {within.start_line}")
    _refuse_declarations(unit)
    found = list(recordable(unit, within))
    calls = _recorder_calls(unit, found, first_id + 1)
    text = _in_try(unit, _one_line_body(unit, within), calls, first_id)
    probed = unit.replaced_by(text).apply_to(source)
    _verify(unit, text, probed)
    expressions = tuple(
        ProbedExpression(number, entry.expression, text_at(parsed.lines, entry.expression))
        for number, entry in enumerate(found, first_id + 1)
    )
    return Probed(probed, first_id, expressions, unit.span)


# ---------------------------------------------------------------- where


def _whole_line(source: Source, line: int) -> Span:
    if not 1 <= line <= len(source.lines):
        raise TargetNotFoundError(f"the file has no line {line}")
    return Span(line, 0, line, len(source.lines[line - 1]))


def _one_line_body(unit: ProbeUnit, within: Span) -> cst.SimpleStatementSuite | None:
    """The body of a function on one line where `within` reaches it, it evaluates something and has no docstring."""
    function = unit.body[-1]
    if not isinstance(function, cst.FunctionDef) or not isinstance(function.body, cst.SimpleStatementSuite):
        return None
    start, end = unit.positions[function.body.body[0]], (within.end_line, within.end_column)
    is_reached = within.start_line >= start.start_line and (start.start_line, start.start_column) < end
    small = function.body.body
    return function.body if is_reached and not _is_constant(small[0]) and not _is_inert(small) else None


def _refuse_declarations(unit: ProbeUnit) -> None:
    """Refuse what has a meaning only where it stands, and what evaluates nothing."""
    small = [part for line in unit.body if isinstance(line, cst.SimpleStatementLine) for part in line.body]
    if any(_is_future_import(statement) for statement in small):
        raise RefusedError("a `from __future__` import has to stay at the top of the file")
    if small and _is_inert(small):
        raise RefusedError("the statement evaluates nothing")
    if small and _is_constant(small[0]):
        raise RefusedError("the line begins with a string or constant that may be a docstring")


def _is_inert(small: Sequence[cst.BaseSmallStatement]) -> bool:
    return all(isinstance(statement, _INERT) or _is_constant(statement) for statement in small)


def _is_future_import(statement: cst.BaseSmallStatement) -> bool:
    return (
        isinstance(statement, cst.ImportFrom)
        and isinstance(statement.module, cst.Name)
        and statement.module.value == "__future__"
    )


def _is_constant(statement: cst.BaseSmallStatement) -> bool:
    return isinstance(statement, cst.Expr) and isinstance(
        statement.value, cst.SimpleString | cst.ConcatenatedString | cst.BaseNumber | cst.Ellipsis
    )


# ---------------------------------------------------------------- in


@dataclass(frozen=True, slots=True)
class _Insertion:
    """Text for a place in the unit (0-based line and column); at one place the lower rank comes first."""

    line: int
    column: int
    rank: tuple[int, ...]
    text: str


def _recorder_calls(unit: ProbeUnit, found: list[Recordable], first_id: int) -> Iterator[_Insertion]:
    for number, entry in enumerate(found, first_id):
        span = entry.wrapped.shifted(-unit.first_line)
        outer_first = (2, -span.end_line, -span.end_column)
        yield _Insertion(span.start_line, span.start_column, outer_first, f"{RECORDER}({number}, ")
        yield _Insertion(span.end_line, span.end_column, (0,), ")")


def _inserted(lines: list[str], insertions: list[_Insertion]) -> list[str]:
    new = list(lines)
    for entry in sorted(insertions, key=lambda entry: (entry.line, entry.column, entry.rank), reverse=True):
        line = new[entry.line]
        new[entry.line] = line[: entry.column] + entry.text + line[entry.column :]
    return new


def _in_try(unit: ProbeUnit, body: cst.SimpleStatementSuite | None, calls: Iterable[_Insertion], number: int) -> str:
    """The unit in a `try`, or only the `body` of a function on one line: there the statement runs when it is called.

    What ended the last line of the unit, perhaps nothing, now ends the `raise`.
    """
    logical = logical_lines(unit.lines)
    step, margin, newline = _step(unit, logical), unit.margin, _newline(unit)
    if body is None:
        head = f"{margin}try:{newline}"
        layout = [_Insertion(line.first, line.column, (1,), step) for line in logical]
    else:
        head, margin = "", margin + step
        place = unit.positions[body.body[0]]
        layout = [_Insertion(place.start_line - unit.first_line, place.start_column, (1,), f"{newline}{margin}try: ")]
    text, end = split_end("".join(_inserted(unit.lines, [*layout, *calls])))
    handler = [f"{margin}except BaseException:", f"{margin}{step}{CATCHER}({number})", f"{margin}{step}raise"]
    return head + newline.join([text, *handler]) + end


def _newline(unit: ProbeUnit) -> str:
    """The line end of the unit, or of the file where the unit has none."""
    return next((end for line in (unit.lines[-1], unit.source.lines[0]) if (end := split_end(line)[1])), "\n")


def _step(unit: ProbeUnit, logical: list[LogicalLine]) -> str:
    """What is appended to the indentation of each line.

    The same number of blanks behind every indentation keeps all of Python's comparisons between them as they were,
    whatever mixture of tabs, blanks and form feeds they are made of; a tab does so only where there are only tabs.
    """
    margins = {unit.lines[line.first][: line.column] for line in logical}
    has_tabs_only = not "".join(margins).strip("\t")
    return "\t" if has_tabs_only and (any(margins) or "\n\t" in unit.source.text) else "    "


def _verify(unit: ProbeUnit, text: str, probed: bytes) -> None:
    """Refuse a probe that does not compile, means anything else than the statement, or cannot be taken out again."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(probed.decode(unit.source.encoding).removeprefix("\ufeff"), "<probed>", "exec", dont_inherit=True)
            trees = [ast.parse(unit.enclosing + lines) for lines in ("".join(unit.lines), text)]
    except SyntaxError as error:
        raise RefusedError(f"the statement does not compile inside a probe: {error}") from error
    before, after = (ast.dump(_Unwrapped().visit(tree)) for tree in trees)
    if before != after or remove(probed) != remove(unit.source.data):
        raise RefusedError("a probe would change the statement or could not be taken out again without a trace")


class _Unwrapped(ast.NodeTransformer):
    """The tree without recorder calls and without the `try` around the statement."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return node.args[1] if isinstance(node.func, ast.Name) and node.func.id == RECORDER else node

    def visit_Try(self, node: ast.Try) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return node.body if is_probe(node) else node
