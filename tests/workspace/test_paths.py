"""What a path may lead to: everything inside the project, nothing outside, whatever links and names say."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from selfdebug.errors import InputError, UsageError, WorkspaceError
from selfdebug.workspace import OutsideError, Workspace
from selfdebug.workspace.durable import Step, watched
from workspace.git_projects import files_at, git

Locked = Callable[..., Workspace]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret.py"
    path.write_bytes(b"secret = 1\n")
    return path


@pytest.mark.parametrize("file", ["", ".", "/etc/passwd", "../secret.py", "pkg/../../secret.py", "a\0b"])
def test_paths_that_climb_out_are_refused(plain: Path, secret: Path, file: str) -> None:
    with pytest.raises(OutsideError, match="not a path inside"):
        Workspace.open(plain).read(file)
    assert secret.read_bytes() == b"secret = 1\n"


@pytest.mark.parametrize("file", [".git/config", ".GIT/config", ".selfdebug/lock", "pkg/.git/hooks/pre-commit"])
def test_gits_and_our_own_files_are_refused(repo: Path, locked: Locked, file: str) -> None:
    workspace = locked(repo)
    (repo / file).parent.mkdir(parents=True, exist_ok=True)
    (repo / file).touch()
    with pytest.raises(OutsideError, match="does not belong"):
        workspace.snapshot([file], "r1")


def test_a_link_that_leads_out_is_refused(plain: Path, locked: Locked, secret: Path) -> None:
    (plain / "link.py").symlink_to(secret)
    (plain / "folder").symlink_to(secret.parent)
    workspace = locked(plain)
    for file in ("link.py", "folder/secret.py"):
        with pytest.raises(OutsideError, match="outside the project"):
            workspace.snapshot([file], "r1")
        with pytest.raises(OutsideError):
            workspace.read(file)


def test_a_link_inside_is_followed_and_stays_a_link(plain: Path, locked: Locked) -> None:
    (plain / "link.py").symlink_to("b.py")
    (plain / "folder").symlink_to("pkg")
    before = files_at(plain)
    workspace = locked(plain)
    snapshot = workspace.snapshot(["link.py", "b.py", "folder/a.py"], "r1")
    assert snapshot.files == ("b.py", "pkg/a.py")
    workspace.write("link.py", b"edited\n")
    assert workspace.read("b.py") == b"edited\n"
    workspace.write("folder/a.py", b"edited\n")
    assert (plain / "link.py").is_symlink()
    assert workspace.roll_back().restored == ("b.py", "pkg/a.py")
    assert files_at(plain) == before


@pytest.mark.parametrize(
    ("target", "sentence"),
    [("nowhere.py", "there is no such file"), ("link.py", "its symbolic links form a loop")],
)
def test_dangling_and_looping_links_are_refused(plain: Path, locked: Locked, target: str, sentence: str) -> None:
    (plain / "link.py").symlink_to(target)
    with pytest.raises(InputError, match=f"link.py cannot be reached: {sentence}"):
        locked(plain).snapshot(["link.py"], "r1")


def test_an_absent_folder_and_a_folder_and_a_pipe_are_refused(plain: Path, locked: Locked) -> None:
    os.mkfifo(plain / "pipe.py")
    workspace = locked(plain)
    for file, sentence in (("no/a.py", "cannot be reached"), ("pkg", "cannot be read"), ("pipe.py", "not a regular")):
        with pytest.raises(InputError, match=sentence):
            workspace.snapshot([file], "r1")
    with pytest.raises(InputError, match=r"c\.py cannot be read: no such file"):
        workspace.read("c.py")
    with pytest.raises(InputError, match="cannot be reached: file name too long"):
        workspace.read("x" * 5000 + "/a.py")


def test_terminal_escapes_in_names_are_written_out(plain: Path) -> None:
    with pytest.raises(InputError) as caught:
        Workspace.open(plain).read("\x1b[31mred.py")
    assert "\x1b" not in str(caught.value)
    assert "x1b[31mred.py" in str(caught.value)


@pytest.mark.parametrize("file", ["\ud800.py", "pkg/\ud800/a.py"])
def test_a_name_that_no_file_can_have_is_refused(plain: Path, file: str) -> None:
    with pytest.raises(InputError, match="no file has such a name"):
        Workspace.open(plain).read(file)


@pytest.mark.parametrize("file", ["./pkg/a.py", "pkg/./a.py", "pkg//a.py"])
def test_detours_lead_to_the_one_name_of_a_file(plain: Path, locked: Locked, file: str) -> None:
    assert locked(plain).snapshot([file, "pkg/a.py"], "r1").files == ("pkg/a.py",)


def test_names_that_are_not_utf8(repo: Path, locked: Locked) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (repo / name).write_bytes(b"c = 1\n")
    workspace = locked(repo)
    snapshot = workspace.snapshot([name, "b.py"], "r1")
    assert snapshot.reference
    workspace.write(name, b"c = 2\n")
    assert workspace.roll_back().restored == (name,)
    assert (repo / name).read_bytes() == b"c = 1\n"
    places = workspace.stash_attempt({name: b"c = 2\n"}, "attempt")
    assert Path(places[0]).read_bytes() == b"c = 2\n"


def test_a_name_as_long_as_the_system_allows(plain: Path, locked: Locked) -> None:
    name = "é" * 126 + ".py"
    (plain / name).write_bytes(b"c = 1\n")
    workspace = locked(plain)
    workspace.snapshot([name], "r1")
    workspace.write(name, b"c = 2\n")
    workspace.roll_back()
    assert (plain / name).read_bytes() == b"c = 1\n"


def test_a_link_that_appears_between_check_and_edit_is_not_followed(
    plain: Path, locked: Locked, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_bytes((plain / "pkg/a.py").read_bytes())
    workspace = locked(plain)
    workspace.snapshot(["pkg/a.py"], "r1")

    def swap(step: Step) -> None:
        if step.operation == "rename" and step.name == "a.py" and not (plain / "pkg").is_symlink():
            (plain / "pkg").rename(plain / "moved")
            (plain / "pkg").symlink_to(outside)

    with watched(swap):
        workspace.write("pkg/a.py", b"edited\n")
    assert (outside / "a.py").read_bytes() == b"def f(x):\r\n\treturn x.name\r\n"
    (conflict,) = workspace.roll_back().conflicts
    assert conflict.file == "pkg/a.py"
    assert Path(conflict.copy).read_bytes() == b"def f(x):\r\n\treturn x.name\r\n"


def test_a_retargeted_link_is_not_in_the_snapshot(plain: Path, locked: Locked) -> None:
    (plain / "link.py").symlink_to("b.py")
    workspace = locked(plain)
    workspace.snapshot(["link.py"], "r1")
    (plain / "link.py").unlink()
    (plain / "link.py").symlink_to("pkg/a.py")
    with pytest.raises(WorkspaceError, match="not in the snapshot"):
        workspace.write("link.py", b"edited\n")


def test_hard_links_are_untied_during_the_run_and_tied_again(plain: Path, locked: Locked, tmp_path: Path) -> None:
    other = tmp_path / "store.py"
    os.link(plain / "b.py", other)
    before = files_at(plain)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    assert other.read_bytes() == b"b = 1\n"
    workspace.roll_back()
    assert (plain / "b.py").samefile(other)
    assert files_at(plain) == before


def test_a_hard_link_that_was_edited_meanwhile_is_not_taken_for_the_saved_file(
    plain: Path, locked: Locked, tmp_path: Path
) -> None:
    other = tmp_path / "store.py"
    os.link(plain / "b.py", other)
    workspace = locked(plain)
    workspace.snapshot(["b.py"], "r1")
    workspace.write("b.py", b"edited\n")
    other.write_bytes(b"edited elsewhere\n")
    workspace.roll_back()
    assert (plain / "b.py").read_bytes() == b"b = 1\n"
    assert other.read_bytes() == b"edited elsewhere\n"


def test_a_root_that_is_no_folder(plain: Path, tmp_path: Path) -> None:
    for root in (plain / "b.py", tmp_path / "nowhere"):
        with pytest.raises(UsageError, match="The project root"):
            Workspace.open(root)


def test_a_root_that_is_a_link(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(plain)
    workspace = Workspace.open(tmp_path / "link")
    assert workspace.root == plain
    assert workspace.read("b.py") == b"b = 1\n"


@pytest.mark.parametrize("name", ["state", "runs"])
def test_a_cloned_link_does_not_choose_where_our_files_go(plain: Path, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if name == "state":
        (plain / ".selfdebug").symlink_to(outside)
    else:
        (plain / ".selfdebug").mkdir()
        (plain / ".selfdebug/runs").symlink_to(outside)
    workspace = Workspace.open(plain)
    with pytest.raises(WorkspaceError), workspace.lock("r1"):
        workspace.snapshot(["b.py"], "r1")
    assert list(outside.iterdir()) == []


def test_git_sees_nothing_of_the_state_folder(repo: Path, locked: Locked) -> None:
    locked(repo).snapshot(["b.py"], "r1")
    assert git(repo, "status", "--porcelain") == ""
    assert (repo / ".selfdebug/CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55")
