"""The one seam through which a run is recorded.

A recorder never fails a run: what cannot be written costs one sentence in `warnings`, and the steps go on without it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from selfdebug.trace import retention
from selfdebug.trace.database import TraceStoreError, set_aside
from selfdebug.trace.owner import Owner
from selfdebug.trace.records import (
    MAX_STORED,
    Check,
    Event,
    Finding,
    InnerRun,
    Read,
    Run,
    RunStatus,
    Step,
    ToolCall,
    Write,
)
from selfdebug.trace.redaction import LEFT_OUT, REDACTED, Redactor
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.step_writer import StepWriter
from selfdebug.trace.store import Store
from selfdebug.version import __version__

__all__ = ["Recorder", "StepWriter"]

TRIM_EVERY = 100
"""Events beyond the bound that may gather before the oldest are dropped, so that not every step pays for it."""


class Recorder:
    """Records one run. Steps may be opened from several threads; what they write is filed when each ends."""

    def __init__(self, run: Run, settings: TraceSettings) -> None:
        self.run = run
        self.settings = settings
        self.redactor = Redactor(settings.redact_keys, settings.redact_patterns, settings.include_values)
        self.warnings: list[str] = []
        self._store: Store | None = None
        self._lock = threading.RLock()
        self._open = threading.local()
        self._clock = time.monotonic()
        self._steps = 0
        self._seq = 0
        self._kept = 0
        self._writers: dict[str, tuple[str, ...]] = {}
        self._last: dict[str, str] = {}
        self._checks: dict[str, tuple[int, Check]] = {}
        self._calls: set[str] = set()

    @classmethod
    def open(
        cls,
        state_dir: Path,
        run_id: str,
        owner: Owner,
        settings: TraceSettings,
        *,
        project: Path | None = None,
    ) -> Recorder:
        """File the run and return its recorder, which records nothing (and says so) when the store cannot be used.

        `project` is the root of the project (default: the parent of the state folder).
        """
        root = project or state_dir.parent
        run = _begun(run_id, owner, settings, root.name)
        recorder = cls(run, settings)
        try:
            recorder._store = _open_store(state_dir, root, recorder.warnings.append)
            retention.make_room(recorder._store, run, settings)
            recorder._store.file_run(run)
        except TraceStoreError as error:
            recorder._give_up(error)
        return recorder

    # ------------------------------------------------------------ what the loop calls

    @contextmanager
    def step(
        self,
        stage: str,
        description: str = "",
        reads: Iterable[str] = (),
        rule: str | None = None,
        because: str | None = None,
    ) -> Iterator[StepWriter]:
        """Open a step of a stage; an exception that leaves it is noted as its error and goes on.

        `because` is the id of the step whose decision led here (default: the open step around this one, if any), `rule`
        the rule of that decision.
        """
        around: list[str] = self._open.__dict__.setdefault("steps", [])
        seq, writer = self._opened(stage, description, rule, because or (around[-1] if around else None))
        writer.read(*reads)
        self._file(seq, writer.snapshot())
        around.append(writer.id)
        try:
            yield writer
        except BaseException as error:
            writer.error(error)
            raise
        finally:
            around.remove(writer.id)
            self._file(seq, writer.snapshot(ended=self._now()))
            with self._lock:
                self._last[stage] = writer.id

    def _opened(self, stage: str, description: str, rule: str | None, because: str | None) -> tuple[int, StepWriter]:
        with self._lock:
            number = self._steps
            self._steps += 1
            seq = self._next_seq()
        text = self.redactor.text
        step = Step(f"{stage}#{number}", number, stage, text(description), self._now(), because=because)
        return seq, StepWriter(self, replace(step, rule=None if rule is None else text(rule)))

    @property
    def is_open(self) -> bool:
        """Whether what is recorded still reaches the store."""
        return self._store is not None

    def last(self, stage: str) -> str | None:
        """The id of the last step of this stage that ended, for `because`."""
        return self._last.get(stage)

    def finding(self, kind: str, sentence: str, step: str, witnesses: Iterable[str] = ()) -> None:
        """Note a contradiction that the run caught in itself."""
        text = self.redactor.text
        self._file(self._next_seq(), Finding(kind, text(sentence), step, tuple(text(witness) for witness in witnesses)))

    def checked(self, kind: str, looked_at: int, unseen: str = "") -> None:
        """Count one run of an integrity check over `looked_at` things; `unseen` says what it could not look at."""
        with self._lock:
            seq, before = self._checks.get(kind) or (self._next_seq(), Check(kind, 0, 0))
            check = Check(kind, before.times + 1, before.looked_at + looked_at, unseen or before.unseen)
            self._checks[kind] = (seq, check)
        self._file(seq, check)

    def report(self, document: dict[str, Any]) -> None:
        """Keep the JSON document that the run ended with; nothing where values or events are left out of the record."""
        if self.settings.include_values and self.settings.include_events:
            clean = self.redactor.data(document)
            self._writing(lambda store: store.put_report(self.run.id, clean))

    def end(self, status: str) -> None:
        """Make the run evidence. `status` is one of `RunStatus`; calling it again changes nothing."""
        status = RunStatus(status).value

        def finish(store: Store) -> None:
            if self._kept > self.settings.events:
                store.drop_oldest(self.run.id, self.settings.events)
            store.end_run(self.run.id, status, self.run.started + self._now())

        with self._lock:
            self._writing(finish)
            self.close()

    def close(self) -> None:
        """Stop recording without an end: the run is closed as crashed by whoever looks next."""
        with self._lock:
            store, self._store = self._store, None
            if store is not None:
                store.close()

    # ------------------------------------------------------------ what open steps call

    def prepared(self, key: str, verb: str, value: Any) -> Write:
        """The write as it is stored: redacted, cut to what is stored of one value, with its true size."""
        clean = self.redactor.data({key.rsplit(".", 1)[-1]: value})
        clean = next(iter(clean.values()))
        text = json.dumps(clean, ensure_ascii=False) if not isinstance(clean, str) else clean
        cut = len(text) > MAX_STORED
        return Write(
            self.redactor.text(key), verb, text[:MAX_STORED] if cut else clean, len(text), REDACTED in text, cut
        )

    def wrote(self, key: str, verb: str, step: str) -> None:
        """Remember who wrote a key last; a list was given by all who added to it since it was set."""
        with self._lock:
            before = self._writers.get(key, ()) if verb == "append" else ()
            self._writers[key] = (*(writer for writer in before if writer != step), step)

    def resolve(self, key: str) -> Read:
        """A read of a key: of the key itself, else of all below it, else of the nearest key above it."""
        key = self.redactor.text(key)
        with self._lock:
            if key in self._writers:
                return Read(key, self._writers[key])
            below = [writers for name, writers in self._writers.items() if name.startswith(key + ".")]
            if below:
                return Read(key, tuple(dict.fromkeys(writer for writers in below for writer in writers)))
            above = key
            while "." in above:
                above = above.rpartition(".")[0]
                if above in self._writers:
                    return Read(key, self._writers[above])
        return Read(key)

    def file_call(self, call: ToolCall) -> None:
        """File a tool call."""
        if not self.settings.include_events:
            return
        clean = self.redactor.data
        call = replace(
            call,
            proposed=tuple(clean(call.proposed)),
            command=tuple(clean(call.command)),
            added=tuple(clean(call.added)),
            added_because=self.redactor.text(call.added_because),
            outcome=self.redactor.text(call.outcome),
        )
        self._file(self._next_seq(), call)

    def file_inner(self, call: str, inner: dict[str, Any], is_trial: bool) -> None:
        """File what was seen inside a tool call, in place of what was filed of it before."""
        if self.settings.include_events:
            kept = InnerRun(call, self._seq, self.redactor.data(inner), is_trial)
            self._writing(lambda store: store.put_inner(self.run.id, kept, self.settings.inner_runs))

    # ------------------------------------------------------------ the store

    def _file(self, seq: int, event: Event) -> None:
        if isinstance(event, Step):
            event = self._without_left_out(event)
        self._writing(lambda store: store.put(self.run.id, seq, event))

    def _without_left_out(self, step: Step) -> Step:
        if not self.settings.include_events:
            step = replace(step, reads=(), writes=(), untracked=(), calls=())
        if not self.settings.include_narrative:
            step = replace(step, description="")
        if not self.settings.include_values:
            step = replace(step, errors=tuple(error.split(":")[0] + f": {LEFT_OUT}" for error in step.errors))
        return step

    def _next_seq(self) -> int:
        with self._lock:
            seq = self._seq
            self._seq += 1
            self._kept += 1
            if self._kept >= self.settings.events + TRIM_EVERY:
                self._writing(lambda store: store.drop_oldest(self.run.id, self.settings.events))
                self._kept = self.settings.events
        return seq

    def _writing(self, write: Callable[[Store], object]) -> None:
        with self._lock:
            if self._store is None:
                return
            try:
                write(self._store)
            except TraceStoreError as error:
                self._give_up(error)

    def _give_up(self, error: TraceStoreError) -> None:
        self.warnings.append(f"This run is not recorded any further: {error}")
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _now(self) -> float:
        return time.monotonic() - self._clock


def _begun(run_id: str, owner: Owner, settings: TraceSettings, project: str) -> Run:
    recordable = ("include_narrative", "include_events", "include_values")
    return Run(
        run_id,
        owner.session,
        owner.shelf,
        project,
        status=None,
        started=time.time(),
        ended=None,
        left_out=tuple(name for name in recordable if not getattr(settings, name)),
        version=__version__,
    )


def _open_store(folder: Path, root: Path, say: Callable[[str], None]) -> Store:
    """The store for writing; one that is damaged beyond opening is set aside, and a new one is made."""
    try:
        return Store.create(folder, root)
    except TraceStoreError as error:
        if not error.is_damage:
            raise
        aside = set_aside(folder)
        if aside is None:
            raise
        say(f"{error} It was set aside as {aside.name}.")
        return Store.create(folder, root)
