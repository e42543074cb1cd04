"""A run in a git repository: saved, written, rolled back or kept, and the attempt on the stash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.workspace import Workspace
from workspace.git_projects import Seen, git

Locked = Callable[..., Workspace]
EDIT = b"def f(x):\r\n\treturn x.name if x is not None else None\r\n"


def test_roll_back_restores_every_byte_mode_and_time(repo: Path, locked: Locked) -> None:
    (repo / "pkg/a.py").chmod(0o750)
    before = Seen.at(repo)
    workspace = locked(repo)
    snapshot = workspace.snapshot(["pkg/a.py"], "r1")
    assert snapshot.reference == "refs/selfdebug/r1"
    assert (snapshot.run_id, snapshot.git_refusal) == ("r1", None)
    workspace.write("pkg/a.py", EDIT)
    assert (repo / "pkg/a.py").read_bytes() == EDIT
    assert (repo / "pkg/a.py").stat().st_mode & 0o777 == 0o750
    result = workspace.roll_back()
    assert result.restored == ("pkg/a.py",)
    assert result.is_exact
    assert Seen.at(repo) == before


def test_snapshot_is_a_stash_shaped_commit_that_git_understands(repo: Path, locked: Locked) -> None:
    (repo / "b.py").write_bytes(b"b = 2\n")
    git(repo, "add", "b.py")
    (repo / "b.py").write_bytes(b"b = 3\n")
    before = Seen.at(repo)
    workspace = locked(repo)
    workspace.snapshot(["b.py"], "r1")
    assert Seen.at(repo) == before
    commit = "refs/selfdebug/r1"
    assert git(repo, "rev-parse", f"{commit}^1") == git(repo, "rev-parse", "HEAD")
    assert git(repo, "show", f"{commit}:b.py") == "b = 3"
    assert git(repo, "show", f"{commit}^2:b.py") == "b = 2"
    assert "+b = 3" in git(repo, "stash", "show", "-p", commit)
    git(repo, "fsck", "--strict")


def test_attempt_is_an_entry_of_its_own_that_git_applies(repo: Path, locked: Locked) -> None:
    (repo / "b.py").write_bytes(b"the user's own = 1\n")
    git(repo, "stash")
    user_stash = git(repo, "rev-parse", "refs/stash")
    before = Seen.at(repo)
    workspace = locked(repo)
    workspace.snapshot(["pkg/a.py"], "r1")
    workspace.write("pkg/a.py", EDIT)
    workspace.roll_back()
    assert workspace.stash_attempt({"pkg/a.py": EDIT}, "selfdebug: r1 attempt 1, test_f fails") == ("stash@{0}",)
    after = Seen.at(repo)
    assert (after.files, after.index, after.status, after.branches) == (
        before.files,
        before.index,
        before.status,
        before.branches,
    )
    assert git(repo, "stash", "list").splitlines()[0] == "stash@{0}: selfdebug: r1 attempt 1, test_f fails"
    assert git(repo, "rev-parse", "stash@{1}") == user_stash
    assert git(repo, "rev-parse", "stash@{0}^1") == git(repo, "rev-parse", "HEAD")
    assert "+\treturn x.name if x is not None else None" in git(repo, "stash", "show", "-p")
    git(repo, "stash", "apply")
    assert (repo / "pkg/a.py").read_bytes() == EDIT
    git(repo, "fsck", "--strict")


def test_kept_patch_stays_and_can_be_undone(repo: Path, locked: Locked) -> None:
    before = Seen.at(repo)
    workspace = locked(repo)
    workspace.snapshot(["pkg/a.py", "b.py"], "r1")
    workspace.write("pkg/a.py", EDIT)
    kept = workspace.keep("guarded x")
    assert kept.files == ("pkg/a.py",)
    assert workspace.roll_back().restored == ()
    assert (repo / "pkg/a.py").read_bytes() == EDIT
    assert Path(kept.copies[0]).read_bytes() == b"def f(x):\r\n\treturn x.name\r\n"
    undone = workspace.undo()
    assert (undone.run_id, undone.restored) == ("r1", ("pkg/a.py",))
    assert Seen.at(repo) == before


@pytest.mark.parametrize("state", ["unstaged", "staged", "untracked", "ignored"])
def test_attempt_on_a_dirty_file_shows_the_attempt_alone(repo: Path, locked: Locked, state: str) -> None:
    file = "b.py" if state in ("unstaged", "staged") else "new.py"
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("new.py\n" if state == "ignored" else "")
    (repo / file).write_bytes(b"b = 1\nmine = 2\n")
    if state == "staged":
        git(repo, "add", file)
    before = Seen.at(repo)
    workspace = locked(repo)
    workspace.snapshot([file], "r1")
    workspace.write(file, b"b = 1\nmine = 3\n")
    workspace.roll_back()
    assert workspace.stash_attempt({file: b"b = 1\nmine = 3\n"}, "attempt") == ("stash@{0}",)
    shown = git(repo, "stash", "show", "-p")
    assert [line for line in shown.splitlines() if line[0] in "+-"][2:] == ["-mine = 2", "+mine = 3"]
    assert Seen.at(repo).files == before.files
    assert Seen.at(repo).index == before.index
    (repo / "patch").write_text(shown + "\n")
    git(repo, "apply", "patch")
    assert (repo / file).read_bytes() == b"b = 1\nmine = 3\n"
