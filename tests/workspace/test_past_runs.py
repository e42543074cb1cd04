"""What past runs did, undoing them, forgetting them, and journals that are torn or were written by someone else."""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.errors import UsageError, WorkspaceError
from selfdebug.workspace import ChangedMeanwhileError, RunStatus, Workspace, past, references
from selfdebug.workspace.closed import closed_runs
from selfdebug.workspace.durable import Step, watched
from selfdebug.workspace.journal import Begun, Ended, Final, LeftAlone, Planned, Record, Saved, decode, encode
from selfdebug.workspace.run_folder import digest, run_ids
from selfdebug.workspace.state import opened
from workspace.git_projects import files_at, git

Locked = Callable[..., Workspace]


def _run(root: Path, run_id: str, edits: dict[str, bytes], *, keep: bool = True) -> None:
    workspace = Workspace.open(root)
    with workspace.lock(run_id):
        workspace.snapshot(list(edits), run_id)
        for file, data in edits.items():
            workspace.write(file, data)
        if keep:
            workspace.keep(f"kept by {run_id}")
        else:
            workspace.roll_back()


def test_history_tells_what_each_run_changed(repo: Path) -> None:
    _run(repo, "first", {"b.py": b"b = 2\n"})
    _run(repo, "second", {"pkg/a.py": b"a\n", "b.py": b"b = 3\n"}, keep=False)
    first, second = Workspace.open(repo).history()
    assert (first.run_id, first.status, first.files, first.message) == (
        "first",
        RunStatus.KEPT,
        ("b.py",),
        "kept by first",
    )
    assert (second.status, second.files, second.was_recovered) == (RunStatus.ROLLED_BACK, ("b.py", "pkg/a.py"), False)
    assert first.ended is not None
    assert first.started <= first.ended <= second.started
    assert Path(first.copies[0]).read_bytes() == b"b = 1\n"


def test_the_attempt_is_named_in_the_history(repo: Path) -> None:
    workspace = Workspace.open(repo)
    with workspace.lock("r1"):
        workspace.snapshot(["b.py"], "r1")
        workspace.stash_attempt({"b.py": b"b = 2\n"}, "attempt")
        workspace.roll_back()
    (repo / "pkg/a.py").write_bytes(b"theirs\n")
    git(repo, "stash", "-q")
    stash = workspace.history()[0].stash
    assert stash == git(repo, "rev-parse", "stash@{1}")
    git(repo, "stash", "apply", "-q", stash)
    assert (repo / "b.py").read_bytes() == b"b = 2\n"


def test_undo_goes_back_run_by_run(repo: Path) -> None:
    before = files_at(repo)
    _run(repo, "first", {"b.py": b"b = 2\n"})
    _run(repo, "second", {"b.py": b"b = 3\n"})
    workspace = Workspace.open(repo)
    assert workspace.undo().sentence == "Run second is undone: b.py put back."
    assert (repo / "b.py").read_bytes() == b"b = 2\n"
    assert workspace.undo().run_id == "first"
    assert files_at(repo) == before
    with pytest.raises(UsageError, match="no kept run"):
        workspace.undo()
    with pytest.raises(UsageError, match="it is undone"):
        workspace.undo("first")
    for name in ("nine", "", "\x1b[2J"):
        with pytest.raises(UsageError, match=re.escape(f"There is no run {name!r} in this project.")):
            workspace.undo(name)


def test_undo_is_refused_when_a_file_was_changed_since(repo: Path) -> None:
    _run(repo, "first", {"b.py": b"b = 2\n", "pkg/a.py": b"a\n"})
    (repo / "b.py").write_bytes(b"b = 2\nmore = 1\n")
    before = files_at(repo)
    with pytest.raises(ChangedMeanwhileError, match=r"changed since: b\.py \(its bytes") as caught:
        Workspace.open(repo).undo()
    assert Path(caught.value.copies[0]).read_bytes() == b"b = 1\n"
    assert files_at(repo) == before


@pytest.mark.parametrize("how", ["removed", "folder-removed", "linked"])
def test_undo_is_refused_when_a_file_is_elsewhere(repo: Path, how: str) -> None:
    _run(repo, "first", {"pkg/a.py": b"a\n"})
    (repo / "pkg/a.py").rename(repo / "moved.py")
    if how == "folder-removed":
        (repo / "pkg").rmdir()
    elif how == "linked":
        (repo / "pkg/a.py").symlink_to("../moved.py")
    with pytest.raises(ChangedMeanwhileError, match=r"pkg/a\.py"):
        Workspace.open(repo).undo()
    assert (repo / "moved.py").read_bytes() == b"a\n"


