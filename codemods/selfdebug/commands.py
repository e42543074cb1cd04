"""The commands for `python -m libcst.tool codemod`: NullGuard, Probe and RemoveProbes.

They work on the bytes of the file and give libcst the finished text, so that what stands outside the statement stays as
it is. libcst itself is not exact on every file; one that it would not write back as it was is skipped, with the reason.
"""

from __future__ import annotations

import argparse
import os
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
from libcst.codemod import CodemodCommand, CodemodContext, SkipFile

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.failed_places import FailedPlace, NoFailureError, last_recorded, names_file, read_log
from codemods.selfdebug.receivers import target_at
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from codemods.selfdebug.standalone import add_probe, remove_probes
from codemods.selfdebug.static.guarding import all_guarded
from codemods.selfdebug.static.optional_functions import optional_functions
from codemods.selfdebug.static.optional_values import Names
from codemods.selfdebug.static.unguarded import Unguarded, unguarded
from codemods.selfdebug.unguided import first_fitting

# The formatter that libcst runs over a whole changed file (`black -` by default) has to change nothing.
_UNCHANGED = (
    ["python", "-c", "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"]
    if os.name == "nt"
    else ["cat"]
)
CONFIG = f"""\
# Read by `python -m libcst.tool` in this folder and below it.
# The formatter gets each changed file as a whole; this one changes nothing, so that only the statement differs.
formatter: {_UNCHANGED!r}
modules: ['codemods', 'libcst.codemod.commands']
blacklist_patterns: ['.*/(\\.git|\\.hg|\\.tox|\\.nox|\\.venv|venv|site-packages|node_modules)/.*']
repo_root: '.'
"""
"""What `selfdebug init` writes into `.libcst.codemod.yaml`."""


class BytesCommand(CodemodCommand):
    """A codemod from bytes to bytes."""

    @abstractmethod
    def rewritten(self, source: bytes) -> bytes:
        """The new bytes of the file. Raises RefusedError or TargetNotFoundError for a file that is to be skipped."""

    def transform_module(self, tree: cst.Module) -> cst.Module:
        """The changed module. Raises SkipFile with the reason where the file stays as it is.

        libcst's own version copies the tree and walks it several times, which this command has no use for.
        """
        return self.transform_module_impl(tree)

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """See `transform_module`."""
        path = self._path
        if path is not None and path.is_file() and path.read_bytes() != tree.bytes:
            raise self._skip("libcst does not write this file back byte for byte")
        try:
            source = tree.bytes
            new = self.rewritten(source)
        except (RefusedError, TargetNotFoundError) as error:
            raise self._skip(str(error)) from error
        except NoFailureError as error:
            # Not a matter of this file: the whole command ends, with a sentence instead of a traceback for each file.
            raise SystemExit(f"selfdebug.{type(self).__name__}: {error}") from error
        if new == source:
            return tree
        changed = cst.parse_module(new)
        if changed.bytes != new:
            raise self._skip("libcst would not write the changed file byte for byte")
        return changed

    @property
    def _path(self) -> Path | None:
        """The file, or None for standard input."""
        return Path(self.context.filename) if self.context.filename else None

    def _skip(self, reason: str) -> SkipFile:
        if self._path is None:  # libcst shows no reason for standard input, only warnings
            self.warn(reason)
        return SkipFile(reason)


class _PlacedCommand(BytesCommand):
    """A codemod that works where the user or a failure says."""

    def __init__(self, context: CodemodContext, *, line: int | None = None, failure: str | None = None) -> None:
        super().__init__(context)
        self.line = line
        self.failure = failure

    def places(self) -> list[FailedPlace]:
        """The places in this file, last line first. Raises NoFailureError when nothing says where."""
        if self.line is not None:
            return [FailedPlace("", self.line)]
        path = self._path
        found = last_recorded((path.parent if path else Path()).resolve()) if self.failure is None else self._read_log()
        own = [place for place in found if path is None or names_file(place.file, path)]
        return sorted(own[:1] if path is None else own, key=lambda place: place.line, reverse=True)

    def _read_log(self) -> tuple[FailedPlace, ...]:
        try:
            found = read_log(Path(str(self.failure)).read_text("utf-8", "replace"))
        except OSError as error:
            raise NoFailureError(f"the log {self.failure} cannot be read: {error.strerror}") from error
        if not found:
            raise NoFailureError(f"the log {self.failure} names no frame outside of tests and libraries")
        return found


