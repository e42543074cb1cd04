"""`pytest --selfdebug` in sessions of its own, with the plugin found through its entry point."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from selfdebug.demo import lay_out

GUEST = "tests/test_discount.py::test_a_guest_saves_nothing"
HINT = (
    f"{GUEST}\n  AttributeError at shop/discount.py:10 in discount: customer was probably None (not observed), "
    f"and None has no attribute orders.\n  selfdebug run --module {GUEST}\n"
)


def session(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """One session of pytest in `folder`, without plugins that these tests do not use and that are slow to start."""
    unused = [f"-pno:{name}" for name in ("cacheprovider", "anyio", "hypothesispytest")]
    command = [sys.executable, "-m", "pytest", *unused, *arguments]
    environment = {key: value for key, value in os.environ.items() if key not in ("SELFDEBUG_RUN", "PYTEST_ADDOPTS")}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, env={**environment, **environ}
    )


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """The demo project."""
    return lay_out(tmp_path / "shop")


def section(output: str) -> str:
    """What the plugin wrote."""
    return output.partition(" selfdebug -")[2].partition("\n")[2].partition("===")[0]


def project(folder: Path, **files: str) -> Path:
    """A project of these files (`__` for a slash)."""
    folder.mkdir()
    (folder / "pyproject.toml").write_text("")
    for name, text in files.items():
        file = folder / (name.replace("__", "/") + ".py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize("arguments", [["tests"], ["-n", "2"], ["-q"]], ids=" ".join)
def test_a_failing_session_names_what_was_wrong_and_the_command_that_repairs_it(
    shop: Path, arguments: Sequence[str]
) -> None:
    done = session(shop, "--selfdebug", *arguments)
    assert section(done.stdout) == HINT
    assert done.returncode == 1


def test_the_command_that_is_named_repairs_it(shop: Path) -> None:
    done = session(shop, "--selfdebug=run")
    assert done.returncode == 1  # the session failed, whatever comes after it
    assert "makes 1 failing test pass" in done.stdout
    assert session(shop).returncode == 0


def test_it_costs_nothing_when_it_is_off(tmp_path: Path) -> None:
    test = "import sys\ndef test_it(request):\n"
    test += "    loaded = sorted(name for name in sys.modules if name.startswith(('selfdebug', 'libcst', 'pygit2')))\n"
    test += "    assert loaded == ['selfdebug', 'selfdebug.pytest_plugin', 'selfdebug.version']\n"
    test += "    assert not request.config.pluginmanager.hasplugin('selfdebug-watcher')\n"
    done = session(project(tmp_path / "it", test_it=test), "-p", "no:cov")
    assert done.returncode == 0, done.stdout
    assert not section(done.stdout)


def test_no_outcome_changes(tmp_path: Path) -> None:
    source = "import pytest\ndef test_good(): pass\ndef test_bad(): None.x\n"
    source += "@pytest.mark.xfail\ndef test_expected(): None.x\n@pytest.mark.skip\ndef test_skipped(): pass\n"
    source += "@pytest.fixture\ndef broken(): {}['x']\ndef test_error(broken): pass\n"
    folder = project(tmp_path / "it", test_it=source)
    plain, watched = (session(folder, "-rA", *more) for more in ([], ["--selfdebug"]))
    assert plain.returncode == watched.returncode == 1

    def outcomes(text: str) -> list[str]:
        words = ("PASSED", "FAILED", "ERROR", "XFAIL", "SKIPPED")
        return [line for line in text.splitlines() if line.startswith(words)]

    assert outcomes(plain.stdout) == outcomes(watched.stdout)
    assert len(outcomes(plain.stdout)) == 5


def test_failures_with_one_cause_are_told_once(tmp_path: Path) -> None:
    tests = "import pytest\nfrom shop import name\n"
    tests += "@pytest.mark.parametrize('n', ['a b', \"it's\"])\ndef test_it(n): name(None)\n"
    folder = project(tmp_path / "it", shop="def name(user):\n    return user.name\n", test_it=tests)
    first, sentence, command = section(session(folder, "--selfdebug").stdout).splitlines()
    assert first == "test_it.py::test_it[a b] and 1 more"
    assert "AttributeError at shop.py:2 in name" in sentence
    assert shlex.split(command)[2:] == ["--module", "test_it.py::test_it[a b]", "--module", "test_it.py::test_it[it's]"]


def test_what_it_cannot_repair_gets_no_command(tmp_path: Path) -> None:
    folder = project(tmp_path / "it", test_it="def test_it():\n    assert 1 == 2\n")
    written = section(session(folder, "--selfdebug").stdout)
    assert written.startswith("test_it.py::test_it\n  AssertionError is raised in the test itself (test_it.py:2): ")
    assert "selfdebug run" not in written


def test_a_module_that_cannot_be_imported_is_told_of(tmp_path: Path) -> None:
    folder = project(tmp_path / "it", shop="LIMIT = None + 1\n", test_it="import shop\ndef test_it(): pass\n")
    written = section(session(folder, "--selfdebug").stdout)
    assert "TypeError at shop.py:1" in written
    assert "selfdebug run --module test_it.py\n" in written


def test_a_source_that_is_gone_or_broken_is_one_sentence(tmp_path: Path) -> None:
    shop = "import os\ndef gone(x):\n    os.remove(__file__)\n    return x.name\n"
    folder = project(tmp_path / "it", shop=shop, test_it="import shop\ndef test_gone(): shop.gone(None)\n")
    assert "AttributeError at shop.py:4: the file cannot be read (No such file" in section(
        session(folder, "--selfdebug").stdout
    )


def test_more_causes_than_anyone_reads_are_counted(tmp_path: Path) -> None:
    shop = "".join(f"def f{n}(x):\n    return x.name\n" for n in range(22))
    tests = "import shop\n" + "".join(f"def test_{n}(): shop.f{n}(None)\n" for n in range(22))
    folder = project(tmp_path / "it", shop=shop, test_it=tests)
    written = section(session(folder, "--selfdebug").stdout)
    assert written.count("AttributeError at") == 20
    assert "2 more causes are not shown; all of them: selfdebug run\n" in written


def test_from_another_folder_the_command_names_the_root(shop: Path, tmp_path: Path) -> None:
    outer = project(tmp_path / "outer", test_it="def test_it(): pass\n")
    done = session(outer, "--selfdebug", f"--rootdir={shop}", str(shop / "tests"))
    assert done.returncode == 1
    assert "AttributeError is raised outside the project" in section(done.stdout)


def test_a_hostile_message_stays_text(tmp_path: Path) -> None:
    shop = "class Odd(Exception): pass\ndef f(x):\n    raise Odd('\\x1b]0;owned\\x07')\n"
    folder = project(tmp_path / "it", shop=shop, test_it="import shop\ndef test_it(): shop.f(None)\n")
    written = section(session(folder, "--selfdebug", "--tb=no").stdout)
    assert "\x1b" not in written
    assert "Odd at shop.py:3" in written


def test_it_stays_off_in_the_runs_that_selfdebug_starts(shop: Path) -> None:
    (shop / "pytest.ini").write_text("[pytest]\naddopts = --selfdebug=run\n")
    done = subprocess.run(
        [sys.executable, "-m", "selfdebug", "run", "--dry-run", "--json"], cwd=shop, capture_output=True, check=False
    )
    document = json.loads(done.stdout)
    assert done.returncode == 0
    assert len(document["patches"]) == 1
