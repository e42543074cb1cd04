"""From projects, tests and logs to jobs: one for each cause of failures, in an order that every machine agrees on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from selfdebug.batch.causes import cause_of
from selfdebug.batch.orders import Cause
from selfdebug.batch.records import Job, Shard, Target
from selfdebug.repair.grouping import groups
from selfdebug.stages.failures import node_ids_to_run


def causes_in_log(target: Target) -> tuple[tuple[Cause, ...], tuple[str, ...]]:
    """The causes of the failures that a log names, with tests that can be run here, and sentences about the others."""
    causes: list[Cause] = []
    sentences: list[str] = []
    for group in groups(target.failures or ()):
        node_ids, unmapped = node_ids_to_run(group, target.settings.root)
        sentences.extend(unmapped)
        if node_ids:
            causes.append(Cause(node_ids, cause_of(group).sentence))
    return tuple(causes), tuple(dict.fromkeys(sentences))


def jobs_of(project: str, causes: Iterable[Cause]) -> tuple[Job, ...]:
    """A job for each cause; ids depend on the project's name and the tests alone."""
    found: dict[str, Job] = {}
    for cause in causes:
        text = "\0".join((project, *sorted(cause.node_ids)))
        job = Job(
            sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12], project, cause.node_ids, cause.sentence
        )
        found.setdefault(job.id, job)
    return tuple(found.values())


def share_of(jobs: Sequence[Job], shard: Shard | None) -> tuple[Job, ...]:
    """The jobs of a shard: every `count`-th in the order of the ids, which does not hang on the order of the tests."""
    if shard is None:
        return tuple(jobs)
    mine = {job.id for job in sorted(jobs, key=lambda job: job.id)[shard.index - 1 :: shard.count]}
    return tuple(job for job in jobs if job.id in mine)
