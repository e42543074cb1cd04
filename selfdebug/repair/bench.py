"""Where a run's tests are run, its edits are made and its steps recorded.

In place, edits go through the workspace (snapshot first, every write atomic); on a dry run they stay in memory and are
served to the tests. The loop above does not see the difference.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from codemods.selfdebug.base import RefusedError
from selfdebug.config import Settings
from selfdebug.errors import SelfdebugError
from selfdebug.model import Diagnosis, Failure, Outcome, Patch, Progress, PytestRun, Tier, Tracing
from selfdebug.paths import is_test_file
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.repair.choice import Chooser
from selfdebug.repair.grouping import Group, node_ids
from selfdebug.repair.reach import Reach
from selfdebug.repair.screening import Screened, Screening, files_of
from selfdebug.repair.side_by_side import Ask, SideBySide
from selfdebug.trace.recorder import Recorder, StepWriter
from selfdebug.workspace import Workspace

if TYPE_CHECKING:  # these import libcst, for which the first run of the tests does not wait
    from codemods.selfdebug.source import Source
    from selfdebug.stages.propose import Mine

Events = Callable[[Progress], None]

_WHY_FORKED = {
    Tier.WARM: "a process that has collected the tests once runs them again and again",
    Tier.PRELOADED: "a process that has imported the libraries once runs all that follows again and again",
}


@dataclass
class Bench:
    """The state of one run. `edited` holds the bytes of each file as the run has left it so far.

    `meanwhile` is done while the first run of the tests goes on.
    `known` are the outcomes of the tests with the files as they were in the beginning, or as `accepted` says.
    """

    settings: Settings
    interpreter: Interpreter
    workspace: Workspace
    run_id: str
    events: Events
    recorder: Recorder
    runs: list[PytestRun] = field(default_factory=list)
    edited: dict[str, bytes] = field(default_factory=dict)
    originals: dict[str, bytes] = field(default_factory=dict)
    known: dict[str, Outcome] = field(default_factory=dict)
    accepted: dict[str, bytes] = field(default_factory=dict)
    timings: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    failed_places: list[dict[str, object]] = field(default_factory=list)
    followed_in_vain: int = 0
    is_settled: bool = False
    choose: Chooser | None = None
    meanwhile: Callable[[], None] | None = None
    open_steps: list[StepWriter] = field(default_factory=list)
    inner_seconds: list[float] = field(default_factory=list)
    reach: Reach = field(default_factory=Reach)
    screening: Screening = field(init=False)
    side_by_side: SideBySide = field(init=False)

    def __post_init__(self) -> None:
        self.screening = Screening(self.settings, self.interpreter)
        self.side_by_side = SideBySide(self.settings, self.interpreter, self.screening)

    def run(
        self,
        node_ids: Sequence[str] = (),
        sources: Mapping[str, bytes] | None = None,
        record_probes: bool = False,
        trace: Tracing | None = None,
        limit: float | None = None,
    ) -> PytestRun:
        """Run the tests as the files stand now, with `sources` served from memory instead of the files of that name.

        They may take `limit` seconds, and at most as long as the settings allow.
        """
        request = self._request
        return self._run(
            replace(
                request,
                node_ids=tuple(node_ids),
                timeout=min(limit or request.timeout, request.timeout),
                sources={**request.sources, **(sources or {})},
                record_probes=record_probes,
                trace=trace,
            )
        )

    def run_suite(self, calls: bool = False) -> PytestRun:
        """Run all tests as the files stand now; the first that passed before and fails now ends the run.

        With `calls`, it is seen which functions each test runs, and no failure ends the run.
        """
        passed = () if calls else tuple(node for node, outcome in self.known.items() if outcome is Outcome.PASSED)
        done = self._run(replace(self._request, calls=calls, passing=passed))
        if done.calls is not None:
            self.reach.calls, self.reach.files = done.calls, dict(self.edited)
        return done

    @property
    def sees_calls_cheaply(self) -> bool:
        """Whether it costs next to nothing to see which functions a test runs: by `sys.monitoring`."""
        return tuple(map(int, self.interpreter.version.split(".")[:2])) >= (3, 12)

    def tests_reaching(self, patch: Patch) -> tuple[str, ...]:
        """The tests that passed before and are likely to notice `patch`, for running them ahead of the suite."""
        original = self.originals.get(patch.file, patch.before)
        tests = self.reach.tests_of(patch, original)
        return tuple(node for node in tests if self.known.get(node) is Outcome.PASSED)

    @property
    def _request(self) -> PytestRequest:
        """All tests of the project, as its files stand now."""
        return PytestRequest(
            self.interpreter,
            self.settings.root,
            pytest_args=self.settings.pytest_args,
            timeout=self.settings.timeout,
            sources=dict(self.edited) if self.settings.dry_run else {},
        )

    def _run(self, request: PytestRequest) -> PytestRun:
        self.side_by_side.wait()
        done = run_pytest(
            request,
            run_id=f"pytest-{len(self.runs) + 1}",
            progress=self._tick,
            meanwhile=None if self.runs else self.meanwhile,
        )
        self._record(done, "the plugin reports, and nothing is written into the project")
        self.reach.durations.update(done.durations)
        return done

    def prepare_screening(self, group: Sequence[Failure], node_ids: Sequence[str]) -> None:
        """Let what `screen` needs start in the background, with the tests that run the code at the crash."""
        self.side_by_side.wait()
        place = group[0].crash.deepest_source
        met = self.reach.breakers or self.reach.outlasting
        if place is not None and place.file and place.line and (self.reach.is_known or met):
            source = self.read(place.file)
            original = self.originals.get(place.file, source)
            self.screening.also = self.reach.files_around(place.file, place.line, source, original)
        self.screening.prepare(Screened(group, node_ids, self.changed))

    def screen(
        self, group: Sequence[Failure], node_ids: tuple[str, ...], patches: Sequence[Patch]
    ) -> Iterator[tuple[Patch, Ask]]:
        """Let the tests run with each of the patches in forks of processes that have collected them already."""
        return self.side_by_side.runs(Screened(group, node_ids, self.changed), patches)

    def asked(self, ask: Ask) -> PytestRun | None:
        """The run of one of those patches; None where it cannot be told so."""
        done = ask()
        if done is None:
            return None
        done = replace(done, id=f"pytest-{len(self.runs) + 1}")
        self._record(done, _WHY_FORKED[done.tier])
        return done

    def look(self, group: Sequence[Failure], node_ids: Sequence[str], sources: Mapping[str, bytes]) -> PytestRun:
        """Run tests of a group with the probes that `sources` hold, in a fork where that can be told."""
        self.side_by_side.wait()
        done = self.screening.look(Screened(group, node_ids, self.changed), sources, f"pytest-{len(self.runs) + 1}")
        if done is None:
            return self.run(node_ids, sources, record_probes=True)
        self._record(done, "a process that has collected the tests runs them with probes")
        return done

    def screen_some(self, tests: Sequence[str], sources: Mapping[str, bytes], probes: bool = False) -> PytestRun | None:
        """As `screen`, but with other tests of the same files, and with recorders where `sources` hold `probes`."""
        self.side_by_side.wait()
        done = self.screening.run_some(tests, sources, f"pytest-{len(self.runs) + 1}", probes)
        if done is not None:
            self._record(done, "a process that has collected the tests once runs some of them with a changed patch")
        return done

    def passing_beside(self, group: Group) -> tuple[str, ...]:
        """The tests of the same files as those of a group that are known to pass."""
        targets = node_ids(group)
        files = files_of(targets)
        passing = (node for node, outcome in self.known.items() if outcome is Outcome.PASSED)
        return tuple(node for node in passing if node.partition("::")[0] in files and node not in targets)

    def _record(self, done: PytestRun, why_options_added: str) -> None:
        self.runs.append(done)
        if self.open_steps:
            self.open_steps[-1].tool_call(done, why_options_added)

    def _tick(self, done: int, collected: int) -> None:
        self.say("pytest", "tests", done, collected or None)

    def read(self, file: str) -> bytes:
        """The bytes of a project file as the run has left it."""
        return self.edited[file] if file in self.edited else self.workspace.read(file)

    @cached_property
    def mine(self) -> Mine:
        """Where proposals look for what the project does elsewhere."""
        from selfdebug.repair.donors import mine_of

        return mine_of(self.settings.root, self.workspace)

    def source(self, file: str) -> Source | str:
        """The parsed file, or one sentence that says why it cannot be edited."""
        from codemods.selfdebug.source import Source

        try:
            return Source.parse(self.read(file))
        except RefusedError as error:
            return f"{file} cannot be edited: {error}."
        except SelfdebugError as error:
            return str(error)

    def write(self, file: str, data: bytes) -> None:
        """Make `data` the content of `file`: on disk after a snapshot, or in memory on a dry run."""
        self.side_by_side.wait()
        if file not in self.originals:
            self.originals[file] = self.workspace.read(file)
        if not self.settings.dry_run:
            self.workspace.snapshot([file], self.run_id)
            self.workspace.write(file, data)
        self.edited[file] = data

    def remember(self, diagnosis: Diagnosis) -> None:
        """Leave the place of the failure for `codemod selfdebug.NullGuard`, which without arguments guards it."""
        location = diagnosis.location
        if self.settings.dry_run or is_test_file(location.file):
            return
        place: dict[str, object] = {"file": location.file, "line": location.line}
        if location.receivers:
            receiver = location.receivers[0]
            place |= {"receiver": receiver.code, "column": receiver.receiver.start_column}
        self.failed_places.append(place)
        record = json.dumps({"failures": self.failed_places}, indent=1)
        self.workspace.publish("last-failure.json", record.encode())

    def keep(self, message: str) -> None:
        """End with the files as they are now."""
        self.workspace.keep(message)
        self.is_settled = True

    def roll_back(self) -> None:
        """End with every file as it was before the run; what could not be put back is a warning that names the copy."""
        done = self.workspace.roll_back()
        for left in (*done.conflicts, *done.pending):
            self.warnings.append(f"{left.file} was not put back: {left.reason}; its former content is in {left.copy}.")
        self.conflicts.extend(left.file for left in done.conflicts)
        self.is_settled = True

    @property
    def last_suite(self) -> PytestRun:
        """The last run of the whole suite to its end; the last run of any kind before there was one."""
        whole = (run for run in reversed(self.runs) if not run.proposed and run.halted_by is None)
        return next(whole, self.runs[-1])

    @property
    def changed(self) -> dict[str, bytes]:
        """The files whose content is not the original any more."""
        return {file: data for file, data in self.edited.items() if data != self.originals[file]}

    def accept(self, suite: PytestRun) -> None:
        """Compare patches from now on with the files as they are, with which the whole suite ran."""
        self.known.update(suite.outcomes)
        self.accepted = dict(self.edited)

    @property
    def not_accepted(self) -> dict[str, bytes]:
        """The accepted content of the files that have another now, such as a guard that only led further."""
        accepted = {file: self.accepted.get(file, data) for file, data in self.originals.items()}
        return {file: data for file, data in accepted.items() if data != self.edited.get(file, data)}

    def say(self, stage: str, message: str, done: int | None = None, total: int | None = None) -> None:
        """Show a sign of life."""
        self.events(Progress(stage, message, done, total))

    @contextmanager
    def step(self, stage: str, message: str, because: str | None = None) -> Iterator[StepWriter]:
        """One step of the run: shown as progress, timed, and recorded with the runs of pytest inside it."""
        self.say(stage, message)
        began = time.monotonic()
        self.inner_seconds.append(0.0)
        with self.recorder.step(stage, message, because=because) as writer:
            self.open_steps.append(writer)
            try:
                yield writer
            finally:
                self.open_steps.pop()
                self._account(stage, time.monotonic() - began)

    def _account(self, stage: str, seconds: float) -> None:
        """Add what a step has taken to its stage, without the steps inside it: those count for themselves."""
        self.timings[stage] = self.timings.get(stage, 0.0) + seconds - self.inner_seconds.pop()
        if self.inner_seconds:
            self.inner_seconds[-1] += seconds
