"""What an edit of one statement costs, against a visit of the whole module with libcst.

    python -m benchmarks statement-edit [--rounds N] [--lines 500 2000 8000] [--folder PATH]

Both start from bytes and end with bytes; the visit does nothing but look, so it is the least that a codemod can cost.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import libcst

from benchmarks.measure import Timing, interleaved, report
from codemods.selfdebug.base import Parameters, Target
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span

FUNCTION = '''\
def total_{0}(orders, limit=10):
    """The total of some orders."""
    total = 0
    for order in orders[:limit]:
        if order.is_open and order.lines:  # those that count
            total += sum(line.price * line.count for line in order.lines)
    return {{"total": total, "count": len(orders), "limit": limit}}


def name_{0}(user):
    return user.name.title()


'''


def module(lines: int) -> bytes:
    """A module of about so many lines."""
    each = FUNCTION.count("\n")
    return "".join(FUNCTION.format(number) for number in range(max(1, lines // each))).encode()


def spliced(data: bytes) -> bytes:
    """Guard the last `user.name.title()`, one statement of the file."""
    source = Source.parse(data)
    line = data.count(b"\n") - 2
    start = len("    return ")
    target = Target(Span(line, start, line, start + len("user.name")), Span(line, start, line, start + len("user")))
    edit = source.apply(target, guards()["conditional-expression"], Parameters("None"))
    return edit.apply_to(data)


def visited(data: bytes) -> bytes:
    """Parse, visit and print the whole module."""
    return libcst.parse_module(data).visit(libcst.CSTTransformer()).bytes


def main(arguments: list[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="statement-edit", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lines", type=int, nargs="+", default=[500, 2_000, 8_000])
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    timings: list[Timing] = []
    for lines in options.lines:
        data = module(lines)
        if spliced(data) == data or visited(data) != data:
            raise SystemExit("an edit changes nothing, or a visit changes something")
        ways = {"a visit of the module": lambda: visited(data), "an edit of one statement": lambda: spliced(data)}  # noqa: B023 - called in this turn
        timings += interleaved(f"{lines} lines", ways, options.rounds)
    report("statement-edit", timings, options.folder)
    return 0
