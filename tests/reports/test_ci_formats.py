"""The formats of CI servers, held against what widely used tools write in the same format."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from codemods.selfdebug.registry import guards
from selfdebug.model import FinalStatus, Outcome, PytestRun, Repair
from selfdebug.reports import failed_run, render
from selfdebug.reports.findings import findings
from selfdebug.reports.samples import KEPT, NOTHING_FAILED, ROLLED_BACK

COMMAND = re.compile(r"::(?P<name>[a-z]+) (?P<properties>[^:]*)::(?P<message>.*)")


def by_ruff(folder: Path, output_format: str) -> str:
    """What ruff says of an unused import in that format."""
    (folder / "a.py").write_text("import os\n")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--output-format", output_format]
    return subprocess.run([*command, "a.py"], cwd=folder, capture_output=True, text=True, check=False).stdout


def shape(value: Any) -> Any:
    """The keys and the classes of a document, without its values."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(value[0])] if isinstance(value, list) else type(value)


def commands_of(text: str) -> list[tuple[str, dict[str, str], str]]:
    """The commands as a runner reads them: name, properties and message with the percent codes resolved."""
    read = []
    for line in text.splitlines():
        match = COMMAND.fullmatch(line)
        assert match, line
        pairs = (pair.partition("=") for pair in match["properties"].split(","))
        read.append((match["name"], {key: _read(value) for key, _, value in pairs}, _read(match["message"])))
    return read


def _read(text: str) -> str:
    for code, character in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def with_message(repair: Repair, message: str) -> Repair:
    """The run whose failure says `message`."""
    attempt = repair.attempts[0]
    failure = replace(repair.failures[0], exception=replace(repair.failures[0].exception, message=message))
    diagnosis = replace(attempt.diagnosis, failure=failure, sentence="")
    return replace(repair, failures=(failure,), attempts=(replace(attempt, diagnosis=diagnosis),))


# ---------------------------------------------------------------- GitLab


def test_the_gitlab_report_has_the_shape_of_another_tools(tmp_path: Path) -> None:
    ours = json.loads(render("gitlab", KEPT))
    assert shape(ours) == shape(json.loads(by_ruff(tmp_path, "gitlab")))


def test_a_gitlab_issue_that_no_patch_answers_is_critical() -> None:
    (issue,) = json.loads(render("gitlab", ROLLED_BACK))
    assert issue["severity"] == "critical"
    assert "Plausible patch" not in issue["description"]


def test_a_gitlab_issue_without_columns_names_its_line() -> None:
    attempt = ROLLED_BACK.attempts[0]
    location = replace(attempt.diagnosis.location, receivers=())
    repair = replace(ROLLED_BACK, attempts=(replace(attempt, diagnosis=replace(attempt.diagnosis, location=location)),))
    (issue,) = json.loads(render("gitlab", repair))
    assert issue["location"]["positions"] == {"begin": {"line": 8}, "end": {"line": 8}}
    first = commands_of(render("github", repair).decode())[0]
    assert first[1] == {"title": "selfdebug (none-attribute)", "file": "shop/discount.py", "line": "8"}


# ---------------------------------------------------------------- fingerprints


def test_a_crash_keeps_its_identity_when_lines_move_and_loses_it_with_its_code() -> None:
    attempt = KEPT.attempts[0]
    moved = replace(attempt.diagnosis.location, line=80)
    other = replace(moved, statement_code="if client.orders > 10:")
    prints = [
        findings(replace(KEPT, attempts=(replace(attempt, diagnosis=replace(attempt.diagnosis, location=place)),)))
        for place in (attempt.diagnosis.location, moved, other)
    ]
    first, second, third = (found[0].fingerprint for found in prints)
    assert first == second != third


def test_a_failure_that_was_not_diagnosed_is_a_finding_with_an_identity_too() -> None:
    (found,) = findings(replace(ROLLED_BACK, attempts=()))
    assert (found.rule, found.file, found.line, found.attempt) == ("AttributeError", "shop/discount.py", 8, None)
    assert re.fullmatch("[0-9a-f]{32}", found.fingerprint)


# ---------------------------------------------------------------- GitHub


def test_the_github_commands_have_the_shape_of_another_tools(tmp_path: Path) -> None:
    (theirs,) = commands_of(by_ruff(tmp_path, "github"))
    ours = commands_of(render("github", KEPT).decode())
    assert (ours[0][0], list(ours[0][1])) == (theirs[0], list(theirs[1]))


@pytest.mark.parametrize("message", ["100%", "a\nb", "::set-output name=x::y", "file=a,line=2", "a\r\nb", "%0A"])
def test_nothing_in_a_message_ends_the_command(message: str) -> None:
    read = commands_of(render("github", with_message(ROLLED_BACK, message)).decode())
    assert [name for name, _, _ in read] == ["error", "error"]
    assert read[0][2] == f"AttributeError: {message}".replace("\r\n", "\n")


