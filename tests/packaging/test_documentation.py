"""The pages of the site: what they show is run, what they name exists, and the generated ones hold what there is."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
from pathlib import Path

import pytest
import yaml
from shown import REPOSITORY, follow, unknown_options

from codemods.selfdebug.registry import guards
from selfdebug.cli.app import COMMANDS
from selfdebug.config import KEYS
from selfdebug.demo import lay_out
from selfdebug.reports import format_names
from selfdebug.reports.schema import schema

DOCS = REPOSITORY / "docs"
WRITTEN = sorted(file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md"))
PAGES = runpy.run_path(str(DOCS / "reference_pages.py"))


def text(page: str) -> str:
    """One written page."""
    return (DOCS / page).read_text(encoding="utf-8")


def test_the_tutorial_is_what_a_reader_gets(tmp_path: Path) -> None:
    assert follow(text("tutorial.md"), tmp_path) == text("tutorial.md").count("\n$ ")
    assert (tmp_path / "run.html").read_bytes().startswith(b"<!DOCTYPE html>")
    status = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "shop.py" not in status.stdout


@pytest.mark.parametrize("page", [page for page in WRITTEN if page.startswith("how-to/")])
def test_what_a_how_to_page_shows_can_be_run(page: str, tmp_path: Path) -> None:
    assert follow(text(page), lay_out(tmp_path / "shop")) == text(page).count("\n$ ")


def test_what_the_pages_name_exists() -> None:
    of_benchmarks = {"benchmarks.md", "guard-removal.md"}
    assert not unknown_options("\n".join(text(page) for page in WRITTEN if page not in of_benchmarks))


def test_every_page_is_in_the_navigation_once() -> None:
    def pages(entry: object) -> list[str]:
        if isinstance(entry, dict):
            return [page for inner in entry.values() for page in pages(inner)]
        return [page for inner in entry for page in pages(inner)] if isinstance(entry, list) else [str(entry)]

    settings = (REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    assert sorted(pages(yaml.safe_load(settings)["nav"])) == sorted([*WRITTEN, *PAGES["PAGES"]])


def test_the_reference_names_every_command_guard_and_key() -> None:
    commands = PAGES["page"]("reference/commands.md")
    assert [name for name in COMMANDS if f"\n## selfdebug {name}\n" not in commands] == []
    assert [name for name in format_names() if f"\n| `{name}` | " not in commands] == []
    assert re.findall(r"^## (.*)$", PAGES["page"]("reference/guards.md"), re.MULTILINE) == list(guards())
    keys = PAGES["page"]("reference/json.md")
    assert [key for key in json.loads(schema())["properties"] if f"| `{key}` |" not in keys] == []
    settings = PAGES["page"]("reference/settings.md")
    assert [key for key in KEYS if f"| `{key}` |" not in settings] == []
    assert "| `max-age` | `90` |" in settings
    assert '| `mode` | `"inline"` |' in settings
