"""A guard is found by being a file, and a file that is not one complete guard fails loudly."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemods.selfdebug import guards as package
from codemods.selfdebug.registry import RegistryError, guards, load

GUARD = '''
"""A guard."""
from codemods.selfdebug.base import Example, Family, Guard, Refusal

class New(Guard):
    """Does something."""
    family = Family.WRAP
    summary = "something"
    examples = (Example("a", "b"),)
    refusals = (Refusal("a", "b"),)
    def rewrite(self, site, parameters):
        raise AssertionError
'''


def test_every_file_is_a_guard() -> None:
    folder = Path(package.__path__[0])
    assert {guard_id.replace("-", "_") for guard_id in guards()} == {
        path.stem for path in folder.glob("*.py") if path.stem != "__init__"
    }
    assert all(guard.id == guard_id for guard_id, guard in guards().items())


def load_files(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> list[str]:
    name = f"guards_of_{folder.name}"
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    for stem, text in files.items():
        (folder / name / f"{stem}.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    return list(load([str(folder / name)], name))


def test_a_new_file_is_a_new_guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_files(tmp_path, monkeypatch, new_guard=GUARD) == ["new-guard"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import nothing_of_that_name", "cannot be imported"),
        ("def f(:", "cannot be imported"),
        ("x = 1", "must define one guard, not 0"),
        (GUARD + GUARD.replace("New", "Newer"), "must define one guard, not 2"),
        (GUARD.replace("summary", "other"), "summary is missing"),
        (GUARD.replace("rewrite", "write"), "rewrite is missing"),
        (GUARD.replace("refusals", "other"), "needs a docstring, examples and refusals"),
    ],
)
def test_a_broken_file_fails_loudly(text: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RegistryError, match=reason):
        load_files(tmp_path, monkeypatch, broken=text)


def test_two_files_with_one_id_fail_loudly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RegistryError, match="two modules claim the id a-b"):
        load_files(tmp_path, monkeypatch, **{"a_b": GUARD, "a-b": GUARD})
