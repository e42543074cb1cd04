"""`selfdebug run --ask`: a person at the terminal sees each plausible patch with its evidence and takes one, or none.

Everything goes to standard error, so that standard output stays the report.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TextIO

from selfdebug.config import Settings
from selfdebug.errors import UsageError
from selfdebug.model import Diagnosis, Repair
from selfdebug.repair import repair
from selfdebug.repair.choice import Answer, Option, Question, Skip, Stop, Take
from selfdebug.reports.evidence import guard_sentence, readable_patch
from selfdebug.reports.formats.text import diff_lines
from selfdebug.reports.judging import firing_sentence
from selfdebug.terminal import ColorChoice, Paint, Tone, columns_for, is_terminal, one_line, progress_line, wants_color

_WHAT_CAN_BE_SAID = "Answer with a number, a (take 1, and the first one of all that follow), s (skip) or q (stop)."


def require_terminal() -> None:
    """Raise UsageError where nobody can be asked: standard input and standard error have to be a terminal."""
    for stream, name in ((sys.stdin, "standard input"), (sys.stderr, "standard error")):
        if stream is None or not stream.isatty():
            raise UsageError(f"--ask asks on a terminal, but {name} is none; without --ask the first patch is kept.")


def repaired_by_choice(settings: Settings, log: bytes | None, color: str) -> Repair:
    """Run the repair loop and ask which of the plausible patches to keep."""
    with progress_line(sys.stderr) as line:
        show = line.show if is_terminal(sys.stderr) else lambda _event: None
        paint = Paint(wants_color(ColorChoice(color), sys.stderr), columns_for(sys.stderr))
        dialogue = Dialogue(sys.stdin, sys.stderr, paint, line.clear)
        return repair(settings, log, show, dialogue.choose)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Asks on a pair of streams; `clear` takes away what the display of progress has left on the line."""

    answers: TextIO
    stream: TextIO
    paint: Paint
    clear: Callable[[], None]

    def choose(self, question: Question) -> Answer:
        """Show the patches and read answers until one can be understood; the end of the input stops the run."""
        self.clear()
        self._write(*self._question(question))
        while True:
            self.stream.write(self._prompt(len(question.options)))
            self.stream.flush()
            said = self.answers.readline()
            if not said:
                self._write("")
                return Stop()
            answer = understood(said, len(question.options))
            if answer is not None:
                return answer
            self._write(*self._wrapped(_WHAT_CAN_BE_SAID, 0))

    def _write(self, *lines: str) -> None:
        text = "".join(f"{line}\n" for line in lines)
        encoding = self.stream.encoding or "utf-8"
        self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def _prompt(self, count: int) -> str:
        numbers = "1" if count == 1 else f"1-{count}"
        return self.paint(f"Keep which? [{numbers}, a, s, q] ", Tone.STRONG)

    def _question(self, question: Question) -> Iterator[str]:
        yield from self._what_fails(question.diagnosis)
        if question.note:
            yield from (self.paint(line, Tone.WARNING) for line in self._wrapped(f"Not kept: {question.note}", 0))
            yield ""
        for number, option in enumerate(question.options, 1):
            yield from self._option(number, option)
            yield ""
        yield from self._wrapped(_WHAT_CAN_BE_SAID, 0)

    def _what_fails(self, diagnosis: Diagnosis) -> Iterator[str]:
        yield ""
        yield f"{self.paint('FAILED', Tone.BAD, Tone.STRONG)} {one_line(diagnosis.failure.node_id or 'a failure')}"
        yield from self._wrapped(diagnosis.sentence, 2)
        yield ""

    def _option(self, number: int, option: Option) -> Iterator[str]:
        patch = option.trial.patch
        assert patch is not None  # a plausible trial has its patch
        first = " (comes first)" if number == 1 else ""
        head, *rest = self._wrapped(f"[{number}]{first} {guard_sentence(patch)}.", 0)
        yield self.paint(head, Tone.STRONG)
        yield from rest
        yield from (f"  {line}" for line in diff_lines(readable_patch(patch), self.paint)[3:])
        yield from self._evidence(option)

    def _evidence(self, option: Option) -> Iterator[str]:
        if option.sentence:
            yield from (self.paint(line, Tone.WARNING) for line in self._wrapped(option.sentence, 2))
        fired = firing_sentence(option.firings)
        if fired:
            yield from self._wrapped(f"The guard {fired}", 2)
        loose = [pin for pin in option.pins if not pin.pinned]
        for pin in loose:
            yield from self._wrapped(pin.sentence, 2)
        if option.pins and not loose:
            yield from self._wrapped(f"Tests pin it: {'; '.join(pin.part for pin in option.pins)}.", 2)

    def _wrapped(self, text: str, indent: int) -> list[str]:
        return self.paint.folded(" " * indent + one_line(text), hanging=0)


def understood(said: str, count: int) -> Answer | None:
    """What a line means as an answer to a question with `count` options; None when it is none."""
    word = said.strip().lower()
    if word.isascii() and word.isdigit() and 1 <= int(word) <= count:
        return Take(int(word) - 1)
    match word:
        case "a" | "all":
            return Take(0, for_all=True)
        case "s" | "skip":
            return Skip()
        case "q" | "quit" | "stop":
            return Stop()
    return None
