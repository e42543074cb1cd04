"""trace, explain, runs, skill and mcp install on the command line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tracing.recorded_runs import ROLLED_BACK, record

from selfdebug.cli import invoke
from selfdebug.explain import mcp_hosts, skill
from selfdebug.explain.mcp_hosts import Host
from selfdebug.trace.queries import QUERIES

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SELFDEBUG_DIR", "SELFDEBUG_SESSION", "SELFDEBUG_ONE_SHOT"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "pyproject.toml").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(project: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*words: str) -> tuple[int, str, str]:
        code = invoke(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    assert project.is_dir()
    return run


# ---------------------------------------------------------------- trace


def test_each_query_is_a_command_with_its_own_help(call: Call) -> None:
    code, listed, _ = call("trace", "--help")
    assert code == 0
    for name, query in QUERIES.items():
        assert name in listed
        code, text, _ = call("trace", name, "--help")
        assert code == 0
        assert all(
            parameter.name.upper() in text or f"--{parameter.name.replace('_', '-')}" in text
            for parameter in query.parameters
        )


def test_a_query_answers_as_text_and_as_one_document(project: Path, call: Call) -> None:
    record(project / ".selfdebug")
    code, text, _ = call("trace", "trace-node", "keep#8")
    assert code == 0
    assert text.startswith("<trace run=run-1>")
    code, text, _ = call("trace", "get_value", "keep#8", "patch.guard", "--max-chars", "9", "--json")
    document = json.loads(text)
    assert (code, document["data"]["value"], document["found"]) == (0, "condition", True)
    code, text, _ = call("trace", "trace_node", "kep#8")
    assert (code, "keep#8" in text) == (1, True)
    assert call("trace", "trace_node")[0] == 64
    assert call("trace", "zebra")[0] == 64
    assert call("trace", "read_narrative", "--max-lines", "0")[0] == 64


def test_the_session_is_an_option_or_the_environment(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(project / ".selfdebug", session="a", run_id="mine")
    assert call("trace", "run_overview")[0] == 1
    assert call("trace", "run_overview", "--session", "a")[0] == 0
    monkeypatch.setenv("SELFDEBUG_SESSION", "a")
    assert call("trace", "run_overview", "--run", "mine")[0] == 0
    assert call("trace", "run_overview", "--session", "b", "--run", "mine")[0] == 1


def test_another_state_folder_is_asked(project: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    record(project / "elsewhere")
    monkeypatch.setenv("SELFDEBUG_DIR", "elsewhere")
    assert call("trace", "run_overview")[0] == 0


# ---------------------------------------------------------------- explain


def test_without_a_question_the_story_is_told_and_with_one_the_answer(project: Path, call: Call) -> None:
    record(project / ".selfdebug", ROLLED_BACK, run_id="20260101-120100-3c4d")
    record(project / ".selfdebug", run_id="20260101-120000-1a2b")
    assert "What I kept" in call("explain")[1]
    assert "Why nothing was kept" in call("explain", "20260101-120100-3c4d")[1]
    code, text, _ = call("explain", "why", "not", "or-default?")
    assert (code, "[try#6]" in text) == (0, True)
    code, text, _ = call("explain", "20260101-120100-3c4d", "why rolled back", "--json")
    assert (code, json.loads(text)["data"]["intent"]) == (0, "why-rolled-back")
    assert "I rolled back" in call("explain", "--run", "20260101-120100-3c4d", "why rolled back")[1]
    assert call("explain", "hm")[0] == 1
    code, text, _ = call("explain", "20991231-235959-ffff")
    assert (code, "There is no run" in text) == (1, True)


def test_before_the_first_run_explain_says_so(call: Call) -> None:
    code, text, _ = call("explain")
    assert (code, text.startswith("No completed run is recorded here yet")) == (1, True)


# ---------------------------------------------------------------- runs


def test_a_run_is_exported_imported_and_pruned(project: Path, call: Call) -> None:
    record(project / ".selfdebug", session="a")
    assert call("runs")[0] == 0
    assert call("runs", "export", "run-1")[0] == 64
    assert call("runs", "export", "run-1", "--session", "a", "--output", "run.json") == (0, "", "")
    code, text, _ = call("runs", "export", "run-1", "--session", "a")
    assert (code, text) == (0, (project / "run.json").read_text())
    assert call("runs", "import", "run.json")[0] == 64
    code, text, _ = call("runs", "prune", "--older-than", "0")
    assert (code, text) == (0, "Deleted 1 trace; left: 0 traces.\n")
    code, text, _ = call("runs", "import", "run.json")
    assert (code, text) == (0, "Imported run-1 (passed); selfdebug explain run-1 tells its story.\n")
    assert call("explain", "run-1")[0] == 0
    assert call("runs", "import", "missing.json")[0] == 64
    assert call("runs", "export", "run-1", "--output", "no/such/folder.json")[0] == 3


def test_the_runs_that_can_be_asked_are_listed_also_those_that_changed_nothing(project: Path, call: Call) -> None:
    assert call("runs", "recorded") == (0, "No run of yours is recorded here.\n", "")
    record(project / ".selfdebug", ROLLED_BACK, run_id="first")
    record(project / ".selfdebug", run_id="second", one_shot=True)
    record(project / ".selfdebug", run_id="not-yours", session="a")
    lines = call("runs", "recorded")[1].splitlines()
    assert [line.split("  ")[0] for line in lines] == ["second", "first"]
    assert lines[0].endswith("  passed (one-shot)")
    assert lines[1].endswith("  rolled back")
    listed = json.loads(call("runs", "recorded", "--session", "a", "--json")[1])["runs"]
    assert [(run["id"], run["status"]) for run in listed] == [("not-yours", "passed")]


def test_a_damaged_event_of_a_file_is_counted(project: Path, call: Call) -> None:
    record(project / ".selfdebug")
    document = json.loads(call("runs", "export", "run-1")[1])
    document["events"][0] = 7
    (project / "run.json").write_text(json.dumps(document))
    call("runs", "prune", "--older-than", "0")
    assert "1 damaged events were left out." in call("runs", "import", "run.json")[1]


def test_where_nothing_was_recorded_there_is_nothing_to_prune_or_export(call: Call) -> None:
    assert call("runs", "prune") == (0, "No run is recorded here.\n", "")
    assert call("runs", "export", "run-1")[0] == 64


# ---------------------------------------------------------------- skill


def test_the_skill_is_shown_with_the_instruction_and_installed(
    project: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "pyproject.toml").write_text("[tool.selfdebug.explain]\ninstruction = 'Be brief.'\n")
    assert call("skill", "path") == (0, f"{skill.folder()}\n", "")
    assert call("skill", "show")[1] == skill.text("Be brief.")
    for client, folder in (("agents", ".agents"), ("claude", ".claude"), ("cursor", ".cursor"), ("codex", ".agents")):
        file = project / folder / "skills" / "self-explain" / "SKILL.md"
        known = file.exists()
        code, text, _ = call("skill", "install", "--client", client)
        assert (code, text) == (0, f"{'Already in' if known else 'Wrote'} {file}\n")
        assert file.read_text() == skill.text("Be brief.")
    home = project / "home"
    monkeypatch.setenv("HOME", str(home))
    assert call("skill", "install", "--user")[1] == f"Wrote {home / '.agents/skills/self-explain/SKILL.md'}\n"
    target = project / "mine"
    assert call("skill", "install", "--to", str(target))[0] == 0
    (target / "self-explain" / "SKILL.md").write_text("changed")
    assert call("skill", "install", "--to", str(target))[0] == 64
    assert call("skill", "install", "--to", str(target), "--force")[0] == 0


# ---------------------------------------------------------------- mcp install


@pytest.mark.parametrize("host", list(Host))
def test_the_configuration_is_printed_and_nothing_written(project: Path, call: Call, host: Host) -> None:
    code, text, _ = call("mcp", "install", "--client", host.value)
    assert code == 0
    if host is Host.CODEX:
        entry = tomllib.loads(text)["mcp_servers"]["selfdebug"]
    else:
        entry = json.loads(text)["servers" if host is Host.VSCODE else "mcpServers"]["selfdebug"]
    assert entry["args"] == ["-m", "selfdebug", "mcp", "--root", str(project)]
    assert [path.name for path in project.iterdir()] == ["pyproject.toml"]


@pytest.mark.parametrize("host", list(Host))
def test_the_configuration_is_written_beside_what_the_file_holds(project: Path, call: Call, host: Host) -> None:
    file = mcp_hosts.file_of(host, project)
    file.parent.mkdir(exist_ok=True)
    others = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"' if host is Host.CODEX else '{"mine": {"é": 1}}'
    file.write_text(others, encoding="utf-8")
    assert call("mcp", "install", "--client", host.value, "--write")[1] == f"Wrote {file}\n"
    once = file.read_text(encoding="utf-8")
    assert call("mcp", "install", "--client", host.value, "--write")[1] == f"Already in {file}\n"
    if host is Host.CODEX:
        assert once.startswith(others)
        assert tomllib.loads(once)["mcp_servers"]["other"] == {"command": "y"}
        file.write_text(once + "\n[after]\nx = 1\n", encoding="utf-8")
    else:
        assert json.loads(once)["mine"] == {"é": 1}
    path, changed = mcp_hosts.write(host, project, ("other-python", "mcp"))
    assert (path, changed) == (file, True)
    assert "other-python" in file.read_text(encoding="utf-8")
    if host is Host.CODEX:
        assert tomllib.loads(file.read_text())["after"] == {"x": 1}


def test_a_file_that_the_host_could_not_read_is_left_alone(project: Path, call: Call) -> None:
    file = project / ".mcp.json"
    for content in ("{broken", "[1]", '{"mcpServers": 7}'):
        file.write_text(content)
        code, _, said = call("mcp", "install", "--client", "claude", "--write")
        assert (code, file.read_text()) == (64, content)
        assert "add this by hand" in said
    file.unlink()
    file.mkdir()
    assert call("mcp", "install", "--client", "claude", "--write")[0] == 64


def test_without_the_extra_the_server_says_how_to_install_it(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    code, _, said = call("mcp")
    assert (code, 'pip install "selfdebug[mcp]"' in said) == (64, True)
