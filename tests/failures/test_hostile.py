"""Any bytes: no exception, no hang, time that grows with the length only, memory that does not grow with it."""

from __future__ import annotations

import io
import random
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from selfdebug.stages.failures import read_log, read_log_stream
from selfdebug.stages.failures.document import document

HERE = Path(__file__).parent
SAMPLES = sorted([*HERE.glob("samples/*/*.log"), *HERE.glob("collected/*.log")])
SMALL = [path for path in SAMPLES if path.stat().st_size < 20_000]
QUIET = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck), database=None)
PIECES = st.sampled_from(
    [
        "Traceback (most recent call last):",
        '  File "a.py", line 1, in f',
        '  File "a.py", line 99999999999999999999999, in f',
        "    x.y",
        "TypeError: no",
        "  + Exception Group Traceback (most recent call last):",
        "  | ExceptionGroup: x (1 sub-exception)",
        "  +-+---------------- 1 ----------------",
        "    +---------------- 2 ----------------",
        "    +------------------------------------",
        "    | ValueError: 1",
        "The above exception was the direct cause of the following exception:",
        "=" * 70,
        "-" * 70,
        "*" * 70,
        "ERROR: test_a (m.T)",
        "FAIL: test_a (m.T)",
        "=================================== FAILURES ===================================",
        "==================================== ERRORS ====================================",
        "==================================== PASSES ====================================",
        "=========================== short test summary info ============================",
        "============================= test session starts ==============================",
        "========================= 1 failed in 0.01s =========================",
        "___________ test_a[x - y] ___________",
        "___________ ERROR at setup of test_a ___________",
        "E   TypeError: no",
        "E",
        ">   x()",
        "a.py:3: in f",
        "a.py:3: ",
        "a.py:3: TypeError",
        "a.py:3: TypeError: no",
        "_ _ _ _ _ _ _ _",
        "FAILED a.py::test_a[x - y] - TypeError: no",
        "[x] (i=1) SUBFAIL a.py::test_a - TypeError: no",
        "SUBFAILED[x] (i=1) a.py::test_a - TypeError: no",
        "----------------------------- Captured stdout call -----------------------------",
        "TypeError                 Traceback (most recent call last)",
        "File ~/a.py:3, in f(x)",
        "a.py in f(x)",
        "----> 3     x()",
        "Cell In[1], line 2",
        "╭──── Traceback (most recent call last) ────╮",
        "│ a.py:3 in f                               │",
        "╰───────────────────────────────────────────╯",
        "Fatal Python error: Segmentation fault",
        "Current thread 0x0 (most recent call first):",
        '<testcase name="test_a"><failure message="TypeError: no">a.py:3: TypeError</failure></testcase>',
        '<testsuite><testcase name="',
        "Exception Type: TypeError at /x",
        "Exception Value: no",
        "> /a.py(3)f()",
        '{"log": "Traceback (most recent call last):\\n", "t": 1}',
        "[ERROR]",
        "m.T.test_a",
        "+++++++ Timeout +++++++",
        "Ran 1 test in 0.1s",
        "tests/test_a.py F [100%]",
        "rootdir: /x",
        "##teamcity[testFailed name='m.T.test_a' details='Traceback (most recent call last):|n  File \"a.py\"']",
        "##teamcity[testFailed name='",
        "  Scenario: a # a.feature:3",
        "    When b # steps/b.py:4",
        "      ASSERT FAILED: no",
        "Failing scenarios:",
        "  a.feature:3  a",
        "╭─ Sub-exception #1 ─╮",
        "│ ╭─ Traceback (most recent call la─╮ │",
        "{",
        '  "frames": [{"lineno": 1, "filename": "a.py", "function": "f"}],',
        "}",
        '{"values": [{"type": "A", "value": "b", "stacktrace": {"frames": [{"lineno": 1}]}}]}',
        '{"e": [{"exc_type": "A", "frames": [], "exceptions": [[{"exc_type": "B", "frames": []}]]}]}',
        "",
        "    ",
    ]
)
PREFIXES = st.sampled_from(["", "2025-03-04T09:15:12.1Z ", "a-1  | ", "> ", "    ", "#1 0.1 ", "E   ", "| "])


@given(st.binary(max_size=2000))
@QUIET
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    document(read_log(data, None, "/x"))


