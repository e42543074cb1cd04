"""Verdicts from runs, regressions, groups of failures, what was observed when it raised, and the diagnosis in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from codemods.selfdebug.probe import Probed, probe
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span
from selfdebug.model import (
    Candidate,
    ExceptionRecord,
    Failure,
    FaultKind,
    FaultLocation,
    Frame,
    Outcome,
    Patch,
    ProbeCatch,
    ProbeHit,
    PytestRun,
    Site,
    Tier,
    Value,
    Verdict,
    When,
)
from selfdebug.repair.grouping import groups, node_ids
from selfdebug.stages.diagnose import diagnose
from selfdebug.stages.locate import locate
from selfdebug.stages.observe import observe, with_observed_first
from selfdebug.stages.validate import is_same_crash, judge, refused, regressions

SPAN = Span(1, 0, 1, 1)
CANDIDATE = Candidate(
    "candidate-1", "early-return", "early-return", "m.py", Site.CRASH, SPAN, SPAN, "x", None, None, "not-none", "why"
)
PATCH = Patch(CANDIDATE, "m.py", b"x\n", b"y\n", 1)
NONE = ExceptionRecord("AttributeError", "'NoneType' object has no attribute 'name'")


def failure(node: str = "t.py::test_a", line: int = 2, when: When = When.CALL, **changes: object) -> Failure:
    frames = (
        Frame("/p/t.py", 9, "test_a", "t.py", code="f()", is_test=True),
        Frame("/p/m.py", line, "f", "m.py", code=f"line {line}"),
    )
    return replace(Failure(node, when, NONE, frames), **changes)  # type: ignore[arg-type]  # fields by name


def run(outcomes: dict[str, Outcome], *failures: Failure, **changes: object) -> PytestRun:
    done = PytestRun("pytest-1", (), (), 0, 0.5, tuple(outcomes.items()), failures, ended=True, served=("m.py",))
    return replace(done, **changes)  # type: ignore[arg-type]  # fields by name


PASSED = {"t.py::test_a": Outcome.PASSED}
FAILED = {"t.py::test_a": Outcome.FAILED}


@pytest.mark.parametrize(
    ("seen", "verdict", "words"),
    [
        (run(PASSED), Verdict.PLAUSIBLE, "the failing test passes"),
        (run(FAILED, failure()), Verdict.INEFFECTIVE, "in the same way"),
        (run(FAILED, failure(line=3)), Verdict.INEFFECTIVE, "in another way"),
        (run({"t.py::test_a": Outcome.SKIPPED}), Verdict.BROKEN, "skipped or not collected"),
        (run({}), Verdict.BROKEN, "skipped or not collected"),
        (run(PASSED, ended=False), Verdict.BROKEN, "did not reach the end"),
        (run(PASSED, timed_out=True, ended=False), Verdict.BROKEN, "time limit"),
        (run(PASSED, served=()), Verdict.INCONCLUSIVE, "did not import m.py from memory"),
        (run({}, failure("t.py", when=When.COLLECT)), Verdict.INEFFECTIVE, "in the same way"),
    ],
)
def test_the_verdict_of_a_run(seen: PytestRun, verdict: Verdict, words: str) -> None:
    trial = judge(PATCH, [failure()], seen, Tier.FRESH)
    assert trial.verdict is verdict
    assert words in trial.detail
    assert (trial.next_failure is not None) == (verdict is Verdict.INEFFECTIVE)


def test_an_edit_in_place_needs_no_source_from_memory() -> None:
    assert judge(PATCH, [failure()], run(PASSED, served=()), Tier.IN_PLACE).verdict is Verdict.PLAUSIBLE


def test_a_module_that_could_not_be_collected_passes_when_its_tests_do() -> None:
    target = failure("t.py", when=When.COLLECT)
    assert judge(PATCH, [target], run(PASSED), Tier.FRESH).verdict is Verdict.PLAUSIBLE
    assert judge(PATCH, [target], run({"other.py::test": Outcome.PASSED}), Tier.FRESH).verdict is Verdict.BROKEN
    still = run({**PASSED, "t.py::test_b": Outcome.FAILED}, failure("t.py::test_b", line=7))
    assert judge(PATCH, [target], still, Tier.FRESH).verdict is Verdict.INEFFECTIVE


def test_a_refused_candidate_ran_nothing() -> None:
    trial = refused(CANDIDATE, "no loop")
    assert (trial.verdict, trial.tier, trial.seconds, trial.detail) == (Verdict.REFUSED, Tier.NONE, 0.0, "no loop")


def test_only_tests_that_were_not_known_to_fail_are_regressions() -> None:
    before = {"a": Outcome.PASSED, "b": Outcome.FAILED, "c": Outcome.ERROR}
    after = run(
        {"a": Outcome.FAILED, "b": Outcome.FAILED, "c": Outcome.ERROR, "d": Outcome.FAILED, "e": Outcome.FAILED}
    )
    assert regressions(before, after, ["e"]) == ("a", "d")


def test_the_same_crash_may_have_moved_to_another_line() -> None:
    moved = failure(line=2)
    frames = (moved.frames[0], replace(moved.frames[1], line=5))
    assert is_same_crash(failure(line=2), replace(moved, frames=frames))
    assert not is_same_crash(failure(line=2), failure(line=3))


def test_failures_with_one_crash_site_are_one_group() -> None:
    one, two, other = failure("t::a"), failure("t::b"), failure("t::c", line=7)
    assert groups([one, other, two]) == [(one, two), (other,)]


def test_the_tests_of_a_large_group_that_are_run_for_each_candidate_are_unlike() -> None:
    many = [failure(f"t.py::A::test_a[{number}]") for number in range(30)]
    second = [failure(f"t.py::A::test_b[{number}]") for number in range(3)]
    other = [failure(f"u.py::B::test_{name}") for name in "cd"]
    (group,) = groups([*many, *second, *other])
    assert sorted(group, key=str) == sorted([*many, *second, *other], key=str)
    assert group[:4] == (many[0], other[0], second[0], other[1])
    assert node_ids(group)[4:7] == ("t.py::A::test_a[1]", "t.py::A::test_b[1]", "t.py::A::test_a[2]")
    assert groups(many[:20]) == [tuple(many[:20])]


def test_a_teardown_after_a_failed_call_is_its_consequence() -> None:
    call, teardown = failure("t::a"), failure("t::a", line=40, when=When.TEARDOWN)
    assert groups([call, teardown]) == [(call,)]


def test_the_crash_of_an_exception_group_is_its_first_leaf_in_the_project() -> None:
    outside = Failure(None, When.CALL, ExceptionRecord("OSError", "x"), (Frame("/lib/x.py", 1),))
    inside = failure(line=7)
    assert failure(line=2, group=(outside, inside)).crash is inside
    alone = failure(line=2, group=(outside,))
    assert alone.crash is alone


# ---------------------------------------------------------------- observe

TEXT = b"def f(us):\n    return [u.a.name + u.b.name for u in us]\n"


def located(text: bytes = TEXT, line: int = 2) -> FaultLocation:
    found = locate(Frame("m.py", line, "f", "m.py"), NONE, Source.parse(text))
    assert isinstance(found, FaultLocation)
    return found


def hits_of(probed: Probed, *evaluations: dict[str, str]) -> list[ProbeHit]:
    """Hits as the recorder would give them: each evaluation maps expressions to class names."""
    ids = {expression.code: expression.id for expression in probed.expressions}
    found: list[ProbeHit] = []
    for evaluation in evaluations:
        for code, type_ in evaluation.items():
            value = Value(type_, "...", is_none=type_ == "NoneType")
            found.append(ProbeHit(ids[code], "t::a", "f", value, len(found) + 1))
    return found


def test_the_last_evaluation_is_the_one_that_raised() -> None:
    def runner(sources: object) -> PytestRun:
        assert isinstance(sources, dict)
        assert b"__selfdebug_probe__" in sources["m.py"]
        probed = probe(TEXT, 2)
        hits = hits_of(probed, {"u.a": "Thing", "u.b": "Thing"}, {"u.a": "Thing", "u.b": "NoneType"})
        caught = ProbeCatch(probed.id, "t::a", "f", NONE, (), 99)
        return run(FAILED, failure(), hits=tuple(hits), catches=(caught,))

    location = located()
    assert [receiver.code for receiver in location.receivers] == ["u.a", "u.b"]
    seen = observe([location], {"m.py": TEXT}, runner)
    assert [(o.expression, o.value.type, o.in_failure) for o in seen.observations] == [
        ("u.a", "Thing", False),
        ("u.b", "Thing", False),
        ("u.a", "Thing", True),
        ("u.b", "NoneType", True),
    ]
    assert (seen.caught[0].place.file, seen.caught[0].place.line) == ("m.py", 2)
    better = with_observed_first(location, seen.observations)
    assert [(receiver.code, receiver.evidence) for receiver in better.receivers] == [("u.b", "value")]


def test_a_receiver_that_was_not_observed_stays_behind_the_observed_one() -> None:
    location = located()
    assert with_observed_first(location, ()) == location


def test_two_statements_of_one_file_are_probed_at_once() -> None:
    text = b"def g(u):\n    return u.a.name\n\n\ndef f(u):\n    return g(u).name\n"
    first, second = located(text, 2), located(text, 6)
    ids: list[int] = []

    def runner(sources: object) -> PytestRun:
        assert isinstance(sources, dict)
        source = sources["m.py"].decode()
        compile(source, "m.py", "exec")
        ids.extend(int(part.split(",")[0]) for part in source.split("__selfdebug_probe__(")[1:])
        assert source.count("__selfdebug_caught__") == 2
        return run(FAILED, failure())

    observe([first, second], {"m.py": text}, runner)
    assert len(ids) == len(set(ids)) > 3


def test_a_statement_that_is_met_twice_is_probed_once() -> None:
    def runner(sources: object) -> PytestRun:
        assert isinstance(sources, dict)
        assert sources["m.py"].count(b"__selfdebug_caught__") == 1
        return run(FAILED, failure())

    location = located()
    observe([location, replace(location, receivers=())], {"m.py": TEXT}, runner)


def test_a_statement_that_cannot_be_probed_is_named() -> None:
    location = replace(located(), statement=Span(1, 0, 1, 5))
    seen = observe([location], {"m.py": b"pass\n"}, lambda _: run(FAILED, failure()))
    assert seen.observations == ()
    assert seen.refused[0].startswith("m.py:2 is not probed:")


# ---------------------------------------------------------------- diagnose


@pytest.mark.parametrize(
    ("text", "exception", "words"),
    [
        ("x = u.a.name\n", NONE, "u.a was probably None (not observed), and None has no attribute name."),
        ("x = d['k']\n", ExceptionRecord("KeyError", "'k'", key="'k'"), "d has no key 'k'."),
        (
            "x = d[1]\n",
            ExceptionRecord("IndexError", "list index out of range"),
            "d is shorter than its index 1 needs.",
        ),
        (
            "x = y\n",
            ExceptionRecord("UnboundLocalError", "local variable 'y' referenced"),
            "y had no value on this path.",
        ),
        ("x = y\n", ExceptionRecord("NameError", "name 'y' is not defined"), "no y is defined or imported here."),
        ("x = 1 / y\n", ExceptionRecord("ZeroDivisionError", "division by zero"), "y was zero."),
        ("x = y()\n", ExceptionRecord("TypeError", "'int' object is not callable"), "y: 'int' object is not callable"),
        ("raise E('no')\n", ExceptionRecord("E", "no"), "the statement raises it on purpose."),
        ("x = 1\n", ExceptionRecord("ValueError", ""), "no message"),
    ],
)
def test_the_diagnosis_says_what_is_known(text: str, exception: ExceptionRecord, words: str) -> None:
    found = locate(Frame("m.py", 1, "f", "m.py"), exception, Source.parse(text.encode()))
    assert isinstance(found, FaultLocation)
    diagnosis = diagnose(failure(exception=exception), found, (), (), ())
    assert diagnosis.sentence.startswith(f"{exception.type} at m.py:1 in f: ")
    assert diagnosis.sentence.endswith(words)


def test_an_observed_none_is_said_to_have_been_seen() -> None:
    location = located(b"x = u.a.name\n", 1)
    observed = replace(location, receivers=(replace(location.receivers[0], evidence="value"),))
    assert location.kind is FaultKind.NONE_ATTRIBUTE
    assert "u.a was None, and None has no attribute name" in diagnose(failure(), observed, (), (), ()).sentence
