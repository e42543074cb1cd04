"""Look-ups: the container and the key of `d[k]` and of `d.pop(k)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Site


def subscript(site: Site) -> tuple[cst.BaseExpression, cst.BaseExpression]:
    """The container and the key of the dereference: `d[k]`, or `d.pop(k)`."""
    node = site.expression
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and len(node.args) == 1:
        if node.func.attr.value in ("pop", "remove", "index", "__getitem__"):
            return node.func.value, node.args[0].value
    elif isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return node.value, node.slice[0].slice.value
    raise RefusedError("the dereference is no subscript with one key")
