"""A crash that the project wraps into an exception of its own is mended where it really happened."""

from __future__ import annotations

from pathlib import Path

from small_projects import project, run

CODE = """\
class ReportError(Exception):
    pass


def title(user):
    try:
        return user.name.title()
    except AttributeError as error:
        raise ReportError("no title") from error
"""
TESTS = """\
from types import SimpleNamespace as N

from report import title


def test_a_title():
    assert title(N(name="ann")) == "Ann"


def test_nobody():
    assert title(None) == ""
"""


def test_the_cause_of_a_deliberate_exception_is_a_place_to_mend(tmp_path: Path) -> None:
    done = run(project(tmp_path, {"report.py": CODE, "test_report.py": TESTS}))
    assert done.exit_code == 0, done.sentence
    expected = CODE.replace("return user.name.title()", 'return user.name.title() if user is not None else ""')
    assert (tmp_path / "report.py").read_text() == expected
