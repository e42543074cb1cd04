"""A summary for a pull request or a job page (CommonMark with GitHub's tables)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from selfdebug.model import Diagnosis, Failure, FinalStatus, Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.evidence import crash_frame, guard_sentence, kept, readable_diff, trial_counts
from selfdebug.reports.judging import (
    MAX_ALTERNATIVES,
    alternatives_left_out,
    changed_lines,
    differing,
    firing_sentences,
    loose_pins,
)
from selfdebug.terminal import one_line, plain

_TITLES = {
    FinalStatus.PASS: "The failing tests pass",
    FinalStatus.PARTIAL: "Some of the failing tests pass",
    FinalStatus.FAIL: "The tests still fail",
}
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~@!&])")


def render(repair: Repair, _view: View) -> bytes:
    """The run as Markdown in UTF-8; nothing of the project's text is taken for markup."""
    sections = [
        [f"## selfdebug: {_title(repair)}", "", escaped(repair.sentence)],
        list(_failures(repair)),
        *(list(_origin(attempt.diagnosis)) for attempt in repair.attempts),
        list(_patch(repair)),
        list(_pins(repair)),
        list(_alternatives(repair)),
        [f"> **Warning:** {escaped(warning)}" for warning in repair.warnings],
        list(_end(repair)),
    ]
    text = "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"
    return text.encode("utf-8", "backslashreplace")


def escaped(text: str) -> str:
    """The text on one line, with everything that Markdown or HTML would interpret (and @mentions) escaped."""
    return _MARKUP.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    """The text as inline code, with a fence longer than any run of backticks in it."""
    text = one_line(text).replace("|", "\\|")
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def fenced(text: str, language: str) -> Iterator[str]:
    """The text as a code block, with a fence longer than any run of backticks in it."""
    fence = "`" * max(3, _longest_run(text) + 1)
    yield fence + language
    yield plain(text).removesuffix("\n")
    yield fence


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _title(repair: Repair) -> str:
    if repair.final_status is FinalStatus.PASS and not repair.diffs:
        return "nothing to repair"
    return _TITLES[repair.final_status] + (" with a plausible patch" if repair.diffs and not repair.rollback else "")


def _failures(repair: Repair) -> Iterator[str]:
    if not repair.failures:
        return
    yield "| Test | Where | Exception |"
    yield "| --- | --- | --- |"
    for failure in repair.failures:
        yield f"| {code(failure.node_id or '?')} | {_place(failure)} | {_exception(failure)} |"


def _place(failure: Failure) -> str:
    frame = crash_frame(failure)
    return code(str(frame.place)) if frame and frame.place else "outside the project"


def _exception(failure: Failure) -> str:
    return escaped(str(failure.exception))


def _origin(diagnosis: Diagnosis) -> Iterator[str]:
    if not diagnosis.sentence and not diagnosis.origin:
        return
    yield f"{escaped(diagnosis.sentence)}"
    if diagnosis.origin:
        yield ""
    for number, link in enumerate(diagnosis.origin, 1):
        place = code(f"{link.file}:{link.line}")
        yield f"{number}. {place} {code(link.code.strip())}: {escaped(link.sentence)} ({link.evidence})"


def _patch(repair: Repair) -> Iterator[str]:
    diff = readable_diff(repair.diffs)
    if diff:
        yield from (f"- {escaped(guard_sentence(patch))}" for _, patch in kept(repair))
        yield ""
        yield from fenced(diff, "diff")


def _pins(repair: Repair) -> Iterator[str]:
    loose = loose_pins(repair)
    if loose:
        yield "Not pinned by any test:"
        yield ""
    for pin in loose:
        remedy = f" To pin it: {code(pin.suggestion)}" if pin.suggestion else ""
        yield f"- {escaped(pin.sentence)}{remedy}"


def _alternatives(repair: Repair) -> Iterator[str]:
    """The other patches that the tests accept and that do something else, each with the difference."""
    for attempt, patch in kept(repair):
        if others := differing(attempt)[:MAX_ALTERNATIVES]:
            yield f"Also plausible, other than {escaped(patch.candidate.guard)}:"
            yield ""
        for other in others:
            yield f"- {escaped(guard_sentence(other.patch))}. {escaped(other.sentence)}"
            yield ""
            yield from fenced("\n".join(changed_lines(other.patch)) + "\n", "diff")
        if left_out := alternatives_left_out(attempt):
            yield escaped(left_out)


def _end(repair: Repair) -> Iterator[str]:
    yield from (escaped(sentence) for sentence in firing_sentences(repair))
    if repair.attempts:
        yield f"{trial_counts(repair)} A patch that passes the tests is plausible, not proven."


EXPECTED_KEPT = r"""## selfdebug: The failing tests pass with a plausible patch

The failing test passes with this plausible patch, and so do the 2 that passed before.

| Test | Where | Exception |
| --- | --- | --- |
| `tests/test_discount.py::test_a_guest_gets_no_discount` | `shop/discount.py:8` | AttributeError: 'NoneType' object has no attribute 'orders' |

customer is None where its attribute orders is read.

1. `shop/discount.py:7` `customer = find(customers, email)`: customer is what find() returned (observed)
2. `shop/discount.py:2` `return customers.get(email)`: dict.get() found no 'ada\@example.org' and returned its default (observed)

- condition-prefix on customer: the condition is false for the None that was seen

```diff
diff --git a/shop/discount.py b/shop/discount.py
--- a/shop/discount.py
+++ b/shop/discount.py
@@ -5,6 +5,6 @@
 # What a customer saves, in percent
 def discount(customers, email):
     customer = find(customers, email)
-    if customer.orders > 10:  # a regular
+    if customer is not None and customer.orders > 10:  # a regular
         return 15
     return 0
```

Not pinned by any test:

- no test notices 0 becoming 1

2 candidates judged: 1 ineffective, 1 plausible. A patch that passes the tests is plausible, not proven.
"""  # noqa: E501 - a Markdown table row and a list item are one line each

EXPECTED_COMPARED = r"""- No test of tests/test\_discount.py notices when the condition customer is not None is always false. To pin it: `assert discount({'ada@example.org': 3}, 'ada@example.org') == 0`

Also plausible, other than condition-prefix:

- early-return on customer, default False (a neutral value): return before the statement. discount(customers=\{\}, email='ada\@example.org') gives 0 with the kept patch and False with this one.

```diff
+    if customer is None:
+        return False
```

condition-prefix on customer acted once in 1 of the 3 tests that come to it: tests/test\_discount.py::test\_a\_guest\_gets\_no\_discount (1).
3 candidates judged: 2 plausible, 1 ineffective."""  # noqa: E501 - a list item is one line

REPORT = Report(
    name="markdown",
    summary="A summary for a pull request or a job page.",
    render=render,
    examples=(
        Example("kept", EXPECTED_KEPT),
        Example("compared", EXPECTED_COMPARED, is_part=True),
        Example(
            "nothing_failed",
            "## selfdebug: nothing to repair\n\nAll 3 tests pass; there is nothing to repair.\n",
        ),
    ),
    suffixes=(".md",),
)
