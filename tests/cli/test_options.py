"""How options become Settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfdebug.cli.options import interpreter, settings


def test_relative_paths_count_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    given = {"python": "env/bin/python", "backup_dir": Path("saved"), "pytest_args": "-k 'a b'", "node_ids": ("t.py",)}
    found = settings(Path("../project"), None, given)
    assert found.root == tmp_path / "project"
    assert found.python == tmp_path / "here" / "env" / "bin" / "python"
    assert found.backup_dir == tmp_path / "here" / "saved"
    assert (found.pytest_args, found.node_ids) == (("-k", "a b"), ("t.py",))


def test_a_bare_name_is_a_command_unless_it_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert interpreter("python3.8") == Path("python3.8")
    (tmp_path / "python3.8").touch()
    assert interpreter("python3.8") == tmp_path / "python3.8"
    assert interpreter(None) is None


def test_a_limit_of_memory_is_an_option_as_well(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.selfdebug]\nmemory-limit = 500\n")
    assert settings(tmp_path, None, {}).memory_limit == 500
    assert settings(tmp_path, None, {"memory_limit": 900}).memory_limit == 900
