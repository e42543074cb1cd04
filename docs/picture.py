"""Draw the README's picture: run `selfdebug demo` in colour and write what a terminal shows as SVG.

    python docs/picture.py [FILE]

The text is what the program really wrote; only the name of the temporary folder is shortened.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from html import escape
from pathlib import Path

COLUMNS = 100
LINE, CELL, MARGIN, BAR = 19, 8.4, 16, 34
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "2": "#8b949e"}
_SGR = re.compile(r"\x1b\[([0-9;]*)m")


def recorded() -> str:
    """What the demo shows on a terminal of COLUMNS columns."""
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    command = [sys.executable, "-m", "selfdebug", "demo"]
    with subprocess.Popen(
        command, stdout=terminal, stderr=subprocess.PIPE, env={**environ, "TERM": "xterm"}
    ) as process:
        os.close(terminal)
        screen = b"".join(shown(controller))
        os.close(controller)
        _, said = process.communicate()
    if process.returncode:
        raise SystemExit(said.decode())
    text = screen.decode().replace("\r\n", "\n")
    return re.sub(r"/\S*selfdebug-demo-\w+", "/tmp/selfdebug-demo", text)


def shown(controller: int) -> Iterator[bytes]:
    """What is written to a terminal, until its last writer is gone."""
    while True:
        try:
            data = os.read(controller, 65_536)
        except OSError:  # how Linux tells the end
            return
        if not data:
            return
        yield data


def pieces(line: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The text of a line in runs of one style, as SGR parameters."""
    style: frozenset[str] = frozenset()
    start = 0
    for code in _SGR.finditer(line):
        if code.start() > start:
            yield line[start : code.start()], style
        style = frozenset(code[1].split(";")) - {"0", ""}
        start = code.end()
    if start < len(line):
        yield line[start:], style


def drawn(text: str, style: frozenset[str], column: int) -> str:
    """One run of text at its column, as wide as its cells whatever the font is."""
    color = next((COLORS[code] for code in ("31", "32", "33", "36", "2") if code in style), None)
    fill = f' fill="{color}"' if color else ""
    weight = ' font-weight="bold"' if "1" in style else ""
    place = f'x="{MARGIN + column * CELL:.1f}" textLength="{len(text) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f"<tspan {place}{fill}{weight}>{escape(text, quote=False)}</tspan>"


def picture(screen: str) -> str:
    """The screen as an SVG document."""
    lines = screen.rstrip("\n").split("\n")
    columns = max(len(_SGR.sub("", line)) for line in lines)
    width, height = MARGIN * 2 + columns * CELL, BAR + MARGIN + len(lines) * LINE
    rows = []
    for number, line in enumerate(lines):
        column, spans = 0, []
        for text, style in pieces(line):
            spans.append(drawn(text, style, column))
            column += len(text)
        if spans:
            place = f'y="{BAR + (number + 1) * LINE - 5}" xml:space="preserve" style="white-space: pre"'
            rows.append(f"<text {place}>{''.join(spans)}</text>")
    dots = "".join(
        f'<circle cx="{MARGIN + 6 + 20 * number}" cy="17" r="6" fill="{color}"/>'
        for number, color in enumerate(("#ff5f56", "#ffbd2e", "#27c93f"))
    )
    font = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}">',
            "<title>selfdebug demo in a terminal</title>",
            f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>{dots}',
            f'<g font-family="{font}" font-size="14" fill="#e6edf3">',
            *rows,
            "</g>",
            "</svg>\n",
        ]
    )


def main() -> None:
    """Write the picture to the file that is named, by default the README's."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("demo.svg")
    file.write_text(picture(recorded()), encoding="utf-8")


if __name__ == "__main__":
    main()