def _add_place_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--line", metavar="N", type=int, help="The line of the statement, counted from 1.")
    parser.add_argument(
        "--failure",
        metavar="LOG",
        help="Captured output of pytest or Python; the files that its deepest frames name are changed, others are not. "
        "Without --line and --failure: the last failure that `selfdebug run` recorded.",
    )
    # Even without a configuration no formatter may touch the rest of the file.
    parser.set_defaults(no_format=True)


class NullGuard(_PlacedCommand):
    """Guards one receiver at each place with the first guard that does not refuse."""

    DESCRIPTION: str = "Guard a value that was None where it is used."

    def __init__(  # noqa: PLR0913  # libcst hands over each command-line option as a keyword
        self,
        context: CodemodContext,
        *,
        line: int | None = None,
        failure: str | None = None,
        receiver: str | None = None,
        column: int | None = None,
        guard: str | None = None,
        default: str | None = None,
        static: bool = False,
    ) -> None:
        super().__init__(context, line=line, failure=failure)
        self.static = static
        self.receiver = receiver
        self.column = column
        self.guard = guard
        self.default = default

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """The options; `--guard` is checked against the registry."""
        _add_place_arguments(arg_parser)
        arg_parser.add_argument("--receiver", metavar="EXPR", help="The expression that was None, as the file has it.")
        arg_parser.add_argument(
            "--column",
            metavar="N",
            type=int,
            help="Where it starts: characters (code points) from 0, as libcst counts.",
        )
        arg_parser.add_argument(
            "--guard", metavar="ID", choices=sorted(guards()), help=f"One of {', '.join(sorted(guards()))}."
        )
        arg_parser.add_argument("--default", metavar="EXPR", help="The value to use instead, as Python source.")
        arg_parser.add_argument(
            "--static",
            action="store_true",
            help="Guard every use of a value that may be None by what the file itself says, before it fails.",
        )

    def rewritten(self, source: bytes) -> bytes:
        """The file with a guard at each of its places. Raises RefusedError with the reason of every guard."""
        if self.static:
            return all_guarded(source, _unguarded_in)
        for place in self.places():
            meant = FailedPlace(
                place.file,
                place.line,
                place.message,
                self.receiver if self.receiver is not None else place.receiver,
                self.column if self.column is not None else place.column,
                place.carets,
            )
            source = self._guarded(source, meant)
        return source

    def _guarded(self, source: bytes, place: FailedPlace) -> bytes:
        parsed = Source.parse(source)
        target = target_at(parsed, place)
        _, edit = first_fitting(parsed, target, self.guard, self.default)
        return edit.apply_to(source)


def _unguarded_in(source: Source) -> Iterator[Unguarded]:
    return unguarded(source, Names.of(source.tree, optional_functions(source.tree)))


class Probe(_PlacedCommand):
    """Makes the statement print what it saw when it raises; the file runs under plain Python."""

    DESCRIPTION: str = "Print the names and values that a failing statement saw, on standard output, when it raises."

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """The options."""
        _add_place_arguments(arg_parser)

    def rewritten(self, source: bytes) -> bytes:
        """The file with a probe at the last of its places (a file takes one)."""
        places = self.places()
        return add_probe(source, places[0].line) if places else source


class RemoveProbes(BytesCommand):
    """Takes out what Probe put in, down to the byte."""

    DESCRIPTION: str = "Take out the probes that selfdebug.Probe put in; the file is as it was before."

    @staticmethod
    def add_args(arg_parser: argparse.ArgumentParser) -> None:
        """No options of its own."""
        arg_parser.set_defaults(no_format=True)

    def rewritten(self, source: bytes) -> bytes:
        """The file without probes."""
        return remove_probes(source)
