"""May an expression be evaluated twice, and may it be evaluated earlier than what stands before it?

Names, plain attributes and subscripts with a constant or a name may be read again: a read is cheap and, by convention,
without effect. A call, an `await`, a `yield` may not. Moving an evaluation forward is safe when nothing that ran before
it could have changed what it reads, or could notice that it now runs later.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import libcst as cst

# No libcst.matchers here and elsewhere: importing them takes longer than importing libcst and all guards.
_NUMBER = cst.Integer | cst.Float
_QUESTIONS = frozenset({"len", "isinstance", "callable", "hasattr"})
_EFFECTS = cst.Call | cst.Await | cst.Yield | cst.NamedExpr
_BINDINGS = cst.NamedExpr | cst.AsName


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
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Minus) and isinstance(node.expression, _NUMBER)
    return isinstance(node, cst.SimpleString | _NUMBER)


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
    if isinstance(node, cst.Call) and is_named(node.func, _QUESTIONS):
        return all(may_ask_again(arg.value) for arg in node.args)
    return isinstance(node, cst.Tuple) and all(may_ask_again(element.value) for element in node.elements)


def is_named(node: cst.CSTNode, names: Container[str]) -> bool:
    """Whether `node` is one of the names."""
    return isinstance(node, cst.Name) and node.value in names


def nodes_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """`node` and everything in it, from outside to inside."""
    yield node
    for child in node.children:
        yield from nodes_in(child)


def names_in(node: cst.CSTNode) -> frozenset[str]:
    """Every identifier in `node`, attributes excluded."""
    nodes = list(nodes_in(node))
    attributes = {id(found.attr) for found in nodes if isinstance(found, cst.Attribute)}
    return frozenset(found.value for found in nodes if isinstance(found, cst.Name) and id(found) not in attributes)


def _effects_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    return (found for found in nodes_in(node) if isinstance(found, _EFFECTS))


def has_effects(node: cst.CSTNode) -> bool:
    """Whether evaluating `node` can change something (a call, `await`, `yield`, `:=`)."""
    return any(_effects_in(node))


def may_be_read_before(subject: cst.BaseExpression, earlier: Iterable[cst.CSTNode]) -> bool:
    """Whether `subject`, which may be read again, has the same value before the evaluation of `earlier`.

    A call can change what an attribute or item holds when it is given the object it hangs on.
    """
    names = names_in(subject)
    for node in earlier:
        if any(isinstance(found, _BINDINGS) and names_in(found) & names for found in nodes_in(node)):
            return False
        if isinstance(subject, cst.Name):
            continue
        if any(names_in(effect) & names for effect in _effects_in(node)):
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
        reads_inside = any(isinstance(found, cst.Attribute | cst.Subscript) for found in nodes_in(node))
        if reads_inside and names_in(node) & names:
            return False
    return True
