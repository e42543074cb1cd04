"""Cut, glued, interleaved and otherwise mangled logs, made from the samples or written as their tools write them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from selfdebug.model import Failure
from selfdebug.stages.failures import read_log
from selfdebug.stages.failures.document import document

SAMPLES = Path(__file__).parent / "samples"
LONG = (SAMPLES / "pytest_report/pytest9-tb-long.log").read_text(encoding="utf-8").split("\n")
SHORT = (SAMPLES / "pytest_report/pytest9-tb-short.log").read_text(encoding="utf-8").split("\n")
CHAIN = (SAMPLES / "plain_traceback/chain-p313.log").read_text(encoding="utf-8").split("\n")
ROOT = "/home/ann/code/shop"
TOTAL = next(number for number, line in enumerate(LONG) if line.startswith("___") and "test_total" in line)
LABEL = next(number for number, line in enumerate(LONG) if line.startswith("___") and "test_label" in line)
FRAME = '  File "/srv/app/a.py", line 3, in f\n    x\n'
TRACEBACK = "Traceback (most recent call last):\n" + FRAME

CONFTEST = (
    "ImportError while loading conftest '/srv/app/tests/conftest.py'.\n"
    "tests/conftest.py:3: in <module>\n    import app\n"
    "a.py:3: in <module>\n    Y = f()\nE   TypeError: no\n"
)
FAULT = (
    "Fatal Python error: Aborted\n\nCurrent thread 0x1 (most recent call first):\n"
    '  File "/srv/app/a.py", line 3 in f\n  File "/srv/app/main.py", line 1 in <module>\n'
)

Told = list[tuple[str, str | None]]


def _prefixed(prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in (TRACEBACK + "TypeError: no").split("\n"))


def _told(text: str | bytes, log_root: str = "/srv/app") -> Told:
    data = text if isinstance(text, bytes) else text.encode()
    return [
        (one.exception.short_type, str(one.deepest.place) if one.deepest else None) for one in _read(data, log_root)
    ]


def _read(data: bytes, log_root: str) -> tuple[Failure, ...]:
    return read_log(data, Path("/nowhere"), log_root).failures


ONE_TYPE_ERROR: Told = [("TypeError", "a.py:3")]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        (
            "glued without a line end",
            TRACEBACK + "TypeError: no" + TRACEBACK.replace("a.py", "b.py") + "KeyError: 'k'\n",
            [("TypeError", "a.py:3"), ("KeyError", "b.py:3")],
        ),
        ("quoted in the middle of a mail", "Hi,\n" + _prefixed("> ") + "Bye\n", ONE_TYPE_ERROR),
        (
            "the exception named above, as Lambda does",
            "[ERROR] TypeError: no\n" + TRACEBACK + "END RequestId: 1\n",
            ONE_TYPE_ERROR,
        ),
        (
            "what Lambda answers",
            (
                'Response: {"errorMessage": "no", "errorType": "TypeError", "requestId": "1", '
                '"stackTrace": ["  File \\"/srv/app/a.py\\", line 3, in f\\n    x\\n", "[... 2 more]"]}\n'
            ),
            ONE_TYPE_ERROR,
        ),
        ("JSON with frames of something else", '{"frames": 3}\n' + TRACEBACK + "TypeError: no\n", ONE_TYPE_ERROR),
        (
            "a record that is not whole, from an indented one",
            '{\n"frames": [\n' + TRACEBACK + "TypeError: no\n",
            ONE_TYPE_ERROR,
        ),
        (
            "Sentry's event of an SDK without ids, from other languages' frames",
            (
                '{"values": [{"type": "ValueError", "value": "v", "stacktrace": null}, '
                '{"type": "TypeError", "value": "no", '
                '"stacktrace": {"frames": [{"function": "g"}, '
                '{"abs_path": "/srv/app/a.py", "lineno": 3, "function": "f"}]}}]}'
                "\n"
            ),
            ONE_TYPE_ERROR,
        ),
        (
            "behave's message of several lines",
            (
                "  Scenario: a  # features/a.feature:3\n    When b  # a.py:3\n"
                "      ASSERT FAILED: 1\n      is not 2\n\n    Then c  # None\n"
            ),
            [("AssertionError", "a.py:3")],
        ),
        (
            "TeamCity without details",
            (
                "##teamcity[testFailed name='m.T.test_a' message='1 is not 2|n' details='']\n"
                "##teamcity[testFinished name='m.T.test_a']\n"
            ),
            [("AssertionError", None)],
        ),
        (
            "a box of a group that was cut",
            (
                "╭─ Traceback (most recent call last) ─╮\n│ /srv/app/a.py:3 in f │\n╰─────────────────────╯\n"
                "TypeError: no\n\n╭─ Sub-exception #1 ─╮\n│ KeyError: 1 │\nand so on\n"
            ),
            ONE_TYPE_ERROR,
        ),
        (
            "a record that was wrapped, and one that was cut",
            '{"a": "' + "b" * 73 + "\n" + "c" * 70 + '"}\n{"a": "' + "b" * 73 + "\n" + TRACEBACK + "TypeError: no\n",
            ONE_TYPE_ERROR,
        ),
        (
            "a marker between entries",
            TRACEBACK + "--- <exception caught here> ---\n" + FRAME + "builtins.TypeError: no\n",
            ONE_TYPE_ERROR,
        ),
        (
            "the same build step shown twice",
            _prefixed("#9 1.2 ") + "------\n > [5/5] RUN x:\n" + _prefixed("1.2 "),
            ONE_TYPE_ERROR,
        ),
        (
            "typographic quotes",
            (TRACEBACK + "TypeError: no\n").replace('"/srv', "“/srv").replace('py"', "py”"),
            ONE_TYPE_ERROR,
        ),
        (
            "a name broken by the mail program",
            TRACEBACK.replace(", line 3", '",\nline 3').replace('""', '"') + "TypeError: no\n",
            ONE_TYPE_ERROR,
        ),
        ("a conftest that does not import", CONFTEST, ONE_TYPE_ERROR),
        (
            "a Cython frame",
            TRACEBACK.replace("/srv/app/a.py", "pkg/fast.pyx") + "TypeError: no\n",
            [("TypeError", "pkg/fast.pyx:3")],
        ),
        ("a debugger's stack and nothing else", "TypeError: no\n> /srv/app/a.py(3)f()\n-> x\n(Pdb) \n", ONE_TYPE_ERROR),
        ("another folder", TRACEBACK.replace("/srv/app", "/home/ann") + "TypeError: no\n", [("TypeError", None)]),
        ("a fault dump", FAULT, [("Fatal Python error", "a.py:3")]),
        ("only a header", "Traceback (most recent call last):\n", []),
        ("only prose", "The error was: TypeError: no. See a.py line 3.\n", []),
        ("a warning is no failure", "/srv/app/a.py:3: DeprecationWarning: old\n  f()\n", []),
        ("a type checker is no test", "a.py:3: error: Incompatible types  [assignment]\nFound 1 error in 1 file\n", []),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) and "\n" not in value else "",
)
def test_a_piece_is_read(name: str, text: str, told: Told) -> None:
    assert _told(text) == told, name


def test_a_windows_console_in_utf_16() -> None:
    text = (
        "python : Traceback (most recent call last):\r\nAt line:1 char:1\r\n+ python main.py\r\n+ ~~~~~~~~\r\n"
        "    + CategoryInfo : NotSpecified: (Traceback (most recent call last)::String) [], RemoteException\r\n"
        '  File "C:\\app\\lib\\x.py", line 9, in main\r\n    x.y\r\nTypeError: no\r\n'
    )
    assert _told(text.encode("utf-16"), "c:\\APP") == [("TypeError", "lib/x.py:9")]


def test_two_containers_interleaved_are_two_streams() -> None:
    lines = itertools.zip_longest((f"tests-1  | {line}" for line in SHORT), (f"web-1    | {line}" for line in CHAIN))
    text = "\n".join(line for pair in lines for line in pair if line is not None)
    told = _told(text, "/home/ann/code")
    assert len(told) == 14
    assert told.count(("KitError", "kit/kit/core.py:30")) == 1
    assert ("StockError", "shop/shop/stock.py:17") in told


@pytest.mark.parametrize("marker", [["[... 40 lines truncated ...]"], []])
def test_a_cut_middle_gives_each_end_to_its_own_test(marker: list[str]) -> None:
    text = "\n".join([*LONG[: TOTAL + 8], *marker, *LONG[LABEL + 12 :]])
    told = {one.node_id: one for one in _read(text.encode(), ROOT)}
    assert len(told) == 13
    label = told["tests/test_stock.py::TestBasket::test_label"]
    assert str(label.deepest.place if label.deepest else None) == "shop/stock.py:36"
    total = told["tests/test_stock.py::test_total"]
    assert (total.exception.short_type, total.exception.is_cut, total.deepest) == ("StockError", True, None)


def test_a_cut_head_still_names_its_first_failure() -> None:
    first = _read("\n".join(LONG[TOTAL + 5 :]).encode(), ROOT)[0]
    assert first.node_id == "tests/test_stock.py::test_total"
    assert [cause.exception.type for cause in first.causes] == ["TypeError"]


def test_a_cut_tail_tells_what_is_left() -> None:
    last = _read("\n".join(LONG[: TOTAL + 10]).encode(), ROOT)[-1]
    assert (last.node_id, last.exception.type) == ("test_total", "")
    assert str(last.deepest.place if last.deepest else None) == "shop/stock.py:15"


def test_a_run_that_never_ended_keeps_the_traceback_that_ended_it() -> None:
    text = (
        "============================= test session starts =============================\ncollected 2 items\n\na.py .\n"
    )
    assert _told(text + TRACEBACK + "TypeError: no\n") == ONE_TYPE_ERROR


def test_tracebacks_of_other_programs_are_left_out_with_a_word() -> None:
    text = TRACEBACK.replace("/srv/app", "/opt/other") + "KeyError: 'x'\n" + TRACEBACK + "TypeError: no\n"
    log = read_log(text.encode(), None, "/srv/app")
    assert [one.exception.type for one in log.failures] == ["TypeError"]
    assert log.notes == ("1 tracebacks without a frame in this project were left out.",)


def test_a_long_log_is_read_in_one_pass_with_its_damage_undone() -> None:
    noise = "12:00:01 nothing &amp; more\n" * 15_000
    text = noise + (TRACEBACK + "TypeError: no\n").replace('"', "&quot;") + noise
    assert _told(text) == ONE_TYPE_ERROR


def test_the_document_is_plain_data_with_relative_places() -> None:
    log = read_log((TRACEBACK + "TypeError: no\n").encode(), None, "/srv/app")
    place = {"file": "a.py", "line": 3, "function": "f"}
    assert document(log) == {
        "failures": [
            {
                "node_id": None,
                "when": "call",
                "exc_type": "TypeError",
                "msg": "no",
                "msg_is_cut": False,
                "frames": [{**place, "in_project": True, "is_test": False}],
                "deepest": place,
                "deepest_source": place,
                "causes": [],
                "group": [],
            }
        ],
        "notes": [],
    }
