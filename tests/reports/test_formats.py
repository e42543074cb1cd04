"""Every report format: its own examples, hostile text, and the schemas of the formats that have one."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic_sarif import model as sarif  # generated from the schema of OASIS, unknown keys forbidden

import selfdebug.reports
from selfdebug.errors import ExitCode, UsageError
from selfdebug.model import EditedFile, ExceptionRecord, FinalStatus, Repair, Site, Tier, Value, Verdict, When
from selfdebug.reports import failed_run, find, format_names, render
from selfdebug.reports.base import Example, View
from selfdebug.reports.evidence import shown_value
from selfdebug.reports.judging import alternatives_left_out
from selfdebug.reports.run_document import document
from selfdebug.reports.samples import COMPARED, KEPT, NOTHING_FAILED, ROLLED_BACK, SAMPLES
from selfdebug.reports.schema import schema
from selfdebug.terminal import cells

HOSTILE = "\x1b]0;owned\x07\x1b[31m\u202e\r\n|`<script>@all](x) \udc80 \x9b2J"


def hostile(repair: Repair) -> Repair:
    """The run with every free text replaced by one that wants to be more than text."""
    failure = replace(
        repair.failures[0],
        node_id=HOSTILE,
        exception=replace(repair.failures[0].exception, type=HOSTILE, message=HOSTILE),
    )
    attempt = repair.attempts[0]
    location = replace(attempt.diagnosis.location, statement_code=HOSTILE, function=HOSTILE)
    links = tuple(replace(link, code=HOSTILE, value=HOSTILE, sentence=HOSTILE) for link in attempt.diagnosis.origin)
    caught = tuple(
        replace(one, exception=failure.exception, locals=((HOSTILE, replace(one.locals[0][1], repr=HOSTILE)),))
        for one in attempt.diagnosis.caught
    )
    diagnosis = replace(
        attempt.diagnosis, failure=failure, location=location, origin=links, caught=caught, sentence=HOSTILE
    )
    return replace(
        repair,
        failures=(failure,),
        attempts=(replace(attempt, diagnosis=diagnosis),),
        sentence=HOSTILE,
        warnings=(HOSTILE,),
        backup=(HOSTILE,),
    )


HOSTILE_RUN = replace(hostile(KEPT), exit_reason="hostile")
EXAMPLES = [(name, example) for name in format_names() for example in find(name).examples]


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[f"{name}-{example.sample}" for name, example in EXAMPLES])
def test_a_format_renders_its_own_examples(name: str, example: Example) -> None:
    written = render(name, SAMPLES[example.sample])
    assert example.expected.encode() in written if example.is_part else written == example.expected.encode()


@pytest.mark.parametrize("name", format_names())
def test_a_format_is_complete(name: str) -> None:
    report = find(name)
    assert report.name == name
    assert report.summary.endswith(".")
    assert report.examples


def test_the_formats_are_the_files_of_the_folder() -> None:
    assert format_names() == (
        "text",
        "diff",
        "github",
        "gitlab",
        "html",
        "json",
        "junit",
        "markdown",
        "rdjson",
        "sarif",
    )


def test_an_unknown_format_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no report format"):
        find("pdf")


@pytest.mark.parametrize("name", format_names())
@pytest.mark.parametrize("color", [True, False])
def test_hostile_text_stays_text(name: str, color: bool) -> None:
    for repair in (hostile(KEPT), hostile(ROLLED_BACK)):
        written = render(name, repair, View(color=color)).decode("utf-8")
        for sequence in ("\x1b]", "\x9b", "\x07", "\u202e", "\udc80"):
            assert sequence not in written
        if not color:
            assert "\x1b" not in written


def test_markdown_takes_nothing_for_markup() -> None:
    written = render("markdown", hostile(KEPT)).decode()
    outside_code = [line for line in written.splitlines() if "\\<script\\>" in line]
    assert outside_code
    assert not any(line.startswith("<script>") for line in written.splitlines())
    assert "\\@all" in written


def test_a_code_fence_is_longer_than_the_backticks_inside() -> None:
    source = b'x = """\n```\n````\n"""\n'
    repair = replace(KEPT, diffs=(EditedFile("a.py", source, source.replace(b"x", b"y")),))
    written = render("markdown", repair).decode()
    assert "\n`````diff\n" in written
    assert written.count("\n`````\n") == 1


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    "repair", [KEPT, ROLLED_BACK, NOTHING_FAILED, HOSTILE_RUN], ids=lambda repair: repair.exit_reason
)
def test_the_json_report_follows_the_shipped_schema(repair: Repair) -> None:
    shipped = json.loads(schema())
    jsonschema.Draft202012Validator.check_schema(shipped)
    jsonschema.validate(json.loads(render("json", repair)), shipped)


