"""Which elements a call takes from its argument: those that a comprehension gives, or those of a container."""

from __future__ import annotations

import pytest

from codemods.selfdebug.dereferences import Operation, dereferences
from codemods.selfdebug.source import Source


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("sum(u.n for u in us)", [(Operation.ELEMENT, "u.n")]),
        ("sorted([u.n for u in us], reverse=True)", [(Operation.ELEMENT, "u.n")]),
        ("', '.join({u.n for u in us})", [(Operation.ELEMENT, "u.n")]),
        ("max(xs, default=0)", [(Operation.ELEMENTS, "xs")]),
        ("sum(xs, 1)", [(Operation.ELEMENTS, "xs")]),
        ("math.fsum(self.xs)", [(Operation.ELEMENTS, "self.xs")]),
        ("max(a, b)", []),
        ("max(*xs)", []),
        ("xs.sort()", []),
        ("len(xs)", []),
    ],
)
def test_elements_of_a_call(code: str, expected: list[tuple[Operation, str]]) -> None:
    source = Source.parse(f"x = {code}\n".encode())
    uses = dereferences(source, source.tree.body[0])
    kinds = (Operation.ELEMENT, Operation.ELEMENTS)
    assert [(use.operation, use.code) for use in uses if use.operation in kinds] == expected
