"""What the measurements of trials are about: small projects that fail, and all edits that are proposed for them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.source import Source
from selfdebug.model import Failure, Patch, PytestRun, Site
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.stages.locate import Unlocated, locate
from selfdebug.stages.propose import Evidence, LocatedSite, apply_candidate, propose, read_expectations
from selfdebug.stages.propose import test_frame as frame_of_test

SHAPES = Path(__file__).parents[1] / "tests" / "codemods" / "guard_shapes"


def shapes() -> list[Path]:
    """The folders of the shared shapes of crashes, each with a subject and its tests."""
    return sorted(folder for folder in SHAPES.iterdir() if folder.is_dir())


def copied(shape: Path, root: Path) -> Path:
    """A shape as a project in the new folder `root`."""
    root.mkdir(parents=True)
    for file in shape.glob("*.py.txt"):
        (root / file.stem).write_bytes(file.read_bytes())
    return root


@dataclass(frozen=True, slots=True)
class Subject:
    """One failing test of a project: `sources` are served in place of files of `root`, which has no such failure then.

    `targets` are the failures of the test `node_id`.
    """

    name: str
    root: Path
    interpreter: Interpreter
    node_id: str
    targets: tuple[Failure, ...]
    sources: Mapping[str, bytes] = field(default_factory=dict)
    pytest_args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def read(self, file: str) -> bytes:
        """The bytes that the tests see of a file of the project."""
        return self.sources[file] if file in self.sources else (self.root / file).read_bytes()


def shape_subject(root: Path, interpreter: Interpreter) -> Subject | None:
    """The first failing test of a small project."""
    before = run_pytest(PytestRequest(interpreter, root))
    return failing(Subject(root.parent.name, root, interpreter, "", ()), before)


def failing(subject: Subject, run: PytestRun) -> Subject | None:
    """The subject with the first test that failed in a run of it; None where none did."""
    node_id = next((failure.node_id for failure in run.failures if failure.node_id), None)
    if node_id is None:
        return None
    targets = tuple(failure for failure in run.failures if failure.node_id == node_id)
    return replace(subject, node_id=node_id, targets=targets)


def patches(subject: Subject) -> list[Patch]:
    """The different edits that are proposed for the place of a failure, most likely first; nothing is observed."""
    failure = subject.targets[0]
    crash = failure.crash
    frame = next((each for each in reversed(crash.project_frames) if not each.is_test), None)
    if frame is None or frame.file is None:
        return []
    source = Source.parse(subject.read(frame.file))
    location = locate(frame, crash.exception, source)
    if isinstance(location, Unlocated):
        return []
    test = frame_of_test(failure)
    text = subject.read(test.file).decode() if test and test.file else ""
    wanted = read_expectations(text, (test.line if test else None) or 0)
    found: dict[bytes, Patch] = {}
    for candidate in propose([LocatedSite(Site.CRASH, location, source)], Evidence(crash.exception, (), wanted)):
        try:
            patch = apply_candidate(candidate, source)
        except (RefusedError, TargetNotFoundError):
            continue
        found.setdefault(patch.after, patch)
    return list(found.values())


def spread(found: Sequence[Patch], count: int) -> list[Patch]:
    """So many of the edits, of as many families as there are."""
    families: dict[str, list[Patch]] = {}
    for patch in found:
        families.setdefault(patch.candidate.family, []).append(patch)
    chosen: list[Patch] = []
    while len(chosen) < min(count, len(found)):
        chosen.extend(waiting.pop(0) for waiting in families.values() if waiting)
    return chosen[:count]
