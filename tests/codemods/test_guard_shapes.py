"""Each shape of a crash in `guard_shapes/` is repaired by a stated guard, judged by the shape's own tests."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from codemods.selfdebug.base import Parameters, Target, Test
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span, split_lines

SHAPES = Path(__file__).parent / "guard_shapes"

RUN_TESTS = """
import json, pathlib, sys, traceback
results = {}
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    sys.path.insert(0, str(folder))
    sys.modules.pop("subject", None)
    names = {}
    try:
        exec(compile((folder / "test_subject.py").read_bytes(), "test_subject.py", "exec"), names)
        tests = [name for name in names if name.startswith("test_")]
        for name in tests:
            names[name]()
        results[folder.name] = "passed" if tests else "no tests"
    except Exception:
        results[folder.name] = traceback.format_exc()
    sys.path.pop(0)
print(json.dumps(results))
"""

NOT_NONE = Parameters()


@dataclass(frozen=True)
class Repair:
    """A guard at the dereference (or receiver) that first has this text on a line."""

    shape: str
    line: int
    expression: str
    receiver: str
    guard: str
    parameters: Parameters = NOT_NONE
    last_line: int | None = None


NONE = Parameters("None")
KEY = Parameters("None", Test.HAS_KEY)
REPAIRS = [
    Repair("find-subscript-in-loop", 16, 'card.find("a")["href"]', 'card.find("a")', "wrap-statement"),
    Repair("find-subscript-in-loop", 16, 'card.find("a")["href"]', 'card.find("a")', "continue-loop"),
    Repair("list-comprehension", 9, "u.mail.lower", "u.mail", "comprehension-filter"),
    Repair(
        "lambda-sort-key", 10, "t.due.toordinal", "t.due", "conditional-expression", Parameters("float('inf')")
    ),
    Repair("default-argument", 3, "LIMITS.get('rows') + 1", "LIMITS.get('rows')", "or-default", Parameters("0")),
    Repair("for-header", 4, "post.get('tags')", "post.get('tags')", "or-default", Parameters("()")),
    Repair("augmented-assignment", 7, "vm_size += disk.size", "disk.size", "wrap-statement"),
    Repair("augmented-assignment", 7, "vm_size += disk.size", "disk.size", "continue-loop"),
    Repair("conditional-expression", 6, "order.customer.name", "order.customer", "condition-append"),
    Repair("backslash-chain", 2, 'raw.get("title")', 'raw.get("title")', "or-default", Parameters("''")),
    Repair("backslash-chain", 2, 'raw.get("title")', 'raw.get("title")', "lookup-default", Parameters("''")),
    Repair("tuple-unpack", 5, "bounds(key)", "bounds(key)", "early-return", Parameters("0")),
    Repair("double-star-none", 8, 'spec.get("options")', 'spec.get("options")', "or-default", Parameters("{}")),
    Repair("comparison-none", 4, 'person.get("age") >= 18', 'person.get("age")', "condition-prefix"),
    Repair("call-none", 6, "hooks.get(event)(*a, **k)", "hooks.get(event)", "conditional-expression", NONE),
    Repair("async-for-none", 12, "source.stream(topic)", "source.stream(topic)", "wrap-statement"),
    Repair("property-chain", 9, "self._address.city", "self._address", "conditional-expression", Parameters("''")),
    Repair("module-level", 7, 'DATA.get("limits")["max"]', 'DATA.get("limits")', "conditional-expression", NONE),
    Repair("star-expression-list", 2, 'job.get("extra")', 'job.get("extra")', "or-default", Parameters("()")),
    Repair("match-subject", 2, 'event.get("kind").lower', 'event.get("kind")', "or-default", Parameters("''")),
    Repair("self-x-y-z-call", 6, "self.win.view.redraw", "self.win.view", "wrap-statement"),
    Repair("del-item", 5, "self.cache[key]", "self.cache", "wrap-statement"),
    Repair("dict-of-dicts", 2, "cfg['db']['host']", "cfg['db']", "early-return", NONE),
    Repair("one-line-if", 4, "box.lid.shut", "box.lid", "wrap-statement"),
    Repair("global-cache", 8, "_client.get", "_client", "conditional-expression", NONE),
    Repair("key-error", 4, "PRICES[sku]", "PRICES[sku]", "early-return", KEY),
    Repair("key-error", 4, "PRICES[sku]", "PRICES", "conditional-outer", KEY),
    Repair(
        "unbound-local", 5, "best", "best", "try-around", Parameters("None", Test.NO_EXCEPTION, ("UnboundLocalError",))
    ),
    Repair("unbound-local", 5, "best", "best", "initialise-name", NONE),
    Repair(
        "int-of-none", 3, "form.get('page')", "form.get('page')", "except-widen",
        Parameters(None, Test.NO_EXCEPTION, ("TypeError",)),
    ),
    Repair("int-of-none", 3, "form.get('page')", "form.get('page')", "lookup-default", Parameters("1")),
    Repair("except-handler", 10, "err.response.status_code", "err.response", "conditional-expression", NONE),
    Repair("dict-comprehension-nested", 3, "g.lead.name", "g.lead", "conditional-expression", NONE),
    Repair("with-parenthesised-items", 7, "job.out.writer", "job.out", "early-return", Parameters("0")),
    Repair("nested-fstring-triple-quoted", 6, "note.tags", "note.tags", "or-default", Parameters("()")),
    Repair(
        "try-except-keyerror-around", 3, 'data["user"]["id"]', 'data["user"]', "early-return", Parameters("-1")
    ),
    Repair(
        "try-except-keyerror-around", 3, 'data["user"]["id"]', 'data["user"]', "except-widen",
        Parameters(None, Test.NO_EXCEPTION, ("TypeError",)),
    ),
]  # fmt: skip


def target_of(repair: Repair, source: bytes) -> Target:
    text = split_lines(source.decode())[repair.line - 1]
    start = text.index(repair.expression)
    inner = start + repair.expression.index(repair.receiver)
    return Target(
        Span(repair.line, start, repair.line, start + len(repair.expression)),
        Span(repair.line, inner, repair.line, inner + len(repair.receiver)),
    )


def test_every_shape_is_repaired_by_its_guard(tmp_path: Path) -> None:
    for number, repair in enumerate(REPAIRS):
        folder = tmp_path / f"{number:02}-{repair.shape}"
        folder.mkdir()
        source = (SHAPES / repair.shape / "subject.py.txt").read_bytes()
        edit = Source.parse(source).apply(target_of(repair, source), guards()[repair.guard], repair.parameters)
        (folder / "subject.py").write_bytes(edit.apply_to(source))
        (folder / "test_subject.py").write_bytes((SHAPES / repair.shape / "test_subject.py.txt").read_bytes())
    command = [sys.executable, "-B", "-c", RUN_TESTS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    failed = {name: result for name, result in json.loads(done.stdout).items() if result != "passed"}
    assert not failed
    assert {repair.shape for repair in REPAIRS} == {folder.name for folder in SHAPES.iterdir() if folder.is_dir()}


@pytest.mark.parametrize("shape", sorted({repair.shape for repair in REPAIRS}))
def test_the_shapes_fail_without_a_guard(shape: str, tmp_path: Path) -> None:
    (tmp_path / shape).mkdir()
    for name in ("subject.py", "test_subject.py"):
        (tmp_path / shape / name).write_bytes((SHAPES / shape / f"{name}.txt").read_bytes())
    command = [sys.executable, "-B", "-c", RUN_TESTS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[shape].startswith("Traceback")
