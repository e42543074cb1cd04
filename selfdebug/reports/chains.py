"""The way of a value, for people and for programs: what `selfdebug why` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from selfdebug.model import Link, OriginChain
from selfdebug.terminal import Paint, Tone, one_line


def chains_document(chains: Sequence[OriginChain], sentence: str = "") -> dict[str, Any]:
    """The chains as plain data, each with its links from the receiver to the birth."""
    found = [
        {
            "node_id": chain.node_id,
            "expression": chain.expression,
            "links": [link_data(link) for link in chain.links],
            "sentence": chain.sentence,
        }
        for chain in chains
    ]
    return {"chains": found, "sentence": sentence}


def link_data(link: Link) -> dict[str, Any]:
    """One link as every JSON document names it."""
    return {
        "file": link.file,
        "line": link.line,
        "column": link.column,
        "function": link.function,
        "code": link.code,
        "value": link.value,
        "kind": link.kind,
        "evidence": link.evidence,
        "sentence": link.sentence,
    }


def chain_lines(chain: OriginChain, paint: Paint) -> Iterator[str]:
    """One chain as indented lines, from the crash back to the birth of the value."""
    yield paint(one_line(chain.node_id or "a failure without a test"), Tone.BAD)
    if chain.expression:
        yield from paint.folded(f"  Where {one_line(chain.expression)} came from:")
    if chain.sentence:
        yield from paint.folded(f"  {one_line(chain.sentence)}")
    for depth, link in enumerate(chain.links):
        indent = "  " * min(depth + 2, 12)
        place = paint(f"{one_line(link.file)}:{link.line}", Tone.PLACE)
        yield from paint.folded(f"{indent}{place}  {one_line(link.code)}", hanging=4)
        mark = paint(f"[{one_line(link.value)}, {link.evidence}]", Tone.FAINT)
        yield from paint.folded(f"{indent}  {one_line(link.sentence)} {mark}")
