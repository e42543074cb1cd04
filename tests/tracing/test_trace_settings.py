"""`[tool.selfdebug.trace]` and `[tool.selfdebug.explain]`: what they may say, and what is said of anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfdebug import config
from selfdebug.errors import UsageError
from selfdebug.explain import settings as explain_settings
from selfdebug.explain.settings import ExplainSettings, Mode
from selfdebug.trace import settings as trace_settings
from selfdebug.trace.settings import TraceSettings


def written(folder: Path, text: str) -> Path:
    file = folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("text", ["", "[tool.other]\nx = 1\n", "[tool.selfdebug]\njobs = 1\n", "tool = 1\n"])
def test_without_a_table_the_defaults_hold(tmp_path: Path, text: str) -> None:
    file = written(tmp_path, text)
    assert trace_settings.load(file) == TraceSettings()
    assert explain_settings.load(file) == ExplainSettings()
    assert trace_settings.load(tmp_path / "missing.toml") == TraceSettings()


def test_the_tables_are_read_beside_the_settings_of_a_run(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "[tool.selfdebug]\nmax-attempts = 2\n"
        "[tool.selfdebug.trace]\ninclude-values = false\nredact-keys = ['^iban$']\nruns = 5\n"
        "[tool.selfdebug.explain]\nmode = 'delegate'\nmodel = 'test'\nbudget = 3\ninstruction = 'Be brief.'\n",
    )
    assert trace_settings.load(file) == TraceSettings(include_values=False, redact_keys=("^iban$",), runs=5)
    assert explain_settings.load(file) == ExplainSettings(Mode.DELEGATE, "Be brief.", "test", 3)
    assert config.load(tmp_path, None, {}).max_attempts == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("zebra = 1", 'Unknown key "zebra" under [tool.selfdebug.trace]'),
        ("include_values = 1", "must be true or false, not 1."),
        ("runs = true", "must be a whole number of at least 1, not True."),
        ("runs = 0", "must be a whole number of at least 1, not 0."),
        ("redact_keys = 'a'", "must be a list of regular expressions"),
        ("redact_patterns = ['(']", "must be a list of regular expressions ('(': "),
    ],
)
def test_a_wrong_key_of_the_trace_is_named(tmp_path: Path, line: str, said: str) -> None:
    file = written(tmp_path, f"[tool.selfdebug.trace]\n{line}\n")
    with pytest.raises(UsageError) as caught:
        trace_settings.load(file)
    assert said in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("zebra = 1", '"zebra" under [tool.selfdebug.explain]'),
        ("mode = 'loud'", 'must be "inline" or "delegate", not \'loud\'.'),
        ("model = 1", "must be text"),
        ("budget = 51", "must be a whole number from 1 to 50"),
    ],
)
def test_a_wrong_key_of_the_explanation_is_named(tmp_path: Path, line: str, said: str) -> None:
    file = written(tmp_path, f"[tool.selfdebug.explain]\n{line}\n")
    with pytest.raises(UsageError) as caught:
        explain_settings.load(file)
    assert said in str(caught.value)


def test_a_file_that_cannot_be_read_is_said_to_be_so(tmp_path: Path) -> None:
    for text, said in (("[tool.selfdebug]\ntrace = 1\n", "must be a table"), ("= x", "is not valid TOML")):
        with pytest.raises(UsageError, match=said):
            trace_settings.load(written(tmp_path, text))
    with pytest.raises(UsageError, match="Cannot read the configuration"):
        trace_settings.load(tmp_path)
