"""Small projects on disk, with git or without, and the whole loop on them."""

from __future__ import annotations

import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path

from selfdebug.config import Settings
from selfdebug.model import Repair
from selfdebug.repair import repair


def git(root: Path, *words: str) -> str:
    """What git says, with an identity of our own."""
    identity = ("-c", "user.name=case", "-c", "user.email=case@example.org")
    done = subprocess.run(["git", *identity, *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def project(root: Path, files: Mapping[str, str]) -> Path:
    """Write the files; a text may be indented as a whole, and may begin on a line of its own."""
    for file, text in files.items():
        path = root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
    return root


def repository(root: Path, files: Mapping[str, str]) -> Path:
    """As `project`, with everything committed."""
    project(root, files)
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "before")
    return root


def run(root: Path, log: bytes | None = None, **settings: object) -> Repair:
    """Repair the project with these settings, in silence; no end shows a traceback."""
    done = repair(Settings(root=root, **settings), log, lambda _: None)  # type: ignore[arg-type]  # fields by name
    assert "Traceback" not in done.sentence
    return done