def test_undo_of_what_the_user_undid_by_hand(repo: Path) -> None:
    _run(repo, "first", {"b.py": b"b = 2\n", "pkg/a.py": b"a\n"})
    (repo / "b.py").write_bytes(b"b = 1\n")
    undone = Workspace.open(repo).undo("first")
    assert undone.restored == ("pkg/a.py",)


def test_a_kept_run_that_changed_nothing_has_nothing_to_undo(repo: Path) -> None:
    _run(repo, "first", {"b.py": b"b = 1\n"})
    with pytest.raises(UsageError, match="no kept run"):
        Workspace.open(repo).undo()
    assert Workspace.open(repo).undo("first").sentence == "Run first is undone: no file put back."


def test_a_kept_file_that_was_changed_in_the_last_moment_is_not_undone(repo: Path, locked: Locked) -> None:
    workspace = locked(repo)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"b = 2\n")
    (repo / "b.py").write_bytes(b"theirs\n")
    workspace.keep("kept")
    with pytest.raises(ChangedMeanwhileError):
        workspace.undo()
    assert (repo / "b.py").read_bytes() == b"theirs\n"


def test_old_runs_are_forgotten_with_their_references(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_REMEMBERED", 2)
    for number in range(4):
        _run(repo, f"run{number}", {"b.py": b"b = %d\n" % (number + 2)})
    (repo / ".selfdebug/runs/never-began").mkdir()
    _run(repo, "last", {"b.py": b"b = 9\n"})
    assert [run.run_id for run in Workspace.open(repo).history()] == ["run2", "run3", "last"]
    assert sorted(path.name for path in (repo / ".selfdebug/runs").iterdir()) == ["last", "run2", "run3"]
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/selfdebug").split() == [
        f"refs/selfdebug/{name}" for name in ("last", "run2", "run3")
    ]


def test_a_run_whose_reference_cannot_be_dropped_is_forgotten_later(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "_REMEMBERED", 1)
    monkeypatch.setattr(references, "_PAUSE", 0.0)
    _run(repo, "run0", {"b.py": b"b = 2\n"})
    git(repo, "pack-refs", "--all", "--prune")
    lock = repo / ".git/packed-refs.lock"
    lock.touch()
    for number in range(1, 3):
        _run(repo, f"run{number}", {"b.py": b"b = %d\n" % (number + 2)})
    assert git(repo, "rev-parse", "refs/selfdebug/run0")
    lock.unlink()
    _run(repo, "run3", {"b.py": b"b = 9\n"})
    assert git(repo, "for-each-ref", "--format=%(refname)", "refs/selfdebug").split() == [
        f"refs/selfdebug/{name}" for name in ("run2", "run3")
    ]
    assert sorted(path.name for path in (repo / ".selfdebug/runs").iterdir()) == ["run2", "run3"]


def test_runs_that_are_over_are_listed_and_their_journals_left_alone(plain: Path) -> None:
    for name in ("first", "second", "third"):
        _run(plain, name, {"b.py": f"by = '{name}'\n".encode()})
    with opened(plain, plain / ".selfdebug") as state:
        assert state is not None
        assert list(closed_runs(state)) == ["first", "second", "third"]
        assert closed_runs(state).keys() == run_ids(state)


@pytest.mark.parametrize("line", ["third", "third soon", "../third 1.0", "third 1.0 2.0", "\0\0third 1.0", "é 1.0"])
def test_lines_that_are_torn_or_foreign_close_no_run(plain: Path, line: str) -> None:
    _run(plain, "third", {"b.py": b"b = 2\n"})
    (plain / ".selfdebug/closed-runs").write_text(f"second 1.5\n{line}")
    with opened(plain, plain / ".selfdebug") as state:
        assert state is not None
        assert closed_runs(state) == {"second": 1.5}


def test_a_listed_run_whose_undoing_was_cut_is_finished(plain: Path) -> None:
    _run(plain, "first", {"b.py": b"b = 2\n"})
    _run(plain, "second", {"pkg/a.py": b"a\n"})

    def cut(step: Step) -> None:
        if (step.operation, step.name) == ("rename", "b.py"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), watched(cut):
        Workspace.open(plain).undo("first")
    assert (plain / "b.py").read_bytes() == b"b = 2\n"
    recovery = Workspace.open(plain).recover()
    assert recovery is not None
    assert (recovery.run_id, (plain / "b.py").read_bytes()) == ("first", b"b = 1\n")


