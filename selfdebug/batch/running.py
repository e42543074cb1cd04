"""The batch itself: freeze the projects, find the causes, give the jobs away, put the patches together, check them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from selfdebug.batch.executors import executor
from selfdebug.batch.isolation import ACTIVE, isolated
from selfdebug.batch.ledger import Ledger, fingerprint
from selfdebug.batch.orders import (
    Cause,
    Causes,
    FindCauses,
    Lost,
    Order,
    Refused,
    Repaired,
    RepairTests,
    Reply,
    RunSuite,
    SuiteRun,
)
from selfdebug.batch.plan import causes_in_log, jobs_of, share_of
from selfdebug.batch.records import (
    BatchResult,
    Check,
    Job,
    JobResult,
    JobState,
    ProjectResult,
    Shard,
    Target,
)
from selfdebug.batch.summary import interrupted, put_together, summed_up
from selfdebug.model import Outcome, Progress
from selfdebug.paths import is_in_environment
from selfdebug.pytest_process import Interpreter
from selfdebug.pytest_process.folders import BATCH_PREFIX, new_folder, remove_tree
from selfdebug.repair.interruption import interruptible
from selfdebug.workspace.frozen import FrozenTree

_SIGN_SECONDS = 1.0
Events = Callable[[Progress], None]
Subject = TypeVar("Subject")


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What a batch is asked for. `work_dir` is where the copies go (None: the system's temporary folder).

    `jobs` run at a time on this machine, unless a Dask cluster at `scheduler` takes them. A process that dies is
    started again `retries` times.
    """

    targets: tuple[Target, ...]
    jobs: int
    scheduler: str | None = None
    retries: int = 1
    shard: Shard | None = None
    resume: bool = True
    work_dir: Path | None = None


@dataclass(slots=True)
class _Project:
    """A project of the batch: its frozen tree, and what is known of it so far."""

    target: Target
    frozen: FrozenTree
    sources: tuple[str, ...]
    ledger: Ledger
    jobs: tuple[Job, ...] = ()
    known: Mapping[str, Outcome] = field(default_factory=dict)
    originals: dict[str, bytes] = field(default_factory=dict)

    def take(self, causes: Sequence[Cause]) -> tuple[Job, ...]:
        """Give the project more jobs; returns those of these causes."""
        jobs = jobs_of(self.target.project, causes)
        self.jobs = tuple(dict.fromkeys((*self.jobs, *jobs)))
        return jobs

    def order(self, name: str, task: FindCauses | RepairTests | RunSuite, node_ids: Sequence[str] = ()) -> Order:
        """A task in a copy of this project."""
        settings = replace(self.target.settings, node_ids=tuple(node_ids), jobs=1)
        return Order(self.frozen.folder, name, settings, self.sources, task)


