"""The order of candidates, as costs that add up: a lower sum is tried earlier.

The figures put the findings of the design's study of real fixes in order: the crash statement before its callers, a
condition in front before a default, a default before a wrap, a wrap before an early return, handlers last; the next
family at a site costs less than the next site. What hides least comes first, what may hide errors comes late.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from codemods.selfdebug.base import DefaultRole, Family, Guard, Test
from selfdebug.model import ExceptionRecord, FaultKind, FaultLocation, Receiver, Site
from selfdebug.stages.propose.defaults import NEUTRAL, Default
from selfdebug.stages.propose.records import Sign

_FAMILY = {
    Family.CONDITION_PREFIX: 0,
    Family.FILTER: 1,
    Family.INITIALISATION: 1,
    Family.NAME: 1,
    Family.LOOKUP_DEFAULT: 2,
    Family.EXPRESSION_DEFAULT: 3,
    Family.WRAP: 5,
    Family.CONTINUE: 6,
    Family.EARLY_RETURN: 7,
    Family.SUBSTITUTION: 9,
    Family.COERCION: 10,
    Family.RAISE: 1,  # only proposed where the failing test expects the exception
    Family.HANDLER: 12,
}
# Truth turns away values that worked (0, an empty text); it is for guards that can say nothing else.
_TEST = {Test.NOT_SENTINEL: -1, Test.TRUTHY: 15, Test.NO_EXCEPTION: 1, Test.HAS_ATTRIBUTE: 2}
_EMPTY = 1  # what has too few items often has none
_RECEIVER = 4
TOGETHER = 2  # by how much later several places at once are tried than the first alone
_CALLER = 14
_TURNED_AWAY, _BEHIND_CALLER = 3, 16
_SITE = {Site.CRASH: 0, Site.FUNCTION: 5, Site.ORIGIN: 6}
_SIGN = {Sign.DECLARED: 10, Sign.TAKEN_FOR_GRANTED: 8, Sign.LIKE_OTHERS: 8, Sign.HAS_DEFAULT: 8}
_OR, _EMPTY_VALUES, _REPLACES_EMPTY = "or-default", frozenset(NEUTRAL) - {"True"}, 4
_WIDENING, _WIDENED = "except-widen", -11
_UNREAD = 4
_OWING = ("__getitem__", "__delitem__", "__missing__", "pop", "popitem")
_OWED = 10
_HIDES_MISTAKES = 6
_USED_LATER = 5
_MISTAKES = ("AttributeError", "NameError", "TypeError", "UnboundLocalError")


def site_cost(site: Site, depth: int) -> int:
    """How far a site is from the crash; a condition that raises on purpose comes after the callers that it tells."""
    if site is Site.CONDITION:
        return _TURNED_AWAY if depth <= 1 else _BEHIND_CALLER
    return _SITE[site] if site in _SITE else _CALLER * depth


def sign_bonus(signs: Sequence[Sign]) -> int:
    """How much earlier a default comes where a value was handed on that should not have been None."""
    return max((_SIGN[sign] for sign in signs), default=0)


def protocol_cost(site: Site, location: FaultLocation) -> int:
    """How much later a guard comes in a method that has to raise for a missing item: its caller is at fault."""
    is_owed = (location.function or "").rsplit(".", 1)[-1] in _OWING and location.kind in (
        FaultKind.MISSING_KEY,
        FaultKind.INDEX_RANGE,
    )
    return _OWED if site is Site.CRASH and is_owed else 0


def receiver_cost(index: int) -> int:
    """How much less likely the receiver at `index` is than the first one."""
    return _RECEIVER * index


def guard_cost(guard: Guard, test: Test, receiver: Receiver, statement: ast.stmt | None, kind: FaultKind) -> int:
    """How late a guard with this condition comes at a place."""
    cost = _FAMILY[guard.family] + guard.lateness + _TEST.get(test, 0)
    if test is Test.TRUTHY and kind is FaultKind.INDEX_RANGE:
        cost += _EMPTY - _TEST[test]
    if guard.id == _WIDENING:
        cost += _WIDENED  # it only fits a handler that is there already and lacks this type
    if guard.family is Family.EXPRESSION_DEFAULT and isinstance(statement, ast.Expr):
        cost += _UNREAD  # nobody reads the value: leaving the statement out says it better
    if guard.default_role is DefaultRole.RECEIVER and test is Test.TRUTHY and _is_alike_when_empty(receiver):
        cost -= _TEST[Test.TRUTHY]
    return cost


def mistake_cost(guard: Guard, exception: ExceptionRecord) -> int:
    """How much later a handler comes for an exception that programs raise by mistake: it would hide the next one."""
    is_new_handler = guard.family is Family.HANDLER and guard.id != _WIDENING
    return _HIDES_MISTAKES if is_new_handler and exception.short_type in _MISTAKES else 0


def falsy_cost(guard: Guard, default: Default) -> int:
    """How much later `or` comes with a default that is no empty value: it would take the place of those that worked."""
    return _REPLACES_EMPTY if guard.id == _OR and default.code not in _EMPTY_VALUES else 0


def substitution_bonus(guard: Guard, is_used_later: bool) -> int:
    """How much earlier a default for the rest of the function comes, where later statements need the value as well."""
    return _USED_LATER if guard.family is Family.SUBSTITUTION and is_used_later else 0


def _is_alike_when_empty(receiver: Receiver) -> bool:
    """Whether every falsy value gives the same result at this use, so that `or` changes nothing that worked."""
    return receiver.operation in ("iterate", "star", "double-star", "attribute", "operand")
