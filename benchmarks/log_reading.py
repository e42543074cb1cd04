"""How long a MB of log takes, against `grep -c Error` over the same file in the same run.

    python -m benchmarks log-reading [MEGABYTES]

Prints one line a kind of log: seconds, ms a MB, the factor to grep, the peak of resident memory in MB.
"""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from selfdebug.stages.failures import read_log_stream

NOISE = "2025-03-04 09:15:12,123 INFO  app.web GET /orders/{} HTTP/1.1 200 in 12 ms by ann from 10.0.0.7\n"
ENTRY = """\
_____________________________ test_price[{0}] _____________________________
tests/test_prices.py:11: in test_price
    assert prices.unit({0}) == 0
shop/prices.py:15: in unit
    return row["price"][currency]
E   TypeError: 'NoneType' object is not subscriptable
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "/srv/shop/main.py", line 7, in <module>
    main({0})
  File "/srv/shop/shop/prices.py", line 15, in unit
    return row["price"][currency]
           ~~~^^^^^^^^^
TypeError: cannot price {0}
"""
BANNER = "=================================== FAILURES ===================================\n"


def _repeated(piece: Callable[[int], str], size: int, start: str = "") -> str:
    count = size // len(piece(0))
    return start + "".join(piece(number) for number in range(count))


def _kinds(size: int) -> dict[str, str]:
    return {
        "a server's log with one traceback": _repeated(NOISE.format, size) + TRACEBACK.format(1),
        "a failing suite, each entry another": _repeated(ENTRY.format, size, BANNER),
        "tracebacks only, each another": _repeated(TRACEBACK.format, size),
        "time stamps before each line": _repeated(
            lambda number: "".join(
                f"[2025-03-04T09:15:12.{number % 1000:03d}Z] {line}\n" for line in ENTRY.format(number).split("\n")
            ),
            size,
            "[2025-03-04T09:15:12.123Z] " + BANNER,
        ),
    }


def main(arguments: list[str]) -> int:
    """Measure each kind once."""
    megabytes = int(arguments[0]) if arguments else 20
    with tempfile.TemporaryDirectory() as folder:
        for name, text in _kinds(megabytes * 1_000_000).items():
            path = Path(folder, "log")
            path.write_text(text, encoding="utf-8")
            _measure(name, path)
    return 0


def _measure(name: str, path: Path) -> None:
    start = time.perf_counter()
    subprocess.run(["grep", "-c", "Error", str(path)], stdout=subprocess.DEVNULL, check=False)
    grep = time.perf_counter() - start
    start = time.perf_counter()
    with path.open("rb") as file:
        found = len(read_log_stream(file, None, "/srv/shop").failures)
    seconds = time.perf_counter() - start
    size = path.stat().st_size / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name}: {size:.0f} MB in {seconds:.1f} s, {1000 * seconds / size:.0f} ms/MB, "
        f"{seconds / grep:.0f} times grep, {found} failures, peak {peak:.0f} MB"
    )