@dataclass(slots=True)
class _Batch:
    """The state of a batch that is going on."""

    request: BatchRequest
    events: Events
    projects: list[_Project]
    pool: Executor = field(init=False)
    results: dict[str, JobResult] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    # ------------------------------------------------------------ causes

    def find_causes(self) -> None:
        """Give every project its jobs."""
        waiting: dict[Future[Reply], _Project] = {}
        for project in self.projects:
            node_ids = project.target.settings.node_ids
            if project.target.failures is not None:
                causes, sentences = causes_in_log(project.target)
                project.take(causes)
                self.warnings.extend(sentences)
            if project.target.failures is None or node_ids:
                order = project.order("causes", FindCauses(), node_ids)
                waiting[self.pool.submit(isolated, order, self.request.retries)] = project
        for future, project in self._as_they_end(waiting, "causes", lambda project: project.target.project):
            self._take_causes(project, reply_of(future))

    def _take_causes(self, project: _Project, reply: Reply) -> None:
        if isinstance(reply.answer, Causes):
            project.take(reply.answer.causes)
            project.known = reply.answer.outcomes
            if not reply.answer.causes and not reply.answer.nothing_failed:
                self._could_not_begin(project, JobState.NOT_REPAIRED, reply.answer.sentence, reply)
        else:
            state = JobState.LOST if isinstance(reply.answer, Lost) else JobState.NOT_REPAIRED
            self._could_not_begin(project, state, sentence_of(reply), reply)

    def _could_not_begin(self, project: _Project, state: JobState, sentence: str, reply: Reply) -> None:
        node_ids = project.target.settings.node_ids
        job = project.take([Cause(node_ids, "running the tests")])[0]
        self.results[job.id] = JobResult(job, state, sentence, reply.seconds, reply.tries)

    # ------------------------------------------------------------ jobs

    def repair(self) -> None:
        """Run the jobs of this shard that are not finished yet."""
        mine = frozenset(share_of([job for project in self.projects for job in project.jobs], self.request.shard))
        left = [(project, self._left(project, mine)) for project in self.projects]
        self._learn_outcomes([project for project, jobs in left if len(jobs) > 1 and not project.known])
        waiting: dict[Future[Reply], Job] = {}
        for project, jobs in left:
            for job in jobs:
                order = project.order(job.id, RepairTests(project.known), job.node_ids)
                waiting[self.pool.submit(isolated, order, self.request.retries)] = job
        if self.results and waiting:
            self.events(Progress("batch", f"{len(self.results)} finished jobs are taken over"))
        for future, job in self._as_they_end(waiting, "batch", lambda job: job.cause):
            self._take_result(job, reply_of(future))

    def _left(self, project: _Project, mine: Collection[Job]) -> list[Job]:
        """Those of `mine` in a project that have no result; takes over the results that an earlier batch left."""
        finished = project.ledger.finished() if self.request.resume else {}
        left: list[Job] = []
        for job in project.jobs:
            if job not in mine or job.id in self.results:
                continue
            if job.id in finished:
                self.results[job.id] = finished[job.id][0]
                project.originals.update(finished[job.id][1])
            else:
                left.append(job)
        return left

    def _learn_outcomes(self, projects: Sequence[_Project]) -> None:
        """Run what the logs of these projects name, once, as otherwise each job would find out what else fails."""
        waiting: dict[Future[Reply], _Project] = {}
        for project in projects:
            named = [node_id for job in project.jobs for node_id in job.node_ids]
            order = project.order("outcomes", FindCauses(), named)
            waiting[self.pool.submit(isolated, order, self.request.retries)] = project
        for future, project in self._as_they_end(waiting, "outcomes", lambda project: project.target.project):
            answer = reply_of(future).answer
            if isinstance(answer, Causes):
                project.known = answer.outcomes

    def _take_result(self, job: Job, reply: Reply) -> None:
        project = next(project for project in self.projects if project.target.project == job.project)
        answer = reply.answer
        if isinstance(answer, Repaired):
            project.originals.update(answer.originals)
            state = JobState.REPAIRED if answer.is_passing else JobState.NOT_REPAIRED
            sentence, changes = str(answer.report["message"]), answer.changes
            result = JobResult(
                job, state, sentence, reply.seconds, reply.tries, changes, answer.still_failing, answer.report
            )
            project.ledger.save(result, answer.originals)
        else:
            state = JobState.LOST if isinstance(answer, Lost) else JobState.NOT_REPAIRED
            result = JobResult(job, state, sentence_of(reply), reply.seconds, reply.tries)
        self.results[job.id] = result

    # ------------------------------------------------------------ together

    def together(self) -> tuple[ProjectResult, ...]:
        """The patches of each project as one, run against its whole suite where there is more than one."""
        combined = [
            put_together(project.target.project, self._results_of(project), project.originals)
            for project in self.projects
        ]
        waiting: dict[Future[Reply], int] = {}
        for number, (project, result) in enumerate(zip(self.projects, combined, strict=True)):
            if len({each.changes for each in self._parts(project, result)}) > 1:
                changed = {each.file: each.after for each in result.files}
                order = project.order("together", RunSuite(changed))
                waiting[self.pool.submit(isolated, order, self.request.retries)] = number
        for future, number in self._as_they_end(waiting, "check", lambda number: combined[number].project):
            parts = self._parts(self.projects[number], combined[number])
            combined[number] = replace(combined[number], check=_check(parts, reply_of(future)))
        return tuple(combined)

    def _results_of(self, project: _Project) -> list[JobResult]:
        return [self.results[job.id] for job in project.jobs if job.id in self.results]

    def _parts(self, project: _Project, result: ProjectResult) -> list[JobResult]:
        left_out = {overlap.left_out for overlap in result.overlaps}
        return [each for each in self._results_of(project) if each.changes and each.job.id not in left_out]

    # ------------------------------------------------------------ the end

    def summed_up(self, projects: tuple[ProjectResult, ...]) -> BatchResult:
        """What has come out so far, with the combined patches."""
        planned = tuple(job.id for project in self.projects for job in project.jobs)
        results = tuple(self.results[job] for job in planned if job in self.results)
        return summed_up(planned, results, projects, self.request.shard, tuple(dict.fromkeys(self.warnings)))

    def forget(self) -> None:
        """Leave nothing for another batch, unless a job was lost: that one may be done again, without the others."""
        if not any(result.state is JobState.LOST for result in self.results.values()):
            for project in self.projects:
                project.ledger.clear()

    def originals(self) -> dict[tuple[str, str], bytes]:
        """The former contents of the changed files, by project and file."""
        return {
            (project.target.project, file): data
            for project in self.projects
            for file, data in project.originals.items()
        }

    # ------------------------------------------------------------ waiting

    def _as_they_end(
        self, waiting: dict[Future[Reply], Subject], stage: str, name: Callable[[Subject], str]
    ) -> Iterator[tuple[Future[Reply], Subject]]:
        """The futures as they end, with a sign of life now and then."""
        if not waiting:
            return
        total, pending = len(waiting), set(waiting)
        self.events(Progress(stage, f"{total} to do", 0, total))
        while pending:
            ended, pending = wait(pending, _SIGN_SECONDS, FIRST_COMPLETED)
            for future in ended:
                yield future, waiting[future]
            last = f"{name(waiting[next(iter(ended))])} has ended" if ended else f"{len(pending)} are going on or wait"
            self.events(Progress(stage, last, total - len(pending), total))


