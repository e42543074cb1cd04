"""From what the forms found to the failures of a log: paths resolved, order of the log, each failure once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from selfdebug.model import Failure, Frame
from selfdebug.paths import ProjectPaths, is_absolute, is_test_file, posix
from selfdebug.stages.failures.found import Findings, Found, Source
from selfdebug.stages.failures.node_ids import named_by_frames


def assemble(findings: Findings, paths: ProjectPaths) -> tuple[Failure, ...]:
    """The failures of the log in its order, frames marked with the project files they lie in."""
    chosen = _chosen(sorted(findings.found, key=lambda one: one.line))
    guess = paths.guess(_paths(chosen), findings.rootdirs)
    if guess.sentence:
        findings.note(guess.sentence)
    resolved = [_named(one, _resolved(one.failure, paths, _bases(one, findings)), paths) for one in chosen]
    kept = _of_this_project(chosen, resolved, paths)
    if len(kept) < len(resolved):
        findings.note(f"{len(resolved) - len(kept)} tracebacks without a frame in this project were left out.")
    if findings.left_out:
        findings.note(f"{findings.left_out} more failures were left out.")
    return tuple(_once([one for one, _ in kept], [failure for _, failure in kept]))


def _chosen(found: list[Found]) -> list[Found]:
    """Exceptions that the interpreter ignored count only when nothing else failed."""
    told = [one for one in found if one.source is not Source.IGNORED]
    return told or found


def _of_this_project(chosen: list[Found], resolved: list[Failure], paths: ProjectPaths) -> list[tuple[Found, Failure]]:
    """Without the tracebacks of other programs, when the log also holds failures of this project."""
    pairs = [pair for pair in zip(chosen, resolved, strict=True) if not _is_foreign(pair[0], paths)]
    if not any(map(_touches_project, resolved)):
        return pairs
    return [(one, told) for one, told in pairs if one.source is not Source.TRACEBACK or _touches_project(told)]


def _is_foreign(found: Found, paths: ProjectPaths) -> bool:
    """Whether the failure is of a pytest that ran in another project, as tests of plugins start it."""
    return bool(found.bases) and paths.is_foreign(found.bases[0])


def _touches_project(failure: Failure) -> bool:
    return failure.deepest is not None or any(map(_touches_project, (*failure.causes, *failure.group)))


def _paths(found: list[Found]) -> Iterator[str]:
    for one in found:
        yield from _failure_paths(one.failure)


def _failure_paths(failure: Failure) -> Iterator[str]:
    yield from (frame.path for frame in failure.frames)
    for other in (*failure.causes, *failure.group):
        yield from _failure_paths(other)


def _bases(found: Found, findings: Findings) -> tuple[str, ...]:
    """Where relative paths may start: the folder pytest ran in (told by its test's path), its root, other roots."""
    started = tuple(_started_in(found))
    return tuple(dict.fromkeys((*started, *found.bases, *findings.rootdirs)))


def _started_in(found: Found) -> Iterator[str]:
    """The working folder, when the node id names the test's file from the root and a frame from the working folder."""
    file = posix((found.failure.node_id or "").partition("::")[0])
    if not file or not found.bases:
        return
    base = posix(found.bases[0])
    for frame in found.failure.frames[:3]:
        path = posix(frame.path)
        tail = path.lstrip("./") if path.startswith("..") else path
        if path != file and (file == tail or file.endswith("/" + tail)) and not path.startswith("/"):
            ups = path.count("../")
            folder = f"{base}/{file[: -len(tail)]}"
            yield posix(folder + "/".join(["_"] * ups))


def _resolved(failure: Failure, paths: ProjectPaths, bases: tuple[str, ...]) -> Failure:
    return replace(
        failure,
        frames=tuple(_resolved_frame(frame, paths, bases) for frame in failure.frames),
        causes=tuple(_resolved(cause, paths, bases) for cause in failure.causes),
        group=tuple(_resolved(member, paths, bases) for member in failure.group),
    )


def _resolved_frame(frame: Frame, paths: ProjectPaths, bases: tuple[str, ...]) -> Frame:
    file = paths.relative(frame.path, bases)
    return replace(frame, file=file, is_test=bool(file) and is_test_file(file or ""))


def _named(found: Found, failure: Failure, paths: ProjectPaths) -> Failure:
    """With a node id that is relative to the root, or else with the title its runner gave it."""
    if failure.node_id is None:
        return replace(failure, node_id=named_by_frames(found.title, failure)) if found.title else failure
    file, separator, rest = failure.node_id.partition("::")
    relative = paths.relative(file) if is_absolute(file) else None
    return replace(failure, node_id=f"{relative}{separator}{rest}") if relative else failure


def _once(found: list[Found], failures: list[Failure]) -> Iterator[Failure]:
    """Each failure once: one that says the same as an earlier one is the same failure shown again.

    One without a name (a debugger, an instant report) is the one with a name that says the same, wherever that stands.
    """
    names: dict[tuple[object, ...], str | None] = {}
    for one, failure in zip(found, failures, strict=True):
        told = (*_telling(failure), one.repeat)
        names[told] = names.get(told) or failure.node_id
    seen: set[tuple[object, ...]] = set()
    for one, failure in zip(found, failures, strict=True):
        told = (*_telling(failure), one.repeat)
        node_id = failure.node_id or names[told]
        if (node_id, *told) not in seen:
            seen.add((node_id, *told))
            yield failure if failure.node_id else replace(failure, node_id=node_id)


def _telling(failure: Failure) -> tuple[object, ...]:
    places = tuple((frame.path, frame.line) for frame in failure.frames[-50:])
    return failure.when, failure.exception.type, failure.exception.message[:500], places, len(failure.group)
