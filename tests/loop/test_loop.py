"""The whole loop on small real projects: what is kept, what is put back, and how each way to end is said."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from small_projects import git, project, repository, run

from selfdebug.config import Settings
from selfdebug.model import FinalStatus, Progress, Verdict
from selfdebug.repair import probe_failure, repair

USERS = """
def name(user):
    return user.name.title()


def size(disk):
    total = 0
    total += disk.size
    return total
"""


def contents(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not {".git", ".selfdebug"} & set(path.parts)
    }


def test_two_failures_with_two_causes_are_two_patches(tmp_path: Path) -> None:
    tests = """
    from types import SimpleNamespace as N
    from users import name, size

    def test_nobody_has_no_name():
        assert name(None) == ""

    def test_a_name():
        assert name(N(name="bob")) == "Bob"

    def test_an_unknown_size_is_nothing():
        assert size(N(size=None)) == 0
    """
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": tests})
    done = run(root)
    assert (done.exit_code, done.exit_reason, done.final_status) == (0, "repaired", FinalStatus.PASS)
    assert [patch.file for patch in done.patches] == ["users.py", "users.py"]
    assert len(done.attempts) == 2
    assert 'return user.name.title() if user is not None else ""' in (root / "users.py").read_text()
    assert git(root, "status", "--porcelain") == " M users.py\n"
    places = json.loads((root / ".selfdebug/last-failure.json").read_text())["failures"]
    assert [(place["line"], place["receiver"]) for place in places] == [(2, "user"), (7, "disk.size")]


def test_a_guard_that_uncovers_the_next_crash_is_followed_by_another(tmp_path: Path) -> None:
    code = """
    def label(item):
        unit = item.unit.strip()
        return unit + ":" + item.note.strip()
    """
    tests = """
    from types import SimpleNamespace as N
    from labels import label

    def test_bare():
        assert label(N(unit=None, note=None)) == ":"
    """
    root = repository(tmp_path, {"labels.py": code, "test_labels.py": tests})
    done = run(root)
    assert done.exit_code == 0, done.sentence
    assert len(done.attempts) == 2
    assert done.attempts[0].kept is None
    assert len(done.patches) == 2


def test_what_no_guard_can_repair_is_put_back_and_the_best_attempt_stashed(tmp_path: Path) -> None:
    tests = """
    from users import name

    def test_an_answer_that_no_guard_can_give():
        assert name(None) == "the third of May"[4:]
    """
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": tests})
    (root / "users.py").write_text(USERS + "\n# a day of work\n")
    before = contents(root)
    done = run(root, max_candidates=4)
    assert (done.exit_code, done.exit_reason, done.rollback) == (128, "exhausted", True)
    assert contents(root) == before
    assert git(root, "status", "--porcelain") == " M users.py\n"
    (entry,) = git(root, "stash", "list").splitlines()
    assert f"selfdebug: {done.run_id}" in entry
    assert "users.py" in git(root, "stash", "show", "--name-only")
    assert done.backup == ("stash@{0}",)
    assert {trial.verdict for turn in done.attempts for trial in turn.trials} <= {
        Verdict.REFUSED,
        Verdict.INEFFECTIVE,
        Verdict.BROKEN,
    }


def test_an_attempt_that_git_cannot_hold_is_copied_and_the_lock_in_the_way_named(tmp_path: Path) -> None:
    tests = """
    from users import name

    def test_an_answer_that_no_guard_can_give():
        assert name(None) == "the third of May"[4:]
    """
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": tests})
    lock = root / ".git/refs/stash.lock"
    lock.touch()
    before = contents(root)
    done = run(root, max_candidates=4)
    assert (done.exit_code, contents(root)) == (128, before)
    (place,) = done.backup
    assert Path(place).is_file()
    assert f"{place} ({lock} is in the way; remove it when no git command is running)." in done.sentence


def test_a_patch_that_breaks_another_test_is_not_kept(tmp_path: Path) -> None:
    code = """
    def first(d):
        return d["a"].strip()
    """
    tests = """
    import inspect
    import pytest
    import firsts

    def test_none_is_empty():
        assert firsts.first({"a": None}) == ""

    def test_no_boolean_operators():
        assert " or " not in inspect.getsource(firsts.first)

    def test_no_conditional():
        assert " if " not in inspect.getsource(firsts.first)
    """
    root = repository(tmp_path, {"firsts.py": code, "test_firsts.py": tests})
    before = contents(root)
    done = run(root, max_candidates=12)
    verdicts = [trial.verdict for turn in done.attempts for trial in turn.trials]
    assert Verdict.REGRESSED in verdicts
    if done.exit_code == 0:
        text = (root / "firsts.py").read_text()
        assert " or " not in text and " if " not in text
    else:
        assert contents(root) == before
    assert any("passed before and fails with this patch" in trial.detail for trial in done.attempts[0].trials)


def test_partial_success_is_kept_only_when_asked(tmp_path: Path) -> None:
    tests = """
    from users import name, size

    def test_nobody_has_no_name():
        assert name(None) == ""

    def test_hopeless():
        assert size(None) == object()
    """
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": tests})
    before = contents(root)
    done = run(root, max_candidates=4)
    assert (done.exit_code, done.final_status) == (128, FinalStatus.FAIL)
    assert "--keep-partial" in done.sentence
    assert contents(root) == before
    done = run(root, keep_partial=True, max_candidates=4)
    assert (done.exit_code, done.exit_reason, done.final_status) == (1, "partial", FinalStatus.PARTIAL)
    assert done.files_patched == ("users.py",)
    assert "total += disk.size" in (root / "users.py").read_text()
    assert 'if user is not None else ""' in (root / "users.py").read_text()


@pytest.mark.parametrize(
    ("files", "code", "reason"),
    [
        ({"test_a.py": "def test_a():\n    assert 1 == 1\n"}, 0, "nothing-failed"),
        ({"readme.txt": "nothing"}, 1, "no-tests"),
        ({"test_a.py": "import os\ndef test_a():\n    os._exit(0)\n"}, 1, "not-ended"),
        ({"test_a.py": "import time\ndef test_a():\n    time.sleep(60)\n"}, 1, "timeout"),
        ({"test_a.py": "def test_a():\n    assert None.x == 1\n"}, 1, "no-candidate"),
        ({"conftest.py": "import nowhere_to_be_found\n", "test_a.py": "def test_a(): pass\n"}, 1, "no-candidate"),
        ({"a.py": "def f(:\n", "test_a.py": "import a\ndef test_a(): pass\n"}, 1, "no-candidate"),
        ({"pytest.ini": "[pytest]\naddopts = --no-such-option\n", "test_a.py": ""}, 1, "pytest-start"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_end_has_its_code_and_changes_nothing(
    tmp_path: Path, files: dict[str, str], code: int, reason: str
) -> None:
    root = project(tmp_path, files)
    before = contents(root)
    done = run(root, timeout=8.0)
    assert (done.exit_code, done.exit_reason) == (code, reason), done.sentence
    assert done.sentence.count("\n") == 0
    assert done.files_patched == ()
    assert contents(root) == before


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"test_a.py": "import json\ndef test_a():\n    json.loads(None)\n"},
            r"outside the project \(.*json.__init__\.py:\d+\), in what the test itself called \(test_a\.py:3\); ",
        ),
        (
            {"a.py": "def f(:\n", "test_a.py": "import a\ndef test_a(): pass\n"},
            r"^a\.py cannot be edited: line 1 does not parse: invalid syntax\. Nothing was changed\.$",
        ),
    ],
    ids=["raised in a library", "no Python"],
)
def test_why_nothing_can_be_edited_is_said(tmp_path: Path, files: dict[str, str], said: str) -> None:
    done = run(project(tmp_path, files))
    assert re.search(said, done.sentence), done.sentence


def test_what_pytest_says_of_its_arguments_is_repeated(tmp_path: Path) -> None:
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    done = run(root, node_ids=("nowhere.py",))
    assert (done.exit_code, done.exit_reason) == (1, "no-tests")
    assert " (ERROR: file or directory not found: nowhere.py); check --root, --module and " in done.sentence


def test_a_failure_of_the_log_that_does_not_happen_is_said_so(tmp_path: Path) -> None:
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": "def test_a():\n    pass\n"})
    log = b"""
