"""What a stage says while it works: the open step, which the recorder files when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from selfdebug.model import PytestRun
from selfdebug.trace import calls
from selfdebug.trace.integrity import Checked
from selfdebug.trace.records import Read, Step, Write

if TYPE_CHECKING:
    from selfdebug.trace.recorder import Recorder


class StepWriter:
    """An open step: what it reads, writes and suffers is collected here and filed when the step ends."""

    def __init__(self, recorder: Recorder, opened: Step) -> None:
        self._recorder = recorder
        self._opened = opened
        self._description = opened.description
        self._rule, self._because = opened.rule, opened.because
        self._reads: dict[str, Read] = {}
        self._writes: list[Write] = []
        self._errors: list[str] = []
        self._untracked: list[str] = []
        self._calls: list[str] = []
        self._inside: tuple[str, dict[str, Any]] | None = None

    @property
    def id(self) -> str:
        """The id of the step, `stage#n`."""
        return self._opened.id

    @property
    def number(self) -> int:
        """The number of the step in the run."""
        return self._opened.number

    def describe(self, sentence: str, without_values: str | None = None) -> None:
        """Say what the step did, in place of what it was going to do.

        `without_values` is said instead where values of the program are left out and the sentence quotes one.
        """
        recorder = self._recorder
        if without_values is not None and not recorder.settings.include_values:
            sentence = without_values
        self._description = recorder.redactor.text(sentence)

    def decided(self, rule: str, because: str | None = None) -> None:
        """Name the rule that led to this step and the step whose decision that was."""
        self._rule = self._recorder.redactor.data(rule)  # a `Seen` rule is left out with the values
        self._because = because or self._because

    def led_by(self, rule: str, *stages: str) -> None:
        """Name the rule that led here and, unless the caller named one, the last step of the first stage that ran."""
        leading = (self._recorder.last(stage) for stage in stages)
        self.decided(rule, self._because or next((step for step in leading if step), None))

    def check(self, *results: Checked) -> None:
        """Record the results of integrity checks as findings of this step."""
        for result in results:
            for contradiction in result.found:
                self._recorder.finding(result.kind, contradiction.sentence, self.id, contradiction.witnesses)
            self._recorder.checked(result.kind, result.looked_at, result.unseen)

    def read(self, *keys: str) -> None:
        """Note state keys that the step read; whoever had written them last is connected now."""
        for key in keys:
            if key not in self._reads:
                self._reads[key] = self._recorder.resolve(key)

    def read_written(self, *keys: str) -> None:
        """Note those of the keys that this run has written: what a step reads only where it is there."""
        self.read(*(key for key in keys if self._recorder.resolve(key).writers))

    def set(self, key: str, value: Any) -> None:
        """Write a state key; the value is JSON-like data."""
        self._write(key, "set", value)

    def append(self, key: str, value: Any) -> None:
        """Add one member to the list under a state key."""
        self._write(key, "append", value)

    def untracked(self, *sources: str) -> None:
        """Name sources that the step used and the trace does not see: environment, clock, the user's disk."""
        self._untracked.extend(map(self._recorder.redactor.text, sources))

    def error(self, error: BaseException | str) -> None:
        """Note an error that the step met."""
        text = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        self._errors.append(self._recorder.redactor.text(text))

    def tool_call(self, run: PytestRun, why_options_added: str = "") -> str:
        """Note a start of pytest, or a fork of one, with what it saw inside; returns its id."""
        call, inner = calls.of_run(run, self.id, why_options_added)
        self._recorder.file_call(call)
        self._inside = (call.id, inner)
        self._recorder.file_inner(call.id, inner, is_trial=self._opened.stage == "try")
        self._calls.append(call.id)
        return call.id

    def add_history(self, entries: Iterable[dict[str, Any]]) -> None:
        """Add traced values to what the last start of pytest of this step saw inside."""
        if self._inside is not None:
            call, inner = self._inside
            self._inside = (call, calls.with_history(inner, entries))
            self._recorder.file_inner(*self._inside, is_trial=self._opened.stage == "try")

    def snapshot(self, ended: float | None = None) -> Step:
        """The step as it stands."""
        return replace(
            self._opened,
            description=self._description,
            ended=ended,
            reads=tuple(self._reads.values()),
            writes=tuple(self._writes),
            errors=tuple(self._errors),
            untracked=tuple(dict.fromkeys(self._untracked)),
            rule=self._rule,
            because=self._because,
            calls=tuple(self._calls),
        )

    def _write(self, key: str, verb: str, value: Any) -> None:
        write = self._recorder.prepared(key, verb, value)
        self._writes.append(write)
        self._recorder.wrote(write.key, verb, self.id)
