"""Asking all elements of a container at once: `any(x is None for x in xs)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.conditions import SUBJECT, Condition, condition_for, one_line, unchecked_condition
from codemods.selfdebug.elements import argument_of, item_name
from codemods.selfdebug.expressions import parsed
from codemods.selfdebug.purity import may_repeat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.sites import Site


def some_element(site: Site, parameters: Parameters) -> Condition:
    """The condition that no element is bad; it fails where some element is.

    The elements are those of a container that is passed as an argument, or those that a comprehension goes through.
    Raises RefusedError where going through them once more could change something, or where it is done already.
    """
    container, fails = _in_comprehension(site, parameters) or _of_container(site, parameters)
    if not may_repeat(container):
        raise RefusedError("the elements would have to be gone through twice")
    _refuse_asked(site, container)
    return Condition(parameters.test, container, f"not {fails}", fails)


def _of_container(site: Site, parameters: Parameters) -> tuple[cst.BaseExpression, str]:
    argument_of(site)
    name = item_name(site)
    _, bad = unchecked_condition(site, parameters).about(name)
    return site.receiver, f"any({bad} for {name} in {SUBJECT})"


def _in_comprehension(site: Site, parameters: Parameters) -> tuple[cst.BaseExpression, str] | None:
    """The container and the question, where the receiver is evaluated for each element of a comprehension."""
    for step in site.path:
        loop = step.parent if isinstance(step.parent, cst.CompFor) else getattr(step.parent, "for_in", None)
        if isinstance(loop, cst.CompFor) and step.child not in (loop.iter, loop):
            if loop.inner_for_in is not None or loop.asynchronous is not None:
                raise RefusedError("there is more than one plain loop")
            kept = [each for each in loop.ifs if each is not step.child]
            asked = loop.with_changes(iter=cst.Name(SUBJECT), ifs=kept[: _place(loop, step.child)])
            condition = condition_for(site, parameters)
            if not may_repeat(condition.subject):
                raise RefusedError("the receiver would have to be evaluated twice")
            bad = cst.Module([]).code_for_node(condition.negative(one_line(condition.subject)))
            return loop.iter, "any" + _on_one_line(f"({bad} {cst.Module([]).code_for_node(asked).strip()})")
    return None


def _place(loop: cst.CompFor, child: cst.CSTNode) -> int:
    """How many conditions of the loop stand before `child` (all of them, if that is the element)."""
    return next((index for index, each in enumerate(loop.ifs) if each is child), len(loop.ifs))


def _on_one_line(code: str) -> str:
    return code if "\n" not in code and "#" not in code else ast.unparse(ast.parse(code, mode="eval"))


def _refuse_asked(site: Site, container: cst.BaseExpression) -> None:
    """Raise RefusedError where an `if` right above asks about the elements already."""
    level = site.statement.levels[-1]
    code = ast.dump(parsed(site.code(container)))
    for node in level.siblings[: level.index]:
        if isinstance(node, ast.If) and code in _gone_through(node.test):
            raise RefusedError("already guarded by a question about the elements")


def _gone_through(test: ast.expr) -> Iterator[str]:
    return (ast.dump(node.iter) for node in ast.walk(test) if isinstance(node, ast.comprehension))
