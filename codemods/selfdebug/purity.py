"""May an expression be evaluated twice, and may it be evaluated earlier than what stands before it?

Names, plain attributes and subscripts with a constant or a name may be read again: a read is cheap and, by convention,
without effect. A call, an `await`, a `yield` may not. Moving an evaluation forward is safe when nothing that ran before
it could have changed what it reads, or could notice that it now runs later.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst
import libcst.matchers as m

_CONSTANT = m.SimpleString() | m.Integer() | m.Float() | m.UnaryOperation(m.Minus(), m.Integer() | m.Float())
_QUESTIONS = m.Name("len") | m.Name("isinstance") | m.Name("callable") | m.Name("hasattr")
_EFFECTS = m.Call() | m.Await() | m.Yield() | m.NamedExpr()
_BINDINGS = m.NamedExpr() | m.AsName()


def may_repeat(node: cst.BaseExpression) -> bool:
    """Whether reading `node` once more changes nothing."""
    while not isinstance(node, cst.Name):
        if not isinstance(node, cst.Attribute | cst.Subscript):
            return False
        if isinstance(node, cst.Subscript) and not all(_is_plain_index(element.slice) for element in node.slice):
            return False
        node = node.value
    return True


def _is_plain_index(index: cst.BaseSlice) -> bool:
    return isinstance(index, cst.Index) and (isinstance(index.value, cst.Name) or is_constant(index.value))


def is_constant(node: cst.BaseExpression) -> bool:
    """Whether `node` is a literal string or number."""
    return m.matches(node, _CONSTANT)


def may_ask_again(node: cst.BaseExpression) -> bool:
    """Whether a condition or an index may be evaluated once more: questions and sums of what may be read again."""
    if may_repeat(node) or is_constant(node):
        return True
    if isinstance(node, cst.BooleanOperation | cst.BinaryOperation):
        return may_ask_again(node.left) and may_ask_again(node.right)
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Not | cst.Minus) and may_ask_again(node.expression)
    if isinstance(node, cst.Comparison):
        return may_ask_again(node.left) and all(may_ask_again(each.comparator) for each in node.comparisons)
    if isinstance(node, cst.Call) and m.matches(node.func, _QUESTIONS):
        return all(may_ask_again(arg.value) for arg in node.args)
    return isinstance(node, cst.Tuple) and all(may_ask_again(element.value) for element in node.elements)


def names_in(node: cst.CSTNode) -> frozenset[str]:
    """Every identifier in `node`, attributes excluded."""
    attributes = {id(found.attr) for found in m.findall(node, m.Attribute()) if isinstance(found, cst.Attribute)}
    return frozenset(
        found.value
        for found in m.findall(node, m.Name())
        if isinstance(found, cst.Name) and id(found) not in attributes
    )


def has_effects(node: cst.CSTNode) -> bool:
    """Whether evaluating `node` can change something (a call, `await`, `yield`, `:=`)."""
    return bool(m.findall(node, _EFFECTS))


def may_be_read_before(subject: cst.BaseExpression, earlier: Iterable[cst.CSTNode]) -> bool:
    """Whether `subject`, which may be read again, has the same value before the evaluation of `earlier`.

    A call can change what an attribute or item holds when it is given the object it hangs on.
    """
    names = names_in(subject)
    for node in earlier:
        if any(names_in(binding) & names for binding in m.findall(node, _BINDINGS)):
            return False
        if isinstance(subject, cst.Name):
            continue
        if any(names_in(effect) & names for effect in m.findall(node, _EFFECTS)):
            return False
    return True


def may_run_before(subject: cst.BaseExpression, earlier: Iterable[cst.CSTNode]) -> bool:
    """Whether `subject`, evaluated once, may be evaluated before `earlier` instead of after it.

    The look-up of a method (`out.append` in `out.append(find(x))`) may come later than its argument; a value that the
    subject might change may not.
    """
    names = names_in(subject)
    for node in earlier:
        if has_effects(node) or isinstance(node, cst.WithItem):
            return False
        if not isinstance(node, cst.Name) and m.findall(node, m.Attribute() | m.Subscript()) and names_in(node) & names:
            return False
    return True
