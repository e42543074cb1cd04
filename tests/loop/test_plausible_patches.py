"""How far the tests judge a patch, on real projects: other plausible patches, pins, firing counts, and refusing."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from small_projects import project, run

from selfdebug.model import FinalStatus, Verdict
from selfdebug.repair import trials
from selfdebug.reports import render


def test_other_plausible_patches_are_shown_with_the_difference(tmp_path: Path) -> None:
    code = """
    def tag(text):
        return text.strip().lower()

    def tags(texts):
        return [tag(text) for text in texts]
    """
    tests = """
    from shop import tag, tags

    def test_no_tag():
        assert not tag(None)

    def test_tags():
        assert tags([" A", "b "]) == ["a", "b"]
    """
    root = project(tmp_path, {"shop.py": code, "test_shop.py": tests})
    done = run(root)
    assert done.exit_code == 0, done.sentence
    (turn,) = done.attempts
    plausible = [trial for trial in turn.trials if trial.verdict is Verdict.PLAUSIBLE]
    assert len(plausible) == 1 + len(turn.alternatives)
    differing = [other for other in turn.alternatives if not other.is_same]
    assert differing
    assert differing == list(turn.alternatives[: len(differing)])
    for other in differing:
        assert other.sentence.startswith("tag(text=None) gives ")
        assert other.sentence.endswith(" with this one.")
        assert other.patch.after != turn.kept.after  # type: ignore[union-attr]  # a run that passes keeps one
    # Three tags are made, one of them of nothing.
    assert turn.firings is not None
    counts = {firing.node_id: (firing.acted, firing.reached) for firing in turn.firings}
    assert counts == {"test_shop.py::test_no_tag": (1, 1), "test_shop.py::test_tags": (0, 2)}
    document = json.loads(render("json", done))
    (guard,) = document["patches"][0]["guards"]
    assert guard["firings"][0] == {"node_id": "test_shop.py::test_no_tag", "acted": 1, "reached": 1, "cut": False}
    assert [other["same"] for other in guard["alternatives"]] == [other.is_same for other in turn.alternatives]
    text = render("text", done).decode()
    assert "Also plausible, other than" in text
    assert differing[0].sentence in text
    assert "acted once in 1 of the 2 tests that come to it" in text


def test_a_failing_test_that_one_patch_leaves_failing_is_asked_before_the_suite_from_then_on(tmp_path: Path) -> None:
    code = "def size(box):\n    return box.size\n"
    alike = "".join(f"def test_{number:02}():\n    assert not size(None)\n\n" for number in range(20))
    told = "def test_z():\n    assert str(size(None)) == '0'\n"
    root = project(tmp_path, {"box.py": code, "test_box.py": f"from box import size\n\n{alike}{told}"})
    done = run(root)
    assert done.exit_code == 0, done.sentence
    assert "box.size if box is not None else 0" in (root / "box.py").read_text()
    details = [trial.detail for trial in done.attempts[0].trials]
    first = details.index("test_box.py::test_z still fails when the whole suite runs")
    assert details.count("test_box.py::test_z still fails when the whole suite runs") == 1
    assert "test_box.py::test_z still fails" in details[first + 1 :]


def test_a_test_that_outlasted_a_patch_of_one_cause_says_nothing_of_another(tmp_path: Path) -> None:
    code = "def size(box):\n    return box.size\n\ndef lid(box):\n    return box.lid\n"
    alike = "".join(f"def test_{number:02}():\n    assert not size(None)\n\n" for number in range(20))
    told = "def test_u():\n    assert size(None) > 3\n\ndef test_v():\n    assert lid(None) is None\n"
    root = project(tmp_path, {"box.py": code, "test_box.py": f"from box import lid, size\n\n{alike}{told}"})
    done = run(root, keep_partial=True)
    assert "return box.size\n" in (root / "box.py").read_text()
    assert "return box.lid if box is not None else None\n" in (root / "box.py").read_text(), done.sentence


def test_a_candidate_that_loops_without_end_does_not_cost_the_whole_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
    def total(items):
        found = place = 0
        while place < len(items):
            found += items[place].size
            place += 1
        return found
    """
    tests = """
    from types import SimpleNamespace as Item
    from box import total

    def test_total():
        assert total([Item(size=2), None, Item(size=3)]) == 5
    """
    monkeypatch.setattr(trials, "_LEAST_SECONDS", 2.0)
    monkeypatch.setattr(trials, "_PATIENCE", 0)
    done = run(project(tmp_path, {"box.py": code, "test_box.py": tests}), timeout=120.0)
    assert done.exit_code == 0, done.sentence
    endless = [trial for trial in done.attempts[0].trials if trial.candidate.guard == "continue-loop"]
    assert endless
    assert {trial.verdict for trial in endless} == {Verdict.BROKEN}
    assert all(trial.detail == "the tests did not end within the time limit (2 s)" for trial in endless)


def test_a_loop_in_which_the_guard_acts_in_some_turns_only_is_counted(tmp_path: Path) -> None:
    code = """
    class Basket:
        def __init__(self):
            self.total = 0

        def put(self, items):
            for item in items:
                self.total += item.price
    """
    tests = """
    from types import SimpleNamespace as N
    from basket import Basket

    def test_put():
        basket = Basket()
        basket.put([N(price=1), None, N(price=2), None])
        assert basket.total == 3

    def test_put_all():
        Basket().put([N(price=1)])
    """
    root = project(tmp_path, {"basket.py": code, "test_basket.py": tests})
    done = run(root)
    assert done.exit_code == 0, done.sentence
    (turn,) = done.attempts
    assert turn.firings is not None
    counts = {firing.node_id: (firing.acted, firing.reached) for firing in turn.firings}
    assert counts == {"test_basket.py::test_put": (2, 4), "test_basket.py::test_put_all": (0, 1)}
    assert turn.alternatives
    assert all(other.is_same for other in turn.alternatives)


