"""A probe on any line of any kind of statement changes neither output, result nor exception, and comes out again."""

import ast
import builtins
import contextlib
import io
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from codemods.selfdebug.base import RefusedError, TargetNotFoundError
from codemods.selfdebug.probe import probe
from codemods.selfdebug.probe_removal import remove
from codemods.selfdebug.spans import Span

_SECTIONS = (Path(__file__).parent / "probed_programs.txt").read_text().split("======== ")[1:]
PROGRAMS = dict(section.split("\n", 1) for section in _SECTIONS)
PRELUDE = PROGRAMS.pop("prelude")

Outcome = tuple[str, str, str, list[tuple[str, int]]]


class Recorder:
    """The two functions that a probed file expects among the builtins, at their simplest."""

    def __init__(self) -> None:
        self.hits: list[tuple[int, object]] = []
        self.catches: list[tuple[int, BaseException | None, dict[str, object]]] = []

    def probe(self, number: int, value: object) -> object:
        self.hits.append((number, value))
        return value

    def caught(self, number: int) -> None:
        self.catches.append((number, sys.exc_info()[1], dict(sys._getframe(1).f_locals)))


def run(source: bytes, recorder: Recorder | None = None, line_of: Callable[[int], int] = int) -> Outcome:
    """What a program prints, its `result`, its exception, and its frames with the lines put through `line_of`."""
    recorder = recorder or Recorder()
    recorders = {"__selfdebug_probe__": recorder.probe, "__selfdebug_caught__": recorder.caught}
    names: dict[str, object] = {"__name__": "program", "__builtins__": {**vars(builtins), **recorders}}
    printed, raised, frames = io.StringIO(), "", []
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, "program.py", "exec", dont_inherit=True)
        try:
            exec(code, names)
        except BaseException as error:  # noqa: BLE001  # whatever a program raises is compared
            raised = f"{type(error).__mro__} {error.args!r} {error.__cause__!r} {error.__context__!r}"
            entries = traceback.extract_tb(error.__traceback__)[1:]
            frames = [(entry.name, line_of(entry.lineno or 0)) for entry in entries if entry.filename == "program.py"]
    return _without_addresses(printed.getvalue()), _without_addresses(repr(names.get("result"))), raised, frames


def unprobed_line(statement: Span, line: int) -> int:
    """Where a line of the probed file stood before: `try:` came before the statement, three lines after it."""
    if line <= statement.start_line:
        return line
    return line - 1 if line <= statement.end_line + 1 else line - 4


def _without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.parametrize(
    ("name", "newline"),
    [(name, b"\n") for name in PROGRAMS]
    + [(name, b"\r\n") for name in ("continuation", "long string", "docstring", "try", "slots", "format in field")],
)
def test_a_probe_changes_nothing(name: str, newline: bytes) -> None:
    source = (PRELUDE + PROGRAMS[name]).encode().replace(b"\n", newline)
    expected = run(source)
    raising_line, probed_lines = expected[3][-1][1] if expected[3] else 0, 0
    for line in range(PRELUDE.count("\n") + 1, source.count(b"\n") + 1):
        try:
            probed = probe(source, line, first_id=100)
        except (RefusedError, TargetNotFoundError):
            assert line != raising_line
            continue
        probed_lines += 1
        assert remove(probed.source) == source
        recorder = Recorder()
        outcome = run(probed.source, recorder, partial(unprobed_line, probed.statement))
        assert outcome == expected, f"line {line}"
        assert {number for number, _ in recorder.hits} <= {entry.id for entry in probed.expressions}
        assert {number for number, *_ in recorder.catches} <= {probed.id}
        if line == raising_line and expected[2]:
            assert recorder.catches
    assert probed_lines


def test_there_is_a_program_for_each_kind_of_statement() -> None:
    kinds = {type(node) for text in PROGRAMS.values() for node in ast.walk(ast.parse(text))}
    statements = {kind for kind in ast.stmt.__subclasses__() if kind.__name__ != "TypeAlias"}
    expressions = {kind for kind in ast.expr.__subclasses__() if kind.__name__ not in {"TemplateStr", "Interpolation"}}
    assert statements | expressions <= kinds
