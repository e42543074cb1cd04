"""The projects that guards are removed from: well-known, pure Python, with their tests in the source distribution."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Split(StrEnum):
    """Whether the runs on a project are read one by one to better the tool, or only counted."""

    LOOKED_AT = "looked-at"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Project:
    """One project: its name on PyPI, where its modules begin, and what its tests need beside pytest and itself."""

    name: str
    split: Split
    source: str = "."
    needs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


PROJECTS = (
    Project("xmltodict", Split.LOOKED_AT),
    Project("itsdangerous", Split.LOOKED_AT, "src", ("freezegun",)),
    Project("cachetools", Split.LOOKED_AT, "src"),
    Project("sqlparse", Split.LOOKED_AT),
    Project("toolz", Split.LOOKED_AT),
    Project("marshmallow", Split.LOOKED_AT, "src", ("simplejson",)),
    Project("humanize", Split.LOOKED_AT, "src", ("freezegun",)),
    Project("tabulate", Split.LOOKED_AT),
    Project("boltons", Split.MEASURED),
    Project("texttable", Split.MEASURED, needs=("wcwidth", "cjkwrap"), tests=("tests.py",)),
    Project("voluptuous", Split.MEASURED),
    Project("glom", Split.MEASURED, needs=("pyyaml",)),
    Project("cerberus", Split.MEASURED, tests=("cerberus/tests",)),
    Project("tinydb", Split.MEASURED, needs=("pyyaml",)),
    Project("prettytable", Split.MEASURED, "src", ("pytest-lazy-fixtures",)),
    Project("parse", Split.MEASURED, needs=("pytest-cov",)),
    Project("wcwidth", Split.MEASURED, needs=("pytest-cov",)),
    Project("pluggy", Split.MEASURED, "src"),
    Project("h11", Split.MEASURED),
    Project("jsonpatch", Split.MEASURED, needs=("jsonpointer",), tests=("tests.py",)),
    Project("isodate", Split.MEASURED, "src"),
    Project("schema", Split.MEASURED, needs=("mock",), tests=("test_schema.py",)),
    Project("semver", Split.MEASURED, "src", ("pytest-cov",)),
)
