"""Places on the way of a bad value, from its birth to the crash, where a default would have kept it from going on.

Where an attribute got `None` from a parameter, each use of it crashes; one default where it is stored mends them all.
Only expressions that passed the value on are such places: what made it is for its own guards.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import text_at
from selfdebug.model import FaultLocation, Link, Receiver, Site
from selfdebug.stages.propose.expectations import enclosing_function
from selfdebug.stages.propose.records import LocatedSite
from selfdebug.stages.propose.signs import signs_at

_ON_THE_WAY = frozenset({"assignment", "attribute", "walrus", "return"})
_MOST = 4


def birth_sites(
    chain: Sequence[Link], location: FaultLocation, sources: Callable[[str], Source | str]
) -> Iterator[LocatedSite]:
    """The places on the way of the None that `location` is about; as receivers they are used as it is at the crash."""
    if not location.kind.is_none or not location.receivers:
        return
    used = location.receivers[0]
    on_the_way = (link for link in chain if link.kind in _ON_THE_WAY and link.value == "None")
    met = {(location.file, location.line)}
    for link in on_the_way:
        source = sources(link.file)
        if isinstance(source, str) or (link.file, link.line) in met or len(met) > _MOST:
            continue
        met.add((link.file, link.line))
        for statement in _passing_on(source.tree, link.line):
            yield _site(link, location, source, statement, used)


def _passing_on(tree: ast.Module, line: int) -> Iterator[ast.Assign | ast.AnnAssign | ast.Return]:
    """The statements that begin at the line and hand a value on which is no literal."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign | ast.AnnAssign | ast.Return)
            and node.lineno == line
            and node.value is not None
            and not isinstance(node.value, ast.Constant)
        ):
            yield node


def _is_in_one_function(tree: ast.Module, one: int, other: int) -> bool:
    return enclosing_function(tree, one) is enclosing_function(tree, other)


def _site(
    link: Link,
    location: FaultLocation,
    source: Source,
    statement: ast.Assign | ast.AnnAssign | ast.Return,
    used: Receiver,
) -> LocatedSite:
    assert statement.value is not None  # a bare annotation or return hands nothing on
    span, extent = source.span(statement.value), source.extent(statement)
    signs = signs_at(statement, source.tree)
    evidence = ", ".join(("origin", *signs))
    receiver = Receiver(span, span, text_at(source.lines, span), evidence, used.operation, used.name)
    is_near = link.file == location.file and _is_in_one_function(source.tree, link.line, location.line)
    code = text_at(source.lines, extent)
    found = FaultLocation(link.file, link.line, link.function, location.kind, extent, code, (receiver,))
    return LocatedSite(Site.FUNCTION if is_near else Site.ORIGIN, found, source, signs)
