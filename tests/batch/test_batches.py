"""`selfdebug batch` on real projects: what it repairs, what it leaves alone, what happens when it is cut short."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from invoked import command, process, selfdebug

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
    RunSuite,
    SuiteRun,
)
from selfdebug.batch.plan import jobs_of
from selfdebug.batch.records import JobResult, JobState, Shard, Target
from selfdebug.batch.running import BatchRequest, run_batch
from selfdebug.batch.schema import batch_schema
from selfdebug.config import Settings
from selfdebug.errors import EnvironmentUnusableError, UsageError
from selfdebug.model import Outcome, Progress
from selfdebug.pytest_process import Interpreter
from selfdebug.stages.failures import read_log
from selfdebug.workspace.frozen import FrozenTree

NAMES = b"def name(user):\r\n\treturn user.name\r\n\n\ndef size(box):\n    return len(box.items)\n"
TESTS = """\
import names


def test_name():
    assert names.name(None) is None


def test_name_again():
    assert not names.name(None)


def test_size():
    assert names.size(None) == 0
"""
LOG = b"""\
=================================== FAILURES ===================================
__________________________________ test_name ___________________________________
test_names.py:5: in test_name
    assert names.name(None) is None
names.py:2: in name
    return user.name
E   AttributeError: 'NoneType' object has no attribute 'name'
__________________________________ test_size ___________________________________
test_names.py:13: in test_size
    assert names.size(None) == 0
names.py:6: in size
    return len(box.items)
