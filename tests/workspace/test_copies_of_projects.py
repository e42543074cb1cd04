"""Copies of a project for jobs: like the original in every byte and in what git says, and without a trace in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfdebug.errors import WorkspaceError
from selfdebug.workspace.frozen import FrozenTree
from workspace.git_projects import Seen, git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two commits, a tag, a stash entry, and changes of every kind."""
    root = tmp_path / "repository"
    (root / "pkg").mkdir(parents=True)
    files = {"pkg/a.py": b"x = 1\r\n", "pkg/b.py": b"y\t= 1\n", "gone.py": b"z = 1\n", ".gitignore": b"*.gen\n.venv/\n"}
    for name, data in files.items():
        (root / name).write_bytes(data)
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    git(root, "init", "-q", "-b", "main")
    git(root, "config", "core.autocrlf", "false")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    git(root, "tag", "-am", "first", "v1")
    (root / "pkg/a.py").write_bytes(b"x = 'stashed'\r\n")
    git(root, "stash")
    (root / "pkg/a.py").write_bytes(b"x = 'unstaged'\r\n")
    (root / "pkg/b.py").write_bytes(b"y\t= 'staged'\n")
    git(root, "add", "pkg/b.py")
    (root / "gone.py").unlink()
    (root / "pkg/new.py").write_bytes(b"untracked\n")
    (root / "pkg/version.gen").write_bytes(b"ignored\n")
    return root


