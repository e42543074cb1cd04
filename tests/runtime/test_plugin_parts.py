"""Parts of the plugin by themselves, in this process: redaction, guarded calls, snapshots, the journal."""

from __future__ import annotations

import ast
import gc
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfdebug.runtime import PLUGIN_FOLDER
from selfdebug.runtime.path._selfdebug_plugin.guarded import guarded
from selfdebug.runtime.path._selfdebug_plugin.journal import Journal
from selfdebug.runtime.path._selfdebug_plugin.peeking import MISSING, UNKNOWN, attribute, look_up
from selfdebug.runtime.path._selfdebug_plugin.peeking import outline as peek
from selfdebug.runtime.path._selfdebug_plugin.plans import clock
from selfdebug.runtime.path._selfdebug_plugin.redaction import LONGEST, is_code_name, is_secret_name, redact
from selfdebug.runtime.path._selfdebug_plugin.values import outline, render, snapshot
from selfdebug.runtime.path._selfdebug_plugin.watching import Watch

SECRETS = [
    "password='hunter2'",
    'api_key = "hunter2"',
    "'auth_token': 'hunter2'",
    "secret=b'hunter2'",
    "--token=hunter2",
    "PGPASSWORD=hunter2",
    "https://ann:hunter2@example.org/x",
    "Authorization: Bearer hunter2hunter2",
    "ghp_hunter2hunter2hunter2hunter2hunter2",
    "github_pat_hunter2hunter2hunter2hunter2",
    "xoxb-hunter2-hunter2",
    "glpat-hunter2hunter2hunter2",
    "sk-proj-hunter2hunter2hunter2",
    "eyJhunter2.eyJhunter2.hunter2",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2",
    "passwords=['abc', 'hunter2']",
    "tokens=['abc', 'hunter2']",
    "api_tokens='hunter'",
]
HARMLESS = ["", "x = 1", "the passenger", "key", "https://example.org/a:b", "password=None", "sk-1", "a@b.c", "tok"]
PARSERS = ["tokens=['if', 'x']", "unexpected token: '}'", "next_token='if'", "tokenizer=Words('ab')", "max_tokens=17"]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_found_by_name_and_by_shape(text: str) -> None:
    clean, hidden = redact(f"before {text} after")
    assert hidden
    assert "hunter" not in clean
    assert clean.startswith("before ")


@pytest.mark.parametrize("text", [*HARMLESS, *PARSERS])
def test_harmless_text_stays(text: str) -> None:
    assert redact(text) == (text, False)


def test_names_of_secrets() -> None:
    assert all(map(is_secret_name, ["password", "DB_PASSWORD", "apiKey", "csrf_token", "AWS_SECRET", "session_id"]))
    assert all(map(is_secret_name, ["api_tokens", "accessTokens", "AUTH_TOKENS", "token", "passwords", "reset_token"]))
    assert not any(map(is_secret_name, ["name", "key", "passenger", "x" * 1000, "", "tokenizer", "secretary"]))


@pytest.mark.parametrize("name", ["tokens", "stop_tokens", "allTokens", "token_type", "max_tokens", "next_token"])
def test_under_the_words_of_parsers_only_what_looks_like_a_secret_is_hidden(name: str) -> None:
    assert is_code_name(name)
    assert not is_secret_name(name)
    harmless: list[object] = [["if", "(", "x1", 17], {"NUMBER": r"\d+", "WORD": "[a-z]+"}, "identifier", b"else"]
    for value in harmless:
        assert render(value, name) == (repr(value), False, False)
        assert peek(value, name) == repr(value)
    telling = (["if", "hunter2"], {"ann": "hunter2"}, "hunter2", b"hunter2", [["hunter2"]], {"password": "hunter"})
    for secret in telling:
        for text in (render(secret, name)[0], peek(secret, name)):
            assert "hunter" not in text
            assert "<redacted>" in text


def test_of_an_object_under_the_name_of_a_secret_its_class_is_told() -> None:
    class Secret:
        pass

    cls = f"{__name__}.{Secret.__qualname__}"
    assert render(Secret(), "token") == (f"<{cls} object>", False, False)
    assert peek(Secret(), "token") == f"<{cls}>"
    assert peek("if", "token") == peek(17, "token") == "<redacted>"


def test_an_item_is_named_by_its_key_or_by_its_container() -> None:
    names = {"passwords": ["hunter2"], "ages": [17], "table": {"api_key": "hunter2"}, "field": "api_key"}
    chains = [Watch(name, None, "name", name) for name in names]
    chains += [Watch(f"{name}[0]", name, "item", 0) for name in ("passwords", "ages")]
    chains.append(Watch("table[field]", "table", "item-of", "field"))
    seen = {key: token[2] for key, token in look_up(chains, names, {}).items() if token is not None}
    assert (seen["passwords[0]"], seen["ages[0]"], seen["table[field]"]) == ("<redacted>", "17", "<redacted>")


class Plain:
    """An object with attributes of all kinds, whose class has some, too."""

    default = "of the class"

    def __init__(self) -> None:
        self.own: object = None

    def method(self) -> None:
        raise AssertionError("nobody asks")

    @staticmethod
    def unbound() -> None:
        raise AssertionError("nobody asks")

    @classmethod
    def made(cls) -> None:
        raise AssertionError("nobody asks")

    @property
    def computed(self) -> None:
        raise AssertionError("nobody asks")


