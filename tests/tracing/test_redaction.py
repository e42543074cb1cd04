"""Secrets are replaced before they reach the disk; what only looks like one of their names is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from selfdebug.trace.owner import Owner
from selfdebug.trace.recorder import Recorder
from selfdebug.trace.redaction import REDACTED, Redactor, Seen
from selfdebug.trace.settings import TraceSettings
from selfdebug.trace.store import FILE_NAME
from tracing.recorded_runs import pytest_run, query

KEY = "sk-proj-" + "a1B2" * 8


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        "ghp_" + "a" * 36,
        "github_pat_" + "a" * 30,
        "AKIA" + "A1" * 8,
        "xoxb-1234567890-abc",
        "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIabc cut off",
        "postgres://ada:hunter2hunter2@db/shop",
        "Authorization: Bearer abcdefghijklmnop",
        "User(name='ada', password='hunter2')",
        '{"api_key": "hunter2"}',
        "{'db_password': 'hunter2'}",
        "DB_PASSWORD=hunter2 python x.py",
        "--password=hunter2",
        "TOKEN = 'hunter\\'2'",
    ],
)
def test_a_secret_in_text_is_replaced(text: str) -> None:
    clean = Redactor().text(text)
    assert REDACTED in clean
    for secret in ("hunter2", "MIIabc", "abcdefghijklmnop", KEY, "c2lnbmF0dXJl"):
        assert secret not in clean


@pytest.mark.parametrize(
    "text",
    [
        "token = parse(text)",
        "if self.password is None:",
        "password=None",
        "the tokenizer found 3 tokens",
        "https://example.org/a:b@c",
        "skip-this-test",
        "secretary = find(users, 'ada')",
        "risk-free",
    ],
)
def test_code_that_only_names_a_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_values_under_a_telling_name_are_replaced_whatever_they_look_like() -> None:
    redactor = Redactor()
    clean = redactor.data(
        {
            "password": "x",
            "apiKey": ["x"],
            "session_id": 17,
            "user": {"token": {"type": "str", "is_none": False, "repr": "'x'"}},
            "secret": None,
            "auth_token": {"type": "NoneType", "is_none": True, "repr": "None"},
            "tokens_used": 17,
            "tokens": ["if", "x"],
            "next_token": "if",
            "tokenizer": "words",
            "api_tokens": ["x"],
            "keyboard": "x",
            "secretary": "x",
            "dbPassword": "x",
            "passed": "x",
            "pwd": "x",
        }
    )
    assert (clean["password"], clean["apiKey"], clean["session_id"], clean["secret"]) == (
        REDACTED,
        REDACTED,
        REDACTED,
        None,
    )
    assert clean["user"]["token"] == {"type": "str", "is_none": False, "repr": REDACTED, "redacted": True}
    assert clean["auth_token"]["repr"] == "None"
    assert (clean["tokens"], clean["next_token"], clean["tokens_used"]) == (["if", "x"], "if", 17)
    assert (clean["tokenizer"], clean["api_tokens"]) == ("words", REDACTED)
    assert (clean["keyboard"], clean["secretary"], clean["passed"]) == ("x", "x", "x")
    assert (clean["dbPassword"], clean["pwd"]) == (REDACTED, REDACTED)


def test_the_users_own_names_and_patterns_are_added() -> None:
    redactor = Redactor(keys=["^iban$"], patterns=[r"\bCUST-\d+"])
    assert redactor.data({"iban": "DE00", "note": "CUST-17 came"}) == {"iban": REDACTED, "note": f"{REDACTED} came"}


def test_without_values_what_was_seen_is_left_out() -> None:
    redactor = Redactor(values=False)
    assert redactor.data([Seen("ada"), "ours"]) == ["[left out: include_values = false]", "ours"]


def test_many_texts_are_forgotten_again() -> None:
    redactor = Redactor()
    for number in range(9000):
        assert redactor.text(f"password='{number}'") == f"password='{REDACTED}'"
        assert redactor.is_secret(f"password_{number}")


def test_nothing_secret_reaches_the_disk_by_any_way(tmp_path: Path) -> None:
    recorder = Recorder.open(tmp_path, "run-1", Owner(), TraceSettings())
    with recorder.step("ingest", f"saw {KEY}", rule=f"rule {KEY}") as step:
        step.set("failure.exception", {"message": f"bad {KEY}"})
        step.set("observation.password", "hunter2")
        step.append(f"odd.{KEY}", 1)
        step.error(f"error {KEY}")
        step.describe(f"did {KEY}")
        step.decided(f"rule {KEY}")
        step.read(f"odd.{KEY}")
        step.tool_call(pytest_run(1, output=f"printed {KEY}", command=("pytest", f"--token={KEY}")), f"why {KEY}")
    recorder.finding("file-changed-meanwhile", f"finding {KEY}", "ingest#0", (f"witness {KEY}",))
    recorder.end("failed")
    stored = b"".join(path.read_bytes() for path in tmp_path.glob(f"{FILE_NAME}*"))
    assert KEY.encode() not in stored
    assert b"hunter2" not in stored
    assert KEY not in query(tmp_path, "inspect_tool_run", id="pytest-1").text()
    value = query(tmp_path, "get_value", step="ingest#0", key="observation.password")
    assert "[a secret in it was redacted before it was stored and cannot be shown]" in value.text()
    assert "4 values hold redacted secrets" in query(tmp_path, "run_overview").text() or value.data["redacted"]
