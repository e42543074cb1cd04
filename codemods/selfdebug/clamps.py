"""An index kept inside its sequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.extent import refuse_stored
from codemods.selfdebug.purity import is_constant, may_repeat
from codemods.selfdebug.sites import bare
from codemods.selfdebug.subscripts import subscript

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site


def clamped(site: Site, form: str) -> Rewrite:
    """The unit with the index put into `form`, which names `{index}` and `{container}`. Raises RefusedError."""
    container, index = subscript(site)
    refuse_stored(site, site.expression)
    bare_index = bare(index)
    if is_constant(bare_index):
        raise RefusedError("a constant index is no sum that went too far")
    if not may_repeat(container):
        raise RefusedError("the container would have to be evaluated twice")
    if isinstance(bare_index, cst.Call) and site.code(bare_index.func) in ("min", "max"):
        raise RefusedError("the index is kept within bounds already")
    code = form.format(index=site.code(bare_index), container=site.code(container))
    return site.changed(index, cst.parse_expression(code))