def test_a_raise_whose_contract_a_test_states_is_not_guarded(tmp_path: Path) -> None:
    code = """
    def port(text):
        if not text:
            raise ValueError("no port")
        return int(text)
    """
    tests = """
    import pytest
    from net import port

    class TestPort:
        def test_no_port_is_an_error(self):
            with pytest.raises(ValueError):
                port("")

    def test_no_port_is_zero():
        assert port("") == 0
    """
    root = project(tmp_path, {"net.py": code, "test_net.py": tests})
    done = run(root)
    assert (done.exit_code, done.final_status, done.rollback) == (1, FinalStatus.FAIL, False)
    assert "port raises ValueError on purpose (net.py:3), and test_net.py:6 states that it does" in done.sentence
    assert done.attempts[0].diagnosis.location.line == 3
    assert not done.attempts[0].trials
    assert (root / "net.py").read_text() == textwrap.dedent(code).lstrip("\n")
    assert not (root / ".selfdebug").exists() or not list((root / ".selfdebug").glob("*.bak"))


def test_a_value_that_no_guard_can_give_is_answered_with_the_diagnosis(tmp_path: Path) -> None:
    tests = """
    from shop import tag

    def test_that_asks_for_more():
        assert tag(None) == "none of them"[:4]
    """
    code = "def tag(text):\n    text.strip()\n    return [text]\n"
    root = project(tmp_path, {"shop.py": code, "test_shop.py": tests})
    done = run(root)
    assert (done.exit_code, done.exit_reason, done.files_patched) == (1, "no-guard-fits", ())
    assert done.sentence.startswith("No guard gives what test_shop.py::test_that_asks_for_more asserts (assert ")
    assert (root / "shop.py").read_text() == code
    assert done.backup == ()
    assert done.attempts[0].diagnosis.origin


def test_what_keep_partial_would_keep_is_named(tmp_path: Path) -> None:
    code = """
    def tag(text):
        return text.strip()

    def size(disk):
        return disk.size + 1
    """
    tests = """
    from shop import size, tag

    def test_no_tag():
        assert tag(None) == ""

    def test_hopeless():
        assert size(None) == object()
    """
    root = project(tmp_path, {"shop.py": code, "test_shop.py": tests})
    done = run(root, max_candidates=4)
    assert done.exit_code == 128
    named = "The patch of shop.py that makes test_shop.py::test_no_tag pass would be kept with --keep-partial."
    assert named in done.sentence


@pytest.mark.parametrize("statement", ["names.tag(None)", "assert names.tag(None) is None"])
def test_a_default_that_nobody_reads_gives_way_to_none_at_all(tmp_path: Path, statement: str) -> None:
    code = """
    LOG = []

    def tag(text):
        LOG.append(text.strip())
    """
    tests = f"""
    import names

    def test_no_tag():
        {statement}
    """
    root = project(tmp_path, {"names.py": code, "test_names.py": tests})
    done = run(root)
    assert done.exit_code == 0, done.sentence
    assert done.patches[0].candidate.default is None


def test_an_import_is_counted_where_its_name_is_used_and_held_by_the_test_that_uses_it(tmp_path: Path) -> None:
    code = "def dump(x):\n    return json.dumps(x)\n\ndef size(x):\n    return len(x)\n"
    tests = "from box import dump, size\n\ndef test_dump():\n    assert dump([1]) == '[1]'\n\n"
    tests += "def test_size():\n    assert size([]) == 0\n"
    done = run(project(tmp_path, {"box.py": code, "test_box.py": tests}))
    (turn,) = done.attempts
    assert turn.firings is not None
    assert [(firing.node_id, firing.acted) for firing in turn.firings] == [("test_box.py::test_dump", 1)]
    assert [(pin.part, pin.pinned) for pin in turn.pins] == [("imported json", True)]


def test_a_value_that_a_condition_turned_away_gets_its_default_where_it_was_handed_on(tmp_path: Path) -> None:
    code = """
    class Signer:
        default_mode = "plain"

        def __init__(self, mode=None):
            self.mode = mode

        def sign(self, text):
            if self.mode == "plain":
                return text
            elif self.mode == "twice":
                return text + text
            else:
                raise TypeError("unknown mode")
    """
    tests = """
    from signer import Signer

    def test_default():
        assert Signer().sign("a") == "a"

    def test_twice():
        assert Signer("twice").sign("a") == "aa"
    """
    root = project(tmp_path, {"signer.py": code, "test_signer.py": tests})
    assert run(root).exit_code == 0
    assert "self.mode = mode if mode is not None else self.default_mode\n" in (root / "signer.py").read_text()


def test_an_empty_value_that_a_test_gives_is_not_replaced_by_another_one(tmp_path: Path) -> None:
    code = """
    class Client:
        def __init__(self, headers=None):
            self.headers = headers

        def sent(self):
            return dict(**self.headers)

        def asked(self):
            return [*self.headers]
    """
    tests = """
    from client import Client

    def test_given():
        assert Client({"a": 1}).sent() == {"a": 1}

    def test_not_given():
        assert Client().sent() == {}
    """
    given = "\n    def test_empty():\n        assert Client({}).sent() == {}\n"
    for more, line in (("", "headers or {}"), (given, "headers if headers is not None else {}")):
        root = project(tmp_path / str(len(more)), {"client.py": code, "test_client.py": tests + more})
        assert run(root).exit_code == 0
        assert f"self.headers = {line}\n" in (root / "client.py").read_text()
