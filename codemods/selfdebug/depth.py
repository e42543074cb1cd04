"""How deeply libcst nests a statement, and of how many nodes, counted without recursion before libcst sees it.

Its native parser recurses on the machine's stack, which overflows without an exception (measured: at 3,000 levels), and
it nests where the ast is flat: `a or b or c`, the loops of a comprehension, and strings side by side. What is flat and
enormous, a table of data, takes it seconds for every 20,000 nodes.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Container, Iterable

from codemods.selfdebug.base import RefusedError

MAX_DEPTH = 150
MAX_NODES = 20_000
_QUOTES = ('"', "'")
# From Python 3.12 on, an f-string is many tokens: what is between the first and the last of them is a level deeper.
_LEVELS = {
    getattr(tokenize, f"{kind}_{end}"): change
    for kind in ("FSTRING", "TSTRING")
    for end, change in (("START", 1), ("END", -1))
    if hasattr(tokenize, f"{kind}_{end}")
}
_PIECES = frozenset({tokenize.STRING, *(kind for kind, change in _LEVELS.items() if change > 0)})
_BETWEEN = frozenset({tokenize.NL, tokenize.COMMENT, *_LEVELS})


def refuse_deep(nodes: Iterable[ast.AST], text: str, hidden: Container[int] = ()) -> None:
    """Raise RefusedError where libcst would nest the `nodes`, whose source is `text`, too deeply, or take too long.

    What has its `id` in `hidden` is not shown to libcst.
    """
    todo = [(node, 1) for node in nodes]
    seen = 0
    while todo:
        node, depth = todo.pop()
        seen += 1
        if seen > MAX_NODES:
            raise RefusedError("the statement is too large to be rewritten")
        depth += _more_levels(node)
        if depth > MAX_DEPTH:
            raise RefusedError("the statement is too deeply nested")
        todo.extend((child, depth + 1) for child in ast.iter_child_nodes(node) if id(child) not in hidden)
    if sum(map(text.count, _QUOTES)) > MAX_DEPTH and _longest_concatenation(text) > MAX_DEPTH:
        raise RefusedError("the statement has too many strings side by side (they count as nested)")


def _more_levels(node: ast.AST) -> int:
    """The levels that libcst makes of a node which is one level in the ast."""
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    return len(getattr(node, "generators", ()))


def _longest_concatenation(text: str) -> int:
    """How many string literals stand side by side at most; more than any limit where that cannot be told."""
    longest = level = 0
    runs: Counter[int] = Counter()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _PIECES:
                runs[level] += 1
                longest = max(longest, runs[level])
            elif token.type not in _BETWEEN:
                runs[level] = 0
            level += _LEVELS.get(token.type, 0)
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return MAX_DEPTH + 1
    return longest
