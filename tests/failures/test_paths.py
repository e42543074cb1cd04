"""Project membership of paths: as logs of any system write them, and on this disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfdebug.paths import (
    ProjectPaths,
    inside,
    is_absolute,
    is_in_environment,
    is_installed,
    is_test_file,
    posix,
    source_files,
)
from selfdebug.stages.failures import read_log


@pytest.mark.parametrize(
    ("log_root", "path", "file"),
    [
        ("/srv/app", "/srv/app/pkg/a.py", "pkg/a.py"),
        ("/srv/app/", "/srv/app/pkg/../pkg/./a.py", "pkg/a.py"),
        ("/srv/app", "/srv/application/a.py", None),
        ("/srv/app", "pkg/a.py", "pkg/a.py"),
        ("/srv/app", "./pkg/a.py", "pkg/a.py"),
        ("/srv/app", "../other/a.py", None),
        ("/", "/pkg/a.py", "pkg/a.py"),
        ("C:\\Users\\Ann Lee\\app", "c:\\users\\ann lee\\APP\\pkg\\a.py", "pkg/a.py"),
        ("C:\\app", "pkg\\a.py", "pkg/a.py"),
        ("C:\\app", "D:\\app\\a.py", None),
        ("C:\\app", "\\\\?\\C:\\app\\a.py", "a.py"),
        ("\\\\host\\share\\app", "\\\\HOST\\share\\app\\a.py", "a.py"),
        ("\\\\host\\share\\app", "\\\\?\\UNC\\host\\share\\app\\a.py", "a.py"),
        ("~/work/app", "~/work/app/a.py", "a.py"),
        ("~/work/app", "/home/ann/work/app/a.py", "a.py"),
        ("/Users/ann/work/app", "~/work/app/a.py", "a.py"),
        ("/srv/größe", "/srv/größe/maß.py", "maß.py"),
        ("/srv/app", "file:///srv/app/a.py", "a.py"),
        ("/srv/app", "/srv/app/.venv/lib/python3.12/site-packages/x.py", None),
        ("/srv/app", "/srv/app/env/lib/python3.12/json/decoder.py", None),
        ("/srv/app", "/srv/app/env/settings.py", "env/settings.py"),
        ("/srv/app", "/srv/app/.tox/py312/bin/x.py", None),
        ("/srv/app", "/srv/app/lib/thing-1.0-py3.12.egg/thing/a.py", None),
        ("/srv/app", "/srv/app/dist/app.zip/app/a.py", None),
        ("/usr", "/usr/lib/python3.11/json/decoder.py", None),
        ("/srv/app", "/srv/app/templates/page.html", None),
        ("/srv/app", "/srv/app/fast/sum.pyx", "fast/sum.pyx"),
        ("/srv/app", "<string>", None),
        ("/srv/app", "<frozen runpy>", None),
        ("/srv/app", "/srv/app/a\0.py", None),
        ("/srv/app", "", None),
    ],
)
def test_a_logged_path_is_a_project_file_or_none(log_root: str, path: str, file: str | None) -> None:
    assert ProjectPaths(None, log_root).relative(path) == file


def test_a_relative_path_starts_from_the_folder_the_runner_was_in() -> None:
    paths = ProjectPaths(None, "/repo")
    assert paths.relative("../../src/a.py", ["/repo/tools/ci"]) == "src/a.py"
    assert paths.relative("tests/test_a.py", ["/repo/services/api"]) == "services/api/tests/test_a.py"


FROM_A_FOLDER_BELOW = """\
============================= test session starts ==============================
rootdir: /srv/repo
collected 1 item

../tests/test_a.py F                                                     [100%]

=================================== FAILURES ===================================
___________________________________ test_x _____________________________________
../tests/test_a.py:3: in test_x
    a.f(None)
../src/a.py:2: in f
    return x.y