def files_of(root: Path) -> dict[str, tuple[object, ...]]:
    """Bytes, modes, times and links of all files but git's own."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(folder, name)
            status = path.lstat()
            data = str(path.readlink()) if path.is_symlink() else path.read_bytes()
            if name != ".git":
                found[path.relative_to(root).as_posix()] = (data, status.st_mode, status.st_mtime_ns)
    return found


def test_a_copy_is_the_original_in_its_files_and_in_git(repository: Path, tmp_path: Path) -> None:
    before = Seen.at(repository)
    frozen = FrozenTree.freeze(repository, tmp_path / "frozen")
    with frozen.copy("one") as root:
        assert files_of(root) == files_of(repository)
        for question in (
            ("status", "--porcelain", "--ignored"),
            ("describe", "--tags"),
            ("log", "--format=%H %s"),
            ("for-each-ref", "refs/heads", "refs/tags"),
            ("diff", "--cached"),
            ("diff",),
        ):
            assert git(root, *question) == git(repository, *question), question
    assert Seen.at(repository) == before


def test_what_happens_in_a_copy_stays_in_it(repository: Path, tmp_path: Path) -> None:
    before = Seen.at(repository), git(repository, "for-each-ref"), git(repository, "worktree", "list")
    objects = sorted((repository / ".git" / "objects").rglob("*"))
    frozen = FrozenTree.freeze(repository, tmp_path / "frozen")
    with frozen.copy("one") as one, FrozenTree.reopen(frozen.folder).copy("two") as two:
        git(one, "checkout", "-q", "-b", "feature")
        git(one, "commit", "-qam", "in a copy")
        git(two, "stash")
        git(two, "tag", "v2")
        (one / "pkg" / "a.py").write_bytes(b"edited\n")
    with frozen.copy("three") as three:
        assert (three / "pkg" / "a.py").read_bytes() == b"x = 'unstaged'\r\n"
    assert (Seen.at(repository), git(repository, "for-each-ref"), git(repository, "worktree", "list")) == before
    assert sorted((repository / ".git" / "objects").rglob("*")) == objects
    assert list((frozen.folder / "copies").iterdir()) == []
    assert git(frozen.folder / "repository.git", "worktree", "list").count("\n") == 0


def test_a_project_below_the_top_comes_with_all_of_its_repository(repository: Path, tmp_path: Path) -> None:
    frozen = FrozenTree.freeze(repository / "pkg", tmp_path / "frozen")
    with frozen.copy("one", {"a.py": b"x = 'changed'\n"}) as root:
        assert root.name == "pkg"
        assert (root / "a.py").read_bytes() == b"x = 'changed'\n"
        assert (root.parent / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (frozen.root / "a.py").read_bytes() == b"x = 'unstaged'\r\n"


def test_environments_are_linked_and_caches_are_not_there(repository: Path, tmp_path: Path) -> None:
    (repository / ".venv" / "lib").mkdir(parents=True)
    (repository / ".venv" / "pyvenv.cfg").write_text("")
    for cache in ("pkg/__pycache__", ".selfdebug", ".pytest_cache"):
        (repository / cache).mkdir()
        (repository / cache / "file").write_text("")
    (repository / "vendor" / "site-packages").mkdir(parents=True)
    (repository / "vendor" / "site-packages" / "tracked.py").write_text("")
    git(repository, "add", "-f", "vendor")
    frozen = FrozenTree.freeze(repository, tmp_path / "frozen")
    with frozen.copy("one") as root:
        assert (root / ".venv").readlink() == repository / ".venv"
        assert not [cache for cache in ("pkg/__pycache__", ".selfdebug", ".pytest_cache") if (root / cache).exists()]
        assert (root / "vendor" / "site-packages" / "tracked.py").is_file()
        assert not (root / "vendor" / "site-packages").is_symlink()
        assert ".venv" not in git(root, "status", "--porcelain")
    assert (repository / ".venv" / "pyvenv.cfg").is_file()


def test_links_lead_into_the_copy(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    (root / "data").mkdir(parents=True)
    (root / "data" / "file").write_text("text")
    (root / "absolute").symlink_to(root / "data" / "file")
    (root / "relative").symlink_to("data/file")
    (root / "outside").symlink_to("/etc/hostname")
    (root / "broken").symlink_to("nowhere")
    with FrozenTree.freeze(root, tmp_path / "frozen").copy("one") as copy:
        assert (copy / "absolute").resolve() == (copy / "data" / "file").resolve()
        assert str((copy / "relative").readlink()) == "data/file"
        assert str((copy / "outside").readlink()) == "/etc/hostname"
        assert str((copy / "broken").readlink()) == "nowhere"
    assert (root / "data" / "file").read_text() == "text"


def without_commit(root: Path) -> None:
    git(root, "init", "-q", "-b", "fresh")


def split_index(root: Path) -> None:
    without_commit(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "one")
    git(root, "update-index", "--split-index")


def in_a_linked_worktree(root: Path) -> None:
    main = root.with_name("main")
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "one")
    moved = root.with_name("moved")
    root.rename(moved)
    git(main, "worktree", "add", "-q", str(root))
    for file in moved.iterdir():
        file.rename(root / file.name)


@pytest.mark.parametrize("state", [without_commit, split_index, in_a_linked_worktree])
def test_other_states_of_a_repository(tmp_path: Path, state: object) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "a.py").write_bytes(b"x = 1\n")
    assert callable(state)
    state(root)
    (root / "b.py").write_bytes(b"x = 2\n")
    with FrozenTree.freeze(root, tmp_path / "frozen").copy("one") as copy:
        assert files_of(copy) == files_of(root)
        assert git(copy, "status", "--porcelain") == git(root, "status", "--porcelain")


def test_the_digest_is_of_the_content(repository: Path, tmp_path: Path) -> None:
    folders = iter(tmp_path / f"frozen-{number}" for number in range(9))
    first = FrozenTree.freeze(repository, next(folders)).digest
    os.utime(repository / "pkg" / "a.py")
    assert FrozenTree.freeze(repository, next(folders)).digest == first
    (repository / "pkg" / "a.py").write_bytes(b"x = 2\r\n")
    assert FrozenTree.freeze(repository, next(folders)).digest != first


def unreadable(root: Path) -> Iterator[Path]:
    """Files that a copy has to do without."""
    pipe = root / "pipe"
    os.mkfifo(pipe)
    yield pipe
    if os.geteuid():
        (root / "secret").write_text("")
        (root / "secret").chmod(0)
        yield root / "secret"


def test_what_cannot_be_read_is_left_out(repository: Path, tmp_path: Path) -> None:
    left_out = [path.name for path in unreadable(repository)]
    with FrozenTree.freeze(repository, tmp_path / "frozen").copy("one") as root:
        assert not [name for name in left_out if (root / name).exists()]
        assert (root / "run.sh").is_file()


def test_a_copy_that_cannot_be_made_is_said(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="cannot be copied to"):
        FrozenTree.freeze(repository, tmp_path / "file" / "frozen")
    with pytest.raises(WorkspaceError, match="cannot be read"):
        FrozenTree.reopen(tmp_path)
    frozen = FrozenTree.freeze(repository, tmp_path / "frozen")
    with (
        frozen.copy("one"),
        pytest.raises(WorkspaceError, match="No git worktree can be made"),
        FrozenTree.reopen(frozen.folder).copy("one"),
    ):
        pass
