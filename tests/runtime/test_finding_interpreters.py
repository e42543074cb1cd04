"""Which Python runs the tests, and one sentence for each way in which none can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from selfdebug.errors import EnvironmentUnusableError, ExitCode
from selfdebug.pytest_process import Interpreter
from selfdebug.pytest_process import interpreter as interpreter_module


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def answering(path: Path, **answer: object) -> Path:
    """A program that answers the check as some other Python would."""
    found = {"python": [3, 12, 1], "pytest": "8.3.0", "problem": "", "libraries": []} | answer
    return program(path, f"echo noise; echo 'selfdebug-check:{json.dumps(found)}'")


def test_the_default_is_the_interpreter_that_runs_us() -> None:
    found = Interpreter.find(env={"PATH": "/usr/bin:/bin"})
    assert found.path == Path(sys.executable)
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.pytest_version == pytest.__version__
    assert found.pytest_release >= (7,)
    assert found.libraries
    assert all(folder.is_absolute() for folder in found.libraries)


def test_the_active_virtual_environment_comes_before_that(tmp_path: Path) -> None:
    python = answering(tmp_path / "env/bin/python")
    assert Interpreter.find(env={"VIRTUAL_ENV": str(tmp_path / "env")}) == Interpreter(python, "3.12.1", "8.3.0")


def test_a_named_interpreter_comes_before_all(tmp_path: Path) -> None:
    python = answering(tmp_path / "other/bin/python3", pytest="7.4.4")
    env = {"VIRTUAL_ENV": str(tmp_path), "PATH": str(tmp_path / "other/bin")}
    for name in (python, str(python), tmp_path / "other", "python3"):
        assert Interpreter.find(name, env).path == python


def test_a_link_to_an_interpreter_is_not_resolved(tmp_path: Path) -> None:
    """Resolved, the interpreter of a virtual environment would be the one that it was made from."""
    link = tmp_path / "python"
    link.symlink_to(answering(tmp_path / "real"))
    assert Interpreter.find(link).path == link


def test_an_environment_without_pytest_is_told_by_name(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True)
    with pytest.raises(EnvironmentUnusableError, match=r"env/bin/python \(Python .*\) cannot import pytest") as caught:
        Interpreter.find(tmp_path / "env")
    assert caught.value.exit_code is ExitCode.USAGE
    assert caught.value.reason == "environment"


def test_every_unusable_interpreter_gets_its_sentence(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("text")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").write_bytes(b"\x7fELF no program")
    (tmp_path / "broken").chmod(0o755)
    cases = {
        "there is no Python interpreter at": tmp_path / "nowhere",
        "is not executable": tmp_path / "text",
        "there is no Python interpreter in the folder": tmp_path / "empty",
        "cannot be started": tmp_path / "broken",
        "is not a Python interpreter that works: no snakes": program(tmp_path / "a", "echo no snakes >&2; exit 1"),
        "is not a Python interpreter that works": program(tmp_path / "b", "exit 0"),
        "is Python 2.7.18; tests are run with 3.8 or newer": answering(tmp_path / "c", python=[2, 7, 18]),
        "has pytest 4.6.11; 6.2 or newer": answering(tmp_path / "d", pytest="4.6.11"),
        "has pytest unknown": answering(tmp_path / "e", pytest="unknown"),
    }
    for sentence, python in cases.items():
        with pytest.raises(EnvironmentUnusableError, match=sentence):
            Interpreter.find(python)


def test_an_active_environment_without_a_python_is_told(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnusableError, match=r"active virtual environment .* has no Python"):
        Interpreter.find(env={"VIRTUAL_ENV": str(tmp_path)})


def test_an_interpreter_that_does_not_answer_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter_module, "_CHECK_SECONDS", 0.5)
    with pytest.raises(EnvironmentUnusableError, match="did not answer"):
        Interpreter.find(program(tmp_path / "slow", "exec sleep 20"))


def test_files_of_the_working_folder_do_not_stand_in_for_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    assert Interpreter.find(sys.executable).path == Path(sys.executable)
    assert [path.name for path in tmp_path.iterdir()] == ["json.py"]