E   AttributeError: 'NoneType' object has no attribute 'y'
=========================== short test summary info ============================
FAILED tests/test_a.py::test_x - AttributeError: 'NoneType' object has no attribute 'y'
"""


def test_the_folder_the_runner_was_in_is_told_by_the_test_that_failed(tmp_path: Path) -> None:
    for file in ("src/a.py", "tests/test_a.py", "other/src/a.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (failure,) = read_log(FROM_A_FOLDER_BELOW.encode(), tmp_path).failures
    assert [frame.file for frame in failure.frames] == ["tests/test_a.py", "src/a.py"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/helpers.py", True),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("pkg/conftest.py", True),
        ("shop/tests.py", True),
        ("pkg/testing.py", False),
        ("pkg/contest.py", False),
        ("testimony/a.py", False),
    ],
)
def test_test_files_are_told_by_name_or_folder(path: str, expected: bool) -> None:
    assert is_test_file(path) is expected


def test_the_root_is_found_by_matching_path_ends(tmp_path: Path) -> None:
    _write(tmp_path, "src/shop/prices.py", "tests/test_prices.py")
    paths = ProjectPaths(tmp_path)
    guess = paths.guess(["/builds/acme/shop/src/shop/prices.py", "/builds/acme/shop/tests/test_prices.py"])
    assert guess.log_root == "/builds/acme/shop"
    assert guess.sentence is None
    assert paths.relative("/builds/acme/shop/src/shop/prices.py") == "src/shop/prices.py"


def test_an_ambiguous_root_is_said_and_not_guessed(tmp_path: Path) -> None:
    _write(tmp_path, "a.py")
    paths = ProjectPaths(tmp_path)
    guess = paths.guess(["/one/a.py", "/two/a.py"])
    assert guess.log_root is None
    assert guess.sentence is not None
    assert "--log-root" in guess.sentence
    assert "/one" in guess.sentence
    assert paths.relative("/one/a.py") is None


def test_the_runners_own_root_decides_between_equal_candidates(tmp_path: Path) -> None:
    _write(tmp_path, "a.py")
    paths = ProjectPaths(tmp_path)
    assert paths.guess(["/one/a.py", "/two/a.py"], ["/two"]).log_root == "/two"


def test_paths_of_this_machine_need_no_guess(tmp_path: Path) -> None:
    _write(tmp_path, "pkg/a.py")
    paths = ProjectPaths(tmp_path)
    assert paths.guess([str(tmp_path / "pkg/a.py")]).log_root == posix(str(tmp_path))
    assert paths.relative(str(tmp_path / "pkg" / "a.py")) == "pkg/a.py"
    assert paths.relative("pkg/a.py") == "pkg/a.py"
    assert paths.relative("/elsewhere/pkg/a.py") is None


def test_an_environment_is_known_by_its_configuration_whatever_its_name(tmp_path: Path) -> None:
    _write(tmp_path, "weird/lib/a.py", "weird/pyvenv.cfg", "pkg/b.py")
    paths = ProjectPaths(tmp_path)
    paths.guess([str(tmp_path / "pkg/b.py")])
    assert is_in_environment(tmp_path, "weird/lib/a.py")
    assert paths.relative(str(tmp_path / "weird/lib/a.py")) is None
    assert list(source_files(tmp_path)) == ["pkg/b.py"]


def test_without_any_root_the_runners_root_is_taken() -> None:
    paths = ProjectPaths(None)
    paths.guess(["/srv/app/a.py"], ["/srv/app"])
    assert paths.log_root == "/srv/app"
    assert paths.relative("/srv/app/a.py") == "a.py"


def test_without_any_hint_only_relative_paths_belong() -> None:
    paths = ProjectPaths(None)
    assert paths.guess([]).log_root is None
    assert paths.relative("a.py") == "a.py"
    assert paths.relative("../a.py") is None
    assert paths.relative("/srv/a.py") is None


def test_nothing_outside_the_root_is_inside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _write(root, "a.py")
    (tmp_path / "secret.py").write_text("x")
    (root / "link.py").symlink_to(tmp_path / "secret.py")
    (root / "own.py").symlink_to(root / "a.py")
    assert inside(root, "a.py") == (root / "a.py").resolve()
    assert inside(root, "own.py") == (root / "a.py").resolve()
    assert inside(root, "link.py") is None
    assert inside(root, "../secret.py") is None
    assert inside(root, "missing.py") is None
    assert inside(root, "a\0.py") is None
    assert inside(tmp_path / "nowhere", "a.py") is None


def test_another_project_is_foreign_and_a_nested_folder_is_not() -> None:
    paths = ProjectPaths(None, "/repo/app")
    assert paths.is_foreign("/tmp/pytest-1/test_x0")
    assert not paths.is_foreign("/repo")
    assert not paths.is_foreign("/repo/app/sub")
    assert not paths.is_foreign("/repo/app")
    assert not ProjectPaths(None).is_foreign("/repo")


def test_installed_and_absolute_are_told_from_the_text() -> None:
    assert is_installed("C:\\Python\\Lib\\site-packages\\a.py")
    assert not is_installed("/srv/app/site.py")
    assert [is_absolute(text) for text in ("/a", "C:\\a", "\\\\h\\s", "~/a", "a/b", "C:a")] == [True] * 4 + [False] * 2


def _write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