def test_the_schema_refuses_what_is_not_a_report() -> None:
    broken = document(KEPT) | {"final_status": "maybe"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, json.loads(schema()))


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (("properties", "exit_code"), ExitCode),
        (("properties", "final_status"), FinalStatus),
        (("$defs", "failure", "properties", "when"), When),
        (("$defs", "site"), Site),
        (("$defs", "candidate", "properties", "verdict"), Verdict),
        (("$defs", "candidate", "properties", "tier"), Tier),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_the_schema_knows_every_word_of_the_records(path: tuple[str, ...], values: type[Enum]) -> None:
    node = json.loads(schema())
    for name in path:
        node = node[name]
    assert node["enum"] == [member.value for member in values]


def test_the_six_fields_of_the_contract() -> None:
    written = document(KEPT)
    assert list(written)[:6] == ["exit_code", "attempts", "files_patched", "rollback", "final_status", "tracebacks"]
    assert written["tracebacks"] == [
        {
            "file": "shop/discount.py",
            "line": 8,
            "exc_type": "AttributeError",
            "msg": "'NoneType' object has no attribute 'orders'",
        }
    ]
    assert (written["attempts"], written["files_patched"]) == (1, ["shop/discount.py"])


def test_the_links_of_every_document_have_the_same_nine_keys() -> None:
    keys = ["file", "line", "column", "function", "code", "value", "kind", "evidence", "sentence"]
    written = document(KEPT)
    assert [list(link) for link in written["origin"]] == [keys, keys]
    assert written["diagnoses"][0]["origin"] == written["origin"]


def test_a_run_that_failed_early_is_a_whole_document() -> None:
    written = json.loads(render("json", failed_run(64, "usage", "No such option.")))
    jsonschema.validate(written, json.loads(schema()))
    assert (written["exit_code"], written["exit_reason"], written["message"]) == (64, "usage", "No such option.")


def test_a_failure_without_project_frame_has_its_last_frame() -> None:
    frame = replace(KEPT.failures[0].frames[-1], file=None, path="/usr/lib/python3/json.py", line=7)
    repair = replace(NOTHING_FAILED, failures=(replace(KEPT.failures[0], frames=(frame,)),))
    assert document(repair)["tracebacks"][0]["file"] == "/usr/lib/python3/json.py"
    bare = replace(NOTHING_FAILED, failures=(replace(KEPT.failures[0], frames=()),))
    assert document(bare)["tracebacks"][0] == {
        "file": None,
        "line": None,
        "exc_type": "AttributeError",
        "msg": "'NoneType' object has no attribute 'orders'",
    }


# ---------------------------------------------------------------- rdjson, SARIF


def _source_after(before: str, diagnostics: list[dict[str, Any]]) -> str:
    """What a reviewer gets who accepts every suggestion, from the last to the first."""
    lines = before.split("\n")
    for diagnostic in reversed(diagnostics):
        for suggestion in diagnostic["suggestions"]:
            start, end = suggestion["range"]["start"]["line"], suggestion["range"]["end"]["line"]
            lines[start - 1 : end] = suggestion["text"].split("\n")
    return "\n".join(lines)


