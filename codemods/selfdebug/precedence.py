"""How tightly expressions bind, so that parentheses are added where they are needed and nowhere else.

The order is that of the table "Operator precedence" in the Python language reference.
"""

from __future__ import annotations

import libcst as cst

_TUPLE, _NAMED, _LAMBDA, _CONDITIONAL, _OR, _AND, _NOT, _COMPARISON = range(-1, 7)
_BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _PRODUCT, _UNARY, _POWER, _AWAIT, _ATOM = range(7, 17)

_OPERATORS: dict[type[cst.BaseBinaryOp], int] = {
    cst.BitOr: _BIT_OR,
    cst.BitXor: _BIT_XOR,
    cst.BitAnd: _BIT_AND,
    cst.LeftShift: _SHIFT,
    cst.RightShift: _SHIFT,
    cst.Add: _SUM,
    cst.Subtract: _SUM,
    cst.Multiply: _PRODUCT,
    cst.MatrixMultiply: _PRODUCT,
    cst.Divide: _PRODUCT,
    cst.FloorDivide: _PRODUCT,
    cst.Modulo: _PRODUCT,
    cst.Power: _POWER,
}

_LOOSE: dict[type[cst.BaseExpression], int] = {
    cst.Tuple: _TUPLE,
    cst.Yield: _TUPLE,
    cst.StarredElement: _TUPLE,
    cst.NamedExpr: _NAMED,
    cst.Lambda: _LAMBDA,
    cst.IfExp: _CONDITIONAL,
    cst.Comparison: _COMPARISON,
    cst.Await: _AWAIT,
}


def binding(node: cst.BaseExpression) -> int:
    """How tightly `node` binds its parts together; an expression in parentheses is an atom."""
    if node.lpar:
        return _ATOM
    if isinstance(node, cst.BinaryOperation):
        return _OPERATORS[type(node.operator)]
    if isinstance(node, cst.BooleanOperation):
        return _AND if isinstance(node.operator, cst.And) else _OR
    if isinstance(node, cst.UnaryOperation):
        return _NOT if isinstance(node.operator, cst.Not) else _UNARY
    return _LOOSE.get(type(node), _ATOM)


def required(parent: cst.CSTNode, child: cst.CSTNode) -> int:
    """How tightly an expression must bind to stand in the place of `child` without parentheses."""
    if isinstance(parent, cst.BinaryOperation):
        return _operand(parent, child)
    if isinstance(parent, cst.BooleanOperation):
        return _AND if isinstance(parent.operator, cst.And) else _OR
    if isinstance(parent, cst.UnaryOperation):
        return _NOT if isinstance(parent.operator, cst.Not) else _UNARY
    if isinstance(parent, cst.IfExp):
        return _LAMBDA if child is parent.orelse else _OR
    if isinstance(parent, cst.Arg) and parent.star:
        return _BIT_OR
    return _fixed(parent)


def _operand(parent: cst.BinaryOperation, child: cst.CSTNode) -> int:
    rank = _OPERATORS[type(parent.operator)]
    if rank == _POWER:
        return _AWAIT if child is parent.left else _UNARY
    return rank if child is parent.left else rank + 1


def _fixed(parent: cst.CSTNode) -> int:
    if isinstance(parent, cst.Attribute | cst.Await | cst.Call | cst.Subscript):  # arguments sit in nodes of their own
        return _ATOM
    if isinstance(parent, cst.Comparison | cst.ComparisonTarget | cst.StarredElement | cst.StarredDictElement):
        return _BIT_OR
    if isinstance(parent, cst.CompFor | cst.CompIf):
        return _OR
    return _CONDITIONAL if isinstance(parent, cst.FormattedStringExpression) else _LAMBDA


def fit(node: cst.BaseExpression, parent: cst.CSTNode, child: cst.CSTNode) -> cst.BaseExpression:
    """`node` in parentheses where the place of `child` needs them."""
    return at_least(node, required(parent, child))


def at_least(node: cst.BaseExpression, rank: int) -> cst.BaseExpression:
    """`node`, in parentheses unless it binds as tightly as `rank`."""
    if binding(node) >= rank:
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def operand_of_and(node: cst.BaseExpression) -> cst.BaseExpression:
    """`node` as it can stand beside an `and`."""
    return at_least(node, _AND)


def operand_of_or(node: cst.BaseExpression) -> cst.BaseExpression:
    """`node` as it can stand beside an `or`, and as the body or test of a conditional expression."""
    return at_least(node, _OR)


def operand_of_not(node: cst.BaseExpression) -> cst.BaseExpression:
    """`node` as it can stand after a `not`."""
    return at_least(node, _NOT)


def operand_of_comparison(node: cst.BaseExpression) -> cst.BaseExpression:
    """`node` as it can stand beside a comparison operator."""
    return at_least(node, _BIT_OR)


def alone(node: cst.BaseExpression) -> cst.BaseExpression:
    """`node` as it can stand after `else`, as an argument or on the right of an assignment."""
    return at_least(node, _LAMBDA)