def test_the_guard_is_shown_at_the_lines_that_it_replaces() -> None:
    patch = KEPT.patches[0]
    before = b"a = 1\nb = 2\n"
    after = b"a = 1\nif a:\n    b = 2\n"
    attempt = replace(KEPT.attempts[0], kept=replace(patch, before=before, after=after), pins=())
    _, guard, _ = commands_of(render("github", replace(KEPT, attempts=(attempt,))).decode())
    assert (guard[1]["line"], guard[1]["endLine"]) == ("2", "2")
    assert guard[2].endswith("\nif a:\n    b = 2")
    assert "Not pinned" not in guard[2]


@pytest.mark.parametrize(
    ("status", "level"),
    [(FinalStatus.PASS, "notice"), (FinalStatus.PARTIAL, "warning"), (FinalStatus.FAIL, "error")],
)
def test_the_last_annotation_says_how_the_run_ended(status: FinalStatus, level: str) -> None:
    repair = replace(NOTHING_FAILED, final_status=status, warnings=("Look: here.",))
    warning, end = commands_of(render("github", repair).decode())
    assert warning == ("warning", {"title": "selfdebug"}, "Look: here.")
    assert end[0] == level


# ---------------------------------------------------------------- JUnit


def by_pytest(folder: Path) -> ET.Element:
    """What pytest writes of one failing test."""
    source = "import pytest\nclass TestIt:\n    @pytest.mark.parametrize('x', ['a::b[/]'])\n"
    source += "    def test_it(self, x): None.orders\n"
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=it.xml", "test_it.py"]
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return ET.parse(folder / "it.xml").getroot()


def test_the_junit_report_uses_no_word_that_pytest_does_not(tmp_path: Path) -> None:
    known: dict[str, set[str]] = {"system-out": set()}
    report = by_pytest(tmp_path)
    for element in report.iter():
        known.setdefault(element.tag, set()).update(element.attrib)
    failure = replace(ROLLED_BACK.failures[0], node_id="test_it.py::TestIt::test_it[a::b[/]]")
    ours = ET.fromstring(render("junit", replace(ROLLED_BACK, failures=(failure,))))
    assert {element.tag for element in ours.iter()} == set(known)
    for element in ours.iter():
        assert set(element.attrib) <= known[element.tag]
    (mine,), (theirs,) = ours.iter("testcase"), report.iter("testcase")
    assert (mine.get("classname"), mine.get("name")) == (theirs.get("classname"), theirs.get("name"))


def cases(repair: Repair) -> list[tuple[str | None, bool]]:
    """Each test case with whether it failed."""
    suites = ET.fromstring(render("junit", repair))
    return [(case.get("name"), case.find("failure") is not None) for case in suites.iter("testcase")]


def test_a_repaired_test_counts_as_passed() -> None:
    assert cases(KEPT) == [("test_a_guest_gets_no_discount", False)]
    suites = ET.fromstring(render("junit", KEPT))
    assert "+    if customer is not None and customer.orders > 10:" in (suites.findtext("testsuite/system-out") or "")


def test_after_a_partial_repair_the_last_run_of_a_test_decides() -> None:
    other = replace(KEPT.failures[0], node_id="tests/test_discount.py::TestIt::test_other[a::b]")
    node_ids = [failure.node_id or "" for failure in (KEPT.failures[0], other)]
    outcomes = tuple(zip(node_ids, (Outcome.PASSED, Outcome.FAILED), strict=True))
    run = PytestRun("pytest-3", (), (), 1, 0.5, outcomes=outcomes)
    repair = replace(KEPT, final_status=FinalStatus.PARTIAL, failures=(KEPT.failures[0], other), runs=(run,))
    assert [failed for _, failed in cases(repair)] == [False, True]
    assert [failed for _, failed in cases(replace(repair, rollback=True))] == [True, True]


def test_text_that_xml_forbids_is_written_visibly() -> None:
    suites = ET.fromstring(render("junit", with_message(ROLLED_BACK, "\x00\ufffe\x1b[31m]]><b>&")))
    failure = next(suites.iter("failure"))
    assert failure.get("message") == "AttributeError: \\x00\ufffd\\x1b[31m]]><b>&"


def test_a_run_that_failed_early_is_a_document_in_every_ci_format() -> None:
    early = failed_run(64, "usage", "No such option.")
    assert json.loads(render("gitlab", early)) == []
    assert commands_of(render("github", early).decode()) == [("error", {"title": "selfdebug"}, "No such option.")]
    assert cases(early) == []


# ---------------------------------------------------------------- SARIF


def test_a_guard_that_answers_is_the_rule_of_its_result() -> None:
    (run,) = json.loads(render("sarif", KEPT))["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    guard = guards()["condition-prefix"]
    assert (rule["id"], rule["shortDescription"]["text"]) == (guard.id, guard.summary)
    assert run["results"][0]["properties"] == {"fault": "none-attribute"}
    (plain,) = json.loads(render("sarif", ROLLED_BACK))["runs"][0]["tool"]["driver"]["rules"]
    assert plain == {"id": "none-attribute", "shortDescription": {"text": "A test fails: none attribute."}}
