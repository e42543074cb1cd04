"""What a person sees: harmless text, colour by the rules, progress for a terminal and for a log file."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfdebug import terminal
from selfdebug.model import Progress
from selfdebug.terminal import ColorChoice, Paint, Tone, cells, clipped, one_line, plain, wants_color


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("plain text, ümläut, 日本\tand\nlines", "plain text, ümläut, 日本\tand\nlines"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31mred", "\\x9b31mred"),
        ("a\x00b\x07c\x08d\x7f", "a\\x00b\\x07c\\x08d\\x7f"),
        ("over\rwritten", "over\\rwritten"),
        ("dos\r\nlines", "dos\nlines"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("half \udc80", "half \\udc80"),
        ("a\u2028b\x85c", "a\\u2028b\\x85c"),
    ],
)
def test_text_is_made_harmless(text: str, harmless: str) -> None:
    assert plain(text) == harmless


def test_one_line_is_one_line() -> None:
    assert one_line("a\nb\r\nc\td") == "a\\nb\\nc\\td"


def test_paint_paints_or_not() -> None:
    assert Paint(True)("x\x1b", Tone.BAD, Tone.STRONG) == "\x1b[31;1mx\\x1b\x1b[0m"
    assert Paint(True)("x") == "x"
    assert Paint(True)("", Tone.BAD) == ""
    assert Paint(False)("x", Tone.BAD) == "x"


@pytest.mark.parametrize(
    ("choice", "stream", "environ", "colored"),
    [
        ("auto", Terminal(), {"TERM": "xterm"}, True),
        ("auto", Terminal(), {"TERM": "dumb"}, False),
        ("auto", Terminal(), {}, False),
        ("auto", io.StringIO(), {"TERM": "xterm"}, False),
        ("auto", Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, False),
        ("auto", Terminal(), {"TERM": "xterm", "NO_COLOR": ""}, True),
        ("auto", io.StringIO(), {"FORCE_COLOR": "1"}, True),
        ("auto", io.StringIO(), {"FORCE_COLOR": "0"}, False),
        ("auto", io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ("always", io.StringIO(), {"NO_COLOR": "1"}, True),
        ("never", Terminal(), {"TERM": "xterm", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_wanted(choice: str, stream: TextIO, environ: dict[str, str], colored: bool) -> None:
    assert wants_color(ColorChoice(choice), stream, environ) is colored


def test_progress_of_a_short_run_in_a_log_file_is_one_line() -> None:
    stream = io.StringIO()
    with terminal.progress(stream, {}) as show:
        show(Progress("ingest", "pytest runs\x1b[2J"))
        for number in range(50):
            show(Progress("try", "guard", number, 50))
        show(Progress("verify", "the whole suite", 3))
    assert stream.getvalue() == "selfdebug: ingest: pytest runs\\x1b[2J\n"


def test_a_long_run_gives_a_sign_of_life_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 2.5, 10.0, 18.0, 19.0])
    monkeypatch.setattr("selfdebug.terminal.time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    with terminal.progress(stream, {}) as show:
        for stage, number in [("ingest", 1), ("try", 2), ("try", 3), ("try", 4), ("try", 5), ("keep", 6)]:
            show(Progress(stage, "working", number, 6))
    assert stream.getvalue().splitlines() == [
        "selfdebug: ingest 1/6: working",
        "selfdebug: try 3/6: working",
        "selfdebug: try 5/6: working",
    ]


def test_progress_without_rich_rewrites_one_line_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr("selfdebug.terminal.util.find_spec", {}.get)
    stream = Terminal()
    with terminal.progress(stream, {"TERM": "xterm"}) as show:
        show(Progress("try", "a guard with a very long description", 1, 2))
    assert stream.getvalue() == "\r\x1b[2Ktry 1/2: a guard w…\r\x1b[2K"


def test_progress_survives_a_closed_stream_and_a_poor_encoding() -> None:
    closed = io.StringIO()
    with terminal.progress(closed, {}) as show:
        closed.close()
        show(Progress("ingest", "nobody listens"))
    raw = io.BytesIO()
    poor = io.TextIOWrapper(raw, encoding="ascii")
    with terminal.progress(poor, {}) as show:
        show(Progress("ingest", "tests in ümläut"))
    assert raw.getvalue() == b"selfdebug: ingest: tests in \\xfcml\\xe4ut\n"


def test_rich_shows_the_same_sentence_on_a_real_terminal(tmp_path: Path) -> None:
    pytest.importorskip("rich")  # an extra: the plain line above is what people without it get
    script = tmp_path / "show.py"
    script.write_text(
        "import sys, time\n"
        "from selfdebug.model import Progress\n"
        "from selfdebug.terminal import progress\n"
        "with progress(sys.stderr) as show:\n"
        "    show(Progress('try', 'a [bold]guard', 1, 2))\n"
        "    time.sleep(0.3)\n"
    )
    master, slave = pty.openpty()
    environ = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen([sys.executable, str(script)], stderr=slave, env=environ)
    os.close(slave)
    seen = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(master)
    assert process.wait() == 0
    assert b"try 1/2: a [bold]guard" in seen


@pytest.mark.parametrize(("columns", "fitted"), [("400", 100), ("72", 72), ("5", 20)])
def test_text_on_a_terminal_is_fitted_to_it(monkeypatch: pytest.MonkeyPatch, columns: str, fitted: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.columns_for(Terminal()) == fitted
    assert terminal.columns_for(io.StringIO()) is None


@pytest.mark.parametrize(
    ("text", "start", "shown"),
    [
        ("0123456", 0, "0123456"),
        ("01234567", 0, "012345…"),
        ("0123456789abc", 3, "…45678…"),
        ("0123456789abc", 6, "…789abc"),
        ("日本日本日本", 0, "日本日…"),
        ("a日本日本日本", 0, "a日本…"),
        ("日本日本日本", 2, "… 日本…"),
        ("e\u0301" * 9, 0, "e\u0301" * 6 + "…"),
        ("e\u200d" * 9, 0, "e\u200d" * 6 + "…"),
        ("a\tb\tc", 0, "a    b…"),
    ],
)
def test_a_long_line_is_seen_through_a_window(text: str, start: int, shown: str) -> None:
    assert clipped(text, 7, start) == shown


def test_a_folded_line_is_indented_and_its_words_stay_whole() -> None:
    line = "  src/a_very_long_name/of_a_file.py:18  in a function"
    assert Paint(False, 20).folded(line) == ["  src/a_very_long_name/of_a_file.py:18", "    in a function"]
    assert Paint(False).folded(line) == [line]
    assert Paint(False, 20).folded("    ") == ["    "]


def test_a_colour_ends_with_its_row_and_goes_on_in_the_next() -> None:
    paint = Paint(True, 8)
    assert paint.folded(f"a {paint('bad word', Tone.BAD)} end") == [
        "a \x1b[31mbad\x1b[0m",
        "  \x1b[31mword\x1b[0m",
        "  end",
    ]


@given(st.text(st.sampled_from("ab日 \u0301"), max_size=60), st.integers(4, 30), st.integers(0, 4))
def test_folding_loses_nothing_and_fits(text: str, columns: int, hanging: int) -> None:
    rows = Paint(False, columns).folded(text, hanging)
    assert " ".join(rows).split() == text.split()
    assert all(cells(row) <= columns or len(row.split()) == 1 for row in rows if row.strip())
    bare = text.strip()
    plain = Paint(False, columns).folded(bare, hanging)
    painted = Paint(True, columns).folded(Paint(True)(bare, Tone.GOOD), hanging)
    assert [re.sub("\x1b\\[[0-9;]*m", "", row).split() for row in painted] == [row.split() for row in plain]
