"""The skill `self-explain`: where it lies, what it says with the user's own instruction, how it is installed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import selfdebug
from selfdebug.errors import SelfdebugError, UsageError

NAME = "self-explain"
FILE = "SKILL.md"


class SkillHost(StrEnum):
    """The agents whose folder for skills is known; `agents` is the folder that many of them share."""

    AGENTS = "agents"
    CLAUDE = "claude"
    CODEX = "codex"
    CURSOR = "cursor"

    @property
    def folder(self) -> str:
        """The folder for skills below a project or a home folder."""
        return {"agents": ".agents", "claude": ".claude", "codex": ".agents", "cursor": ".cursor"}[
            self.value
        ] + "/skills"


@dataclass(frozen=True, slots=True)
class Installed:
    """Where the skill was put, and whether it already was there as it is."""

    file: Path
    unchanged: bool


def folder() -> Path:
    """The folder of the skill inside the installed package."""
    return Path(selfdebug.__file__).parent / ".agents" / "skills" / NAME


def text(instruction: str = "") -> str:
    """What the skill says, the user's own instruction appended: it adds to the method and never replaces it.

    Raises SelfdebugError when the installation lacks the file.
    """
    try:
        body = (folder() / FILE).read_text(encoding="utf-8")
    except OSError as error:
        raise SelfdebugError(f"The skill is missing from this installation ({folder() / FILE}).") from error
    if not instruction.strip():
        return body
    return f"{body}\n## Instruction of the user\n\n{instruction.strip()}\n"


def install(target: Path, instruction: str = "", force: bool = False) -> Installed:
    """Put the skill into the folder for skills `target`.

    A file that is there and differs is kept unless `force` is given. Raises UsageError when it is kept, or when the
    folder cannot be written.
    """
    file = target / NAME / FILE
    wanted = text(instruction)
    try:
        if file.is_file():
            if file.read_text(encoding="utf-8") == wanted:
                return Installed(file, unchanged=True)
            if not force:
                raise UsageError(f"{file} differs from the skill of this version; --force replaces it.")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(wanted, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise UsageError(f"Cannot write the skill to {file}: {reason}.") from error
    return Installed(file, unchanged=False)
