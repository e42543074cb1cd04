"""The entry of one path in git's index, found without reading the whole: the same as git lists, or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.workspace import Workspace
from selfdebug.workspace.staged import NotStaged, Staged, staged
from workspace.git_projects import git

Locked = Callable[..., Workspace]
FILES = ["b.py", "pkg/a.py", "other/b.py", "b.pyi", "a-very-long-name/" * 20 + "b.py", "b/b.py"]


@pytest.fixture
def many(repo: Path) -> Path:
    for number, file in enumerate(FILES):
        (repo / file).parent.mkdir(parents=True, exist_ok=True)
        (repo / file).write_bytes(b"n = %d\n" % number)
    (repo / "b.pyi").chmod(0o755)
    git(repo, "add", ".")
    return repo


def listed(repo: Path) -> dict[str, Staged]:
    """What git says."""
    found: dict[str, Staged] = {}
    for line in git(repo, "ls-files", "--stage").splitlines():
        entry, _, path = line.partition("\t")
        mode, sha, stage = entry.split()
        found.setdefault(path, Staged(int(mode, 8), sha, int(stage)))
    return found


def test_every_entry_is_found(many: Path) -> None:
    expected = listed(many)
    assert set(expected) == set(FILES)
    assert {path: staged(str(many / ".git/index"), path) for path in FILES} == expected


def test_entries_with_extended_flags_are_found(many: Path) -> None:
    (many / "new.py").write_bytes(b"n = 1\n")
    git(many, "add", "-N", "new.py")
    assert (many / ".git/index").read_bytes()[:8] == b"DIRC\0\0\0\x03"
    assert {path: staged(str(many / ".git/index"), path) for path in listed(many)} == listed(many)


def test_a_conflict_has_a_stage(repo: Path) -> None:
    for branch, text in (("other", b"theirs\n"), ("main", b"ours\n")):
        git(repo, "checkout", "-q", *(["-b"] if branch == "other" else []), branch)
        (repo / "b.py").write_bytes(text)
        git(repo, "commit", "-q", "-a", "-m", branch)
    git(repo, "merge", "other", check=False)
    assert staged(str(repo / ".git/index"), "b.py") == listed(repo)["b.py"]
    assert listed(repo)["b.py"].stage == 1


def test_every_entry_of_many_is_found_and_no_other(repo: Path) -> None:
    names = [f"{'deep/' * (number % 7)}{'x' * (number % 61)}{number}.py" for number in range(240)]
    for name in names:
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(name)
    git(repo, "add", ".")
    expected = listed(repo)
    assert {path: staged(str(repo / ".git/index"), path) for path in expected} == expected
    others = [other for path in expected for other in (f"{path}c", path[:-1], path[1:], path.replace("/", "-"))]
    absent = [path for path in others if path not in expected]
    assert {staged(str(repo / ".git/index"), path) for path in absent} == {NotStaged.ABSENT}


def test_no_other_path_is_found(many: Path) -> None:
    paths = ["", "y", "a.py", "pkg", "pkg/", "pkg/a.p", "none.py", "é.py"]
    assert {path: staged(str(many / ".git/index"), path) for path in paths} == dict.fromkeys(paths, NotStaged.ABSENT)


@pytest.mark.parametrize("data", [b"", b"DIRC", b"DIRC\0\0\0\x02\0\0\0\x01b.py\0", b"b.py\0" * 40, b"\0" * 200])
def test_what_is_no_index_has_no_entries(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "index").write_bytes(data)
    assert staged(str(tmp_path / "index"), "b.py") is NotStaged.UNKNOWN


def test_an_index_with_damage_behind_its_entries_is_not_believed(many: Path) -> None:
    data = (many / ".git/index").read_bytes()
    (many / "damaged").write_bytes(data[:-21] + data[-20:])
    assert staged(str(many / "damaged"), "none.py") is NotStaged.UNKNOWN
    assert staged(str(many / "damaged"), "b.py") == listed(many)["b.py"]


@pytest.mark.parametrize(
    "way", [("update-index", "--split-index"), ("sparse-checkout", "set", "--sparse-index", "pkg")]
)
def test_a_part_of_an_index_does_not_tell_what_is_absent(many: Path, way: tuple[str, ...]) -> None:
    git(many, *way)
    assert staged(str(many / ".git/index"), "other/b.py") is NotStaged.PARTIAL


def test_compressed_paths_are_left_to_libgit2(many: Path, locked: Locked) -> None:
    git(many, "update-index", "--index-version", "4")
    (many / "b.py").write_bytes(b"edited = 1\n")
    assert staged(str(many / ".git/index"), "b.py") is NotStaged.UNKNOWN
    locked(many).snapshot(["b.py"], "r1")
    assert git(many, "show", "refs/selfdebug/r1^2:b.py") == "n = 0"
