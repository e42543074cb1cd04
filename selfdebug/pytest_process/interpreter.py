"""Finding the Python interpreter that runs the project's tests, and checking that it can."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from selfdebug.errors import EnvironmentUnusableError

OLDEST_PYTHON = (3, 8)
OLDEST_PYTEST = (6, 2)
_CHECK_SECONDS = 60.0
_MARK = "selfdebug-check:"
# Also runs on Python 2, so that an interpreter which is too old can say so. Importing pytest takes longer than all
# else; it is enough that the modules are there which the first run of the tests imports.
_CHECK = f"""
import json, sys
found = {{"python": list(sys.version_info[:3]), "pytest": None, "problem": "", "libraries": []}}
try:
    import sysconfig
    paths = sysconfig.get_paths()
    found["libraries"] = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib") if name in paths]
    import site
    if hasattr(site, "getsitepackages"):
        found["libraries"] += list(site.getsitepackages()) + [site.getusersitepackages()]
    import importlib.util
    for name in ("pytest", "pluggy", "iniconfig", "packaging"):
        if importlib.util.find_spec(name) is None:
            raise ImportError("No module named " + repr(name))
    import _pytest
    found["pytest"] = str(_pytest.__version__)
except ImportError as error:
    found["problem"] = str(error)
print("{_MARK}" + json.dumps(found))
"""


# Where imports come from: the path, and the packages that setuptools' editable installs find without it.
_FOLDERS = f"""
import json, os, sys
found = list(sys.path)
for name, module in list(sys.modules.items()):
    if name.startswith("__editable__"):
        found += [os.path.dirname(place) for place in getattr(module, "MAPPING", {{}}).values()]
print("{_MARK}" + json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter with a pytest that can be used; `libraries` are its folders of installed modules.

    `memory` is the number of bytes of data that each process of a test run may have, where the system keeps such
    limits (Linux); None stands for as many as the system gives.
    """

    path: Path
    version: str
    pytest_version: str
    libraries: tuple[Path, ...] = ()
    memory: int | None = None

    def limited(self, megabytes: int | None) -> Interpreter:
        """The same interpreter, with a limit on the memory of each process of a test run, or without any."""
        return replace(self, memory=None if megabytes is None else megabytes * 1_000_000)

    @classmethod
    def find(cls, python: Path | str | None = None, env: Mapping[str, str] | None = None) -> Interpreter:
        """The interpreter that `python` names (a path, a command, or the folder of a virtual environment).

        Without it: that of the active virtual environment (VIRTUAL_ENV in `env`, by default this process's), else the
        one that runs this process. A virtual environment's link is kept as it is, not resolved.

        Raises EnvironmentUnusableError when it is not there, does not start, is too old or has no usable pytest.
        """
        env = os.environ if env is None else env
        return _checked(_path_of(python, env), env)

    def import_folders(self, env: Mapping[str, str] | None = None) -> tuple[Path, ...]:
        """The folders that modules are imported from, those of editable installs too, as their real paths.

        Raises EnvironmentUnusableError when the interpreter does not answer.
        """
        answer = _answer(self.path, _FOLDERS, os.environ if env is None else env)
        folders = (Path(folder) for folder in json.loads(answer) if folder)  # an empty name is the current folder
        return tuple(dict.fromkeys(folder.resolve() for folder in folders if folder.is_dir()))

    @property
    def pytest_release(self) -> tuple[int, ...]:
        """The numbers of the pytest version, for comparisons."""
        return _release(self.pytest_version)


def _path_of(python: Path | str | None, env: Mapping[str, str]) -> Path:
    if python is not None:
        return _named(str(python), env)
    environment = env.get("VIRTUAL_ENV")
    if environment:
        inside = _python_in(Path(environment))
        if inside is None:
            raise EnvironmentUnusableError(
                f"the active virtual environment {environment} has no Python in it; deactivate it or pass --python"
            )
        return inside
    return Path(sys.executable)


def _named(python: str, env: Mapping[str, str]) -> Path:
    path = Path(python).expanduser()
    if path.is_dir():
        inside = _python_in(path)
        if inside is None:
            raise EnvironmentUnusableError(f"there is no Python interpreter in the folder {python}")
        return inside
    if not path.exists():
        command = shutil.which(python, path=env.get("PATH"))
        if command is None:
            raise EnvironmentUnusableError(f"there is no Python interpreter at {python}")
        return Path(command).absolute()
    if not os.access(path, os.X_OK):
        raise EnvironmentUnusableError(f"{python} is not executable, so it cannot run the tests")
    return path.absolute()


def _python_in(environment: Path) -> Path | None:
    places = (environment / "bin" / "python", environment / "bin" / "python3", environment / "Scripts" / "python.exe")
    return next((place.absolute() for place in places if place.exists()), None)


def _checked(path: Path, env: Mapping[str, str]) -> Interpreter:
    return _interpreter(path, _answer(path, _CHECK, env))


def _answer(path: Path, program: str, env: Mapping[str, str]) -> str:
    """What an interpreter prints behind the mark when it runs a program."""
    try:
        ended = subprocess.run(
            [str(path), "-c", program],
            cwd=path.parent,  # not the project, whose files could stand in for the modules of the check
            env={**env, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_CHECK_SECONDS,
            check=False,
        )
    except OSError as error:
        raise EnvironmentUnusableError(f"{path} cannot be started: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise EnvironmentUnusableError(f"{path} did not answer within {_CHECK_SECONDS:.0f} seconds") from error
    answer = re.search(rf"^{_MARK}(.*)$", ended.stdout.decode("utf-8", "replace"), re.MULTILINE)
    if answer is None:
        raise EnvironmentUnusableError(f"{path} is not a Python interpreter that works{_last_line(ended.stderr)}")
    return answer.group(1)


def _interpreter(path: Path, answer: str) -> Interpreter:
    found = json.loads(answer)
    version = ".".join(map(str, found["python"]))
    if tuple(found["python"]) < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        raise EnvironmentUnusableError(f"{path} is Python {version}; tests are run with {oldest} or newer")
    if found["pytest"] is None:
        raise EnvironmentUnusableError(
            f"{path} (Python {version}) cannot import pytest ({found['problem']}); install pytest there, "
            "or name the project's interpreter with --python"
        )
    if _release(found["pytest"]) < OLDEST_PYTEST:
        oldest = ".".join(map(str, OLDEST_PYTEST))
        raise EnvironmentUnusableError(f"{path} has pytest {found['pytest']}; {oldest} or newer is needed")
    libraries = tuple(folder for folder in dict.fromkeys(map(Path, found["libraries"])) if folder.is_dir())
    return Interpreter(path, version, found["pytest"], libraries)


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, numbers.group().split("."))) if numbers else (0,)


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {last[:200]}" if last else ""
