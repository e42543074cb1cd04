"""What the tests really hold of a kept patch: its default is replaced by another value of its kind, and they run again.

A part whose change no test notices is reported as not pinned: the patch passes, and so would another.
"""

from __future__ import annotations

from dataclasses import replace

from codemods.selfdebug.base import DefaultRole, RefusedError, TargetNotFoundError
from codemods.selfdebug.registry import guards
from codemods.selfdebug.source import Source
from selfdebug.model import Patch, Pin
from selfdebug.repair.bench import Bench
from selfdebug.repair.grouping import Group
from selfdebug.stages.propose import apply_candidate

# Values of the same kind that no program is likely to mean: one of another kind would fail for its class alone.
_OTHER = {
    '""': '"not pinned"',
    "0": "-987654321",
    "0.0": "-98765.4321",
    "[]": '["not pinned"]',
    "()": '("not pinned",)',
    "{}": '{"not pinned": "not pinned"}',
    "False": "True",
    "True": "False",
}
_OF_NO_KIND = '"not pinned"'
_VALUES = (DefaultRole.RECEIVER, DefaultRole.VALUE, DefaultRole.RESULT)


def pinned(bench: Bench, patch: Patch, group: Group) -> tuple[Pin, ...]:
    """Whether the test files of the failing tests notice when the default of a kept patch changes.

    Nothing is said of a guard without a default, nor of tests that do not read the file from memory.
    """
    default = patch.candidate.default
    if default is None or guards()[patch.candidate.guard].default_role not in _VALUES:
        return ()
    other = _OTHER.get(default, _OF_NO_KIND)
    try:
        changed = apply_candidate(replace(patch.candidate, default=other), Source.parse(patch.before))
    except (RefusedError, TargetNotFoundError):
        return ()
    files = tuple(dict.fromkeys((failure.node_id or ".").partition("::")[0] for failure in group))
    run = bench.run(files, {patch.file: changed.after})
    if patch.file not in run.served or not run.ended:
        return ()
    if set(run.failed) - set(bench.last_suite.failed):
        return (Pin(f"default {default}", True, f"A test fails when the default {default} is {other}."),)
    where = ", ".join(files)
    return (Pin(f"default {default}", False, f"No test of {where} notices when the default {default} is {other}."),)