EDITS = [
    pytest.param("a\nb\nc\n", "a\nB\nc\n", id="replace"),
    pytest.param("a\nb\nc\n", "a\nx\nb\nc\n", id="insert"),
    pytest.param("a\nb\n", "a\nb\nc\n", id="append"),
    pytest.param("a\nb", "a\nB", id="no-final-newline"),
    pytest.param("a\nb\nc\n", "a\nc\n", id="delete"),
    pytest.param("a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n", id="two-blocks"),
    pytest.param("# coding: latin-1\nx = 'é'\n", "# coding: latin-1\nif x: x = 'é'\n", id="latin-1"),
]


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_accepting_the_suggestions_gives_the_patched_file(before: str, after: str) -> None:
    encoding = "latin-1" if "latin-1" in before else "utf-8"
    repair = replace(KEPT, diffs=(EditedFile("a.py", before.encode(encoding), after.encode(encoding)),))
    diagnostics = json.loads(render("rdjson", repair))["diagnostics"]
    if (before, after) == ("a\nb\nc\n", "a\nc\n"):
        assert diagnostics[0]["suggestions"][0]["text"] == ""  # a deleted line, as the format writes it
    else:
        assert _source_after(before, diagnostics) == after


def test_an_unrepaired_failure_is_an_error_in_rdjson() -> None:
    (diagnostic,) = json.loads(render("rdjson", ROLLED_BACK))["diagnostics"]
    assert diagnostic["severity"] == "ERROR"
    assert diagnostic["location"] == {"path": "shop/discount.py", "range": {"start": {"line": 8}}}


def _replaced(before: str, replacements: list[dict[str, Any]]) -> str:
    """The text after the replacements of a SARIF fix."""
    starts = [0]
    for line in before.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for replacement in reversed(replacements):
        region = replacement["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = min(len(before), starts[region["endLine"] - 1] + region["endColumn"] - 1)
        before = before[:start] + replacement["insertedContent"]["text"] + before[end:]
    return before


@pytest.mark.parametrize(("before", "after"), EDITS)
def test_the_sarif_fix_gives_the_patched_file(before: str, after: str) -> None:
    encoding = "latin-1" if "latin-1" in before else "utf-8"
    attempt = KEPT.attempts[0]
    assert attempt.kept is not None
    patch = replace(attempt.kept, before=before.encode(encoding), after=after.encode(encoding))
    repair = replace(KEPT, attempts=(replace(attempt, kept=patch),))
    (result,) = json.loads(render("sarif", repair))["runs"][0]["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert _replaced(before, change["replacements"]) == after


@pytest.mark.parametrize(
    "repair",
    [KEPT, ROLLED_BACK, NOTHING_FAILED, HOSTILE_RUN, failed_run(3, "x", "y")],
    ids=lambda repair: repair.exit_reason,
)
def test_sarif_follows_the_public_schema(repair: Repair) -> None:
    written = json.loads(render("sarif", repair))
    sarif.StaticAnalysisResultsFormatSarifVersion210JsonSchema.model_validate(written)


def test_sarif_tells_the_way_of_the_value_from_its_birth_to_the_crash() -> None:
    (result,) = json.loads(render("sarif", KEPT))["runs"][0]["results"]
    (flow,) = result["codeFlows"][0]["threadFlows"]
    lines = [step["location"]["physicalLocation"]["region"]["startLine"] for step in flow["locations"]]
    assert lines == [2, 7, 8]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 8, "startColumn": 8, "endLine": 8, "endColumn": 16}


def test_sarif_names_strange_files_as_uris() -> None:
    attempt = KEPT.attempts[0]
    location = replace(attempt.diagnosis.location, file="my shop/ä#1.py")
    repair = replace(KEPT, attempts=(replace(attempt, diagnosis=replace(attempt.diagnosis, location=location)),))
    (result,) = json.loads(render("sarif", repair))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "my%20shop/%C3%A4%231.py"


def undiagnosed(repair: Repair) -> Repair:
    """The run without its attempts, and with a second failure outside the project."""
    outside = replace(repair.failures[0], node_id="test_elsewhere", frames=())
    return replace(repair, attempts=(), failures=(repair.failures[0], outside), diffs=(), files_patched=())


def test_failures_that_no_attempt_looked_at_are_told_in_every_format() -> None:
    repair = undiagnosed(ROLLED_BACK)
    (diagnostic,) = json.loads(render("rdjson", repair))["diagnostics"]
    assert diagnostic["location"]["path"] == "shop/discount.py"
    (result,) = json.loads(render("sarif", repair))["runs"][0]["results"]
    assert (result["ruleId"], result["ruleIndex"]) == ("AttributeError", 0)
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 8
    written = render("text", repair).decode()
    assert "FAILED test_elsewhere\n  AttributeError: " in written
    assert "  shop/discount.py:8 in discount\n    if customer.orders > 10:  # a regular\n" in written
    assert "| outside the project |" in render("markdown", repair).decode()


def test_a_diagnosis_without_receiver_origin_or_sentence() -> None:
    attempt = ROLLED_BACK.attempts[0]
    location = replace(attempt.diagnosis.location, receivers=(), function=None)
    diagnosis = replace(attempt.diagnosis, location=location, origin=(), sentence="", caught=())
    repair = replace(ROLLED_BACK, attempts=(replace(attempt, diagnosis=diagnosis),))
    written = render("text", repair).decode()
    assert "^" not in written
    assert "Where the value came from" not in written
    assert json.loads(render("json", repair))["diagnoses"][0]["receiver"] is None
    (result,) = json.loads(render("sarif", repair))["runs"][0]["results"]
    assert "codeFlows" not in result
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 8}
    sentence = replace(diagnosis, sentence="It fails.")
    repair = replace(ROLLED_BACK, attempts=(replace(attempt, diagnosis=sentence),))
    assert "\nIt fails.\n" in render("markdown", repair).decode()


