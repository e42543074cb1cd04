"""The stages on a tiny module, without a process: crash it, locate, probe, propose, and try each candidate in turn.

The whole loop over real processes is held by tests/loop; here many faults are gone through in little time.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.probe_removal import CATCHER, RECORDER
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span
from selfdebug.model import (
    Candidate,
    ExceptionRecord,
    Failure,
    FaultKind,
    FaultLocation,
    Frame,
    ProbeCatch,
    ProbeHit,
    PytestRun,
    Site,
    Value,
    When,
)
from selfdebug.stages.diagnose import diagnose
from selfdebug.stages.locate import Unlocated, locate, locate_call
from selfdebug.stages.locate.turned_away import deciding_condition, turned_away
from selfdebug.stages.observe import observe, with_observed_first
from selfdebug.stages.propose import Evidence, LocatedSite, apply_candidate, propose, read_expectations

MODULE, TEST = "m.py", "test_m.py"


@dataclass(frozen=True)
class Repaired:
    """The first candidate that passes: what it is, the module after it, how many were tried, and the diagnosis."""

    candidate: Candidate
    text: str
    tried: int
    sentence: str


def repaired(code: str, test: str, most: int = 60) -> Repaired:
    """Repair `code` (of m.py) so that the statements `test`, which may use its names, no longer raise."""
    error = raised_by(code, test)
    assert error is not None, "the test passes already"
    sites, evidence, sentence = _diagnosed(code, test, error)
    tried: dict[str, None] = {}
    for candidate in propose(sites, evidence):
        try:
            text = apply_candidate(candidate, sites[0].source).after.decode()
        except (RefusedError, TargetNotFoundError):
            continue
        if text not in tried:
            tried[text] = None
            if raised_by(text, test) is None:
                return Repaired(candidate, text, len(tried), sentence)
        assert len(tried) < most, f"none of {most} candidates passes for: {sentence}"
    raise AssertionError(f"none of {len(tried)} candidates passes for: {sentence}\n" + "\n".join(tried))


def crash_site(text: str, line: int, exception: ExceptionRecord) -> LocatedSite:
    """The place in `text` (of m.py) at which it raised the exception."""
    source = Source.parse(text.encode())
    location = locate(Frame(MODULE, line, None, MODULE), exception, source)
    assert isinstance(location, FaultLocation)
    return LocatedSite(Site.CRASH, location, source)


def raised_by(code: str, test: str) -> Exception | None:
    """What the test, to which `N` is a namespace with given attributes, raises with this module, or None."""
    module: dict[str, Any] = {"__name__": "m"}
    try:
        exec(compile(code, MODULE, "exec", dont_inherit=True), module)
        exec(compile(test, TEST, "exec", dont_inherit=True), {**module, "N": types.SimpleNamespace})
    except Exception as error:  # noqa: BLE001 - whatever the program under test raises is what is asked for
        return error
    return None


def _diagnosed(code: str, test: str, error: Exception) -> tuple[list[LocatedSite], Evidence, str]:
    source = Source.parse(code.encode())
    record = exception_record(error)
    frames = list(_frames(error.__traceback__))
    location = locate(frames[0], record, source)
    assert isinstance(location, FaultLocation), location
    calls = [locate_call(frame, source) for frame in frames[1:]]
    callers = [LocatedSite(Site.CALLER, call, source) for call in calls if not isinstance(call, Unlocated)]
    condition = deciding_condition(location, source) if location.kind is FaultKind.DELIBERATE_RAISE else None
    conditions = [condition] if condition is not None else []
    places = [*conditions, location, *(caller.location for caller in callers)]
    seen = observe(places, {MODULE: source.data}, lambda sources: _probed_run(sources, test))
    location = with_observed_first(location, seen.observations)
    failure = Failure("t", When.CALL, record, tuple(reversed(frames)))
    sentence = diagnose(failure, location, seen.observations, seen.caught, ()).sentence
    wanted = read_expectations(f"def test():\n    {test.replace(chr(10), chr(10) + '    ')}\n", 2)
    known = [turned_away(each, seen.observations) for each in conditions]
    sites = [LocatedSite(Site.CONDITION, each, source) for each in known if each is not None]
    sites = [LocatedSite(Site.CRASH, location, source), *callers, *sites]
    return sites, Evidence(record, seen.observations, wanted), sentence


def exception_record(error: BaseException) -> ExceptionRecord:
    """As the plugin in the tests' interpreter writes it."""
    classes = tuple(each.__name__ for each in type(error).__mro__)
    return ExceptionRecord(type(error).__name__, str(error), getattr(error, "name", None), mro=classes)


def _frames(traceback: types.TracebackType | None) -> Iterator[Frame]:
    """The frames in the module, innermost first."""
    found = []
    while traceback is not None:
        code, line = traceback.tb_frame.f_code, traceback.tb_lineno
        if code.co_filename == MODULE:
            start, end, column, end_column = list(code.co_positions())[traceback.tb_lasti // 2]
            assert start is not None and end is not None and column is not None and end_column is not None
            found.append(Frame(MODULE, line, code.co_name, MODULE, Span(start, column, end, end_column)))
        traceback = traceback.tb_next
    yield from reversed(found)


def _probed_run(sources: Mapping[str, bytes], test: str) -> PytestRun:
    hits: list[ProbeHit] = []
    catches: list[ProbeCatch] = []

    def probe(number: int, value: object) -> object:
        hits.append(ProbeHit(number, "t", "f", _value(value), len(hits) + len(catches) + 1))
        return value

    def caught(number: int) -> None:
        record = ExceptionRecord("Exception", "")
        catches.append(ProbeCatch(number, "t", "f", record, (), len(hits) + len(catches) + 1))

    recorders: dict[str, Callable[..., object]] = {RECORDER: probe, CATCHER: caught}
    for statement in sources.values():
        before = dict(vars(builtins))
        vars(builtins).update(recorders)
        try:
            raised_by(statement.decode(), test)
        finally:
            for name in recorders:
                vars(builtins).pop(name, None)
        assert not set(vars(builtins)) - set(before)
    return PytestRun("probe", (), (), 1, 0.0, hits=tuple(hits), catches=tuple(catches), ended=True)


def _value(value: object) -> Value:
    classes = [_name(each) for each in type(value).__mro__ if each is not object]
    return Value(classes[0] if classes else "object", repr(value), value is None, bases=tuple(classes[1:]))


def _name(cls: type) -> str:
    """As the plugin writes it: qualified, but for builtins."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
