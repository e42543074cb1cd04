"""What the snapshot of one file and its restoring cost, against stashing and popping the tree with pygit2.

python -m benchmarks snapshot [--rounds N] [--files 1000 10000 100000] [--place DIR ...] [--clock cpu] [--folder PATH]

Both have opened the repository before. A snapshot is synced to the disk before the first edit, a stash is not synced at
all. So each size is measured in each `--place`: by default a folder of the disk and, where there is one, a folder in
memory, where a sync costs nothing. The third way does nothing but write and sync as many small files as that does,
without the folders: on the same disk no snapshot can be much quicker.
The time does not depend on the number of files, but for one kind of repository: the paths of an index of version 4
(`index.version`, `feature.manyFiles`) can only be read one after the other, which libgit2 does in 9 ms for 10,000 files
and in 100 ms for 100,000, once a run; a reader of our own would not be quicker.
`--clock cpu` counts the processor time of the process instead of the time that passes: without the waiting for a disk,
and for the processor on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pygit2

from benchmarks.measure import Timing, interleaved, report
from selfdebug.workspace import Workspace
from selfdebug.workspace.durable import Step, watched

AUTHOR = pygit2.Signature("case", "case@example.org")
MEMORY = Path("/dev/shm")
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def repository(root: Path, files: int) -> pygit2.Repository:
    """A repository with so many committed files, a hundred a folder and alike in each, one of which is edited."""
    for number in range(files):
        folder = root / f"package_{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"module_{number}.py").write_text(f"VALUE = {number % 100}\n")
    made = pygit2.init_repository(str(root))
    made.index.add_all()
    made.index.write()
    made.create_commit("HEAD", AUTHOR, AUTHOR, "before", made.index.write_tree(), [])
    (root / "package_0" / "module_1.py").write_text("VALUE = 'edited by the user'\n")
    return made


def opened(root: Path) -> Workspace:
    """The project with its repository found, as a run finds it while its first tests run."""
    workspace = Workspace.open(root)
    workspace.find_repository()
    return workspace


def kept_and_restored(workspace: Workspace) -> None:
    """Save a file, edit it, and put it back."""
    run_id = f"measured-{uuid.uuid4().hex}"
    with workspace.lock(run_id):
        workspace.snapshot(["package_0/module_0.py"], run_id)
        workspace.write("package_0/module_0.py", b"VALUE = None\n")
        workspace.roll_back()


def stashed_and_popped(made: pygit2.Repository) -> None:
    """The same by git's own means, and without syncs, as pygit2 has it."""
    made.stash(AUTHOR)
    made.stash_pop()


def syncs_of(workspace: Workspace) -> int:
    """How many files a snapshot, an edit and a roll back sync; the folders are left out."""
    steps: list[Step] = []
    with watched(steps.append):
        kept_and_restored(workspace)
    return sum(step.operation == "sync" for step in steps)


def synced_alone(folder: Path, files: int) -> None:
    """Write and sync so many small files."""
    for number in range(files):
        descriptor = os.open(folder / f"synced-{number}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        os.write(descriptor, b"VALUE = None\n")
        os.fsync(descriptor)
        os.close(descriptor)


def measured(place: Path, subject: str, files: int, rounds: int, clock: Callable[[], float]) -> list[Timing]:
    """All ways in a new repository."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        root = Path(folder)
        made = repository(root, files)
        workspace = opened(root)
        syncs = syncs_of(workspace)
        ways = {
            "stash and pop with pygit2": lambda: stashed_and_popped(made),
            "snapshot and roll back": lambda: kept_and_restored(workspace),
            "the syncs alone": lambda: synced_alone(root / ".git", syncs),
        }
        return interleaved(subject, ways, rounds, clock)


def main(arguments: list[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="snapshot", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--place", type=Path, nargs="+", default=[Path(tempfile.gettempdir()), MEMORY])
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    timings: list[Timing] = []
    for place in options.place:
        if place.is_dir():
            kind = "in memory" if place == MEMORY else "on disk"
            for files in options.files:
                timings += measured(place, f"{files} files {kind}", files, options.rounds, CLOCKS[options.clock])
    report("snapshot", timings, options.folder)
    return 0