def test_a_default_and_its_source_are_named() -> None:
    attempt = KEPT.attempts[0]
    assert attempt.kept is not None
    candidate = replace(attempt.kept.candidate, default="0", default_source="f returns 0 elsewhere", reason="")
    patch = replace(attempt.kept, candidate=candidate)
    repair = replace(KEPT, attempts=(replace(attempt, kept=patch, pins=()),))
    written = render("text", repair).decode()
    assert "Guard: condition-prefix on customer, default 0 (f returns 0 elsewhere).\n" in written
    assert "Not pinned" not in written


def test_a_file_that_declares_no_such_encoding_is_read_as_utf_8() -> None:
    before = b"# coding: no-such-codec\nx = 1\n"
    (patch,) = document(replace(KEPT, diffs=(EditedFile("a.py", before, before + b"y = '\xff'\n"),)))["patches"]
    assert "+y = '\ufffd'\n" in patch["diff"]


def test_a_value_says_that_it_was_cut_or_hidden() -> None:
    value = replace(KEPT.attempts[0].diagnosis.observations[0].value, truncated=True, redacted=True)
    assert shown_value(value) == "None [cut] [redacted]"


# ---------------------------------------------------------------- text


def test_colour_is_only_paint() -> None:
    colored = render("text", KEPT, View(color=True)).decode()
    assert "\x1b[32m+    if customer is not None" in colored
    assert re.sub("\x1b\\[[0-9;]*m", "", colored).encode() == render("text", KEPT)


def test_on_a_narrow_terminal_the_same_words_stand_in_more_rows() -> None:
    wide, narrow = (render("text", COMPARED, View(columns=columns)).decode() for columns in (None, 40))
    excerpt = "if customer.orders > 10:  # a regul"
    assert narrow.replace("…", "ar", 1).split() == wide.split()
    assert f"\n    {excerpt}…\n       ^^^^^^^^\n" in narrow
    prose = [row for row in narrow.split("\n\n") if not row.startswith(("diff ", "Also plausible", "Where "))]
    assert [row for row in "\n".join(prose).split("\n") if cells(row) > 40] == [
        "FAILED tests/test_discount.py::test_a_guest_gets_no_discount",
        "  tests/test_discount.py::test_a_guest_gets_no_discount",
    ]


