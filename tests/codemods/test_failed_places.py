"""Where the codemods' own small reader finds the deepest frame, the message and the file that is meant."""

import json
from pathlib import Path

import pytest

from codemods.selfdebug.failed_places import RECORD, FailedPlace, NoFailureError, last_recorded, names_file, read_log

PYTHON = """\
Traceback (most recent call last):
  File "/app/main.py", line 3, in <module>
    run(None)
  File "/app/src/users.py", line 12, in run
    return user.name.upper() + user.last
           ^^^^^^^^^^^^^^^
  File "/usr/lib/python3.11/json/decoder.py", line 5, in f
    x
AttributeError: 'NoneType' object has no attribute 'upper'
"""
CHAINED = """\
Traceback (most recent call last):
  File "a.py", line 1, in f
KeyError: 'k'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "b.py", line 2, in g
TypeError: 'NoneType' object is not callable
"""
LONG = """\
=================================== FAILURES ===================================
___________________________________ test_one ___________________________________

    def test_one():
>       assert names.full(None)

tests/test_names.py:4:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

user = None

    def full(user):
>       return user.name
E       AttributeError: 'NoneType' object has no attribute 'name'

app/names.py:2: AttributeError
___________________________________ test_two ___________________________________

    def test_two():
>       assert names.first([])

tests/test_names.py:7:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
>       return rows[0]
E       IndexError: list index out of range

app/names.py:9: IndexError
=========================== short test summary info ============================
FAILED tests/test_names.py::test_one - AttributeError: 'NoneType' object has n...
"""
LONG_CHAINED = """\
>       return d["k"]
E       KeyError: 'k'

app/a.py:2: KeyError

The above exception was the direct cause of the following exception:

>       raise Missing from None
E       app.Missing: none

app/b.py:7: Missing
"""
SHORT = """\
____ test_one ____
tests/test_names.py:4: in test_one
    assert names.full(None)
app/names.py:2: in full
    return user.name
E   AttributeError: 'NoneType' object has no attribute 'name'
"""
LINE = "/app/names.py:2: AttributeError: 'NoneType' object has no attribute 'name'\n"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (PYTHON, [("/app/src/users.py", 12, "'NoneType' object has no attribute 'upper'")]),
        (CHAINED, [("b.py", 2, "'NoneType' object is not callable")]),
        (
            LONG,
            [("app/names.py", 2, "'NoneType' object has no"), ("app/names.py", 9, "list index out of range")],
        ),
        (LONG_CHAINED, [("app/b.py", 7, "none")]),
        (SHORT, [("app/names.py", 2, "'NoneType' object has no attribute 'name'")]),
        (LINE, [("/app/names.py", 2, "'NoneType' object has no attribute 'name'")]),
        (LINE + LINE, [("/app/names.py", 2, "'NoneType' object has no attribute 'name'")]),
        (
            f"\x1b[1m\x1b[31mapp/x.py\x1b[0m:3: KeyError\r\n{SHORT}",
            [("app/x.py", 3, "KeyError"), ("app/names.py", 2, "")],
        ),
        ('  File "C:\\app\\x.py", line 3, in f\nKeyError\n', [("C:/app/x.py", 3, "KeyError")]),
        ("tests/test_a.py:3: AssertionError\nconftest.py:2: KeyError\n", []),
        ('  File "<string>", line 1, in <module>\nKeyError: 1\n', []),
        ("app/x.py:3: DeprecationWarning\n", [("app/x.py", 3, "DeprecationWarning")]),
        ("app/x.py:3: error: a linter's word\n", [("app/x.py", 3, "")]),
        ('Note: a\n  File "x.py", line 3, in f\nkey: value\nOdd: b\n', [("x.py", 3, "b")]),
        ("nothing: of note\n           ^^^^\n", []),
        ("", []),
    ],
)
def test_the_deepest_frame_outside_of_tests_and_libraries_is_found(
    log: str, expected: list[tuple[str, int, str]]
) -> None:
    found = [(place.file, place.line, place.message) for place in read_log(log)]
    assert [entry[:2] for entry in found] == [entry[:2] for entry in expected]
    assert all(wanted[2] in entry[2] for entry, wanted in zip(found, expected, strict=True))


def test_underlined_columns_are_counted_from_the_code() -> None:
    assert read_log(PYTHON)[0].carets == (7, 22)


def test_the_last_recorded_failure_is_found_from_below(tmp_path: Path) -> None:
    (tmp_path / RECORD).parent.mkdir()
    entries = [
        {"file": "app/x.py", "line": 3, "receiver": "a.b", "column": 4},
        {"file": "app/y.py", "line": 5, "receiver": None},
    ]
    (tmp_path / RECORD).write_text(json.dumps({"failures": entries}))
    below = tmp_path / "app" / "deep"
    below.mkdir(parents=True)
    assert last_recorded(below) == (
        FailedPlace((tmp_path / "app/x.py").as_posix(), 3, "", "a.b", 4),
        FailedPlace((tmp_path / "app/y.py").as_posix(), 5),
    )


def test_without_a_record_the_options_are_named(tmp_path: Path) -> None:
    with pytest.raises(NoFailureError, match="--line N"):
        last_recorded(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"failures": [{}]}', '{"failures": [{"file": "a", "line": "x"}]}'])
def test_a_broken_record_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / RECORD).parent.mkdir()
    (tmp_path / RECORD).write_text(text)
    with pytest.raises(NoFailureError, match=r"last-failure\.json cannot be read"):
        last_recorded(tmp_path)


def test_a_path_names_the_file_that_it_can_mean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("app/x.py", "other/app/x.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    file, other = tmp_path / "app/x.py", tmp_path / "other/app/x.py"
    monkeypatch.chdir(tmp_path)
    assert names_file("app/x.py", file)
    assert not names_file("app/x.py", other)
    assert names_file(str(file), file)
    assert not names_file(str(file), other)
    assert names_file("/build/machine/app/x.py", file)
    assert names_file("C:/work/app/x.py", file)
    assert not names_file("/build/machine/lib/x.py", file)
    monkeypatch.chdir(tmp_path / "other")
    assert names_file("./other/app/x.py", other)
    assert not names_file("third/x.py", other)