def reply_of(future: Future[Reply]) -> Reply:
    """What a future holds; what the executor itself says of a lost call is a reply, too."""
    error = future.exception()
    if error is None:
        return future.result()
    return Reply(Lost(f"the executor lost it: {type(error).__name__}: {error}"), 0.0, 1)


def sentence_of(reply: Reply) -> str:
    """Why there is no result."""
    match reply.answer:
        case Lost():
            return f"Lost: {reply.answer.sentence}."
        case Refused():
            return reply.answer.sentence
    return f"Lost: the answer is of the wrong kind ({type(reply.answer).__name__})."


def _check(parts: Sequence[JobResult], reply: Reply) -> Check:
    """What a run with all patches says: a test is broken that fails in it, but not with one of them alone."""
    answer = reply.answer
    if not isinstance(answer, SuiteRun):
        return Check(f"The patches were not run together. {sentence_of(reply)}", ("the whole suite",))
    if answer.sentence:
        return Check(f"The patches were not run together: {answer.sentence}.", ("the whole suite",), answer.failed)
    broken = tuple(node for node in answer.failed if any(node not in part.still_failing for part in parts))
    if broken:
        return Check(f"The {len(parts)} patches do not go together.", broken, answer.failed)
    return Check(f"The {len(parts)} patches go together: the whole suite was run with all of them.", (), answer.failed)


# ---------------------------------------------------------------- the whole


def run_batch(request: BatchRequest, events: Events) -> tuple[BatchResult, dict[tuple[str, str], bytes]]:
    """Repair the targets in copies of their projects; nothing of the user's is changed but the state folders.

    Returns the result and the former contents of the files that it changes, by project and file. SIGINT, SIGTERM and
    SIGHUP end all jobs and leave what is finished for the next batch; the result then has exit code 130. Raises
    UsageError children for a batch that cannot begin, WorkspaceError where the copies cannot be made.
    """
    began = time.monotonic()
    batch = _Batch(request, events, [])
    with interruptible(), _work_folder(request.work_dir) as folder:
        try:
            projects = _carried_out(batch, folder)
        except KeyboardInterrupt:
            done = interrupted(batch.summed_up(()))
        else:
            done = batch.summed_up(projects)
            batch.forget()
    return replace(done, seconds=time.monotonic() - began), batch.originals()


def _carried_out(batch: _Batch, folder: Path) -> tuple[ProjectResult, ...]:
    request = batch.request
    batch.projects = [_frozen(target, folder / f"project-{n}") for n, target in enumerate(request.targets)]
    with executor(request.jobs, request.scheduler) as batch.pool, _ended_with(folder / ACTIVE):
        batch.find_causes()
        batch.repair()
        return batch.together()


@contextmanager
def _work_folder(place: Path | None) -> Iterator[Path]:
    folder = new_folder(BATCH_PREFIX, place)
    try:
        (folder / ACTIVE).touch()
        yield folder
    finally:
        remove_tree(folder)


@contextmanager
def _ended_with(active: Path) -> Iterator[None]:
    """Let every job that still goes on end when the block does."""
    try:
        yield
    finally:
        active.unlink()


def _frozen(target: Target, folder: Path) -> _Project:
    interpreter = Interpreter.find(target.settings.python)
    target = replace(target, settings=replace(target.settings, python=interpreter.path))
    frozen = FrozenTree.freeze(target.settings.root, folder)
    origin = Path(frozen.origin)
    inside = [place.relative_to(origin) for place in interpreter.import_folders() if place.is_relative_to(origin)]
    sources = tuple(place.as_posix() for place in inside if not is_in_environment(origin, f"{place.as_posix()}/a.py"))
    return _Project(target, frozen, sources, Ledger(target.settings.root, fingerprint(frozen.digest, target.settings)))
