"""A tiny project with a failing test, shipped with the package, to try a repair on."""

from __future__ import annotations

from pathlib import Path

from selfdebug.errors import UsageError

PROJECT = Path(__file__).parent / "project"


def lay_out(folder: Path) -> Path:
    """Copy the project into `folder`, which is made, and return it.

    Only the bytes are copied: an installed package may be read-only, the demo must be writable.
    Raises UsageError when the folder is there and not empty, or cannot be written.
    """
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise UsageError(f"The folder {folder} is not empty; the demo project needs a new one.")
        for source in sorted(PROJECT.rglob("*")):
            if source.is_file() and "__pycache__" not in source.parts:
                target = folder / source.relative_to(PROJECT)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
    except OSError as error:
        raise UsageError(f"Cannot lay out the demo project in {folder}: {error.strerror or error}.") from error
    return folder
