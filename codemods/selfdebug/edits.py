"""The only place that builds statements: put some before one, wrap some, replace one, and carry comments along.

Where a statement shares its line with others (`a; b`) or sits in a one-line suite (`if x: a`), it is first given a line
of its own; what stood before and after it keeps its order, and the comment at the end stays at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.sites import Rewrite, Site, changed_in
from codemods.selfdebug.units import Unit

Replacement = Callable[[cst.BaseStatement], Sequence[cst.BaseStatement]]
"""Takes a statement on lines of its own and gives the statements that stand for it."""


def replace_statement(site: Site, make: Replacement) -> Rewrite:
    """The unit with the statement that holds the receiver replaced by what `make` gives."""
    return replace_holder(site, site.holder, make)


def replace_holder(site: Site, holder: cst.CSTNode, make: Replacement) -> Rewrite:
    """The unit with the statement `holder` replaced by what `make` gives."""
    parent = site.parent(holder)
    if isinstance(parent, cst.SimpleStatementLine):
        old: cst.BaseStatement = parent
        new = _in_line(parent, parent.leading_lines, parent.trailing_whitespace, holder, make)
    elif isinstance(parent, cst.SimpleStatementSuite):
        lines = _in_line(parent, (), parent.trailing_whitespace, holder, make)
        return site.changed(parent, cst.IndentedBlock(body=lines))
    else:
        assert isinstance(holder, cst.BaseCompoundStatement)  # clauses of a try or match were refused before
        old = holder
        new = _with_leading(make(with_leading_lines(old, ())), leading_lines(old))
    return _in_block(site, old, new)


def _in_line(
    line: cst.SimpleStatementLine | cst.SimpleStatementSuite,
    leading: Sequence[cst.EmptyLine],
    trailing: cst.TrailingWhitespace,
    holder: cst.CSTNode,
    make: Replacement,
) -> list[cst.BaseStatement]:
    index = next(place for place, small in enumerate(line.body) if small is holder)
    before, after = line.body[:index], line.body[index + 1 :]
    own = line.body[index] if not after else _without_semicolon(line.body[index])
    ended = cst.TrailingWhitespace(newline=cst.Newline()) if after else trailing
    new = list(make(cst.SimpleStatementLine(body=[own], trailing_whitespace=ended)))
    if before:
        new.insert(0, cst.SimpleStatementLine(body=[*before[:-1], _without_semicolon(before[-1])]))
    if after:
        new.append(cst.SimpleStatementLine(body=after, trailing_whitespace=trailing))
    return _with_leading(new, leading)


def _without_semicolon(small: cst.BaseSmallStatement) -> cst.BaseSmallStatement:
    return small.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)


def _in_block(site: Site, old: cst.BaseStatement, new: Sequence[cst.BaseStatement]) -> Rewrite:
    block = site.parent(old)
    assert isinstance(block, cst.IndentedBlock | cst.Module)  # an elif was refused before
    body: list[cst.CSTNode] = []
    for statement in block.body:
        body.extend(new if statement is old else [statement])
    if isinstance(block, cst.Module):
        return Rewrite(site.unit, block.with_changes(body=body))
    return site.changed(block, block.with_changes(body=body))


def replace_run(
    site: Site, count: int, make: Callable[[Sequence[cst.BaseStatement]], Sequence[cst.BaseStatement]]
) -> Rewrite:
    """As `replace_statement`, for the statement and those that follow it in its block, `count` in all.

    Raises RefusedError when the later ones do not stand on lines of their own.
    """
    if count == 1:
        return replace_statement(site, lambda statement: make([statement]))
    parent = site.parent(site.holder)
    first = parent if isinstance(parent, cst.SimpleStatementLine) else site.holder
    block = site.parent(first)
    if not isinstance(block, cst.IndentedBlock) or not isinstance(first, cst.BaseStatement):
        raise RefusedError("the statements do not stand on lines of their own")
    start = next(place for place, each in enumerate(block.body) if each is first)
    run = block.body[start : start + count]
    if len(run) != count or not all(_is_single(each) for each in run):
        raise RefusedError("the statements do not stand on lines of their own")
    leading = leading_lines(first)
    new = _with_leading(make([with_leading_lines(first, ()), *run[1:]]), leading)
    body = [*block.body[:start], *new, *block.body[start + count :]]
    return site.changed(block, block.with_changes(body=body))


def _is_single(statement: cst.CSTNode) -> bool:
    return not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) == 1


def insert_at_unit(
    unit: Unit, new: Sequence[cst.BaseStatement], *, after: bool = False, blank_lines: int = 0
) -> Rewrite:
    """The unit with statements before its first statement, or after its last.

    At the level of a module so many `blank_lines` come between the new ones and the first.
    """
    module = unit.module
    if not unit.excerpt.prefix:
        gap = [cst.EmptyLine(indent=False)] * blank_lines
        first, *rest = module.body
        body = [*module.body, *new] if after else [*new, *_with_leading([first], [*gap, *leading_lines(first)]), *rest]
        return Rewrite(unit, module.with_changes(body=body))
    around = cst.ensure_type(module.body[0], cst.If)
    block = cst.ensure_type(around.body, cst.IndentedBlock)
    return changed_in(unit, block, block.with_changes(body=[*block.body, *new] if after else [*new, *block.body]))


def leading_lines(statement: cst.BaseStatement) -> Sequence[cst.EmptyLine]:
    """The blank lines and comments above a statement."""
    lines: Sequence[cst.EmptyLine] = getattr(statement, "leading_lines", ())
    return lines


def with_leading_lines(statement: cst.BaseStatement, lines: Sequence[cst.EmptyLine]) -> cst.BaseStatement:
    """The statement below other blank lines and comments."""
    return statement.with_changes(leading_lines=lines)


def _with_leading(statements: Sequence[cst.BaseStatement], lines: Sequence[cst.EmptyLine]) -> list[cst.BaseStatement]:
    first, *rest = statements
    return [with_leading_lines(first, lines) if lines else first, *rest]


def line(small: cst.BaseSmallStatement) -> cst.SimpleStatementLine:
    """A small statement on a line of its own."""
    return cst.SimpleStatementLine(body=[small])


def assignment(name: str, value: cst.BaseExpression) -> cst.SimpleStatementLine:
    """`name = value`."""
    return line(cst.Assign([cst.AssignTarget(cst.Name(name))], value))


def conditional(test: cst.BaseExpression, body: Sequence[cst.BaseStatement]) -> cst.If:
    """`if test:` over an indented body."""
    return cst.If(test=test, body=cst.IndentedBlock(body=body))


class _Continuations(cst.CSTTransformer):
    """Moves lines after a backslash along with their statement (lines inside brackets move by themselves)."""

    def __init__(self, indent: str) -> None:
        super().__init__()
        self.indent = indent

    def leave_SimpleWhitespace(  # noqa: N802 - the visitor's name for the node
        self, original_node: cst.SimpleWhitespace, updated_node: cst.SimpleWhitespace
    ) -> cst.SimpleWhitespace:
        return updated_node.with_changes(value=original_node.value.replace("\n", f"\n{self.indent}"))


def deeper(site: Site, statement: cst.BaseStatement) -> cst.BaseStatement:
    """The statement as it is written one level deeper."""
    moved = statement.visit(_Continuations(site.unit.module.default_indent))
    assert isinstance(moved, cst.BaseStatement)
    return moved


def attempt(
    body: Sequence[cst.BaseStatement],
    exceptions: cst.BaseExpression,
    fallback: Sequence[cst.BaseStatement],
    name: str | None = None,
) -> cst.Try:
    """`try:` over the body with one `except` clause, which may give the exception a name."""
    bound = cst.AsName(cst.Name(name)) if name else None
    handler = cst.ExceptHandler(type=exceptions, name=bound, body=cst.IndentedBlock(body=fallback))
    return cst.Try(body=cst.IndentedBlock(body=body), handlers=[handler])


def with_name(statement: cst.BaseStatement, subject: cst.BaseExpression, name: str | None) -> cst.BaseStatement:
    """The statement with `name` in the place of `subject` (unchanged without a name)."""
    if name is None:
        return statement
    changed = statement.deep_replace(subject, cst.Name(name))
    assert isinstance(changed, cst.BaseStatement)
    return changed
