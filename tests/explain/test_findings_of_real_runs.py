"""Real runs that contradict themselves: each finding is provoked by a project that is not what it seems."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from explain.projects import failing_project
from selfdebug.config import Settings
from selfdebug.errors import WorkspaceError
from selfdebug.repair import repair
from selfdebug.trace.ask import ask
from selfdebug.trace.owner import Owner

HEAD = "from pathlib import Path\nfrom src_root.shop import is_regular\n\n\nclass Customer:\n    orders = 12\n\n\n"
COUNT = """\
def started():
    file = Path(__file__).with_name("count.txt")
    count = int(file.read_text()) if file.exists() else 0
    file.write_text(str(count + 1))
    return count


"""
# As it is, traced, in the process that forks, and probed: so often it fails, and then it never does again.
FLAKY = HEAD + COUNT + "def test_a_guest():\n    is_regular(None if started() < 4 else Customer())\n"
OTHER_VALUE = (
    HEAD + COUNT + "class Guest:\n    pass\n\n\n"
    "def test_a_guest():\n    assert is_regular(None if started() == 0 else Guest()) is False\n"
)
ORDER = (
    HEAD + "RAN = []\n\n\ndef test_a_regular():\n    RAN.append(1)\n    assert is_regular(Customer())\n\n\n"
    "def test_b_guest():\n    assert is_regular(None) is False\n    assert not RAN\n"
)
MEDDLER = (
    HEAD + "def test_a_guest():\n    assert is_regular(None) is False\n\n\n"
    "def test_b_meddles():\n"
    "    source = Path('src_root/shop.py')\n"
    "    if 'is not None' in source.read_text():\n"
    "        source.write_text(source.read_text() + '# somebody else was here\\n')\n"
    "        raise AssertionError\n"
)
SOURCE = (
    "import inspect\n" + HEAD + "def test_a_guest():\n"
    "    if 'None' not in inspect.getsource(is_regular):\n"
    "        assert is_regular(None) is False\n"
)
PASSING = HEAD + "def test_a_guest():\n    assert is_regular(Customer())\n"
LOG = """\
=================================== FAILURES ===================================
_________________________________ test_a_guest _________________________________

    def test_a_guest():
>       assert is_regular(None) is False

tests/test_shop.py:10:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def is_regular(customer):
>       if customer.orders > 10:  # often here
E       AttributeError: 'NoneType' object has no attribute 'orders'

src_root/shop.py:2: AttributeError
=========================== short test summary info ============================
FAILED tests/test_shop.py::test_a_guest - AttributeError: 'NoneType' object h...
========================= 1 failed in 0.02s =========================
"""


@pytest.fixture
def findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    for name in ("SELFDEBUG_DIR", "SELFDEBUG_SESSION", "SELFDEBUG_ONE_SHOT"):
        monkeypatch.delenv(name, raising=False)

    def run(test: str, kind: str, log: bytes | None = None) -> list[dict[str, Any]]:
        root = failing_project(tmp_path / "project", test)
        with suppress(WorkspaceError):  # a file that somebody changed ends the run
            repair(Settings(root=root, max_candidates=4), log, lambda _event: None)
        answer = ask(root / ".selfdebug", "find_context_errors", {"kind": kind}, Owner())
        found: list[dict[str, Any]] = answer.data["findings"]
        for finding in found:
            name, _, rest = finding["next"].partition("(")
            arguments = dict(part.split("=", 1) for part in rest.rstrip(")").split(", "))
            assert ask(root / ".selfdebug", name, arguments, Owner()).found, "the next query leads somewhere"
        assert [check["kind"] for check in answer.data["checks"]] == [kind]
        return found

    return run


def test_a_test_that_passes_without_the_patch(findings: Callable[..., list[dict[str, Any]]]) -> None:
    (found,) = findings(FLAKY, "passes-without-patch")
    assert "tests/test_shop.py::test_a_guest passes without the patch as well" in found["sentence"]
    assert found["step"].startswith("keep#")
    assert any(witness.startswith("pytest-") for witness in found["witnesses"])


def test_a_probe_that_sees_another_value_than_the_traceback_tells(
    findings: Callable[..., list[dict[str, Any]]],
) -> None:
    found = findings(OTHER_VALUE, "probe-disagrees")
    assert found[0]["sentence"] == "The traceback says that customer was None, the probe saw test_shop.Guest."
    assert found[0]["witnesses"] == ["customer", "src_root/shop.py:2"]


def test_a_verdict_that_the_suite_on_disk_does_not_confirm(findings: Callable[..., list[dict[str, Any]]]) -> None:
    found = findings(ORDER, "verdict-not-confirmed")
    assert "but in a fresh process tests/test_shop.py::test_b_guest fails" in found[0]["sentence"]
    assert found[0]["step"].startswith("verify#")


def test_a_log_whose_failure_does_not_come_again(findings: Callable[..., list[dict[str, Any]]]) -> None:
    (found,) = findings(PASSING, "not-reproduced", LOG.encode())
    assert found["sentence"] == "The log says that tests/test_shop.py::test_a_guest fails; here it is passed."
    assert found["step"] == "ingest#0"


def test_a_file_that_somebody_else_changes_during_the_run(
    findings: Callable[..., list[dict[str, Any]]], tmp_path: Path
) -> None:
    (found,) = findings(MEDDLER, "file-changed-meanwhile")
    assert "src_root/shop.py was changed by someone else during the run" in found["sentence"]
    assert (tmp_path / "project" / "src_root" / "shop.py").read_text().endswith("# somebody else was here\n")


def test_a_guard_that_never_acts_in_the_test_that_passes_with_it(findings: Callable[..., list[dict[str, Any]]]) -> None:
    (found,) = findings(SOURCE, "guard-never-fired")
    assert (
        found["sentence"] == "tests/test_shop.py::test_a_guest passes with the patch, but its guard never acted in it."
    )
    assert found["step"].startswith("pin#")
