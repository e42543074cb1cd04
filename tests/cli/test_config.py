"""[tool.selfdebug], the options over it, and the search for the root."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from selfdebug.config import KEYS, Settings, find_root, load, project_root, read_table
from selfdebug.errors import UsageError


def project(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_every_key_is_read(tmp_path: Path) -> None:
    file = project(
        tmp_path,
        """
        [tool.selfdebug]
        max-attempts = 2
        backup-dir = "saved"
        python = ".venv/bin/python"
        pytest-args = ["-k", "not slow"]
        timeout = 1.5
        memory-limit = 500
        keep-partial = true
        include-tests = true
        jobs = 3
        max-candidates = 7
        """,
    )
    assert set(read_table(file)) == {key.replace("-", "_") for key in KEYS}
    assert load(tmp_path, None, {}) == Settings(
        root=tmp_path,
        max_attempts=2,
        backup_dir=tmp_path / "saved",
        python=tmp_path / ".venv/bin/python",
        pytest_args=("-k", "not slow"),
        timeout=1.5,
        memory_limit=500,
        keep_partial=True,
        include_tests=True,
        jobs=3,
        max_candidates=7,
    )


def test_options_win_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    project(tmp_path, "[tool.selfdebug]\ntimeout = 5\njobs = 2\n")
    settings = load(tmp_path, None, {"timeout": 9.0, "jobs": None, "max_attempts": None, "unrelated": 1})
    assert (settings.timeout, settings.jobs, settings.max_attempts) == (9.0, 2, 4)


def test_pytest_args_may_be_one_string(tmp_path: Path) -> None:
    file = project(tmp_path, "[tool.selfdebug]\npytest-args = \"-k 'not slow' -x\"\n")
    assert read_table(file) == {"pytest_args": ("-k", "not slow", "-x")}


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            "max-attempts = 0",
            '"max-attempts" under [tool.selfdebug] in {file} must be a whole number of at least 1, not 0.',
        ),
        ("jobs = true", '"jobs" under [tool.selfdebug] in {file} must be a whole number of at least 1, not True.'),
        ("timeout = '5'", "\"timeout\" under [tool.selfdebug] in {file} must be a number of seconds above 0, not '5'."),
        ("timeout = inf", '"timeout" under [tool.selfdebug] in {file} must be a number of seconds above 0, not inf.'),
        ("keep-partial = 1", '"keep-partial" under [tool.selfdebug] in {file} must be true or false, not 1.'),
        ("python = ''", "\"python\" under [tool.selfdebug] in {file} must be a path, as a string, not ''."),
        (
            "pytest-args = [1]",
            '"pytest-args" under [tool.selfdebug] in {file} must be a list of strings, or one string, not [1].',
        ),
        (
            "pytest-args = '\"'",
            '"pytest-args" under [tool.selfdebug] in {file} must be shell words (No closing quotation), not \'"\'.',
        ),
        (
            "max_attempts = 3",
            'Unknown key "max_attempts" under [tool.selfdebug] in {file}; did you mean "max-attempts"?',
        ),
        ("colour = 'x'", 'Unknown key "colour" under [tool.selfdebug] in {file}; known keys: ' + ", ".join(KEYS) + "."),
    ],
)
def test_a_wrong_setting_names_key_and_file(tmp_path: Path, line: str, sentence: str) -> None:
    file = project(tmp_path, f"[tool.selfdebug]\n{line}\n")
    with pytest.raises(UsageError) as caught:
        load(tmp_path, None, {})
    assert str(caught.value) == sentence.replace("{file}", str(file))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[tool.selfdebug", "is not valid TOML"),
        (b"# \xe9\n", "is not valid TOML"),
        (b"[tool]\nselfdebug = 1\n", "must be a table"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "pyproject.toml").write_bytes(content)
    with pytest.raises(UsageError, match=re.escape(str(tmp_path / "pyproject.toml"))) as caught:
        load(tmp_path, None, {})
    assert sentence in str(caught.value)


@pytest.mark.parametrize("content", ["", "tool = 1\n", "[tool.other]\nx = 1\n", "\ufeff[tool.selfdebug]\n"])
def test_a_file_without_the_table_changes_nothing(tmp_path: Path, content: str) -> None:
    project(tmp_path, content)
    assert load(tmp_path, None, {}) == Settings(root=tmp_path)


def test_another_file_can_be_named(tmp_path: Path) -> None:
    other = tmp_path / "ci.toml"
    other.write_text("[tool.selfdebug]\njobs = 9\n")
    project(tmp_path, "[tool.selfdebug]\njobs = 2\n")
    assert load(tmp_path, other, {}).jobs == 9
    with pytest.raises(UsageError, match=r"Cannot read the configuration .*missing\.toml: No such file"):
        load(tmp_path, tmp_path / "missing.toml", {})


def test_the_root_is_the_nearest_project(tmp_path: Path) -> None:
    inner = tmp_path / "packages" / "a" / "src"
    inner.mkdir(parents=True)
    assert find_root(inner) == inner
    (tmp_path / ".git").mkdir()
    assert find_root(inner) == tmp_path
    (tmp_path / "packages" / "a" / "setup.cfg").touch()
    assert find_root(inner) == tmp_path / "packages" / "a"


def test_the_search_does_not_leave_the_repository(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    assert find_root(repository) == repository


def test_the_default_root_is_found_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "setup.py").touch()
    (tmp_path / "deep").mkdir()
    monkeypatch.chdir(tmp_path / "deep")
    assert project_root(None) == tmp_path


def test_a_root_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not exist"):
        project_root(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="is not a folder"):
        project_root(project(tmp_path, ""))
