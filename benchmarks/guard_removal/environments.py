"""Gets a project ready to be measured: its source distribution, its tree, an environment, and what its tests run.

Everything lies below one work folder and is made once; a second call finds it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.guard_removal.projects import Project
from selfdebug.model import PytestRun
from selfdebug.paths import is_test_file
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest

PLUGIN = Path(__file__).parent / "plugin"
"""The folder of the pytest plugins, which run in the projects' environments."""
_GIT = ("git", "-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")


class NotPreparedError(Exception):
    """The project cannot be measured here; the text says why."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A project that can be measured: its unpacked tree, its interpreter, and what pytest is given.

    Tests that fail in the tree as it was published, and those that take over a second, are deselected by `pytest_args`.
    `seconds` is the time of the clean suite without them; `tests_of` has the node ids of the tests that execute a line
    (`FILE:LINE`), import time apart.
    """

    project: Project
    tree: Path
    python: Path
    pytest_args: tuple[str, ...]
    seconds: float = 0.0
    tests_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def source_files(self) -> list[str]:
        """The project's own modules, relative to the tree."""
        files = (path.relative_to(self.tree).as_posix() for path in self.tree.rglob("*.py"))
        own = (file for file in files if file.startswith(f"{self.project.source}/") or self.project.source == ".")
        return sorted(file for file in own if not is_test_file(file) and not _IS_ASIDE.search(file))

    def environment(self, tree: Path) -> Mapping[str, str]:
        """The environment variables in which the tests import the modules of `tree`."""
        return {**os.environ, "PYTHONPATH": str(tree / self.project.source), "VIRTUAL_ENV": str(self.python.parent)}

    def run(
        self,
        sources: Mapping[str, bytes] | None = None,
        more_args: tuple[str, ...] = (),
        more_env: Mapping[str, str] | None = None,
        node_ids: tuple[str, ...] = (),
    ) -> PytestRun:
        """The project's suite (or the tests `node_ids`), with `sources` served from memory."""
        env = {**self.environment(self.tree), **(more_env or {})}
        if more_env and "PYTHONPATH" in more_env:
            env["PYTHONPATH"] = os.pathsep.join((str(self.tree / self.project.source), more_env["PYTHONPATH"]))
        # The tests of the project's own choice are part of the arguments; node ids take their place.
        own = self.pytest_args[: len(self.pytest_args) - len(self.project.tests)] if node_ids else self.pytest_args
        return run_pytest(
            PytestRequest(
                Interpreter.find(self.python),
                self.tree,
                node_ids=node_ids,
                pytest_args=(*own, *more_args),
                timeout=120,
                sources=sources or {},
                env=env,
            )
        )


_IS_ASIDE = re.compile(r"(^|/)(docs?|examples?|benchmarks?|scripts|tools|extras|bench|setup|conftest|noxfile)(/|\.py$)")


def prepare(project: Project, work: Path, slowest: float) -> Prepared:
    """Download, unpack, install and run the tests once. Raises NotPreparedError, also for suites over `slowest` s."""
    archive = _downloaded(project, work / "sdists")
    tree = _unpacked(archive, work / "trees" / project.name)
    python = _environment(project, archive, work / "environments" / project.name)
    facts = work / "environments" / project.name / "facts.json"
    if not facts.exists():
        facts.write_text(json.dumps(_facts(Prepared(project, tree, python, ("-q", *project.tests)))), encoding="utf-8")
    known = json.loads(facts.read_text(encoding="utf-8"))
    if known["seconds"] > slowest:
        raise NotPreparedError(f"the suite takes {known['seconds']:.0f} s")
    left_out = [*known["failing"], *known["slow"]]
    args = ("-q", *(part for node in left_out for part in ("--deselect", node)), *project.tests)
    return Prepared(project, tree, python, args, known["seconds"], known["tests_of"])


def _facts(ready: Prepared) -> dict[str, object]:
    """What one run of the clean tree says: its time, the tests that fail, and the tests that execute each line."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "lines.json")
        env = {"PYTHONPATH": str(PLUGIN), "GUARD_REMOVAL_LINES": str(record)}
        env["GUARD_REMOVAL_FILES"] = "\n".join(str(ready.tree / file) for file in ready.source_files())
        traced = ready.run(more_args=("-p", "executed_lines"), more_env=env)
        lines = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    clean, slow = _timed(ready)
    if not clean.ended or len(clean.passed) <= len(clean.failed):
        raise NotPreparedError(f"the suite does not run: {clean.output[-300:]}")
    tests_of = {f"{Path(name).relative_to(ready.tree).as_posix()}": tests for name, tests in lines.items()}
    failing = sorted({*traced.failed, *clean.failed})
    seconds = clean.seconds - sum(slow.values())
    return {"seconds": seconds, "failing": failing, "slow": sorted(slow), "tests_of": tests_of}


def _timed(ready: Prepared) -> tuple[PytestRun, dict[str, float]]:
    """A run of the clean suite, and the seconds of each test that takes long."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "slow.json")
        env = {"PYTHONPATH": str(PLUGIN), "GUARD_REMOVAL_SLOW": str(record)}
        run = ready.run(more_args=("-p", "slow_tests"), more_env=env)
        return run, json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}


def checked_out(ready: Prepared, folder: Path, file: str, data: bytes) -> None:
    """A fresh git repository in `folder` that holds the tree with `data` in `file`, all of it committed."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ready.tree, folder, symlinks=True)
    (folder / file).write_bytes(data)
    for command in (("init", "-q"), ("add", "-A", "-f"), ("commit", "-q", "-m", "A guard is missing")):
        _called([*_GIT, *command], folder)


def _downloaded(project: Project, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if not _archives(project, folder):
        only_source = ("--no-binary", ":all:", "--no-deps", "-d", str(folder))
        _called([sys.executable, "-m", "pip", "download", "-q", *only_source, project.name], folder)
    return _archives(project, folder)[0]


def _archives(project: Project, folder: Path) -> list[Path]:
    wanted = re.compile(rf"{re.sub('[-_.]+', '[-_.]+', project.name)}-\d", re.IGNORECASE)
    return [path for path in folder.iterdir() if wanted.match(path.name) and path.name.endswith(".tar.gz")]


def _unpacked(archive: Path, folder: Path) -> Path:
    if not folder.exists():
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return next(path for path in folder.iterdir() if path.is_dir())


def _environment(project: Project, archive: Path, folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        _called([sys.executable, "-m", "venv", "--without-pip", str(folder)], archive.parent)
        name, _, version = archive.name.removesuffix(".tar.gz").rpartition("-")
        # The published wheel brings the dependencies and the metadata; the modules come from the tree, by PYTHONPATH.
        wanted = (f"{name}=={version}", "pytest", *project.needs)
        _called([sys.executable, "-m", "pip", "--python", str(python), "install", "-q", *wanted], archive.parent)
        (folder / "ready").touch()
    return python


def _called(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotPreparedError(f"{' '.join(command[:6])} ...: {(done.stderr or done.stdout)[-300:]}")
