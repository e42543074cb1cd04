"""Lines of a file as a concrete syntax tree of their own: exact to the byte, its nodes placed in the whole file."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.depth import refuse_deep
from codemods.selfdebug.spans import Span, from_code_range


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of a file from the 1-based `first_line` on, as libcst is shown them, and what it needs around them.

    `prefix` is such as `if 1:` for the indentation or a `try` above an `except`, `suffix` the `pass` for a body that is
    left out.
    """

    first_line: int
    code: str
    prefix: str = ""
    suffix: str = ""

    def tree(self, nodes: Iterable[ast.AST], hidden: Container[int] = ()) -> cst.Module:
        """The tree of the lines, in which the `nodes` stand; what has its `id` in `hidden` does not stand in them.

        Raises RefusedError where libcst would not give the lines back, would nest too deeply or take too long, and what
        libcst raises itself.
        """
        refuse_deep(nodes, self.code, hidden)
        text = self.prefix + self.code + self.suffix
        module = cst.parse_module(text)
        if module.code != text:
            raise RefusedError("libcst does not give the statement back byte for byte")
        return module

    def places(self, module: cst.Module) -> dict[cst.CSTNode, Span]:
        """Where each node of the tree, or of one made from it, lies in the file; parentheses around it do not count."""
        lines_before = self.first_line - 1 - self.prefix.count("\n")
        found = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
        return {
            node: from_code_range(place).shifted(lines_before)
            for node, place in found.items()
            if isinstance(place, CodeRange)
        }

    def code_of(self, module: cst.Module) -> str:
        """The lines as a tree made from this one has them. Raises RefusedError where it has changed what is around."""
        text = module.code
        if not text.startswith(self.prefix) or not text.endswith(self.suffix):
            raise RefusedError("the rewrite would change the lines around the statement")
        return text[len(self.prefix) : len(text) - len(self.suffix)]
