"""JUnit XML: the tests that failed, as CI servers show them; one that a kept patch repairs counts as passed.

Form: what pytest's `--junitxml` writes (family `xunit2`), which Jenkins, GitLab and Azure read.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from selfdebug.model import Failure, FinalStatus, Outcome, Repair
from selfdebug.reports.base import Example, Report, View
from selfdebug.reports.evidence import crash_frame, guard_sentence, kept, readable_diff
from selfdebug.terminal import plain

# Noncharacters are the only ones that `plain` leaves and XML 1.0 forbids.
_NOT_XML = re.compile("[\ufffe\uffff]")


def render(repair: Repair, _view: View) -> bytes:
    """The failing tests of the run as one suite, in UTF-8."""
    standing = [failure for failure in repair.failures if not _is_repaired(failure, repair)]
    counts = {"tests": len(repair.failures), "failures": len(standing), "errors": 0, "skipped": 0}
    shown = {"name": "selfdebug", **{key: str(value) for key, value in counts.items()}}
    suites = ET.Element("testsuites", name="selfdebug")
    suite = ET.SubElement(suites, "testsuite", {**shown, "time": f"{_seconds(repair):.3f}"})
    for failure in repair.failures:
        _case(suite, failure, is_repaired=failure not in standing)
    ET.SubElement(suite, "system-out").text = _text(f"{repair.sentence}\n{_patches(repair)}")
    ET.indent(suites)
    written: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _names(node_id: str) -> tuple[str, str]:
    """The `classname` and `name` that pytest gives a test; brackets hold parameters, whatever they say."""
    file, _, rest = node_id.partition("::")
    path, bracket, parameters = rest.partition("[")
    classes, _, function = path.rpartition("::")
    module = file.removesuffix(".py").replace("/", ".")
    return ".".join(filter(None, (module, *classes.split("::")))), function + bracket + parameters


def _case(suite: ET.Element, failure: Failure, is_repaired: bool) -> None:
    classname, name = _names(failure.node_id or "")
    case = ET.SubElement(suite, "testcase", classname=_text(classname), name=_text(name or "a test without a name"))
    if is_repaired:
        return
    problem = ET.SubElement(case, "failure", message=_text(str(failure.exception)))
    frame = crash_frame(failure)
    place = f"{frame.place}: " if frame is not None and frame.place is not None else ""
    problem.text = _text(place + str(failure.exception))


def _is_repaired(failure: Failure, repair: Repair) -> bool:
    """Whether the test passes as the files are left: the whole run passed, or its last run of the test did."""
    if repair.rollback or not repair.files_patched:
        return False
    if repair.final_status is FinalStatus.PASS:
        return True
    said = (dict(run.outcomes).get(failure.node_id or "") for run in reversed(repair.runs))
    return next((outcome for outcome in said if outcome is not None), None) is Outcome.PASSED


def _seconds(repair: Repair) -> float:
    return sum(seconds for _, seconds in repair.timings)


def _patches(repair: Repair) -> str:
    diff = readable_diff(repair.diffs)
    sentences = [f"{guard_sentence(patch)}." for _, patch in kept(repair)] if diff else []
    return "\n".join([*sentences, diff])


def _text(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", plain(text)).rstrip("\n")


EXPECTED_ROLLED_BACK = """\
<?xml version='1.0' encoding='utf-8'?>
<testsuites name="selfdebug">
  <testsuite name="selfdebug" tests="1" failures="1" errors="0" skipped="0" time="0.930">
    <testcase classname="tests.test_discount" name="test_a_guest_gets_no_discount">
      <failure message="AttributeError: 'NoneType' object has no attribute 'orders'">shop/discount.py:8: \
AttributeError: 'NoneType' object has no attribute 'orders'</failure>
    </testcase>
    <system-out>No candidate makes the failing test pass; everything is as it was before.</system-out>
  </testsuite>
</testsuites>
"""

REPORT = Report(
    name="junit",
    summary="JUnit XML of the tests that failed, for a CI server.",
    render=render,
    examples=(Example("rolled_back", EXPECTED_ROLLED_BACK),),
    suffixes=(".xml",),
)
