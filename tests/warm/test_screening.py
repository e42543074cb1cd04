"""The loop judges candidates warm where it can, in fresh processes where it cannot, and decides from disk."""

from __future__ import annotations

import sys
from pathlib import Path

from selfdebug.config import Settings
from selfdebug.model import PytestRun, Repair, Tier, Verdict
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.repair import repair
from selfdebug.repair.screening import Screened, Screening

SUBJECT = "def name(user):\n    return user.name.title()\n"
TEST = "from subject import name\n\n\ndef test_name():\n    assert name(None) == ''\n"
FIXED = b"def name(user):\n    return user.name.title() if user else ''\n"


def project(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def tiers(done: Repair) -> set[Tier]:
    return {trial.tier for attempt in done.attempts for trial in attempt.trials if trial.verdict is not Verdict.REFUSED}


def test_candidates_are_judged_warm_and_the_winner_from_disk(tmp_path: Path) -> None:
    root = project(tmp_path, {"subject.py": SUBJECT, "test_subject.py": TEST})
    done = repair(Settings(root=root), None, lambda _: None)
    assert done.exit_code == 0, done.sentence
    assert tiers(done) == {Tier.WARM}
    interpreter = Interpreter.find(sys.executable)
    assert not run_pytest(PytestRequest(interpreter, root)).failures


def test_a_test_that_the_suite_does_not_contain_is_confirmed_by_itself(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\ntestpaths = suite\npythonpath = .\n",
        "subject.py": SUBJECT,
        "suite/test_other.py": "def test_other():\n    pass\n",
        "elsewhere/test_subject.py": TEST,
    }
    root = project(tmp_path, files)
    done = repair(Settings(root=root, node_ids=("elsewhere/test_subject.py::test_name",)), None, lambda _: None)
    assert done.exit_code == 0, done.sentence
    assert tiers(done) == {Tier.WARM}


def test_a_patch_that_passes_in_a_fork_only_is_not_kept(tmp_path: Path) -> None:
    # Only a forked child leads a process group without leading a session.
    test = TEST.replace("== ''", "== '' and (os.getpgid(0) == os.getpid() and os.getsid(0) != os.getpid())")
    files = {
        "pytest.ini": "[pytest]\ntestpaths = suite\npythonpath = .\n",
        "subject.py": SUBJECT,
        "suite/test_other.py": "def test_other():\n    pass\n",
        "elsewhere/test_subject.py": f"import os\n{test}",
    }
    root = project(tmp_path, files)
    before = (root / "subject.py").read_bytes()
    settings = Settings(root=root, node_ids=("elsewhere/test_subject.py::test_name",), max_candidates=3)
    done = repair(settings, None, lambda _: None)
    assert done.exit_code != 0
    assert (root / "subject.py").read_bytes() == before
    verdicts = {trial.verdict for attempt in done.attempts for trial in attempt.trials}
    assert Verdict.PLAUSIBLE not in verdicts
    assert Verdict.REGRESSED in verdicts


def test_where_collected_tests_cannot_be_forked_others_judge(tmp_path: Path) -> None:
    thread = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n\n\n"
    root = project(tmp_path, {"subject.py": thread + SUBJECT, "test_subject.py": TEST})
    done = repair(Settings(root=root), None, lambda _: None)
    assert done.exit_code == 0, done.sentence
    assert tiers(done) <= {Tier.PRELOADED, Tier.FRESH}
    assert tiers(done)


def failing(root: Path) -> PytestRun:
    return run_pytest(PytestRequest(Interpreter.find(sys.executable), root))


def test_a_failure_that_forks_do_not_show_is_not_judged_there(tmp_path: Path) -> None:
    test = TEST.replace("    assert", "    import os\n\n    assert os.getsid(0) == os.getpid(), 'forked'\n    assert")
    root = project(tmp_path, {"subject.py": SUBJECT, "test_subject.py": test})
    group = failing(root).failures
    screening = Screening(Settings(root=root), Interpreter.find(sys.executable))
    sources = {"subject.py": FIXED}
    assert group[0].exception.type == "AttributeError"
    assert screening.run(Screened(group, ["test_subject.py::test_name"], {}), sources, "warm-1") is None
    assert screening.run(Screened(group, ["test_subject.py::test_name"], {}), sources, "warm-2") is None
    screening.close()


def test_a_file_that_was_edited_meanwhile_is_imported_anew(tmp_path: Path) -> None:
    root = project(tmp_path, {"subject.py": SUBJECT, "test_subject.py": TEST})
    group = failing(root).failures
    screening = Screening(Settings(root=root), Interpreter.find(sys.executable))
    try:
        node_ids = ["test_subject.py::test_name"]
        run = screening.run(Screened(group, node_ids, {}), {"subject.py": FIXED}, "warm-1")
        assert run is not None
        assert not run.failures
        edited = b"LIMIT = 1\n" + SUBJECT.encode()
        (root / "subject.py").write_bytes(edited)
        run = screening.run(Screened(group, node_ids, {}), {"subject.py": b"LIMIT = 1\n" + FIXED}, "warm-2")
        assert run is None  # the server knows the old file
        again = failing(root).failures
        run = screening.run(
            Screened(again, node_ids, {"subject.py": edited}), {"subject.py": b"LIMIT = 1\n" + FIXED}, "warm-3"
        )
        assert run is not None
        assert not run.failures
        assert screening.run(Screened(again, (), {}), {"subject.py": FIXED}, "warm-4") is None
    finally:
        screening.close()


def test_what_changes_more_than_functions_is_judged_in_a_preloaded_fork_from_the_second_time_on(tmp_path: Path) -> None:
    root = project(tmp_path, {"subject.py": SUBJECT, "test_subject.py": TEST})
    group = failing(root).failures
    screening = Screening(Settings(root=root), Interpreter.find(sys.executable))
    node_ids = ["test_subject.py::test_name"]
    inside, level = {"subject.py": FIXED}, {"subject.py": b"NOBODY = ''\n" + FIXED}
    try:
        runs = [
            screening.run(Screened(group, node_ids, {}), sources, "forked")
            for sources in (inside, level, level, inside)
        ]
    finally:
        screening.close()
    assert [run and run.tier for run in runs] == [Tier.WARM, None, Tier.PRELOADED, Tier.WARM]
    assert not any(run.failures for run in runs if run is not None)


def test_a_module_that_cannot_be_imported_is_repaired_in_preloaded_forks(tmp_path: Path) -> None:
    subject = "import os\n\nPLACE = os.environ.get('NOT_SET_ANYWHERE')\nNAME = PLACE.lower()\n"
    test = "import subject\n\n\ndef test_name():\n    assert subject.PLACE is None\n"
    root = project(tmp_path, {"subject.py": subject, "test_subject.py": test})
    done = repair(Settings(root=root), None, lambda _: None)
    assert done.exit_code == 0, done.sentence
    assert tiers(done) == {Tier.PRELOADED}
