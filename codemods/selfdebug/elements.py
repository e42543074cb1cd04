"""The elements of a container that is passed as an argument: named, and gone through one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.scopes import fresh_name

if TYPE_CHECKING:
    from codemods.selfdebug.sites import Rewrite, Site

_SHORTEST = 3
_PLURALS = (("ies", "y"), ("sses", "ss"), ("s", ""))


def argument_of(site: Site) -> cst.Arg:
    """The argument that the container is. Raises RefusedError for a part of one and for `*xs`."""
    argument = site.parent(site.receiver)
    if not isinstance(argument, cst.Arg) or argument.star:
        raise RefusedError("the container is no argument of its own")
    return argument


def item_name(site: Site) -> str:
    """A new name for one element of the receiver, after the name of the container where that is a plural."""
    last = site.code(site.receiver).rpartition(".")[2]
    singular = next((last.removesuffix(end) + new for end, new in _PLURALS if last.endswith(end)), "item")
    return new_item(site, singular if len(singular) >= _SHORTEST and singular.isidentifier() else "item")


def new_item(site: Site, wish: str) -> str:
    """A new name, as close to the wish as the names around the site allow."""
    return fresh_name(site.block_scope, site.source.tree, cst.Attribute(cst.Name("_"), cst.Name(wish)))


def over_elements(site: Site, generator: cst.GeneratorExp) -> Rewrite:
    """The unit with the generator over the container, in the place of the container. Raises RefusedError."""
    argument = argument_of(site)
    if isinstance(site.receiver, cst.BaseComp):
        raise RefusedError("the elements are gone through already")
    call = site.parent(argument)
    is_alone = isinstance(call, cst.Call) and len(call.args) == 1
    inner = generator.for_in.with_changes(iter=site.receiver)
    parentheses = {} if not is_alone else {"lpar": (), "rpar": ()}
    made = generator.with_changes(for_in=inner, **parentheses)
    return site.changed(argument, argument.with_changes(value=made))
