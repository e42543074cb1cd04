"""What a run is asked to do: `[tool.selfdebug]` of pyproject.toml, overridden by options, as one frozen record."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from selfdebug.errors import UsageError

PROJECT_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
"""A folder that holds one of these is a project of its own, also inside a larger repository."""


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def usable_jobs() -> int:
    """How many trials may run at the same time: half of the usable cores, at most four."""
    return max(1, min(4, usable_cores() // 2))


@dataclass(frozen=True, slots=True)
class Settings:
    """One run as it was asked for; paths are absolute, `timeout` is seconds for each start of pytest.

    `python` is the interpreter of the project under test (None: the active virtual environment, else our own);
    `memory_limit` is the most memory that each process of such a run may have, in MB (None: no limit);
    `log_root` is the project root as a captured log writes it; `node_ids` are the tests to repair (none: all failing).
    """

    root: Path
    node_ids: tuple[str, ...] = ()
    max_attempts: int = 4
    dry_run: bool = False
    backup_dir: Path | None = None
    python: Path | None = None
    pytest_args: tuple[str, ...] = ()
    timeout: float = 600.0
    keep_partial: bool = False
    include_tests: bool = False
    log_root: str | None = None
    session: str | None = None
    jobs: int = field(default_factory=usable_jobs)
    max_candidates: int = 200
    memory_limit: int | None = None


# ---------------------------------------------------------------- the values of [tool.selfdebug]


class _WrongTypeError(Exception):
    """A value of the file is of the wrong type or out of range; the text says what is wanted."""


def _boolean(value: object, _folder: Path) -> bool:
    if isinstance(value, bool):
        return value
    raise _WrongTypeError("true or false")


def _count(value: object, _folder: Path) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise _WrongTypeError("a whole number of at least 1")


def _seconds(value: object, _folder: Path) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"):
        return float(value)
    raise _WrongTypeError("a number of seconds above 0")


def _path(value: object, folder: Path) -> Path:
    if isinstance(value, str) and value and "\0" not in value:
        return folder / Path(value).expanduser()
    raise _WrongTypeError("a path, as a string")


def _interpreter(value: object, folder: Path) -> Path:
    """A path from the folder of the file, or the bare name of a command, which stays as it is."""
    path = _path(value, folder)
    return Path(str(value)) if Path(str(value)).name == value and not path.exists() else path


def _arguments(value: object, _folder: Path) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise _WrongTypeError(f"shell words ({error})") from error
    raise _WrongTypeError("a list of strings, or one string")


KEYS: Mapping[str, Callable[[object, Path], Any]] = {
    "max-attempts": _count,
    "backup-dir": _path,
    "python": _interpreter,
    "pytest-args": _arguments,
    "timeout": _seconds,
    "memory-limit": _count,
    "keep-partial": _boolean,
    "include-tests": _boolean,
    "jobs": _count,
    "max-candidates": _count,
}
"""The keys of `[tool.selfdebug]` and how each value is read; a relative path counts from the folder of the file."""

TABLES = ("trace", "explain")
"""Tables under `[tool.selfdebug]` that are read by the packages of these names."""


def _unknown_key(key: str, file: Path) -> UsageError:
    near = difflib.get_close_matches(key.replace("_", "-"), KEYS, n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"known keys: {', '.join(KEYS)}."
    return UsageError(f'Unknown key "{key}" under [tool.selfdebug] in {file}; {hint}')


def read_toml(file: Path) -> dict[str, Any]:
    """The document in a TOML file. Raises UsageError where it cannot be read or is none."""
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"Cannot read the configuration {file}: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} is not valid TOML: {error}.") from error


def read_table(file: Path) -> dict[str, Any]:
    """The `[tool.selfdebug]` table of a TOML file, as keyword arguments of Settings; empty where there is none.

    Raises UsageError, naming key and file, for an unreadable file, an unknown key or a value of the wrong type.
    """
    tool = read_toml(file).get("tool", {})
    table = tool.get("selfdebug", {}) if isinstance(tool, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"[tool.selfdebug] in {file} must be a table.")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in TABLES:
            continue
        if key not in KEYS:
            raise _unknown_key(key, file)
        try:
            values[key.replace("-", "_")] = KEYS[key](value, file.parent)
        except _WrongTypeError as wanted:
            raise UsageError(f'"{key}" under [tool.selfdebug] in {file} must be {wanted}, not {value!r}.') from None
    return values


# ---------------------------------------------------------------- root and options


def find_root(start: Path) -> Path:
    """The project that `start` lies in: the nearest folder with a project file, else the repository, else `start`.

    The search does not leave the innermost git repository: a file in the user's home folder is no project of this one.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        if any((folder / name).is_file() for name in PROJECT_FILES) or (folder / ".git").exists():
            return folder
    return start


def project_root(given: Path | None) -> Path:
    """The folder that `--root` names, or the project of the current folder.

    Raises UsageError when the named one is not a folder.
    """
    if given is None:
        return find_root(Path.cwd())
    if not given.is_dir():
        what = "is not a folder" if given.exists() else "does not exist"
        raise UsageError(f"The project root {given} {what}.")
    return given.resolve()


def load(root: Path | None, config: Path | None, options: Mapping[str, Any]) -> Settings:
    """The settings of a run: defaults, then the file, then the options that were given (None: not given).

    `config` names the TOML file to read in place of the root's pyproject.toml; the keys of `options` are field names
    of Settings. Raises UsageError for a root that is not a folder and for everything that read_table refuses.
    """
    folder = project_root(root)
    file = config.absolute() if config is not None else folder / "pyproject.toml"
    values = read_table(file) if config is not None or file.is_file() else {}
    known = {field.name for field in fields(Settings)}
    given = {name: value for name, value in options.items() if name in known and value is not None}
    return Settings(root=folder, **{**values, **given})
