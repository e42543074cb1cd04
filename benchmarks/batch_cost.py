"""How long independent repairs take side by side, against one by one.

    python -m benchmarks batch [--repairs 24] [--rounds N] [--workers 1 2] [--folder PATH]

One project with as many causes of failures as there are repairs. One by one, `selfdebug run --dry-run` repairs each in
a process of its own; the batch makes a job of each, on so many workers, then on a Dask cluster of this machine with the
highest number of them. A batch does more: it finds the causes, copies the project for each job, and runs all patches
together. Without warming up: a round takes minutes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import interleaved, report

SOURCE = "def name(user):\n    return user.name.title()\n"
TEST = "from part_{0} import name\n\n\ndef test_name():\n    assert name(None) == ''\n"


def project(root: Path, repairs: int) -> list[str]:
    """A project with so many bugs, each in a file of its own; returns the failing tests."""
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    for number in range(repairs):
        (root / f"part_{number}.py").write_text(SOURCE)
        (root / f"test_part_{number}.py").write_text(TEST.format(number))
    git = ["git", "-c", "user.name=case", "-c", "user.email=case@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "before"]):
        subprocess.run([*git, *arguments], cwd=root, check=True)
    return [f"test_part_{number}.py::test_name" for number in range(repairs)]


def one_by_one(root: Path, node_ids: list[str]) -> None:
    """Repair one after another."""
    for node_id in node_ids:
        command = [sys.executable, "-m", "selfdebug", "run", "--dry-run", "--json", "--module", node_id]
        done = subprocess.run(command, cwd=root, capture_output=True, check=False)
        if json.loads(done.stdout)["final_status"] != "pass":
            raise SystemExit(f"{node_id} was not repaired: {done.stderr.decode()}")


def batch(root: Path, repairs: int, *arguments: str) -> None:
    """Repair all as a batch."""
    command = [sys.executable, "-m", "selfdebug", "batch", "--json", "--no-resume", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    document = json.loads(done.stdout)
    if document["exit_code"] or len(document["jobs"]) != repairs:
        raise SystemExit(f"not all were repaired: {document['message']}")


def on_workers(root: Path, repairs: int, workers: int) -> Callable[[], None]:
    """A batch with so many workers."""
    return lambda: batch(root, repairs, "--jobs", str(workers))


def main(arguments: list[str]) -> int:
    """Measure and report."""
    from distributed import LocalCluster

    parser = argparse.ArgumentParser(prog="batch", description=__doc__)
    parser.add_argument("--repairs", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    most = max(options.workers)
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(  # type: ignore[no-untyped-call]  # Dask has no annotations here
            n_workers=most, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
    ):
        root = Path(folder)
        node_ids = project(root, options.repairs)
        scheduler = cluster.scheduler_address
        ways: dict[str, Callable[[], object]] = {"one by one": lambda: one_by_one(root, node_ids)}
        for count in options.workers:
            ways[f"a batch on {count} worker{'s' if count > 1 else ''}"] = on_workers(root, options.repairs, count)
        ways[f"a batch on Dask, {most} workers"] = lambda: batch(root, options.repairs, "--scheduler", scheduler)
        timings = interleaved(f"{options.repairs} repairs", ways, options.rounds, warm_up=0)
    report("batch", timings, options.folder)
    return 0
