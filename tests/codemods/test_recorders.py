"""The recorders themselves, in this interpreter: what they keep, print and leave alone."""

import builtins
import os
import sys
import threading
from pathlib import Path

import pytest

from codemods.selfdebug.recorders import Recorder, install, write


def raising(recorder: Recorder, *values: object) -> None:
    """A stand-in for a probed statement."""
    try:
        for number, value in enumerate(values, 2):
            recorder.probe(number, value)
        _ = values[0].name  # type: ignore[attr-defined]  # the crash
    except AttributeError:
        recorder.caught(1)


def test_names_values_and_exception_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    recorder = Recorder()
    recorder.add_file(__file__, 90, {2: "first", 3: "api_key"})
    raising(recorder, None, "hush")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("DBG-PROBE frame=raising line=90 locals={'recorder': <")
    assert lines[0].endswith("'values': (None, 'hush'), 'number': 3, 'value': 'hush'}")
    assert lines[1:] == [
        "DBG-VALUE line=90 code='first' value=None",
        "DBG-VALUE line=90 code='api_key' value=<redacted>",
        "DBG-CAUGHT AttributeError line=90 error='NoneType' object has no attribute 'name'",
    ]


def test_a_value_comes_back_as_it_is() -> None:
    recorder, value = Recorder(), object()
    recorder.add_file(__file__, 1, {2: "x"})
    assert recorder.probe(2, value) is value


def test_values_are_forgotten_when_the_statement_begins_again(capsys: pytest.CaptureFixture[str]) -> None:
    recorder = Recorder()
    recorder.add_file(__file__, 90, {2: "first", 3: "second"})
    recorder.probe(2, "old")
    recorder.probe(3, "old")
    raising(recorder, None)
    assert "old" not in capsys.readouterr().out


def test_threads_do_not_see_each_others_values(capsys: pytest.CaptureFixture[str]) -> None:
    recorder = Recorder()
    recorder.add_file(__file__, 90, {1: "begin", 2: "first", 3: "second"})
    thread = threading.Thread(target=lambda: recorder.probe(3, "elsewhere"))
    thread.start()
    thread.join()
    raising(recorder, None)
    assert "elsewhere" not in capsys.readouterr().out


def test_without_an_exception_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    Recorder().caught(1)
    assert capsys.readouterr().out == ""


def test_long_and_odd_texts_are_bounded() -> None:
    class Odd:
        def __repr__(self) -> str:
            return "a\r\n" * 1000

    class list(Odd):  # noqa: N801  # reprlib goes by the name of the class
        pass

    recorder = Recorder()
    assert recorder.show(ValueError("a\nb" * 1000), "", is_message=True).startswith("a\\nba\\nb")
    assert len(recorder.show(ValueError("ab" * 1000), "", is_message=True)) == 403
    assert len(recorder.show(Odd(), "odd")) < 410
    assert recorder.show(list(), "posing") == "<list: its text raises TypeError>"
    assert recorder.show(["if", "x"], "tokens") == "['if', 'x']"
    assert recorder.show(["abc"], "api_tokens") == "<redacted>"
    assert recorder.show({"token": "abc", "n": 1}, "d") == "{'n': 1, 'token': <redacted>}"


def test_no_standard_output_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    write("text")
    with Path(os.devnull).open("w") as closed:
        pass
    monkeypatch.setattr(sys, "stdout", closed)
    write("text")


def test_installing_twice_keeps_one_recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("__selfdebug_probe__", "__selfdebug_caught__"):
        monkeypatch.delattr(builtins, name, raising=False)
    try:
        install("a.py", 1, {2: "x"})
        recorder = vars(builtins)["__selfdebug_probe__"].__self__
        install("b.py", 3, {2: "y"})
        assert recorder.files == {"a.py": (1, {2: "x"}), "b.py": (3, {2: "y"})}
        assert vars(builtins)["__selfdebug_caught__"].__self__ is recorder
    finally:
        vars(builtins).pop("__selfdebug_probe__", None)
        vars(builtins).pop("__selfdebug_caught__", None)


def test_recorders_of_others_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = lambda _number, value: value  # noqa: E731  # a recorder of somebody else
    monkeypatch.setattr(builtins, "__selfdebug_probe__", theirs, raising=False)
    install("a.py", 1, {})
    assert vars(builtins)["__selfdebug_probe__"] is theirs
