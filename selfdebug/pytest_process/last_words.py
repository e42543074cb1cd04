"""Why a process ended, as far as its exit code and the last lines of its output tell."""

from __future__ import annotations

import re

from selfdebug.pytest_process.child import Ended

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BAR = re.compile(r"^[=_\-\s]*$|^=+ .* =+$")
_TELLING = re.compile(r"^E  +\S|\berror\b|^\S*(?:Error|Exception|Interrupt)\b", re.IGNORECASE)


def how_ended(ended: Ended) -> str:
    """`with exit code 3` or `by signal 9`."""
    return f"with exit code {ended.exit_code}" if ended.exit_code >= 0 else f"by signal {-ended.exit_code}"


def last_telling_lines(output: str) -> str:
    """The part of an output that says most probably why it ended, without terminal escapes, at most 400 characters."""
    lines = [_ESCAPE.sub("", line).rstrip() for line in output.split("\n")]
    lines = [line for line in lines if line and not _BAR.match(line)]
    telling = [line for line in lines if _TELLING.search(line)]
    chosen = [re.sub(r"^E\s+", "", line).strip() for line in (telling or lines)[-2:]]
    return " / ".join(chosen)[:400]