class Open(Plain):
    """Its attributes may be anything."""

    def __getattr__(self, name: str) -> None:
        raise AssertionError("nobody asks")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("own", None), ("default", "of the class"), ("other", MISSING)),
        *((name, UNKNOWN) for name in ("method", "unbound", "made", "computed")),
    ],
)
def test_an_attribute_is_looked_up_without_running_code_or_asking_for_all_of_them(name: str, expected: object) -> None:
    owner = Plain()
    assert attribute(owner, name) is expected
    # Since Python 3.11 an object has no dictionary before somebody asks for it, and is slower afterwards.
    assert [each for each in gc.get_referents(owner) if type(each) is dict] == []


@pytest.mark.parametrize("name", ["default", "method", "unbound", "made"])
def test_an_attribute_of_the_object_comes_before_one_of_its_class(name: str) -> None:
    owner = Plain()
    value = Plain().method if name in ("method", "unbound") else object()
    setattr(owner, name, value)
    assert attribute(owner, name) is value


def test_what_getattr_may_answer_is_not_known() -> None:
    assert attribute(Open(), "other") is UNKNOWN
    assert attribute(Open(), "own") is None


def test_the_clock_strikes_when_few_calls_are_left() -> None:
    tick = clock(1_200)
    assert [number for number in range(1, 2_000) if tick()] == [200, 1_100, 1_190, 1_199, 1_200]
    tick = clock(1)
    assert [tick() for _ in range(3)] == [True, False, False]
    assert clock(0)() is False


@given(st.text(st.sampled_from("password=:'\" \\eyJ.-BEGIN/@"), max_size=300), st.integers(1, 60))
def test_redaction_is_quick_whatever_the_text(text: str, times: int) -> None:
    started = time.perf_counter()
    clean, _ = redact(text * times)
    assert time.perf_counter() - started < 2.0
    assert len(clean) <= 10 * LONGEST


def endless() -> str:
    while True:
        pass


def test_an_endless_call_is_left_in_any_thread() -> None:
    answers: list[str] = []
    worker = threading.Thread(target=lambda: answers.append(guarded(endless, "left", seconds=0.1)))
    worker.start()
    worker.join(10)
    assert answers == ["left"]
    assert guarded(endless, "left", seconds=0.1) == "left"
    assert guarded(lambda: time.sleep(20), None, seconds=0.1) is None
    assert guarded(lambda: "done", "left") == "done"


def test_timers_and_trace_functions_of_the_program_are_put_back() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _frame: rung.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        assert guarded(endless, "left", seconds=0.1) == "left"
        time.sleep(0.5)
        assert rung == [signal.SIGALRM]
    finally:
        signal.signal(signal.SIGALRM, before)
    trace = sys.gettrace()
    worker = threading.Thread(target=guarded, args=(lambda: None, None))
    worker.start()
    worker.join(10)
    assert sys.gettrace() is trace


def test_an_interruption_of_the_user_is_passed_on() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(interrupted, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None"),
        (True, "True"),
        (1.5, "1.5"),
        ("it's", '"it\'s"'),
        (b"\x00", "b'\\x00'"),
        ((1,), "(1,)"),
        ((), "()"),
        ({1}, "{1}"),
        (set(), "set()"),
        (frozenset({1}), "frozenset({1})"),
        ({"a": [None]}, "{'a': [None]}"),
        (10**40, str(10**40)),
        ([["x" * 300] * 9], "..."),
        (len, "<built-in function len>"),
        (ValueError, "<class 'ValueError'>"),
    ],
)
def test_reprs_are_those_of_python(value: object, expected: str) -> None:
    text, truncated, redacted = render(value)
    assert text == expected or (truncated and text.endswith(expected))
    assert not redacted
    assert len(text) <= 400


def test_addresses_are_left_out_so_that_two_runs_agree() -> None:
    assert " at 0x" not in render(test_names_of_secrets)[0]


def test_a_container_that_changes_while_it_is_read_is_no_problem() -> None:
    class Growing(dict[str, int]):
        def __repr__(self) -> str:
            raise RuntimeError("dictionary changed size during iteration")

    assert snapshot(Growing())["repr"].endswith("Growing without repr>")
    assert snapshot([Growing()])["truncated"]


def test_an_outline_calls_no_code_and_keeps_small_values() -> None:
    class Loud:
        def __repr__(self) -> str:
            raise AssertionError

    assert outline(None)["is_none"]
    assert outline(7)["repr"] == "7"
    assert outline("seven") == {**snapshot("seven"), "repr": "<str>", "truncated": True}
    assert outline(Loud())["type"].endswith("Loud")


def test_the_journal_keeps_what_it_could_not_write(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path / "later" / "records"))
    journal.append("first", text="ü\ud800")
    (tmp_path / "later").mkdir()
    journal.append("second", number=2)
    lines = (tmp_path / "later" / f"records.{os.getpid()}").read_text("ascii").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["first", "second"]
    assert json.loads(lines[0])["text"] == "ü\ud800"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the device stands for a full disk")
def test_a_full_disk_does_not_reach_the_tests(tmp_path: Path) -> None:
    (tmp_path / f"records.{os.getpid()}").symlink_to("/dev/full")
    journal = Journal(str(tmp_path / "records"))
    journal.append("first")
    journal.append("second")
    assert list(tmp_path.iterdir()) == [tmp_path / f"records.{os.getpid()}"]


def test_the_plugin_needs_nothing_and_runs_on_the_oldest_python() -> None:
    allowed = set(sys.stdlib_module_names) | {"pytest", "_pytest"}
    assert [path.name for path in PLUGIN_FOLDER.iterdir() if path.name != "__pycache__"] == ["_selfdebug_plugin"]
    for path in PLUGIN_FOLDER.rglob("*.py"):
        tree = ast.parse(path.read_bytes(), feature_version=(3, 8))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {name.name.partition(".")[0] for name in node.names} <= allowed, path
            elif isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).partition(".")[0] in allowed, path
