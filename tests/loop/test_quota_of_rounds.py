"""Rounds of candidates: none of a kind keeps the others waiting, and nothing is lost or tried twice."""

from __future__ import annotations

from codemods.selfdebug.spans import Span
from selfdebug.model import Candidate, Site
from selfdebug.repair.quota import Quota, by_turn


def candidate(number: int, family: str, guard: str, line: int = 3, hard_coded: bool = False) -> Candidate:
    place = Span(line, 4, line, 8)
    return Candidate(
        id=f"candidate-{number}",
        guard=guard,
        family=family,
        file="a.py",
        site=Site.CRASH,
        expression=place,
        receiver=place,
        receiver_code="x",
        default=str(number),
        default_source=None,
        test="not-none",
        reason="",
        is_hard_coded=hard_coded,
    )


def taken(candidates: list[Candidate]) -> list[str]:
    quota, ids = Quota(), []
    for each in candidates:
        if quota.has_room_for(each):
            quota.take(each)
            ids.append(each.id)
    return ids


def test_many_defaults_of_one_guard_leave_room_for_the_next_guard_and_family() -> None:
    many = [candidate(number, "expression", "or-default") for number in range(300)]
    others = [candidate(300, "expression", "conditional"), candidate(301, "wrap", "wrap-statement")]
    assert taken(many + others) == ["candidate-0", "candidate-1", "candidate-2", "candidate-300", "candidate-301"]


def test_many_guards_of_one_family_leave_room_for_the_next_family_and_place() -> None:
    many = [candidate(number, "expression", f"guard-{number}") for number in range(300)]
    others = [candidate(300, "wrap", "wrap-statement"), candidate(301, "expression", "guard-0", line=9)]
    ids = taken(many + others)
    assert ids[:8] == [f"candidate-{number}" for number in range(8)]
    assert ids[8:] == ["candidate-300", "candidate-301"]


def test_the_answer_that_the_test_expects_waits_for_all_others() -> None:
    answer, other = candidate(1, "wrap", "a", hard_coded=True), candidate(2, "wrap", "a")
    assert by_turn([answer, other]) == [[other], [answer]]
    assert by_turn([answer]) == [[answer]]
    assert by_turn([]) == []