test_users.py:2: in test_a
    name(None)
users.py:2: in name
    return user.name.title()
E   AttributeError: 'NoneType' object has no attribute 'name'
=========================== short test summary info ============================
FAILED test_users.py::test_a - AttributeError: 'NoneType' object has no attribute 'name'
"""
    done = run(root, log)
    assert (done.exit_code, done.exit_reason) == (1, "not-reproduced")
    assert "does not happen here" in done.sentence
    again = run(root, log, dry_run=True)
    assert (again.exit_code, again.exit_reason) == (0, "dry-run-untested")
    assert again.runs == ()
    (edited,) = again.diffs
    assert (edited.file, edited.before) == ("users.py", (root / "users.py").read_bytes())
    assert b"user is not None" in edited.after


def test_a_failure_outside_the_project_is_fatal(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    root = project(tmp_path / "project", {"test_a.py": "def test_a(): pass\n"})
    elsewhere.mkdir()
    log = f"""Traceback (most recent call last):
  File "{elsewhere}/tool.py", line 3, in <module>
    None.x
AttributeError: 'NoneType' object has no attribute 'x'
""".encode()
    done = run(root, log, dry_run=True)
    assert (done.exit_code, done.exit_reason) == (2, "no-project-frame")
    assert done.sentence.startswith("FATAL")


def test_a_log_without_failures_ends_well(tmp_path: Path) -> None:
    root = project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    done = run(root, b"all is well\n")
    assert (done.exit_code, done.exit_reason, done.runs) == (0, "nothing-failed", ())


def test_a_flaky_failure_is_not_repaired(tmp_path: Path) -> None:
    code = "import pathlib\n\n\ndef f(x):\n    return x.name\n"
    tests = """
    import pathlib
    from flaky import f

    def test_a(tmp_path_factory):
        mark = pathlib.Path(__file__).parent.parent / "ran"
        if not mark.exists():
            mark.write_text("")
            f(None)
    """
    root = project(tmp_path / "p", {"flaky.py": code, "test_flaky.py": tests})
    before = contents(root)
    done = run(root)
    assert done.exit_code == 1
    assert "flaky" in done.sentence
    assert contents(root) == before


def test_without_git_the_backup_copy_is_made(tmp_path: Path) -> None:
    root = project(
        tmp_path / "p",
        {"users.py": USERS, "test_users.py": "from users import name\ndef test_a():\n    assert name(None) == ''\n"},
    )
    before = (root / "users.py").read_bytes()
    done = run(root, backup_dir=tmp_path / "backups")
    assert done.exit_code == 0
    (copy,) = (tmp_path / "backups").glob("users.py.*.bak")
    assert copy.read_bytes() == before


def test_a_source_that_a_test_reads_from_disk_is_tried_in_place(tmp_path: Path) -> None:
    tests = """
    import pathlib, subprocess, sys

    def test_in_a_process_of_its_own():
        code = "from users import name; print(repr(name(None)))"
        env = {"PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                              cwd=pathlib.Path(__file__).parent, env=env)
        assert done.stdout.strip() == "''", done.stderr
    """
    log = """Traceback (most recent call last):
  File "test_users.py", line 8, in test_in_a_process_of_its_own
"""
    del log
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": tests})
    before = contents(root)
    done = run(root)
    # The traceback is of another process: only the test's own frame is seen, so there is nothing to edit.
    assert done.exit_code == 1
    assert "raised in the test itself" in done.sentence
    assert contents(root) == before


def test_what_keeps_a_conftest_from_being_imported_is_repaired(tmp_path: Path) -> None:
    files = {
        "app.py": 'CONFIG = {}\nLIMIT = CONFIG.get("limits")["max"]\n',
        "conftest.py": "import app\n",
        "test_a.py": "import app\n\n\ndef test_a():\n    assert app.LIMIT is None\n",
    }
    root = repository(tmp_path, files)
    done = run(root)
    assert (done.exit_code, done.files_patched) == (0, ("app.py",)), done.sentence


def test_probing_reports_what_was_seen_and_changes_nothing(tmp_path: Path) -> None:
    tests = "from users import name\ndef test_a():\n    assert name(None) == ''\n"
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": tests})
    before = contents(root)
    report = probe_failure(Settings(root=root), None, lambda _: None)
    (diagnosis,) = report.diagnoses
    assert (report.exit_code, report.exit_reason) == (1, "probed")
    assert diagnosis.sentence.startswith("AttributeError at users.py:2 in name: user was None")
    assert [(seen.expression, seen.value.is_none) for seen in diagnosis.observations if seen.in_failure] == [
        ("user", True)
    ]
    assert diagnosis.caught[0].locals[0][0] == "user"
    assert contents(root) == before
    nothing = probe_failure(Settings(root=root, node_ids=("test_users.py::test_b",)), None, lambda _: None)
    assert nothing.diagnoses == ()


def test_an_interrupted_run_is_rolled_back(tmp_path: Path) -> None:
    tests = """
    import time
    from users import name

    def test_a():
        assert name(None) == ""

    def test_slow():
        time.sleep(5)
    """
    root = repository(tmp_path, {"users.py": USERS, "test_users.py": tests})
    before = contents(root)
    started = threading.Event()

    def interrupt() -> None:
        started.wait(120)
        deadline = time.monotonic() + 60
        while contents(root) == before and time.monotonic() < deadline:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGTERM)

    def events(progress: Progress) -> None:
        if progress.stage == "verify":
            started.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    done = repair(Settings(root=root, node_ids=("test_users.py::test_a",)), None, events)
    thread.join()
    assert (done.exit_code, done.exit_reason, done.rollback) == (130, "interrupted", True)
    assert contents(root) == before
    assert git(root, "status", "--porcelain") == ""


def test_a_second_run_on_the_same_project_is_refused(tmp_path: Path) -> None:
    root = project(tmp_path, {"test_a.py": "import time\ndef test_a():\n    time.sleep(8)\n"})
    first = subprocess.Popen(
        [sys.executable, "-m", "selfdebug", "run", "--root", str(root), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not (root / ".selfdebug" / "lock").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    second = subprocess.run(
        [sys.executable, "-m", "selfdebug", "run", "--root", str(root)], capture_output=True, text=True, check=False
    )
    first.communicate()
    assert second.returncode == 64
    assert str(first.pid) in second.stderr


@pytest.mark.parametrize(
    ("assertion", "said"),
    [
        ("assert name(None) == ''", "test_users.py::test_a fails when the default"),
        ("name(None)", 'No test of test_users.py reads the default "".'),
        ("assert isinstance(name(None), str)", 'No test of test_users.py notices when the default "" is "not pinned".'),
    ],
)
def test_the_report_says_whether_a_test_holds_the_default(tmp_path: Path, assertion: str, said: str) -> None:
    code = "def name(user) -> str:\n    return user.name.title()\n"
    tests = f"from users import name\n\n\ndef test_a():\n    {assertion}\n"
    done = run(repository(tmp_path, {"users.py": code, "test_users.py": tests}))
    assert done.exit_code == 0
    pin = next(pin for pin in done.attempts[-1].pins if pin.part == 'default ""')
    assert pin.sentence.startswith(said)
    assert pin.pinned is (not said.startswith("No test"))
    assert pin.suggestion == ("" if pin.pinned else "assert name(None) == ''")
