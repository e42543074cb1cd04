"""What a run spends on pytest: how often it is started, how far the suite gets, and who is asked before it."""

from __future__ import annotations

import sys
from pathlib import Path

from small_projects import project, run

from selfdebug.model import Repair, Tier, Verdict

NOTHING = "def name(user):\n    return user.name.title()\n"
TEST = "from users import name\n\n\ndef test_nobody():\n    assert name(None) == ''\n"


def starts(done: Repair) -> list[tuple[str, ...]]:
    return [run.proposed for run in done.runs if run.tier is Tier.FRESH]


def verdicts(done: Repair) -> list[Verdict]:
    return [trial.verdict for attempt in done.attempts for trial in attempt.trials]


def test_a_repair_starts_pytest_four_times_and_its_stages_add_up(tmp_path: Path) -> None:
    done = run(project(tmp_path, {"users.py": NOTHING, "test_users.py": TEST}))
    assert done.exit_code == 0, done.sentence
    node = ("test_users.py::test_nobody",)
    assert starts(done) == [(), node, (), node]  # as it is, traced, with the patch, once more without it
    forked = [run for run in done.runs if run.tier is Tier.WARM]
    assert any(run.hits for run in forked)  # the probes
    seconds = dict(done.timings)
    assert seconds["verify"] > next(run for run in reversed(done.runs) if not run.proposed).seconds / 2
    assert seconds["try"] < sum(trial.seconds for attempt in done.attempts for trial in attempt.trials) + 1


BANNED = """
import inspect
import time

import firsts


def test_plain():
    text = inspect.getsource(firsts.first)
    firsts.first({"a": "x"})
    assert " if " not in text and " or " not in text


def test_late():
    time.sleep(2.5)
"""


def test_a_regression_ends_the_suite_and_is_asked_first_from_then_on(tmp_path: Path) -> None:
    files = {
        "firsts.py": 'def first(d):\n    value = d["a"]\n    return value.strip()\n',
        "test_firsts.py": "import firsts\n\n\ndef test_none():\n    assert firsts.first({'a': None}) == ''\n",
        "test_banned.py": BANNED.lstrip("\n"),
    }
    done = run(project(tmp_path, files), max_candidates=8, max_attempts=1)
    regressed = [trial for attempt in done.attempts for trial in attempt.trials if trial.verdict is Verdict.REGRESSED]
    assert len(regressed) >= 2
    assert all("test_plain passed before" in trial.detail for trial in regressed)
    halted = [run for run in done.runs if run.halted_by is not None]
    if sys.version_info >= (3, 12):  # the first run of the suite told which test runs what
        assert halted == []
    else:
        assert [run.halted_by for run in halted] == ["test_banned.py::test_plain"]
        assert "test_banned.py::test_late" not in dict(halted[0].outcomes)
    watched = [run for run in done.runs if run.calls is not None]
    assert len(watched) == 1
    assert watched[0].calls is not None
    assert watched[0].calls.tests["firsts.py", 1] == ("test_banned.py::test_plain", "test_firsts.py::test_none")


def test_what_fails_elsewhere_is_not_held_against_a_patch_and_does_not_end_the_suite(tmp_path: Path) -> None:
    files = {
        "users.py": NOTHING,
        "test_a_broken.py": "def test_hopeless():\n    assert 1 == 2\n",
        "test_users.py": TEST,
        "test_z.py": "from users import name\n\n\ndef test_z():\n    name(type('U', (), {'name': 'z'}))\n",
    }
    done = run(project(tmp_path, files), keep_partial=True)
    assert done.exit_reason == "partial", done.sentence
    assert done.files_patched == ("users.py",)
    suites = [run for run in done.runs if not run.proposed]
    assert [(len(run.outcomes), run.ended) for run in suites] == [(3, True), (3, True)]
    assert Verdict.REGRESSED not in verdicts(done)


SITES = "".join(
    f"def size_{n}(disk):\n    total = {n}\n    total += disk.size\n    return total\n\n\n" for n in range(5)
)
SIZES = "import sizes\n" + "".join(f"\n\ndef test_{n}():\n    assert sizes.size_{n}(None) == {n}\n" for n in range(5))


def test_each_failing_test_is_judged_at_its_own_site_also_where_lines_have_moved(tmp_path: Path) -> None:
    done = run(project(tmp_path, {"sizes.py": SITES, "test_sizes.py": SIZES}), max_candidates=40)
    assert done.exit_code == 0, done.sentence
    lines = [attempt.diagnosis.location.line for attempt in done.attempts]
    assert len(done.attempts) == 5  # those that keep something do not count against the limit of four
    assert lines == sorted(set(lines))
    assert len(done.patches) == 5