E   AttributeError: 'NoneType' object has no attribute 'items'
"""


def git(root: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """Run git, with an identity."""
    identity = ["-c", "user.name=case", "-c", "user.email=case@example.org"]
    return subprocess.run(["git", *identity, *arguments], cwd=root, input=stdin, capture_output=True, check=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository of two bugs, which are in edits that nobody has committed yet."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "names.py").write_bytes(b"")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "before")
    (root / "names.py").write_bytes(NAMES)
    (root / "test_names.py").write_text(TESTS)
    return root


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of its own, which is to be empty in the end."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def seen(root: Path) -> tuple[bytes, ...]:
    """What git says of the project."""
    questions = (["status", "--porcelain"], ["stash", "list"], ["for-each-ref"], ["worktree", "list"])
    return tuple(git(root, *question) for question in questions)


def test_each_cause_is_a_job_and_the_patches_are_one(project: Path, temporary: Path) -> None:
    before, reports = seen(project), project.parent
    outputs = [f"--output={reports / 'it.patch'}", f"--output={reports / 'it.txt'}"]
    done = process("batch", "--jobs", "2", "--json", *outputs, cwd=project)
    document = json.loads(done.stdout)
    jsonschema.validate(document, json.loads(batch_schema()))
    assert (done.returncode, document["exit_reason"]) == (0, "repaired"), done.stderr
    names = [["test_names.py::test_name", "test_names.py::test_name_again"], ["test_names.py::test_size"]]
    assert sorted(job["node_ids"] for job in document["jobs"]) == names
    assert all(job["report"]["final_status"] == "pass" for job in document["jobs"])
    assert document["projects"][0]["check"]["sound"] is True
    assert (seen(project), (project / "names.py").read_bytes()) == (before, NAMES)
    assert list(temporary.iterdir()) == []
    assert (reports / "it.txt").read_text().splitlines()[-1] == document["message"]
    report = reports / "report.json"
    report.write_bytes(done.stdout)
    merged = selfdebug("merge", str(report), "--format", "diff", f"--output={reports / 'merged.json'}", cwd=project)
    diff = merged.stdout
    assert (reports / "it.patch").read_bytes() == diff
    assert json.loads((reports / "merged.json").read_bytes())["jobs"] == document["jobs"]
    git(project, "apply", "--check", "-", stdin=diff)
    written = selfdebug("merge", str(report), "--apply", "--json", cwd=project)
    applied = json.loads(written.stdout)["projects"][0]["applied"]
    patched = (project / "names.py").read_bytes()
    assert subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=project, check=False).returncode == 0
    assert patched != NAMES
    assert patched.count(b"\r\n") == NAMES.count(b"\r\n")
    assert selfdebug("rollback", applied, cwd=project).returncode == 0
    assert (project / "names.py").read_bytes() == NAMES
    git(project, "apply", "-", stdin=diff)
    assert (project / "names.py").read_bytes() == patched
    again = selfdebug("merge", str(report), "--apply", cwd=project)
    assert b"names.py changed meanwhile, so nothing is written." in again.stdout
    assert (again.returncode, (project / "names.py").read_bytes()) == (1, patched)


# ---------------------------------------------------------------- resumption and shards


def request(root: Path, **options: object) -> BatchRequest:
    """A batch over the log, which needs no run of the tests to know its jobs."""
    settings = Settings(root=root, python=Interpreter.find().path)
    return replace(BatchRequest((Target(".", settings, read_log(LOG, root).failures),), 1), **options)  # type: ignore[arg-type]  # by name


def quiet(_event: Progress) -> None:
    """No display."""


def keep_all(root: Path, folder: Path, sentence: str) -> None:
    """Leave what an interrupted batch over the log leaves when all jobs had ended."""
    batch_request = request(root)
    digest = FrozenTree.freeze(root, folder).digest
    ledger = Ledger(root, fingerprint(digest, batch_request.targets[0].settings))
    causes = [Cause((f"test_names.py::{name}",), "") for name in ("test_name", "test_size")]
    for job in jobs_of(".", causes):
        ledger.save(JobResult(job, JobState.NOT_REPAIRED, sentence, 2.0), {})


def test_finished_jobs_are_not_run_again_until_the_project_changes(project: Path, tmp_path: Path) -> None:
    (project / "conftest.py").write_text("import time\ntime.sleep(60)\n")  # whatever runs the tests does not come back
    keep_all(project, tmp_path / "frozen", "done before")
    shown: list[Progress] = []
    for shard in (None, Shard(1, 2)):
        done, _ = run_batch(request(project, shard=shard, retries=0), shown.append)
        assert [result.sentence for result in done.results] == ["done before"] * (2 if shard is None else 1)
        assert len(done.planned) == 2
        assert not (project / ".selfdebug" / "batch").exists()
        keep_all(project, tmp_path / f"again-{shard is None}", "done before")
    assert [event for event in shown if event.total == 0] == []  # what has nothing to do is not shown
    (project / "conftest.py").write_text("import os\nos.kill(os.getppid(), 9)\n")
    done, _ = run_batch(request(project, shard=Shard(1, 2), retries=0), quiet)
    assert [result.state for result in done.results] == [JobState.LOST]
    assert (done.exit_code, done.exit_reason) == (1, "incomplete")


def test_what_a_log_names_is_run_once_for_all_jobs(project: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    record = f"    import os\n    open({str(ran)!r}, 'a').write(os.getcwd() + '\\n')\n"
    (project / "test_names.py").write_text(TESTS.replace("def test_size():\n", f"def test_size():\n{record}"))
    shown: list[Progress] = []
    done, _ = run_batch(request(project, retries=0), shown.append)
    assert [result.state for result in done.results] == [JobState.REPAIRED] * 2
    assert [event.stage for event in shown if event.done == 0 and event.message.endswith("to do")] == [
        "outcomes",
        "batch",
        "check",
    ]
    (other,) = (result.job for result in done.results if result.job.node_ids == ("test_names.py::test_name",))
    runs = [line for line in ran.read_text().splitlines() if other.id in line]
    assert len(runs) == 1  # in the run of the whole suite; without the patch it failed before


@pytest.mark.parametrize("other", [{"timeout": 9.0}, {"memory_limit": 900}, {"max_candidates": 1}])
def test_other_limits_may_end_in_another_result(tmp_path: Path, other: dict[str, Any]) -> None:
    settings = Settings(root=tmp_path)
    assert fingerprint("digest", replace(settings, **other)) != fingerprint("digest", settings)
    assert fingerprint("digest", replace(settings, jobs=settings.jobs + 1)) == fingerprint("digest", settings)


def test_an_interrupted_batch_ends_its_jobs_and_leaves_nothing(project: Path, temporary: Path) -> None:
    begun = temporary.parent / "begun"
    (project / "conftest.py").write_text(f"import time\nopen({str(begun)!r}, 'w').close()\ntime.sleep(300)\n")
    before = seen(project)
    child = subprocess.Popen(command("batch", "--json"), cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGTERM)
    document = json.loads(child.communicate(timeout=60)[0])
    assert (child.returncode, document["exit_code"], document["exit_reason"]) == (130, 130, "interrupted")
    assert list(temporary.iterdir()) == []
    assert not [text for text in _environments() if str(temporary).encode() in text]
    assert seen(project) == before


def _environments() -> Iterator[bytes]:
    """The environments of all processes of ours."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        if path.parent.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                yield path.read_bytes()


# ---------------------------------------------------------------- one order


def frozen_order(project: Path, folder: Path) -> Order:
    """To find the causes in a copy of the project."""
    frozen = FrozenTree.freeze(project, folder / "project")
    (folder / ACTIVE).touch()
    return Order(frozen.folder, "causes", Settings(root=project, python=Interpreter.find().path), (), FindCauses())


@pytest.fixture
def order(project: Path, tmp_path: Path) -> Order:
    """Of the project as it is."""
    return frozen_order(project, tmp_path / "batch")


