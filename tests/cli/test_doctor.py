"""What doctor says of machines and projects that are not as they should be."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from selfdebug import doctor
from selfdebug.doctor import Check, Status, examine


def checks(root: Path) -> dict[str, Check]:
    """The checks of a project by name."""
    return {check.name: check for check in examine(root, None, None)}


def test_a_sound_project_has_no_failure(tmp_path: Path) -> None:
    found = checks(tmp_path)
    assert {check.status for check in found.values()} <= {Status.OK, Status.WARN}
    assert list(tmp_path.iterdir()) == []


def test_libraries_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LIBRARIES", ("click", "no-such-library"))
    monkeypatch.setattr(doctor, "EXTRAS", ("no-such-extra",))
    found = checks(tmp_path)
    assert found["libraries"] == Check("libraries", Status.FAIL, "not installed beside selfdebug: no-such-library")
    assert found["extras"].sentence == "no-such-extra is not installed; without it the output is plainer"


def test_windows_is_not_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfdebug.doctor.sys.platform", "win32")
    assert checks(tmp_path)["selfdebug"].status is Status.WARN


def test_a_project_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("selfdebug.doctor.os.access", lambda *_, **__: False)  # root may write everywhere
    assert checks(tmp_path)["project"].status is Status.FAIL


def test_a_temporary_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    check = checks(tmp_path)["temporary folder"]
    assert (check.status, check.sentence) == (Status.FAIL, "nothing can be written there: No such file or directory")


def test_a_state_folder_that_is_a_link_to_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".selfdebug").symlink_to(tmp_path)
    found = checks(root)
    assert Status.FAIL in {found["lock"].status, found["journal"].status}