@given(st.lists(st.tuples(PREFIXES, PIECES), max_size=60), st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
@settings(QUIET, max_examples=300)
def test_pieces_of_every_form_in_any_order_never_raise(lines: list[tuple[str, str]], end: str) -> None:
    text = end.join(prefix + piece for prefix, piece in lines)
    told = document(read_log(text.encode(), None, "/x"))
    assert len(told["failures"]) <= 2 * len(lines)


@pytest.mark.parametrize("seed", range(4))
def test_mutated_samples_never_raise(seed: int) -> None:
    random_ = random.Random(seed)
    for path in random_.sample(SMALL, 25):
        data = _mutated(path.read_bytes(), random_)
        document(read_log(data, None, "/home/ann/code/shop"))


def _mutated(data: bytes, random_: random.Random) -> bytes:
    lines = data.split(b"\n")
    for _ in range(5):
        at = random_.randrange(len(lines))
        change = random_.randrange(6)
        if change == 0:
            del lines[at : at + random_.randrange(1, 8)]
            lines = lines or [b""]
        elif change == 1:
            lines.insert(at, random_.choice(lines))
        elif change == 2:
            lines[at] = lines[at][: len(lines[at]) // 2]
        elif change == 3:
            lines[at] = bytes(random_.randrange(256) for _ in range(20)) + lines[at]
        elif change == 4:
            random_.shuffle(lines) if random_.random() < 0.2 else lines.reverse()
        else:
            lines[at] = lines[at].replace(b" ", b"")
    return b"\n".join(lines)


HOSTILE = {
    "one-long-word": "a" * 200_000,
    "dots": "." * 200_000,
    "colons": ":1:1" * 50_000,
    "teamcity": "##teamcity[testFailed " + "a='|" * 60_000,
    "messages": "##teamcity[testFailed a='b'" * 1_500,
    "sub-exceptions": "".join("│ " * level + "╭─ Sub-exception #1 ─╮\n" for level in range(300)),
    "edges": "╭" + "─ " * 100_000 + "Traceback",
    "braces": '{\n"frames"\n' * 5_000,
    "records": '{"frames": 1}\n' * 4_000,
    "deep-records": '{"frames": ' * 20_000,
    "wrapped-records": ('{"a": "' + "b" * 73 + "\n") * 1_000,
    "chain-of-records": '{"e": [' + '{"exc_type": "A", "frames": [{"lineno": 1}]},' * 3_000 + '{"exc_type": "B"}]}',
    "open-quotes": 'File "' * 40_000,
    "rule-that-does-not-end": "-- Captured " + "-" * 200_000 + "x",
    "blanks": " " * 200_000 + "x",
    "brackets": "[" * 200_000,
    "links": "[](" * 60_000,
    "escapes": "\x1b[31" * 50_000,
    "titles": "\x1b]" * 100_000,
    "json": '{"a":"' * 30_000 + '\\nFile "',
    "json-escapes": '{"' + '"\\' * 100_000 + "\\nTraceback (most recent call last)",
    "tags": "<span " * 30_000,
    "dotted": "a." * 100_000 + "!",
    "numbers": "1 " * 100_000,
    "borders": "_ " * 100_000,
    "in": ": in " * 40_000,
    "node-ids": "x.py::y FAILED [ 1%]" * 10_000,
    "headers": "Traceback (most recent call last):" * 6_000,
    "xml": "<testcase " + 'a="b' * 50_000,
    "frames": "Traceback (most recent call last):\n" + '  File "x.py", line 1, in f\n' * 7_000,
    "groups": "  + Exception Group Traceback (most recent call last):\n"
    + "  +-+---------------- 1 ----------------\n" * 5_000,
    "titles-of-tests": "=== FAILURES ===\n" + "____ a ____\nE   A: b\n" * 9_000,
    "prefixes": "".join(f"w{i} Traceback (most recent call last):\n" for i in range(4_000)),
    "boxes": "╭─── Traceback (most recent call last) ───╮\n" * 3_000,
    "chains": ("The above exception was the direct cause of the following exception:\n" * 3_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_lines_take_time_in_proportion_to_their_length(name: str) -> None:
    text = HOSTILE[name]
    read_log(text.encode())
    small = _seconds(text.encode())
    large = _seconds(((text + "\n") * 4).encode())
    assert large < 10 * small + 1.5


def _seconds(data: bytes) -> float:
    with without_coverage():
        start = time.process_time()
        read_log(data, None, "/x")
        return time.process_time() - start


@contextmanager
def without_coverage() -> Iterator[None]:
    """What coverage does while it measures takes time and memory, too: up to five times what is measured here."""
    measuring = Coverage.current()
    if measuring is not None:
        measuring.stop()
    yield
    if measuring is not None:
        measuring.start()


class _Repeated(io.RawIOBase):
    """A long log that is never in memory as a whole."""

    def __init__(self, piece: bytes, times: int) -> None:
        self._piece, self._left = piece, times

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed wants a wider buffer type
        if not self._left:
            return 0
        self._left -= 1
        size = min(len(self._piece), len(buffer))
        buffer[:size] = self._piece[:size]
        return size


def test_memory_does_not_grow_with_the_log() -> None:
    failing = (HERE / "samples/pytest_report/pytest9-tb-short.log").read_bytes()
    piece = failing + b"2025-03-04 09:15:12 INFO nothing happened here at all, as usual\n" * 800
    with without_coverage():
        peaks = [_peak(piece, times) for times in (60, 180)]
    assert peaks[1] < peaks[0] * 1.5 + 2_000_000


def _peak(piece: bytes, times: int) -> int:
    tracemalloc.start()
    log = read_log_stream(io.BufferedReader(_Repeated(piece, times), len(piece)), None, "/home/ann/code/shop")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(log.failures) == 13
    return peak