def kill_once(order: Order, mark: Path) -> None:
    """Let the tests kill the process of their job, once."""
    conftest = order.folder / "tree" / "conftest.py"
    conftest.write_text(
        f"import os\nif not os.path.exists({str(mark)!r}):\n"
        f"    open({str(mark)!r}, 'w').close()\n    os.kill(os.getppid(), 9)\n"
    )


def test_a_job_whose_process_dies_is_started_again(order: Order, tmp_path: Path) -> None:
    kill_once(order, tmp_path / "mark")
    reply = isolated(order, 1)
    assert reply.tries == 2
    assert isinstance(reply.answer, Causes)
    assert [cause.sentence for cause in reply.answer.causes] == [
        "AttributeError at names.py:2",
        "AttributeError at names.py:6",
    ]
    (tmp_path / "mark").unlink()
    lost = isolated(order, 0)
    assert (lost.answer, lost.tries) == (Lost("its process was ended by signal 9"), 1)


def test_the_suite_is_run_with_other_contents(order: Order) -> None:
    fixed = NAMES.replace(b"return user.name", b"return None")
    reply = isolated(replace(order, task=RunSuite({"names.py": fixed})), 0)
    assert reply.answer == SuiteRun(("test_names.py::test_size",))


def test_a_job_does_not_run_again_what_is_known_to_fail(order: Order, tmp_path: Path) -> None:
    others = order.folder / "tree" / "test_others.py"
    ran = tmp_path / "ran"
    others.write_text(
        f"def test_other():\n    with open({str(ran)!r}, 'a') as file:\n        assert not file.write('.')\n"
    )
    causes = isolated(order, 0).answer
    assert isinstance(causes, Causes)
    assert causes.outcomes == {
        "test_names.py::test_name": Outcome.FAILED,
        "test_names.py::test_name_again": Outcome.FAILED,
        "test_names.py::test_size": Outcome.FAILED,
        "test_others.py::test_other": Outcome.FAILED,
    }
    ran.unlink()
    settings = replace(order.settings, node_ids=("test_names.py::test_size",))
    answer = isolated(replace(order, settings=settings, task=RepairTests(causes.outcomes)), 0).answer
    assert isinstance(answer, Repaired)
    assert answer.is_passing
    assert ran.read_text() == "."  # in the run of the whole suite; without the patch it failed before


def test_the_copy_is_imported_though_the_original_is_on_the_path(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "src").mkdir()
    (project / "names.py").rename(project / "src" / "names.py")
    monkeypatch.setenv("PYTHONPATH", str(project / "src"))  # as an editable install leaves it
    assert project / "src" in Interpreter.find().import_folders()
    fixed = NAMES.replace(b"return user.name", b"return None").replace(b"return len(box.items)", b"return 0")
    order = frozen_order(project, tmp_path / "batch")
    reply = isolated(replace(order, sources=("src",), task=RunSuite({"src/names.py": fixed})), 0)
    assert reply.answer == SuiteRun(())


def test_what_a_run_refuses_is_an_answer_and_not_tried_again(order: Order) -> None:
    absent = replace(order, settings=replace(order.settings, python=order.folder / "python"))
    reply = isolated(absent, 3)
    assert isinstance(reply.answer, Refused)
    assert "there is no Python interpreter" in reply.answer.sentence
    assert reply.tries == 1


def test_a_sentence_names_the_project_and_not_its_copy(project: Path, order: Order) -> None:
    (order.folder / "tree" / "test_names.py").write_text("")
    reply = isolated(order, 0)
    assert isinstance(reply.answer, Causes)
    assert reply.answer.sentence.startswith(f"pytest collected no tests under {project}; ")


def test_a_batch_that_is_not_there_any_more_starts_nothing(order: Order) -> None:
    (order.folder.parent / ACTIVE).unlink()
    reply = isolated(order, 3)
    assert isinstance(reply.answer, Lost)
    assert "name a shared folder with --work-dir" in reply.answer.sentence
    assert reply.tries == 0


# ---------------------------------------------------------------- Dask


def test_a_dask_cluster_takes_the_same_orders(order: Order) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        executor(1, cluster.scheduler_address) as pool,
    ):
        reply = pool.submit(isolated, order, 0).result(timeout=120)
    assert isinstance(reply.answer, Causes)
    assert len(reply.answer.causes) == 2


def test_a_cluster_that_is_not_there_or_no_dask_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    with pytest.raises(UsageError, match="There is no Dask scheduler at nonsense"), executor(1, "nonsense"):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EnvironmentUnusableError, match=r"pip install 'selfdebug\[dask\]'"), executor(1, "tcp://x:1"):
        pass
