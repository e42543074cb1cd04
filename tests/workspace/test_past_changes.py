"""What earlier commits made of a project's files: read from real repositories, bounded, and never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfdebug.workspace import PastChange, Workspace
from selfdebug.workspace import past_changes as module
from workspace.git_projects import git


def commit(folder: Path, **files: str) -> str:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "step")
    return git(folder, "rev-parse", "HEAD")[:9]


def test_small_changes_come_newest_first_with_both_sides(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    commit(tmp_path, a="one\n", b="b\n")
    (tmp_path / "notes.txt").write_text("no source")
    second = commit(tmp_path, a="two\n")
    third = commit(tmp_path, a="three\n", new="not there before\n")
    found = list(Workspace.open(tmp_path).past_changes())
    assert found == [
        PastChange(third, "a.py", b"two\n", b"three\n"),
        PastChange(second, "a.py", b"one\n", b"two\n"),
    ]


def test_a_project_below_the_top_sees_its_own_files_only(tmp_path: Path) -> None:
    top = tmp_path / "top"
    inner = top / "inner"
    inner.mkdir(parents=True)
    git(top, "init", "-q")
    (inner / "in.py").write_text("1\n")
    commit(top, out="1\n")
    (inner / "in.py").write_text("2\n")
    commit(top, out="2\n")
    assert [change.file for change in Workspace.open(inner).past_changes()] == ["in.py"]


def test_merges_and_wide_changes_are_left_out(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    many = {f"m{number}": "1\n" for number in range(5)}
    commit(tmp_path, a="1\n", **many)
    commit(tmp_path, **dict.fromkeys(many, "2\n"))
    git(tmp_path, "checkout", "-qb", "side")
    side = commit(tmp_path, a="2\n")
    git(tmp_path, "checkout", "-q", "main")
    main = commit(tmp_path, m0="3\n")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "merge", "side")
    wide = {f"w{number}.txt": "1\n" for number in range(20)}
    for name in wide:
        (tmp_path / name).write_text("x")
    commit(tmp_path, a="4\n")
    assert {change.commit for change in Workspace.open(tmp_path).past_changes()} == {side, main}


def test_the_number_of_changes_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    for number in range(4):
        commit(tmp_path, a=f"{number}\n")
    monkeypatch.setattr(module, "_MOST_CHANGES", 2)
    assert len(list(Workspace.open(tmp_path).past_changes())) == 2


@pytest.mark.parametrize("arguments", [None, ("init", "-q")], ids=["no repository", "no commit"])
def test_without_a_history_there_are_none(tmp_path: Path, arguments: tuple[str, ...] | None) -> None:
    if arguments:
        git(tmp_path, *arguments)
    assert not list(Workspace.open(tmp_path).past_changes())


def test_a_history_with_missing_objects_ends_where_they_are_missing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    commit(tmp_path, a="1\n")
    commit(tmp_path, a="2\n")
    lost = git(tmp_path, "rev-parse", "HEAD~1:a.py")
    commit(tmp_path, a="3\n")
    (tmp_path / ".git/objects" / lost[:2] / lost[2:]).unlink()
    assert [change.after for change in Workspace.open(tmp_path).past_changes()] == [b"3\n"]
