"""The concrete syntax tree of a piece of a file: exact to the byte, with the places of its nodes in the whole file."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.spans import Span, from_code_range


def exact_tree(text: str) -> cst.Module:
    """The tree of a text. Raises RefusedError where libcst would not give that back, and what libcst raises itself."""
    module = cst.parse_module(text)
    if module.code != text:
        raise RefusedError("libcst does not give the statement back byte for byte")
    return module


def places(module: cst.Module, lines_before: int) -> dict[cst.CSTNode, Span]:
    """Where each node lies in a file in which `lines_before` lines stand before the text of the tree.

    Parentheses around a node do not count.
    """
    found = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    return {
        node: from_code_range(place).shifted(lines_before)
        for node, place in found.items()
        if isinstance(place, CodeRange)
    }
