"""One expression of Python's own ast: from its code, and small questions about it (is it None, what is it called)."""

from __future__ import annotations

import ast


def parsed(code: str) -> ast.expr:
    """The expression of a code, which may go over several lines. Raises SyntaxError or ValueError as ast.parse does."""
    return ast.parse(f"({code}\n)", mode="eval").body


def is_none(node: ast.AST | None) -> bool:
    """Whether an expression is the literal None."""
    return isinstance(node, ast.Constant) and node.value is None


def constant_of(node: ast.AST) -> tuple[object] | None:
    """The value of a constant, in a tuple (None for anything else), negative numbers included."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return (-value,)
        case ast.Constant():
            return (node.value,)
    return None


def last_name(node: ast.AST) -> str:
    """The name under which something is reached: `f` of `f`, `m` of `a.b.m`; empty for all else."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            return node.attr
    return ""
