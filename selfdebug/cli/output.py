"""What leaves the process: documents on standard output, sentences on standard error, quiet when a pipe closes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from selfdebug.errors import ExitCode, SelfdebugError

if TYPE_CHECKING:
    from pathlib import Path

    from selfdebug.terminal import Paint


def replace_closed() -> None:
    """Open the null device in the place of each standard stream that the caller closed before the start.

    Else the next file that is opened, a patched one or the journal, gets the free descriptor, and whatever a child
    prints goes into that file.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free descriptor, which is this one
            os.set_inheritable(null, True)
            mode = "w" if descriptor else "r"
            setattr(sys, name, open(null, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - open to the end


def write(data: bytes | str) -> None:
    """Write to standard output; a reader that went away is no error, the rest is dropped.

    Raises SelfdebugError when the output cannot be written for another reason (a full disk).
    """
    if sys.stdout is None:  # closed by the caller before the start
        return
    try:
        if isinstance(data, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(_encodable(data, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)
    except OSError as error:
        _drop(sys.stdout)
        raise SelfdebugError(f"Cannot write to standard output: {error.strerror or error}.") from error


def write_to(file: Path | None, data: bytes) -> None:
    """Write to `file`, or to standard output; raises SelfdebugError with the system's reason when that cannot be."""
    if file is None:
        write(data)
        return
    try:
        file.write_bytes(data)
    except OSError as error:
        raise SelfdebugError(f"Cannot write {file}: {error.strerror or error}.") from error


def say(sentence: str) -> None:
    """Write one line for a person to standard error; control characters of untrusted text are made visible."""
    from selfdebug.terminal import plain

    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_encodable(plain(sentence) + "\n", sys.stderr))
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)  # nobody can be told, and the exit code still says how it ended


def paint(color: str) -> Paint:
    """What to paint the text on standard output with, as `--color` and the terminal say."""
    from selfdebug.terminal import ColorChoice, Paint, columns_for, wants_color

    return Paint(wants_color(ColorChoice(color), sys.stdout), columns_for(sys.stdout))


def write_prose(text: str) -> None:
    """Write lines, painted or not, to standard output, broken at blanks where the terminal is too narrow for them."""
    fold = paint("never").folded
    write("".join(f"{row}\n" for line in text.removesuffix("\n").split("\n") for row in fold(line)))


def close() -> None:
    """Flush both streams, so that a pipe closed early does not make the interpreter complain while it shuts down."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            _drop(stream)


def fail(arguments: Sequence[str], code: ExitCode, reason: str, sentence: str) -> int:
    """Say why a command ended early, as one sentence and, under a machine format, also as one document of it."""
    say(f"selfdebug: {sentence}")
    chosen = machine_format(arguments)
    if chosen is not None:
        try:
            write(_document(arguments, chosen, code, reason, sentence))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the report must not hide what it reports
            say(f"selfdebug: No {chosen} report could be written: {error}")
    return int(code)


def _document(arguments: Sequence[str], chosen: str, code: ExitCode, reason: str, sentence: str) -> bytes:
    """The end of `run` as a whole report, so that its reader needs no second form; else just why."""
    from selfdebug.reports import failed_run, render

    command = next((word for word in arguments if not word.startswith("-")), None)
    if command == "run":
        return render(chosen, failed_run(int(code), reason, sentence))
    return end_document(code, reason, sentence)


def end_document(code: ExitCode, reason: str, sentence: str) -> bytes:
    """Just why a command ended, as one JSON document."""
    from selfdebug.reports.documents import dumps

    return dumps({"exit_code": int(code), "exit_reason": reason, "message": sentence})


def machine_format(arguments: Sequence[str]) -> str | None:
    """The document format that a command line asks for, read from its words: it may be too broken to be parsed."""
    from selfdebug.reports import format_names

    chosen = None
    words = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--json":
            chosen = "json"
        elif word == "--format":
            chosen = following
        elif word.startswith("--format="):
            chosen = word.removeprefix("--format=")
    return chosen if chosen in format_names() and chosen != "text" else None


def _encodable(text: str, stream: TextIO) -> str:
    """The text with what the stream's encoding lacks written as escapes: a C locale must not end in an error."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _drop(stream: TextIO) -> None:
    """Send what is still buffered, and all that follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
