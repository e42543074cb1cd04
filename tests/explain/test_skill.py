"""The skill lies in the package, is valid, is found by installers, and is put where agents look."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from skills_ref import read_properties, validate  # type: ignore[import-untyped]  # it ships no types
from tracing.recorded_runs import record

from selfdebug.errors import SelfdebugError, UsageError
from selfdebug.explain import skill
from selfdebug.explain.settings import ExplainSettings, Mode
from selfdebug.explain.toolbox import RESERVED, Toolbox, TraceTool, refuse_clashes
from selfdebug.trace.owner import Owner
from selfdebug.trace.queries import QUERIES


def test_the_public_validator_has_nothing_against_it() -> None:
    assert validate(skill.folder()) == []
    properties = read_properties(skill.folder())
    assert properties.name == skill.NAME
    assert "why did you" in properties.description


def test_it_lies_where_installers_look_into_packages() -> None:
    assert skill.folder().parts[-4:] == ("selfdebug", ".agents", "skills", "self-explain")
    assert (skill.folder() / "SKILL.md").is_file()


def test_it_names_each_query_and_only_queries_that_there_are() -> None:
    text = skill.text()
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`?[`(]", text)) - {"explain_run"}
    assert named <= set(QUERIES)
    missing = {name for name in QUERIES if name not in text} - {"read_narrative"}
    assert missing == set()


def test_the_users_instruction_is_appended_and_replaces_nothing() -> None:
    assert skill.text("  ") == skill.text()
    assert skill.text("Answer in French.") == f"{skill.text()}\n## Instruction of the user\n\nAnswer in French.\n"


def test_it_is_installed_once_and_never_over_a_changed_file(tmp_path: Path) -> None:
    first = skill.install(tmp_path)
    assert first.file.read_text(encoding="utf-8") == skill.text()
    assert not first.unchanged
    assert skill.install(tmp_path).unchanged
    first.file.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="--force replaces it"):
        skill.install(tmp_path)
    assert first.file.read_text(encoding="utf-8") == "mine"
    skill.install(tmp_path, "Be brief.", force=True)
    assert first.file.read_text(encoding="utf-8").endswith("Be brief.\n")


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="Cannot write the skill"):
        skill.install(tmp_path / "file")
    target = tmp_path / skill.NAME / skill.FILE
    target.parent.mkdir()
    target.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="it is not UTF-8"):
        skill.install(tmp_path)


def test_an_installation_without_the_file_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(skill, "folder", lambda: tmp_path)
    with pytest.raises(SelfdebugError, match="missing from this installation"):
        skill.text()


# ---------------------------------------------------------------- the tools that come with it


def test_no_tool_is_listed_before_the_activation_and_asking_twice_is_harmless(tmp_path: Path) -> None:
    toolbox = Toolbox((tmp_path,), ExplainSettings())
    assert toolbox.listed() == []
    assert toolbox.activate() is True
    assert toolbox.activate() is False
    assert [tool.name for tool in toolbox.listed()] == list(QUERIES)


def test_a_tool_that_is_not_listed_works_when_it_is_called(tmp_path: Path) -> None:
    record(tmp_path)
    tool = Toolbox((tmp_path,), ExplainSettings()).find("run_overview")
    assert tool is not None
    assert tool.call({}, Owner()).found
    assert Toolbox((tmp_path,), ExplainSettings()).find("zebra") is None


def test_a_load_that_fails_is_tried_again(tmp_path: Path) -> None:
    loads: list[Path] = []

    def load(folder: Path, _settings: ExplainSettings) -> list[TraceTool]:
        loads.append(folder)
        if len(loads) == 1:
            raise OSError("the disk is away")
        return []

    toolbox = Toolbox((tmp_path,), ExplainSettings(), load)
    with pytest.raises(OSError, match="away"):
        toolbox.activate()
    assert toolbox.activate()
    assert len(loads) == 2


def test_the_delegate_is_one_tool_for_whole_questions(tmp_path: Path) -> None:
    record(tmp_path)
    toolbox = Toolbox((tmp_path,), ExplainSettings(mode=Mode.DELEGATE))
    toolbox.activate()
    (tool,) = toolbox.listed()
    assert tool.name == "explain_run"
    assert "[keep#8]" in tool.call({"question": "why this patch"}, Owner()).text()
    for wrong in ({}, {"question": 7}, {"question": " "}, {"question": "why", "zebra": 1}):
        assert not tool.call(wrong, Owner()).found


def test_the_run_is_found_in_whichever_project_it_was(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    record(first, run_id="one")
    record(second, run_id="two")
    toolbox = Toolbox((first, second), ExplainSettings())
    tool = toolbox.find("run_overview")
    assert tool is not None
    assert tool.call({}, Owner()).text().startswith("<trace run=one>")
    assert tool.call({"run_id": "two"}, Owner()).text().startswith("<trace run=two>")
    toolbox.prefer(second)
    assert tool.call({}, Owner()).text().startswith("<trace run=two>")
    assert "There is no run 'three'" in tool.call({"run_id": "three"}, Owner()).text()


def test_a_clash_of_names_fails_loudly() -> None:
    refuse_clashes(["run", "other"])
    with pytest.raises(UsageError, match="reserved for the trace: backtrack, explain_run"):
        refuse_clashes(["explain_run", "backtrack", "run"])
    assert json.dumps(sorted(RESERVED)).count(",") == 12
