"""The default of a guard: checked, and in the quotes that the file uses."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from codemods.selfdebug.base import Parameters, RefusedError
from codemods.selfdebug.precedence import alone
from codemods.selfdebug.sites import Site

_MAX_LENGTH = 2_000
_QUOTES = ("'", '"')
_UNWANTED = ast.Yield | ast.YieldFrom | ast.Await | ast.NamedExpr


def default_for(site: Site, parameters: Parameters) -> cst.BaseExpression:
    """The default as an expression. Raises RefusedError when there is none or it is no expression."""
    return expression_of(site, _given(parameters))


def default_apart(site: Site, parameters: Parameters) -> cst.BaseExpression:
    """As `default_for`, for a statement of its own: f-strings around the receiver do not matter there."""
    return _expression(site, _given(parameters), ())


def _given(parameters: Parameters) -> str:
    if parameters.default is None:
        raise RefusedError("this guard needs a default here")
    return parameters.default


def expression_of(site: Site, code: str) -> cst.BaseExpression:
    """`code` as an expression that can stand at the site. Raises RefusedError when it is none."""
    return _expression(site, code, enclosing_fstrings(site))


def _expression(site: Site, code: str, fstrings: Sequence[str]) -> cst.BaseExpression:
    code = code.strip()
    if len(code) > _MAX_LENGTH:
        raise RefusedError("the default is too long")
    if "\n" in code or "\r" in code:
        raise RefusedError("the default has more than one line")
    try:
        tree = ast.parse(code, mode="eval")
    except (SyntaxError, ValueError) as error:
        raise RefusedError(f"the default is no expression: {error}") from error
    if any(isinstance(node, _UNWANTED) for node in ast.walk(tree)):
        raise RefusedError("the default is more than a value")
    if fstrings and ("\\" in code or "#" in code):
        raise RefusedError("the default cannot stand inside an f-string")
    expression = cst.parse_expression(code)
    if any(quote in code for quote in _QUOTES):
        given = next(quote for quote in reversed(_QUOTES) if quote in code)
        quoted = expression.visit(_Quotes(_free_quotes(site, given, fstrings)))
        assert isinstance(quoted, cst.BaseExpression)
        expression = quoted
    return alone(expression)


class _Quotes(cst.CSTTransformer):
    """Gives plain string literals the first of the wanted quotes."""

    def __init__(self, quotes: str) -> None:
        super().__init__()
        self.quotes = quotes

    def leave_SimpleString(  # noqa: N802 - the visitor's name for the node
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        value, quote = original_node.value, self.quotes[0]
        if original_node.prefix or len(original_node.quote) != 1 or "\\" in value or quote in value[1:-1]:
            return updated_node
        return updated_node.with_changes(value=f"{quote}{value[1:-1]}{quote}")


def with_last_argument(args: Sequence[cst.Arg], value: cst.BaseExpression) -> list[cst.Arg]:
    """The arguments of a call and one more, after which stands the comma that stood after the last."""
    *first, last = args
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    return [*first, last.with_changes(comma=comma), cst.Arg(alone(value), comma=last.comma)]


def _free_quotes(site: Site, given: str, fstrings: Sequence[str]) -> str:
    """The quotes for new strings, best first: those the file uses more (where it does not tell: those that were given).

    Those of the f-strings around are never among them. Raises RefusedError when these use both kinds.
    """
    taken = {quote[0] for quote in fstrings}
    by_use = sorted(_QUOTES, key=lambda quote: (-site.source.text.count(quote), quote != given))
    free = [quote for quote in by_use if quote not in taken]
    if not free:
        raise RefusedError("both kinds of quotes are taken by the f-strings around the receiver")
    return "".join(free)


def enclosing_fstrings(site: Site) -> list[str]:
    """The quotes of the f-strings around the receiver, innermost first."""
    return [step.parent.end for step in site.path if isinstance(step.parent, cst.FormattedString)]
