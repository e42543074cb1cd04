"""Names of tests as the runners write them, and the pytest node ids that stand for the same tests here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from selfdebug.model import Failure, Frame
from selfdebug.paths import inside

_TITLE_PHASE = re.compile(r"ERROR (?:at setup of|at teardown of|collecting) +")
_UNITTEST = re.compile(r"([^\W\d]\w*) \(([\w.]+)\)")
_DOTTED = re.compile(r"(?:[^\W\d]\w*\.)+[^\W\d]\w*")
_DEFINITION = re.compile(r"([ \t]*)(?:async +)?(def|class) +([^\W\d]\w*)")
_CLASS_PHASES = ("setUpClass", "tearDownClass", "setUpModule", "tearDownModule")
_LOADER = "unittest.loader."
_STARTS = ("", "src/", "tests/", "test/")
"""Folders that dotted names may start from: the root, a source folder, the folder given to `discover -s`."""
_UNRUNNABLE = ("_ErrorHolder", "Failure: ")


def title_domain(title: str) -> str:
    """An entry's title without its phase."""
    return _TITLE_PHASE.sub("", title, count=1)


def named_by_frames(title: str, failure: Failure) -> str:
    """A name for a test whose log gives only a title: the node id when a frame shows its file, else the title."""
    title = title_domain(title)
    function = title.partition("[")[0].replace("::", ".").rpartition(".")[2]
    for frame in failure.frames:
        if frame.file and frame.is_test and frame.function == function:
            if title.startswith(frame.file.removesuffix(".py").replace("/", ".") + "."):
                return title
            head, bracket, tail = title.partition("[")
            return f"{frame.file}::{head.replace('.', '::')}{bracket}{tail}"
    return title


def node_ids_to_run(failures: Iterable[Failure], root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The pytest node ids that run the failing tests in the project at `root`, and sentences about the others.

    Names of unittest, Django, trial, nose and doctest become node ids where their file is there; a failure without a
    name is run by the test function in its frames. Each node id comes once, in the order of the failures. A sentence
    names the option without which pytest collects no doctests.
    """
    node_ids: dict[str, None] = {}
    sentences: dict[str, None] = {}
    for failure in failures:
        node_id = _runnable(failure, root)
        if node_id is not None:
            node_ids[node_id] = None
            if _is_doctest(node_id):
                option = _doctest_option(node_id)
                sentences[f"{node_id} is a doctest: pytest runs it with --pytest-args={option}."] = None
        else:
            sentences[_sentence(failure)] = None
    return tuple(node_ids), tuple(sentences)


def _is_doctest(node_id: str) -> bool:
    """`pkg/mod.py::pkg.mod.func`, `notes.txt::notes.txt`: the second part repeats the file's name."""
    file, _, rest = node_id.partition("::")
    stem = file.removesuffix(".py").replace("/", ".").rpartition(".")[2]
    if not file.endswith(".py"):
        return bool(rest) and file.endswith(rest)
    return "::" not in rest and f".{stem}." in f".{rest.partition('[')[0]}."


def _doctest_option(node_id: str) -> str:
    file = node_id.partition("::")[0]
    return "--doctest-modules" if file.endswith(".py") else f"--doctest-glob={file.rpartition('/')[2]}"


def _sentence(failure: Failure) -> str:
    where = f" at {failure.deepest.place}" if failure.deepest else ""
    kind = failure.exception.type or "failure"
    if failure.node_id:
        return f"{failure.node_id}: no test of that name was found under the root ({kind}{where})."
    return f"The log does not say which test raised the {kind}{where}."


def _runnable(failure: Failure, root: Path) -> str | None:
    name = failure.node_id
    if name is None or name.startswith(_UNRUNNABLE):
        return _from_frames(failure.frames, root)
    file, separator, _ = name.partition("::")
    if file and inside(root, file) is not None:
        return name
    if separator and not file:
        return _from_frames(failure.frames, root)
    if separator:
        return _moved(failure, file, name[len(file) :], root)
    return _from_runner(name, root) or _from_frames(failure.frames, root)


def _moved(failure: Failure, file: str, rest: str, root: Path) -> str | None:
    """The node id under this root, when a frame shows the same test file below another folder."""
    for frame in failure.frames:
        if frame.file and (frame.file.endswith("/" + file) or file.endswith("/" + frame.file)):
            return frame.file + rest if inside(root, frame.file) else None
    return None


def _from_runner(name: str, root: Path) -> str | None:
    """The node id for `test_x (tests.test_a.CaseTest.test_x)`, `setUpClass (tests.test_a.CaseTest)`, `a.b.test_c`."""
    match = _UNITTEST.match(name)
    if match:
        method, dotted = match[1], match[2]
        if dotted.startswith(_LOADER):
            return _from_dotted(method, root)
        if method in _CLASS_PHASES:
            return _from_dotted(dotted, root)
        return _from_dotted(dotted if dotted.endswith("." + method) else f"{dotted}.{method}", root)
    dotted_match = _DOTTED.match(name)
    return _from_dotted(dotted_match[0], root) if dotted_match else None


def _from_dotted(dotted: str, root: Path) -> str | None:
    """The longest front of a dotted name that is a file under the root, the rest as classes and function."""
    parts = dotted.split(".")
    for source in _STARTS:
        for end in range(len(parts), 0, -1):
            file = source + "/".join(parts[:end]) + ".py"
            if inside(root, file) is not None:
                return "::".join([file, *parts[end:]])
    return None


def _from_frames(frames: tuple[Frame, ...], root: Path) -> str | None:
    for frame in frames:
        name = frame.function or ""
        if frame.file and frame.is_test and name.rpartition(".")[2].startswith("test") and inside(root, frame.file):
            return _method_of(root, frame, name.rpartition(".")[2])
    return None


def _method_of(root: Path, frame: Frame, name: str) -> str | None:
    """The node id of the test function around a line, with its classes, read from the source."""
    path = inside(root, frame.file or "")
    if path is None or frame.line is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[: frame.line]
    except OSError:
        return None
    chain: list[str] = []
    margin = 1 << 30
    for line in reversed(lines):
        match = _DEFINITION.match(line)
        if match and len(match[1]) < margin and (chain or match[3] == name):
            margin = len(match[1])
            if not chain or match[2] == "class":
                chain.append(match[3])
    return "::".join([frame.file or "", *reversed(chain)]) if chain else None
