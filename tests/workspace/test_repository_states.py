"""A run in repositories in every state that users have them in: exact roll back, and an attempt to apply."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.workspace import Workspace
from workspace.git_projects import Seen, files_at, git

Locked = Callable[..., Workspace]
PLACES: dict[str, Callable[[Path], Path]] = {}


def state(build: Callable[[Path], Path]) -> Callable[[Path], Path]:
    """Register a builder: it brings the committed project into a state and returns the root for the run."""
    PLACES[build.__name__] = build
    return build


def _start(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    return root


def _second_commit(root: Path, text: bytes = b"b = 2\n") -> None:
    (root / "b.py").write_bytes(text)
    git(root, "commit", "-q", "-a", "-m", "second")


@state
def clean(root: Path) -> Path:
    return _start(root)


@state
def dirty_everywhere(root: Path) -> Path:
    _start(root)
    (root / "pkg/a.py").write_bytes(b"staged = 1\r\n")
    git(root, "add", "pkg/a.py")
    (root / "pkg/a.py").write_bytes(b"unstaged = 1\r\n")
    (root / "new.py").write_bytes(b"untracked = 1\n")
    (root / ".gitignore").write_bytes(b"ignored.py\n")
    (root / "ignored.py").write_bytes(b"ignored = 1\n")
    git(root, "rm", "-q", "--cached", "b.py")
    return root


@state
def names_that_differ_in_case_only(root: Path) -> Path:
    (root / "B.py").write_bytes(b"B = 1\n")
    (root / "PKG").mkdir()
    (root / "PKG/A.py").write_bytes(b"A = 1\n")
    return _start(root)


@state
def case_ignored_with_a_tracked_twin(root: Path) -> Path:
    (root / "b.py").rename(root / "B.py")
    _start(root)
    git(root, "config", "core.ignorecase", "true")
    (root / "b.py").write_bytes(b"b = 1\n")  # to git a twin of the tracked file, on this disk another file
    return root


@state
def unborn_head(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "b.py")
    return root


@state
def detached(root: Path) -> Path:
    _start(root)
    git(root, "checkout", "-q", "--detach")
    return root


@state
def merge_conflict(root: Path) -> Path:
    _start(root)
    git(root, "checkout", "-q", "-b", "other")
    _second_commit(root, b"b = 'theirs'\n")
    git(root, "checkout", "-q", "main")
    _second_commit(root, b"b = 'ours'\n")
    git(root, "merge", "other", check=False)
    assert (root / ".git/MERGE_HEAD").exists()
    return root


@state
def rebasing(root: Path) -> Path:
    _start(root)
    git(root, "checkout", "-q", "-b", "other")
    _second_commit(root, b"b = 'theirs'\n")
    git(root, "checkout", "-q", "main")
    _second_commit(root, b"b = 'ours'\n")
    git(root, "rebase", "other", check=False)
    assert (root / ".git/rebase-merge").exists()
    return root


@state
def bisecting(root: Path) -> Path:
    _start(root)
    for number in range(4):
        _second_commit(root, b"b = %d\n" % (number + 10))
    git(root, "bisect", "start", "HEAD", "HEAD~4")
    return root


@state
def held_index_lock(root: Path) -> Path:
    _start(root)
    (root / ".git/index.lock").write_bytes(b"")
    return root


@state
def linked_worktree(root: Path) -> Path:
    _start(root)
    git(root, "worktree", "add", "-q", "../linked", "-b", "side")
    return root.with_name("linked")


@state
def submodule(root: Path) -> Path:
    _start(root)
    outer = root.with_name("outer")
    outer.mkdir()
    (outer / "README").write_bytes(b"outer\n")
    _start(outer)
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(root), "sub")
    return outer / "sub"


@state
def subfolder(root: Path) -> Path:
    outer = root.with_name("outer")
    outer.mkdir()
    root.rename(outer / "project")
    _start(outer)
    return outer / "project"


@state
def split_index(root: Path) -> Path:
    _start(root)
    git(root, "update-index", "--split-index")
    (root / "b.py").write_bytes(b"b = 'split'\n")
    git(root, "add", "b.py")
    return root


@state
def sparse(root: Path) -> Path:
    (root / "other").mkdir()
    (root / "other/c.py").write_bytes(b"c = 1\n")
    _start(root)
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "pkg")
    assert not (root / "other").exists()
    return root


@state
def shallow(root: Path) -> Path:
    _start(root)
    _second_commit(root)
    git(root.parent, "clone", "-q", "--depth", "1", f"file://{root}", "shallow")
    return root.with_name("shallow")


@state
def assume_unchanged(root: Path) -> Path:
    _start(root)
    git(root, "update-index", "--assume-unchanged", "b.py")
    git(root, "update-index", "--skip-worktree", "pkg/a.py")
    (root / "b.py").write_bytes(b"b = 'hidden'\n")
    (root / "pkg/a.py").write_bytes(b"a = 'hidden'\n")
    return root


@state
def intent_to_add(root: Path) -> Path:
    _start(root)
    (root / "new.py").write_bytes(b"n = 1\n")
    git(root, "add", "-N", "new.py")
    return root


@state
def autocrlf(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "core.autocrlf", "true")
    (root / "b.py").write_bytes(b"b = 1\r\nc = 2\r\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    return root


@state
def eol_and_ident(root: Path) -> Path:
    (root / ".gitattributes").write_bytes(b"*.py text eol=crlf ident\n")
    (root / "b.py").write_bytes(b"# $Id$\r\nb = 1\r\n")
    _start(root)
    (root / "b.py").unlink()
    git(root, "checkout", "b.py")
    assert b"$Id: " in (root / "b.py").read_bytes()
    return root


@state
def eol_for_this_clone_only(root: Path) -> Path:
    _start(root)
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_bytes(b"b.py text eol=crlf\n")
    (root / "b.py").write_bytes(b"b = 1\r\n")
    git(root, "add", "b.py")
    return root


@state
def crlf_in_the_repository(root: Path) -> Path:
    (root / "b.py").write_bytes(b"b = 1\r\nc = 2\r\n")
    _start(root)
    git(root, "config", "core.autocrlf", "input")
    return root


@state
def packed_and_collected(root: Path) -> Path:
    _start(root)
    (root / "b.py").write_bytes(b"b = 'stashed'\n")
    git(root, "stash", "-q")
    git(root, "gc", "-q", "--prune=now")
    return root


@state
def file_modes_ignored(root: Path) -> Path:
    _start(root)
    git(root, "config", "core.fileMode", "false")
    (root / "b.py").chmod(0o750)
    return root


def _edited(data: bytes) -> bytes:
    return data + (b"edited = 1\r\n" if b"\r\n" in data else b"edited = 1\n")


@pytest.mark.parametrize("name", PLACES)
def test_exact_roll_back_and_an_attempt_on_the_stash(name: str, plain: Path, locked: Locked) -> None:
    root = PLACES[name](plain)
    before = Seen.at(root)
    files = [file for file in ("pkg/a.py", "b.py", "new.py", "ignored.py") if (root / file).exists()]
    old = {file: (root / file).read_bytes() for file in files}
    new = {file: _edited(data) for file, data in old.items()}
    workspace = locked(root)
    snapshot = workspace.snapshot(files, "r1")
    assert snapshot.git_refusal is None
    for file in files:
        assert _saved_by_git(root, file) == old[file]
        workspace.write(file, new[file])
    assert workspace.roll_back().is_exact
    assert Seen.at(root) == before
    assert workspace.stash_attempt(new, "selfdebug: r1 attempt 1") == ("stash@{0}",)
    after = Seen.at(root)
    assert (after.files, after.index, after.status, after.branches) == (
        before.files,
        before.index,
        before.status,
        before.branches,
    )
    assert after.stashes.splitlines()[0] == "stash@{0}: selfdebug: r1 attempt 1"
    assert after.stashes.splitlines()[1:] == [line.replace("@{0}", "@{1}") for line in before.stashes.splitlines()]
    _bring_back(root)
    assert {file: _without_id((root / file).read_bytes()) for file in files} == {
        file: _without_id(data) for file, data in new.items()
    }
    assert "missing" not in git(root, "fsck", check=False)


def _without_id(data: bytes) -> bytes:
    """git writes the expanded `$Id$` of what it applies anew, from the name of the new object."""
    return re.sub(rb"\$Id: \w+ \$", b"$Id$", data)


def _saved_by_git(root: Path, file: str) -> bytes:
    prefix = git(root, "rev-parse", "--show-prefix")
    shown = subprocess.run(
        ["git", "cat-file", "blob", f"refs/selfdebug/r1:{prefix}{file}"], cwd=root, capture_output=True, check=True
    )
    return shown.stdout


def _bring_back(root: Path) -> None:
    """Apply the attempt as a patch, which also works on files that git refuses to merge into."""
    top = Path(git(root, "rev-parse", "--show-toplevel"))
    patch = subprocess.run(
        ["git", "diff", "--binary", "stash@{0}^1", "stash@{0}"], cwd=top, capture_output=True, check=True
    )
    subprocess.run(["git", "apply", "-"], input=patch.stdout, cwd=top, check=True)


@pytest.mark.parametrize("name", ["clean", "detached", "linked_worktree", "subfolder", "autocrlf", "eol_and_ident"])
def test_git_itself_applies_the_attempt(name: str, plain: Path, locked: Locked) -> None:
    root = PLACES[name](plain)
    new = _edited((root / "b.py").read_bytes())
    workspace = locked(root)
    workspace.snapshot(["b.py"], "r1")
    workspace.stash_attempt({"b.py": new}, "attempt")
    assert [line for line in git(root, "stash", "show", "-p").splitlines() if line[0] in "+-"][2:] == ["+edited = 1"]
    git(root, "stash", "apply", "-q")
    assert _without_id((root / "b.py").read_bytes()) == _without_id(new)


def _bare(root: Path) -> Path:
    subprocess.run(["git", "init", "-q", "--bare", str(root / ".git")], check=True)
    return root


def _sha256(root: Path) -> Path:
    git(root, "init", "-q", "--object-format=sha256")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    return root


def _foreign(root: Path) -> Path:
    _start(root)
    if os.geteuid() == 0:
        for path in [root, *root.rglob("*")]:
            os.chown(path, 4242, 4242, follow_symlinks=False)
    else:
        git(root, "config", "core.bare", "true")
    return root


def _elsewhere(root: Path) -> Path:
    _start(root)
    (root.parent / "tree").mkdir()
    git(root, "config", "core.worktree", str(root.parent / "tree"))
    return root


def _no_repository(root: Path) -> Path:
    return root


def _broken(root: Path) -> Path:
    _start(root)
    (root / ".git/HEAD").write_bytes(b"ref: refs/heads/main")
    (root / ".git/refs/heads/main").write_bytes(b"garbage\n")
    return root


@pytest.mark.parametrize("build", [_bare, _sha256, _foreign, _elsewhere, _no_repository, _broken])
def test_copies_stand_in_where_git_cannot_hold_the_files(
    build: Callable[[Path], Path], plain: Path, locked: Locked, tmp_path: Path
) -> None:
    root = build(plain)
    before = files_at(root)
    workspace = locked(root)
    snapshot = workspace.snapshot(["pkg/a.py", "b.py"], "r1")
    assert snapshot.git_refusal
    assert snapshot.reference is None
    for copy in snapshot.copies:
        assert Path(copy).parent == tmp_path / "tmp" / "agent-self-debugger-loop"
    old = (root / "pkg/a.py").read_bytes()
    assert Path(snapshot.copies[0]).read_bytes() == old
    workspace.write("pkg/a.py", b"edited\n")
    assert workspace.roll_back().restored == ("pkg/a.py",)
    assert files_at(root) == before
    (place,) = workspace.stash_attempt({"pkg/a.py": b"edited\n"}, "attempt")
    assert Path(place).read_bytes() == b"edited\n"
    assert files_at(root) == before


def test_ownership_is_kept_in_a_foreign_folder(plain: Path, locked: Locked) -> None:
    if os.geteuid() != 0:
        pytest.skip("only the superuser can make files of another owner")
    _foreign(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    assert (plain / "b.py").stat().st_uid == 4242
    workspace.roll_back()
    assert ((plain / "b.py").stat().st_uid, (plain / "b.py").stat().st_gid) == (4242, 4242)


def test_a_nested_repository_is_left_out_of_the_outer_ones_objects(repo: Path, locked: Locked) -> None:
    inner = repo / "vendor/inner"
    inner.mkdir(parents=True)
    (inner / "c.py").write_bytes(b"c = 1\n")
    _start(inner)
    git(repo, "add", "vendor/inner")
    git(repo, "commit", "-q", "-m", "with a gitlink")
    workspace = locked(repo)
    snapshot = workspace.snapshot(["vendor/inner/c.py", "b.py"], "r1")
    assert snapshot.reference
    assert git(repo, "ls-tree", "refs/selfdebug/r1", "vendor/inner").split()[1] == "commit"
    workspace.write("vendor/inner/c.py", b"edited\n")
    places = workspace.stash_attempt({"vendor/inner/c.py": b"edited\n", "b.py": b"b = 2\n"}, "attempt")
    assert places[0] == "stash@{0}"
    assert Path(places[1]).read_bytes() == b"edited\n"
    assert workspace.roll_back().is_exact
    assert (inner / "c.py").read_bytes() == b"c = 1\n"


def test_only_nested_files_go_to_copies(repo: Path, locked: Locked) -> None:
    inner = repo / "inner"
    inner.mkdir()
    (inner / "c.py").write_bytes(b"c = 1\n")
    _start(inner)
    workspace = locked(repo)
    snapshot = workspace.snapshot(["inner/c.py"], "r1")
    assert snapshot.git_refusal == "none of the files can be in its repository"
    assert Path(workspace.stash_attempt({"inner/c.py": b"x\n"}, "attempt")[0]).read_bytes() == b"x\n"


def test_a_file_under_a_filter_driver_goes_to_copies(repo: Path, locked: Locked) -> None:
    (repo / ".gitattributes").write_bytes(b"b.py filter=secret\n")
    git(repo, "config", "filter.secret.clean", "tr a-z n-za-m")
    workspace = locked(repo)
    workspace.snapshot(["b.py"], "r1")
    (place,) = workspace.stash_attempt({"b.py": b"edited\n"}, "attempt")
    assert Path(place).read_bytes() == b"edited\n"
    assert git(repo, "stash", "list") == ""


def test_an_attempt_on_files_that_were_never_edited(repo: Path, locked: Locked) -> None:
    workspace = locked(repo)
    workspace.snapshot(["pkg/a.py"], "r1")
    workspace.stash_attempt({"b.py": b"b = 1\nc = 2\n"}, "attempt")
    assert [line for line in git(repo, "stash", "show", "-p").splitlines() if line[0] in "+-"][2:] == ["+c = 2"]


def test_a_file_where_the_commit_has_a_folder_and_the_other_way_round(repo: Path, locked: Locked) -> None:
    (repo / "pkg/a.py").unlink()
    (repo / "pkg").rmdir()
    (repo / "pkg").write_bytes(b"a file now\n")
    (repo / "b.py").unlink()
    (repo / "b.py").mkdir()
    (repo / "b.py/c.py").write_bytes(b"c = 1\n")
    before = Seen.at(repo)
    workspace = locked(repo)
    snapshot = workspace.snapshot(["pkg", "b.py/c.py"], "r1")
    assert snapshot.git_refusal is None
    assert git(repo, "show", "refs/selfdebug/r1:b.py/c.py") == "c = 1"
    workspace.write("b.py/c.py", b"c = 2\n")
    workspace.roll_back()
    assert Seen.at(repo) == before
    git(repo, "fsck", "--strict")


def test_absent_files_in_absent_trees_need_no_tree(repo: Path, locked: Locked) -> None:
    (repo / "fresh").mkdir()
    workspace = locked(repo)
    workspace.snapshot(["fresh/new.py", "b.py"], "r1")
    assert git(repo, "ls-tree", "refs/selfdebug/r1", "fresh") == ""


def test_an_attempt_that_makes_a_file_shows_it_as_new(repo: Path, locked: Locked) -> None:
    before = Seen.at(repo)
    workspace = locked(repo)
    workspace.snapshot(["pkg/new.py"], "r1")
    workspace.write("pkg/new.py", b"n = 1\n")
    workspace.roll_back()
    workspace.stash_attempt({"pkg/new.py": b"n = 1\n"}, "attempt")
    assert Seen.at(repo).files == before.files
    assert "new file mode 100644" in git(repo, "stash", "show", "-p")
    git(repo, "stash", "apply", "-q")
    assert (repo / "pkg/new.py").read_bytes() == b"n = 1\n"


def test_a_held_stash_lock_sends_the_attempt_to_copies(repo: Path, locked: Locked) -> None:
    (repo / ".git/refs/stash.lock").write_bytes(b"")
    workspace = locked(repo)
    snapshot = workspace.snapshot(["b.py"], "r1")
    (place,) = workspace.stash_attempt({"b.py": b"edited\n"}, "attempt")
    assert Path(place).read_bytes() == b"edited\n"
    assert "stash.lock" in (snapshot.git_refusal or "")


def _left_lock(repo: Path, name: str, text: str, age: float = 60.0) -> Path:
    lock = repo / ".git" / f"{name}.lock"
    lock.write_text(text)
    os.utime(lock, (lock.stat().st_mtime - age,) * 2)
    return lock


def test_the_lock_that_a_killed_run_left_on_the_stash_is_cleared(repo: Path, locked: Locked) -> None:
    workspace = locked(repo)
    workspace.snapshot(["b.py"], "r1")
    lock = _left_lock(repo, "refs/stash", git(repo, "rev-parse", "refs/selfdebug/r1").strip() + "\n")
    assert workspace.stash_attempt({"b.py": b"edited\n"}, "attempt") == ("stash@{0}",)
    assert not lock.exists()
    assert "+edited" in git(repo, "stash", "show", "-p")


@pytest.mark.parametrize(("content", "age"), [("", 60.0), ("HEAD", 60.0), ("refs/selfdebug/r1", 0.0)])
def test_a_lock_that_is_not_ours_or_not_old_stays_and_is_named(
    repo: Path, locked: Locked, content: str, age: float
) -> None:
    workspace = locked(repo)
    snapshot = workspace.snapshot(["b.py"], "r1")
    lock = _left_lock(repo, "refs/stash", git(repo, "rev-parse", content) if content else "", age)
    workspace.stash_attempt({"b.py": b"edited\n"}, "attempt")
    assert lock.exists()
    assert f"{lock} is in the way; remove it when no git command is running" in (snapshot.git_refusal or "")


def test_a_lock_on_our_own_reference_does_not_outlive_the_run(repo: Path) -> None:
    workspace = Workspace.open(repo)
    with workspace.lock("r1"):
        workspace.snapshot(["b.py"], "r1")
        lock = _left_lock(repo, "refs/selfdebug/r1", "")
    assert not lock.exists()
    assert git(repo, "for-each-ref", "refs/selfdebug") == ""


def test_cost_does_not_grow_with_the_repository(repo: Path, locked: Locked) -> None:
    for folder in range(40):
        (repo / f"many{folder}").mkdir()
        for number in range(25):
            (repo / f"many{folder}/m{number}.py").write_bytes(b"%d\n" % number)
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "many")
    objects = int(git(repo, "count-objects").split()[0])
    workspace = locked(repo)
    workspace.snapshot(["pkg/a.py"], "r1")
    # at most one blob, the trees on its way, three commits
    assert int(git(repo, "count-objects").split()[0]) - objects <= 8


def test_the_message_of_an_attempt_is_one_printable_line(repo: Path, locked: Locked) -> None:
    workspace = locked(repo)
    workspace.snapshot(["b.py"], "r1")
    message = "attempt 1, still fails: t.py::test_é[\x1b[31m\n\udce9]"
    assert workspace.stash_attempt({"b.py": b"b = 2\n"}, message) == ("stash@{0}",)
    assert git(repo, "stash", "list") == "stash@{0}: attempt 1, still fails: t.py::test_é[?[31m ?]"
