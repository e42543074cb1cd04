"""The order of syncs: after a power cut nothing can be on disk of an edit before what is needed to take it back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from selfdebug.workspace import Workspace
from selfdebug.workspace.durable import Step, watched

Locked = Callable[..., Workspace]


def _edited_and_rolled_back(repo: Path, locked: Locked) -> list[tuple[str, str]]:
    steps: list[Step] = []
    workspace = locked(repo)
    with watched(steps.append):
        workspace.snapshot(["b.py", "pkg/a.py"], "r1")
        workspace.write("b.py", b"edited\n")
        workspace.write("pkg/a.py", b"edited\n")
        workspace.roll_back()
    return [(step.operation, step.name) for step in steps]


def _last(steps: list[tuple[str, str]], before: int, operation: str, name: str) -> int:
    return max(at for at in range(before) if steps[at] == (operation, name))


def test_every_edit_is_announced_and_written_durably(repo: Path, locked: Locked) -> None:
    steps = _edited_and_rolled_back(repo, locked)
    renames = [at for at, (operation, name) in enumerate(steps) if operation == "rename" and name.endswith(".py")]
    assert len(renames) == 4
    for at in renames[:2]:
        temporary = next(name for operation, name in reversed(steps[:at]) if operation == "create")
        written = _last(steps, at, "write", temporary)
        assert written < _last(steps, at, "sync", temporary) < at
        announced = _last(steps, at, "write", "journal.jsonl")
        assert announced < _last(steps, at, "sync", "journal.jsonl") < at
    for at in renames[2:]:
        assert steps[at + 1] == ("sync-folder", "pkg" if steps[at][1] == "a.py" else "project")


def test_a_patch_is_durable_before_it_is_called_kept(repo: Path, locked: Locked) -> None:
    steps: list[Step] = []
    workspace = locked(repo)
    workspace.snapshot(["b.py", "pkg/a.py"], "r1")
    workspace.write("b.py", b"edited\n")
    workspace.write("pkg/a.py", b"edited\n")
    with watched(steps.append):
        workspace.keep("done")
    made = [(step.operation, step.name) for step in steps]
    assert {("sync-folder", "project"), ("sync-folder", "pkg")} == set(made[:2])
    ended = [("sync", "journal.jsonl"), ("write", "closed-runs")]
    assert made[2:] == [("write", "journal.jsonl")] * 3 + ended


def test_everything_saved_is_synced_before_the_first_edit(repo: Path, locked: Locked) -> None:
    steps = _edited_and_rolled_back(repo, locked)
    first = next(at for at, step in enumerate(steps) if step[0] == "create" and step[1].startswith(".selfdebug-"))
    for copy in ("0-b.py.bak", "1-a.py.bak"):
        written, synced = _last(steps, first, "write", copy), _last(steps, first, "sync", copy)
        listed = _last(steps, first, "sync-folder", "r1")
        assert written < synced < listed
    assert ("ref", "refs/selfdebug/r1") in steps[:first]
    assert steps.index(("mkdir", "r1")) < _last(steps, first, "sync-folder", "runs")
    assert steps[steps.index(("mkdir", "runs")) + 1] == ("sync-folder", ".selfdebug")


def test_the_end_is_recorded_after_the_files_are_back(repo: Path, locked: Locked) -> None:
    steps = _edited_and_rolled_back(repo, locked)
    last_rename = max(at for at, (operation, name) in enumerate(steps) if operation == "rename")
    assert last_rename < _last(steps, len(steps), "write", "journal.jsonl")
    assert steps[-2:] == [("sync", "journal.jsonl"), ("write", "closed-runs")]
