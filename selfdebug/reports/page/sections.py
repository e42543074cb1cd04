"""The sections of the page, in the order in which a reviewer reads them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from codemods.selfdebug.spans import split_lines
from selfdebug.model import Firing
from selfdebug.reports.judging import firing_sentence
from selfdebug.reports.page.diff_rows import Cell, rows
from selfdebug.reports.page.elements import Child, element
from selfdebug.reports.page.origin_picture import origin_picture
from selfdebug.reports.page.steps import TimelineStep, bars

_LONG = 120
"""Characters of a value that is shown whole without a click."""
_VERDICTS = {"pass": "good", "partial": "warning", "fail": "bad"}


def _section(name: str, heading: str, *children: Child) -> Element:
    return element("section", {"id": name}, element("h2", None, heading), *children)


def _table(caption: str, columns: Sequence[str], body: Iterable[Element], numbers: Sequence[str] = ()) -> Element:
    heads = [element("th", {"scope": "col", "class": "number" if name in numbers else None}, name) for name in columns]
    table = element(
        "table",
        None,
        element("caption", None, caption),
        element("thead", None, element("tr", None, *heads)),
        element("tbody", None, *body),
    )
    return element("div", {"class": "wide", "tabindex": "0"}, table)


def verdict(document: dict[str, Any]) -> Element:
    """How the run ended, in one sentence, and how to undo it."""
    lines: list[Child] = [element("p", {"class": "sentence"}, document["message"])]
    if document["files_patched"] and document["run_id"]:
        undo = element("code", None, f"selfdebug rollback {document['run_id']}")
        lines.append(element("p", None, "To undo: ", undo))
    lines += [element("p", {"class": "note"}, f"Warning: {warning}") for warning in document["warnings"]]
    lines += [element("p", None, "Kept for you: ", element("code", None, place)) for place in document["backup"]]
    state = document["final_status"]
    heading = element("h1", None, f"selfdebug: {document['exit_reason']}")
    return element("header", {"class": _VERDICTS[state]}, heading, *lines)


def failures(document: dict[str, Any]) -> Element | None:
    """The failing tests, as a table."""
    if not document["failures"]:
        return None
    body = [
        element(
            "tr",
            None,
            element("td", None, element("code", None, failure["node_id"] or "a test without a name")),
            element("td", None, element("code", None, _place(failure))),
            element("td", None, f"{failure['exc_type']}: {failure['msg']}"),
        )
        for failure in document["failures"]
    ]
    return _section("failures", "What failed", _table("Failing tests", ("Test", "Where", "Exception"), body))


def _place(failure: dict[str, Any]) -> str:
    return f"{failure['file']}:{failure['line']}" if failure["file"] else "outside the project"


# ---------------------------------------------------------------- the crash, its values, the way of the value


def diagnosis(document: dict[str, Any], found: dict[str, Any]) -> Element:
    """One crash: its statement with the receiver marked, the values in it, and where the bad one came from."""
    number = found["attempt"]
    where = f"{found['file']}:{found['line']}" + (f" in {found['function']}" if found["function"] else "")
    values = [probe for probe in document["probes"] if probe["attempt"] == number]
    return _section(
        f"crash-{number}",
        f"Crash {number}: {where}",
        element("p", {"class": "sentence"}, found["message"] or found["kind"]),
        element("pre", {"class": "source"}, *_statement(found)),
        _values(values),
        *_origin(found["origin"], f"origin-{number}"),
    )


def _statement(found: dict[str, Any]) -> Iterator[Child]:
    """The lines of the statement with their numbers; the receiver is marked, and named for those who hear the page."""
    lines = split_lines(found["statement"])
    span = found["receiver_span"]
    place = found["statement_span"]
    first = place["start_line"]
    for number, line in enumerate(lines, first):
        yield element("span", {"class": "lineno", "aria-hidden": "true"}, f"{number:>5}  ")
        offset = place["start_column"] if number == first else 0
        yield " " * offset
        if span is None or number != span["start_line"]:
            yield line
            continue
        start = span["start_column"] - offset
        end = span["end_column"] - offset if span["end_line"] == number else len(line.rstrip("\r\n"))
        yield from (line[:start], element("mark", {"title": "the receiver"}, line[start:end]), line[end:])


def _values(probes: Sequence[dict[str, Any]]) -> Element | None:
    body = [*_observed(probes), *_locals(probes)]
    if not body:
        return None
    return _table("Values that the probe saw", ("Expression", "Value", "Class", "When"), body)


def _observed(probes: Sequence[dict[str, Any]]) -> Iterator[Element]:
    for probe in probes:
        if probe["kind"] == "value":
            when = "as it failed" if probe["in_failure"] else "as it worked"
            yield _value(probe["expression"], probe["value"], when)


def _locals(probes: Sequence[dict[str, Any]]) -> Iterator[Element]:
    caught = next((probe for probe in probes if probe["kind"] == "caught"), None)
    for name, value in (caught or {"locals": {}})["locals"].items():
        yield _value(name, value, "local, as it failed")


def _value(name: str, value: dict[str, Any], when: str) -> Element:
    marks = "".join(f" [{mark}]" for mark, holds in (("cut", "truncated"), ("redacted", "redacted")) if value[holds])
    shown = element("code", {"class": "none" if value["is_none"] else None}, value["repr"])
    return element(
        "tr",
        None,
        element("td", None, element("code", None, name)),
        element("td", None, _foldable(value["repr"], shown), marks),
        element("td", None, value["type"]),
        element("td", None, when),
    )


def _foldable(text: str, shown: Element) -> Element:
    """What is shown of a text, below its beginning where it would take many lines."""
    if len(text) <= _LONG:
        return shown
    return element("details", None, element("summary", None, element("code", None, f"{text[:_LONG]}…")), shown)


def _origin(links: Sequence[dict[str, Any]], anchor: str) -> Iterator[Element]:
    if not links:
        return
    yield element("h3", None, "Where the value came from")
    picture = origin_picture(
        links, anchor, "The way of the value, from its birth at the top to the crash at the bottom"
    )
    yield element("div", {"class": "wide", "tabindex": "0"}, picture)
    yield element("p", None, "From the crash back to the birth of the value:")
    yield element("ol", None, *(_link(link, f"{anchor}-{number}") for number, link in enumerate(links, 1)))


def _link(link: dict[str, Any], anchor: str) -> Element:
    return element(
        "li",
        {"id": anchor, "tabindex": "-1"},
        element("code", None, f"{link['file']}:{link['line']}"),
        f" in {link['function']}: {link['sentence']} ",
        element("small", None, f"[{link['value']}, {link['evidence']}]"),
        element("pre", None, link["code"].strip("\n")),
    )


# ---------------------------------------------------------------- the patch


def patches(document: dict[str, Any]) -> Element | None:
    """Each changed file, side by side and as a diff."""
    if not document["patches"]:
        return None
    is_kept = any(patch["kept"] for patch in document["patches"])
    note = "A patch that passes the tests is plausible, not proven: read it before you keep it."
    parts = [part for patch in document["patches"] for part in _patch(patch)]
    return _section("patch", "The patch that was kept" if is_kept else "The patch", element("p", None, note), *parts)


def _patch(patch: dict[str, Any]) -> Iterator[Element]:
    yield element("h3", None, patch["file"])
    for guard in patch["guards"]:
        yield _guard(guard, f": {guard['reason']}" if guard["reason"] else "")
        yield from _acting(guard)
    body = [_row(row.before, row.after) if row else _gap() for row in rows(patch["diff"])]
    yield _table("Before and after, side by side", ("", "Before", "", "After"), body)
    diff = element("pre", {"class": "diff"}, *_diff(patch["diff"]))
    yield element("details", None, element("summary", None, "As a diff"), diff)
    for guard in patch["guards"]:
        yield from _alternatives(guard)


def _guard(guard: dict[str, Any], why: str = "") -> Element:
    default = f", default {guard['default']}" if guard["default"] is not None else ""
    return element("p", None, element("code", None, guard["guard"]), f" on {guard['receiver']}{default}{why}")


def _acting(guard: dict[str, Any]) -> Iterator[Element]:
    counted = [Firing(each["node_id"], each["acted"], each["reached"], each["cut"]) for each in guard["firings"] or ()]
    if counted:
        yield element("p", None, f"It {firing_sentence(counted)}")


def _alternatives(guard: dict[str, Any]) -> Iterator[Element]:
    """The other patches that the tests accept and that do something else, each with the difference."""
    others = [other for other in guard["alternatives"] if not other["same"]]
    if others:
        yield element("h4", None, f"Also plausible, other than {guard['guard']}")
    for other in others:
        yield _guard(other)
        yield element("p", None, other["message"])
        diff = element("pre", {"class": "diff"}, *_diff(other["diff"]))
        yield element("details", None, element("summary", None, "Its diff"), diff)


def _row(before: Cell | None, after: Cell | None) -> Element:
    return element("tr", {"class": "code"}, *_cell(before, "del"), *_cell(after, "ins"))


def _cell(cell: Cell | None, tag: str) -> Iterator[Element]:
    if cell is None:
        yield from (element("td", {"class": "lineno"}), element("td", {"class": "nothing"}))
        return
    yield element("td", {"class": "lineno"}, str(cell.number))
    text = element(tag, None, cell.text) if cell.changed else cell.text
    yield element("td", {"class": tag if cell.changed else "same"}, element("code", None, text))


def _gap() -> Element:
    return element("tr", None, element("td", {"colspan": 4, "class": "gap"}, "⋯"))


def _diff(diff: str) -> Iterator[Child]:
    for line in diff.split("\n"):
        is_head = line.startswith(("+++", "---"))
        tag = None if is_head else {"+": "ins", "-": "del"}.get(line[:1])
        yield element(tag, None, line) if tag else line
        yield "\n"


def not_pinned(document: dict[str, Any]) -> Element | None:
    """The parts of the patch that no test holds."""
    pins = [pin for patch in document["patches"] for guard in patch["guards"] for pin in guard["pins"]]
    loose = [pin for pin in pins if not pin["pinned"]]
    if not loose:
        return None
    return _section("pins", "Not pinned by any test", element("ul", None, *map(_pin, loose)))


def _pin(pin: dict[str, Any]) -> Element:
    remedy = element("pre", None, pin["suggestion"]) if pin["suggestion"] else None
    return element(
        "li",
        None,
        element("strong", None, pin["part"]),
        f": {pin['message']}",
        " To pin it:" if pin["suggestion"] else None,
        remedy,
    )


# ---------------------------------------------------------------- how it was found


def candidates(document: dict[str, Any]) -> Element | None:
    """What was tried, with verdict, tier and time."""
    if not document["candidates"]:
        return None
    columns = ("Guard", "Where", "Receiver", "Default", "Verdict", "Tier", "Time", "Why")
    body = map(_candidate, document["candidates"])
    return _section("candidates", "What was tried", _table("Candidates, as judged", columns, body, numbers=("Time",)))


def _candidate(trial: dict[str, Any]) -> Element:
    return element(
        "tr",
        None,
        element("td", None, element("code", None, trial["guard"])),
        element("td", None, element("code", None, f"{trial['file']}:{trial['line']}")),
        element("td", None, element("code", None, trial["receiver"])),
        element("td", None, element("code", None, trial["default"]) if trial["default"] is not None else "–"),
        element("td", {"class": f"verdict {trial['verdict']}"}, trial["verdict"]),
        element("td", None, trial["tier"]),
        element("td", {"class": "number"}, f"{1000 * trial['seconds']:.0f} ms"),
        element("td", None, trial["detail"]),
    )


def timeline(steps: Sequence[TimelineStep]) -> Element | None:
    """Where the time went."""
    if not steps:
        return None
    return _section(
        "timeline", "Timeline", _table("Time by step", ("Step", "Time", ""), bars(steps), numbers=("Time",))
    )
