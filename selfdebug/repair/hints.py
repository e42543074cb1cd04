"""What can be said of a failure at once: located and named, but with nothing run and nothing observed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from codemods.selfdebug.base import RefusedError
from codemods.selfdebug.source import Source
from selfdebug.model import Failure, FaultKind, Frame
from selfdebug.stages.diagnose import diagnose
from selfdebug.stages.locate import Unlocated, locate


@dataclass(frozen=True, slots=True)
class Hint:
    """One sentence on a failure, and whether a repair of it can be tried."""

    sentence: str
    is_repairable: bool


def hint(failure: Failure, root: Path) -> Hint:
    """What the frames and the source say of a failure; nothing is raised for a source that cannot be read."""
    leaf = failure.crash
    frame = leaf.deepest_source
    exception = leaf.exception
    if frame is None or frame.place is None:
        sentence = f"{exception.short_type} is raised {raised_where(leaf)}: {exception.message}"
        return Hint(sentence, is_repairable=False)
    source = _source(root, frame)
    if isinstance(source, str):
        return Hint(f"{exception.short_type} at {frame.place}: {source}", is_repairable=False)
    location = locate(frame, exception, source)
    if isinstance(location, Unlocated):
        return Hint(f"{exception.short_type} at {frame.place}: {location.reason}", is_repairable=False)
    sentence = diagnose(failure, location, (), (), ()).sentence
    return Hint(sentence, is_repairable=location.kind is not FaultKind.ASSERTION)


def raised_where(leaf: Failure) -> str:
    """Where an exception comes from that was raised in no frame of the project but a test's."""
    if leaf.deepest is None:
        return "outside the project"
    last, test = leaf.frames[-1], leaf.deepest.place
    if last.file is not None:
        return f"in the test itself ({test})"
    return f"outside the project ({last.path}:{last.line}), in what the test itself called ({test})"


def _source(root: Path, frame: Frame) -> Source | str:
    try:
        return Source.parse((root / (frame.file or "")).read_bytes())
    except OSError as error:
        return f"the file cannot be read ({error.strerror or error})"
    except RefusedError as error:
        return f"the file cannot be edited: {error}"
