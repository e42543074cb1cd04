"""`selfdebug why`: where a value of a failing test came from."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import click

from selfdebug.cli import options, output
from selfdebug.errors import ExitCode, UsageError
from selfdebug.repair.why import Answer, Question
from selfdebug.repair.why import why as answer_why
from selfdebug.reports.chains import chain_lines, chains_document
from selfdebug.reports.documents import dumps
from selfdebug.terminal import Paint, one_line, progress

_PLACE = re.compile(r"(?P<file>.+):(?P<line>\d+)$")


@click.command()
@click.argument("words", nargs=-1, metavar="[LOG] [EXPR]")
@click.option("--at", "place", metavar="FILE:LINE", help="Ask about this line instead of the one that failed.")
@options.project_options
@options.pytest_options
@options.json_option
@options.color_option
def why(
    words: tuple[str, ...],
    place: str | None,
    root: Path | None,
    config_file: Path | None,
    as_json: bool,
    color: str,
    **given: Any,
) -> int:
    """Show where a value of a failing test came from, from the place of the crash back to its birth.

    Without arguments, one chain a failure, of the value that it is about. EXPR asks for another expression of the
    failing line, --at for one of any line that the test executed. LOG is a file of captured output, or -. A single word
    that names no file is EXPR. Nothing is changed.
    """
    settings = options.settings(root, config_file, given)
    log, expression = _log_and_expression(words)
    question = _question(settings.root, place, expression)
    data = options.read_log(log)
    with progress(sys.stderr) as show_event:
        answer = answer_why(settings, data, question, show_event)
    if as_json:
        output.write(dumps(chains_document(answer.chains, answer.sentence)))
    else:
        output.write(_text(answer, output.paint(color)))
    for warning in answer.warnings:
        output.say(f"Warning: {warning}")
    return int(ExitCode.PASS if any(chain.links for chain in answer.chains) else ExitCode.STILL_FAILING)


def _text(answer: Answer, paint: Paint) -> str:
    paragraphs = ["\n".join(chain_lines(chain, paint)) for chain in answer.chains]
    paragraphs += ["\n".join(paint.folded(one_line(answer.sentence)))] if answer.sentence else []
    return "\n\n".join(paragraphs) + "\n"


def _log_and_expression(words: tuple[str, ...]) -> tuple[str | None, str | None]:
    match words:
        case ():
            return None, None
        case (word,):
            return (word, None) if word == "-" or Path(word).is_file() else (None, word)
        case (log, expression):
            return log, expression
    raise UsageError("Give at most a log and one expression; put an expression with blanks in quotes.")


def _question(root: Path, place: str | None, expression: str | None) -> Question:
    if expression is not None:
        try:
            ast.parse(expression, mode="eval")
        except (SyntaxError, ValueError) as error:
            raise UsageError(f"{expression!r} is neither a file nor an expression.") from error
    if place is None:
        return Question(expression=expression)
    found = _PLACE.match(place)
    if found is None:
        raise UsageError(f"--at takes FILE:LINE, not {place!r}.")
    path = Path(found["file"])
    for candidate in (path, root / path):
        if candidate.is_file() and candidate.resolve().is_relative_to(root.resolve()):
            relative = candidate.resolve().relative_to(root.resolve()).as_posix()
            return Question(relative, int(found["line"]), expression)
    raise UsageError(f"{found['file']} is no file of the project {root}.")