def test_the_list_does_not_grow_without_end(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "_REMEMBERED", 2)
    for number in range(9):
        _run(plain, f"run{number}", {"b.py": b"b = %d\n" % (number + 2)})
    listed = (plain / ".selfdebug/closed-runs").read_text().splitlines()
    assert len(listed) <= 2 * 2 + 1
    assert [run.run_id for run in Workspace.open(plain).history()] == ["run6", "run7", "run8"]


def test_lines_about_files_that_were_never_saved_are_left_out(plain: Path) -> None:
    sha = digest(b"b = 1\n")
    lines: list[Record] = [
        Begun("forged", 1.0, 1, "h"),
        Planned("b.py", sha, None),
        Final("b.py", sha),
        LeftAlone("b.py", "x"),
    ]
    _forge(plain, *lines, Ended("kept", 2.0, "", False))
    assert Workspace.open(plain).undo("forged").restored == ()
    assert (plain / "b.py").read_bytes() == b"b = 1\n"


RECORDS = [
    Begun("r1", 1.5, 7, "host"),
    Saved("caf\udce9.py", 0, None, 0, 0, None, None),
    Planned("a\nb.py", "00", None),
    Ended("kept", 2.5, "é", False),
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)
def test_records_survive_the_journal(record: Begun | Saved | Planned | Ended) -> None:
    line = encode(record)
    assert line.count(b"\n") == 1
    assert decode(line) == record
    assert all(decode(line[:cut]) is None for cut in range(len(line) - 1))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\0\0\0\0",
        b"[]",
        b"7",
        b"{}",
        b'{"kind": "unknown"}',
        b'{"kind": "stashed"}',
        b'{"kind": "stashed", "place": 7}',
        b'{"kind": "stashed", "place": "x", "more": 1}',
        b'{"kind": ["stashed"], "place": "x"}',
    ],
)
def test_foreign_lines_are_left_out(line: bytes) -> None:
    assert decode(line) is None


def _forge(root: Path, *records: Record, run_id: str = "forged") -> Path:
    folder = root / ".selfdebug/runs" / run_id
    folder.mkdir(parents=True)
    (folder / "journal.jsonl").write_bytes(b"".join(map(encode, records)))
    return folder


def test_a_forged_journal_reaches_nothing_outside(plain: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_bytes(b"mine\n")
    sha = digest(b"mine\n")
    wanted = digest(b"evil\n")
    records: list[Begun | Saved | Planned] = [Begun("other-id", 1.0, 1, "h")]
    for number, file in enumerate(["../outside.py", str(outside), ".git/config", "link.py", "b.py"]):
        copy = "../../../../outside.py" if file == "b.py" else f"{number}-x.bak"
        records += [Saved(file, number, wanted, 0o644, 0, copy, None), Planned(file, sha, None)]
    (plain / "link.py").symlink_to(outside)
    folder = _forge(plain, *records)
    for number in range(4):
        (folder / f"{number}-x.bak").write_bytes(b"evil\n")
    recovery = Workspace.open(plain).recover()
    assert recovery is not None
    assert recovery.restored == ()
    assert outside.read_bytes() == b"mine\n"
    assert (plain / "b.py").read_bytes() == b"b = 1\n"


def test_a_forged_end_and_links_for_journals_are_left_out(plain: Path, tmp_path: Path) -> None:
    _forge(plain, Begun("forged", 1.0, 1, "h"), Ended("nonsense", 1.0, "", False))
    (plain / ".selfdebug/runs/linked").symlink_to(tmp_path)
    folder = plain / ".selfdebug/runs/link-inside"
    folder.mkdir()
    (folder / "journal.jsonl").symlink_to("/dev/zero")
    (run,) = Workspace.open(plain).history()
    assert (run.run_id, run.status) == ("forged", RunStatus.OPEN)
    _run(plain, "r1", {}) if Workspace.open(plain).recover() else None
    assert [run.run_id for run in Workspace.open(plain).history()] == ["forged", "r1"]


def test_a_torn_line_is_closed_before_the_next_one(plain: Path, locked: Locked) -> None:
    journal = plain / ".selfdebug/runs/r1/journal.jsonl"
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")

    def full(step: Step) -> None:
        if step.name == "journal.jsonl" and step.fd is not None:
            os.write(step.fd, step.data[:30])
            raise OSError(errno.ENOSPC, "No space left on device")

    with watched(full), pytest.raises(WorkspaceError, match="no space left"):
        workspace.write("b.py", b"edited\n")
    workspace.write("b.py", b"edited\n")
    lines = journal.read_bytes().splitlines()
    assert json.loads(lines[-1])["file"] == "b.py"
    assert workspace.roll_back().restored == ("b.py",)
