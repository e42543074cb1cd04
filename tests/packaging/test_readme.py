"""The README says only what is so: each of its blocks is run, loaded or called by CI word for word."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shown import REPOSITORY, blocks, follow, unknown_options

from selfdebug.config import read_table
from selfdebug.demo import lay_out

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
CI = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")


def bash(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as CI does."""
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The demo project in a repository of its own."""
    folder = lay_out(tmp_path / "shop")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "before"]):
        identity = ["-c", "user.name=reader", "-c", "user.email=reader@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *command], cwd=folder, check=True)
    return folder


def test_every_block_is_checked_by_something() -> None:
    for block in blocks(README):
        assert block.language in {"console", "toml", "sh"}
        assert (block.marker in {"command: demo", "command: tests"}) == (block.language == "sh")


def test_the_two_set_up_commands_are_run_by_ci() -> None:
    commands = {block.marker: block.text.strip() for block in blocks(README) if block.language == "sh"}
    assert set(commands) == {"command: demo", "command: tests"}
    for marker, command in commands.items():
        assert marker is not None
        assert "\n" not in command
        assert f"readme_command {marker.removeprefix('command: ')})" in CI


@pytest.mark.skipif(shutil.which("bash") is None, reason="CI needs bash, the package does not")
def test_ci_reads_the_commands_out_of_the_readme() -> None:
    function = CI[CI.index("readme_command()") :].split("\n}\n")[0] + "\n}\n"
    for block in blocks(README):
        if block.language == "sh":
            assert block.marker is not None
            script = f"here='{REPOSITORY}'\n{function}readme_command {block.marker.removeprefix('command: ')}\n"
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=True
            )
            assert done.stdout.strip() == block.text.strip()
    missing = subprocess.run(
        ["bash", "-c", f"here='{REPOSITORY}'\n{function}readme_command nothing"], stderr=-1, check=False
    )
    assert missing.returncode == 1


def test_the_settings_are_the_ones_that_exist(tmp_path: Path) -> None:
    (block,) = [block for block in blocks(README) if block.language == "toml"]
    file = tmp_path / "pyproject.toml"
    file.write_text(block.text, encoding="utf-8")
    assert read_table(file)["timeout"] == 600.0


def test_the_commands_do_what_is_shown(project: Path) -> None:
    assert follow(README, project) > 5


def test_every_option_and_command_that_is_named_exists() -> None:
    assert not unknown_options(README)


def test_the_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("https://") or (REPOSITORY / target).is_file(), target


def test_the_picture_is_drawn_from_what_a_terminal_shows() -> None:
    picture = runpy.run_path(str(REPOSITORY / "docs" / "picture.py"))["picture"]
    svg = picture("$ a <b>\n\x1b[31;1mFAILED\x1b[0m x\n\n\x1b[2mfaint\x1b[0m\n")
    assert re.search(r'<tspan x="16.0" [^>]*>\$ a &lt;b&gt;</tspan>', svg)
    red = r'<tspan x="16.0" [^>]* fill="#ff7b72" font-weight="bold">FAILED</tspan>'
    assert re.search(red + r'<tspan x="66.4" textLength="16.8" [^>]*> x</tspan>', svg)
    assert "\x1b" not in svg


def rows(svg: str) -> list[str]:
    """The text of a picture, row by row, without the count of candidates, which every new guard changes."""
    found = re.findall(r"<text [^>]*>(.*)</text>", svg)
    return [text for row in found if "judged" not in (text := re.sub("<[^>]*>", "", row))]


def test_the_picture_is_what_the_demo_shows(tmp_path: Path) -> None:
    script = REPOSITORY / "docs" / "picture.py"
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, str(script), str(tmp_path / "new.svg")], check=True, env=environ, cwd=tmp_path)
    new = (tmp_path / "new.svg").read_text(encoding="utf-8")
    old = (REPOSITORY / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert rows(new) == rows(old), "python docs/picture.py draws it anew"
    assert list(tmp_path.glob("selfdebug-demo*")) == []
