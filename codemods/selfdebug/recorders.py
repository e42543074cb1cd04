"""The recorders of a file that was probed for plain Python: what they saw is printed when the statement raises.

`standalone.py` copies this module's code into one line of the probed file, so it uses nothing but the standard library
of Python 3.8 and imports nothing of ours. Where other recorders are already installed they are left in place.
"""

from __future__ import annotations

import builtins
import re
import reprlib
import sys
import threading

# Several `tokens` are what parsers have; those of accounts have a name before them.
SECRET = (
    r"(?:passw|secret(?!ar)|(?:api|auth|access|refresh|session|csrf|user)_?tokens|token(?!s|i[sz])|api_?key|credential"
    r"|private_?key|authori[sz]ation|cookie)"
)
SECRET_NAME = re.compile(SECRET, re.IGNORECASE)
SECRET_ITEM = re.compile(rf"""(['"][^'"]*{SECRET}[^'"]*['"]: )(?:'[^']*'|"[^"]*"|[^,}}]+)""", re.IGNORECASE)
MOST_NAMES = 40
MOST_CHARACTERS = 200


class Recorder:
    """Keeps the last value of each recorded expression, by file and number, until the statement begins again."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[int, dict[int, str]]] = {}
        self.seen = threading.local()
        self.shorten = reprlib.Repr()
        self.shorten.maxstring = self.shorten.maxother = MOST_CHARACTERS

    def add_file(self, filename: str, last_line: int, expressions: dict[int, str]) -> None:
        """Know the expressions (number -> source) of the one probed statement of a file, which ended at `last_line`."""
        self.files[filename] = (last_line, expressions)

    def probe(self, number: int, value: object) -> object:
        """Keep `value` and give it back."""
        filename = sys._getframe(1).f_code.co_filename
        values = vars(self.seen).setdefault(filename, {})
        if number == min(self.files[filename][1]):
            values.clear()
        values[number] = value
        return value

    def caught(self, _number: int) -> None:
        """Print the names and values of the statement that is raising, and what it raises."""
        frame = sys._getframe(1)
        kind, error, trace = sys.exc_info()
        if kind is None or trace is None:
            return
        last_line, expressions = self.files[frame.f_code.co_filename]
        # The call of this function stands two lines below the statement's last line.
        line = last_line + trace.tb_lineno - (frame.f_lineno - 2)
        # The interpreter and pytest keep values under names that no program can write, as `.0` and `@py_assert1`.
        names = [name for name in list(frame.f_locals) if name.isidentifier() and not name.startswith("__")][
            :MOST_NAMES
        ]
        shown = ", ".join(f"{name!r}: {self.show(frame.f_locals[name], name)}" for name in names)
        write(f"DBG-PROBE frame={frame.f_code.co_name} line={line} locals={{{shown}}}")
        for key, value in sorted(vars(self.seen).pop(frame.f_code.co_filename, {}).items()):
            code = expressions[key]
            write(f"DBG-VALUE line={line} code={code!r} value={self.show(value, code)}")
        write(f"DBG-CAUGHT {kind.__name__} line={line} error={self.show(error, '', is_message=True)}")

    def show(self, value: object, name: str, is_message: bool = False) -> str:
        """The repr of a value (of an exception its message) on one line and in bounds, whatever its methods do."""
        if SECRET_NAME.search(name):
            return "<redacted>"
        try:
            text = str(value) if is_message else self.shorten.repr(value)
        except Exception as error:  # noqa: BLE001  # a __repr__ of the program may raise anything
            text = f"<{type(value).__name__}: its text raises {type(error).__name__}>"
        text = SECRET_ITEM.sub(r"\1<redacted>", text).replace("\r", "\\r").replace("\n", "\\n")
        return text if len(text) <= 2 * MOST_CHARACTERS else text[: 2 * MOST_CHARACTERS] + "..."


def write(text: str) -> None:
    """Print a line, if there is anywhere to print to."""
    try:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)  # noqa: T201  # its purpose
    except (OSError, ValueError, AttributeError):
        return


def install(filename: str, last_line: int, expressions: dict[int, str]) -> None:
    """Put recorders into `builtins` unless there are some, and tell ours about one more file."""
    names = vars(builtins)
    if "__selfdebug_probe__" not in names:
        recorder = Recorder()
        names["__selfdebug_probe__"], names["__selfdebug_caught__"] = recorder.probe, recorder.caught
    add_file = getattr(getattr(names["__selfdebug_probe__"], "__self__", None), "add_file", None)
    if add_file is not None:
        add_file(filename, last_line, expressions)
