"""The files of a project, looked at one by one and side by side."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from codemods.selfdebug.static.guarding import Answer, all_guarded, answers, guarded
from codemods.selfdebug.static.optional_functions import GivesNone, optional_functions
from codemods.selfdebug.static.optional_values import Names
from codemods.selfdebug.static.unguarded import Unguarded, unguarded
from selfdebug.errors import UsageError
from selfdebug.paths import is_source, is_test_file, module_name, source_files
from selfdebug.static.checkers import Complaint, use_at
from selfdebug.static.records import Spot, Surveyed, Unread

_PARALLEL_FROM = 8
"""Files below which starting other processes costs more than it gives."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be looked at: files of the project, by our own reading or at the places that a checker names."""

    root: Path
    files: tuple[str, ...]
    complaints: Mapping[str, tuple[Complaint, ...]] | None = None


def chosen_files(root: Path, paths: Sequence[Path], include_tests: bool) -> tuple[str, ...]:
    """The Python files of the project in or below the paths (none: all), without tests unless they are asked for.

    Raises UsageError for a path that can hold none of them.
    """
    wanted = [_place_in(root, path) for path in paths] or [root]
    return tuple(
        file
        for file in source_files(root)
        if any((root / file).resolve().is_relative_to(path) for path in wanted)
        and (include_tests or not is_test_file(file))
    )


def _place_in(root: Path, path: Path) -> Path:
    place, top = path.resolve(), root.resolve()
    if place.is_file() and not is_source(place.name):
        raise UsageError(f"{path} is no Python file.")
    if not (place.is_relative_to(top) or top.is_relative_to(place)):
        raise UsageError(f"{path} is not in the project {root}; --root DIR names another one.")
    return place


def survey(order: Order, jobs: int) -> Iterator[Surveyed | Unread]:
    """Look at each file of the order, in its order, with up to `jobs` processes."""
    is_parallel = jobs > 1 and len(order.files) >= _PARALLEL_FROM
    with ProcessPoolExecutor(jobs) if is_parallel else nullcontext() as pool:
        functions = {} if order.complaints is not None else dict(_functions(order, pool))
        look = partial(_looked_at, order, functions)
        yield from pool.map(look, order.files, chunksize=4) if pool is not None else map(look, order.files)


def _functions(order: Order, pool: Executor | None) -> Iterator[tuple[str, GivesNone]]:
    """The functions of the whole project that may give back None, by their dotted names."""
    files = list(source_files(order.root))
    look = partial(_optional_in, order.root)
    found = pool.map(look, files, chunksize=16) if pool is not None else map(look, files)
    for file, functions in zip(files, found, strict=True):
        yield from ((f"{module_name(file)}.{name}", given) for name, given in functions.items())


def _optional_in(root: Path, file: str) -> Mapping[str, GivesNone]:
    try:
        return optional_functions(ast.parse((root / file).read_bytes()))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}  # a file that cannot be read is told of where it is looked at itself


def _looked_at(order: Order, functions: Mapping[str, GivesNone], file: str) -> Surveyed | Unread:
    unplaced = 0
    try:
        data = (order.root / file).read_bytes()
        source = Source.parse(data)
        if order.complaints is None:
            find = partial(_own_reading, functions)
            found, after = answers(source, find(source)), all_guarded(data, find)
        else:  # what a checker says holds for the file as it was read, so there is no second look
            complaints = order.complaints.get(file, ())
            placed = [use for complaint in complaints if (use := use_at(source, complaint)) is not None]
            uses = list({use.target: use for use in placed}.values())
            found, after, unplaced = answers(source, uses), guarded(data, uses), len(complaints) - len(placed)
    except OSError as error:
        return Unread(file, error.strerror or str(error))
    except RefusedError as error:
        return Unread(file, str(error))
    return Surveyed(file, tuple(_spot(file, answer) for answer in found), data, after, unplaced)


def _own_reading(functions: Mapping[str, GivesNone], source: Source) -> Iterator[Unguarded]:
    own = optional_functions(source.tree)
    return unguarded(source, Names.of(source.tree, {**functions, **own}))


def _spot(file: str, answer: Answer) -> Spot:
    use, place = answer.use, answer.use.target.receiver
    return Spot(
        file,
        place.start_line,
        place.start_column,
        place.end_line,
        place.end_column,
        use.code,
        use.reason,
        answer.guard,
        answer.refusal,
    )