def test_a_long_message_is_shown_from_its_start() -> None:
    diagnosis = KEPT.attempts[0].diagnosis
    message = "assert [\n  1,\n" + "x" * 1000 + "".join(f"\n  {number}" for number in range(20))
    failure = replace(diagnosis.failure, exception=ExceptionRecord("AssertionError", message))
    attempt = replace(KEPT.attempts[0], diagnosis=replace(diagnosis, failure=failure))
    written = render("text", replace(KEPT, attempts=(attempt,))).decode()
    assert "\n  AssertionError: assert [\n      1,\n    xxx" in written
    assert "x…\n      0\n      1\n      2\n      3\n      4\n    ... and 15 more lines\n  customer is" in written


def test_a_long_value_is_cut_in_the_log_and_whole_in_the_document() -> None:
    diagnosis = KEPT.attempts[0].diagnosis
    (caught,) = diagnosis.caught
    long = replace(caught, locals=(("basket", Value("str", repr("x" * 500))),))
    repair = replace(KEPT, attempts=(replace(KEPT.attempts[0], diagnosis=replace(diagnosis, caught=(long,))),))
    assert f"locals={{'basket': '{'x' * 118}…}}\n" in render("text", repair).decode()
    assert "x" * 500 in render("json", repair).decode()


def test_a_patch_that_passes_is_called_plausible() -> None:
    assert b"\nPlausible: All pass.\n" in render("text", replace(KEPT, sentence="All pass."))
    assert b"lausible" not in render("text", replace(NOTHING_FAILED, sentence="All pass."))


def test_candidates_that_did_not_fit_were_not_judged() -> None:
    attempt = KEPT.attempts[0]
    refused = replace(attempt.trials[0], verdict=Verdict.REFUSED)
    written = render("text", replace(KEPT, attempts=(replace(attempt, trials=(refused, *attempt.trials)),)))
    assert b"2 candidates judged: 1 ineffective, 1 plausible. 1 more did not fit the code.\n" in written
    only = render("text", replace(KEPT, attempts=(replace(attempt, trials=(refused,)),)))
    assert b"No candidate was judged. 1 more did not fit the code.\n" in only
    none = render("text", replace(KEPT, attempts=(replace(attempt, trials=()),)))
    assert b"No candidate was judged.\n" in none


def test_no_way_back_is_promised_for_a_folder_that_goes_away() -> None:
    assert b"To undo" in render("text", KEPT)
    assert b"To undo" not in render("text", KEPT, View(can_undo=False))


def test_a_dry_run_says_that_nothing_was_written() -> None:
    written = render("text", replace(KEPT, dry_run=True, files_patched=()))
    assert b"nothing was written" in written
    assert b"To undo" not in written


def test_many_failures_are_counted() -> None:
    failures = tuple(replace(KEPT.failures[0], node_id=f"test_{number}") for number in range(25))
    written = render("text", replace(NOTHING_FAILED, failures=failures, final_status=FinalStatus.FAIL)).decode()
    assert "test_9\n" in written
    assert "test_10\n" not in written
    assert "... and 15 more failures." in written


def test_the_schema_is_shipped_as_a_file_of_the_package() -> None:
    assert (Path(selfdebug.reports.__file__).parent / "schema.json").read_bytes() == schema()


def test_sarif_notes_what_no_test_pins_and_what_would() -> None:
    (run,) = json.loads(render("sarif", COMPARED))["runs"]
    notes = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    (pin,) = COMPARED.attempts[0].pins
    assert notes == [COMPARED.sentence, f"{pin.sentence} To pin it: {pin.suggestion}"]


@pytest.mark.parametrize(
    ("differing", "same", "sentence"),
    [
        (3, 0, ""),
        (4, 0, "1 other plausible patch differs as well."),
        (5, 1, "2 other plausible patches differ as well, 1 other plausible patch did the same in every test."),
        (0, 2, "2 other plausible patches did the same in every test."),
    ],
)
def test_patches_that_are_not_shown_are_counted(differing: int, same: int, sentence: str) -> None:
    other = COMPARED.attempts[0].alternatives[0]
    others = [replace(other, is_same=False)] * differing + [replace(other, is_same=True)] * same
    assert alternatives_left_out(replace(COMPARED.attempts[0], alternatives=tuple(others))) == sentence
