"""The commands that set up, show and explain the installation: init, demo, schema."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import click

from selfdebug import config, demo
from selfdebug.cli import options, output
from selfdebug.cli.run import repaired_with_progress, show, view
from selfdebug.config import Settings
from selfdebug.errors import UsageError

LIBCST_CONFIG = ".libcst.codemod.yaml"
LIBCST_CONFIG_TEXT = """\
# Settings of `python -m libcst.tool codemod`, which finds this file from here and from the folders below.
modules:
  - libcst.codemod.commands
  - codemods  # selfdebug's guards and probes
# libcst formats each changed file as a whole (by default with black). This one gives back what it gets.
formatter: [cat]
"""


@click.command(short_help="Let libcst's own front end find the guards.")
@options.root_option
@click.option("--force", is_flag=True, help="Replace an existing file.")
def init(root: Path | None, force: bool) -> int:
    """Write .libcst.codemod.yaml, so that libcst's own front end finds the guards and the probes.

    An existing file is kept, unless --force is given.
    """
    file = config.project_root(root) / LIBCST_CONFIG
    if not force and (file.exists() or file.is_symlink()):
        output.write(f"Kept {file}; {_advice(file)}\n")
        return 0
    try:
        file.write_text(LIBCST_CONFIG_TEXT, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {file}: {error.strerror or error}.") from error
    output.write(f"Wrote {file}; python -m libcst.tool codemod selfdebug.NullGuard --help tells how to go on.\n")
    return 0


def _advice(file: Path) -> str:
    try:
        listed = re.search(
            r"""(^\s*-\s*|[\[,]\s*)["']?codemods["']?\s*([,\]#]|$)""", file.read_text("utf-8"), re.MULTILINE
        )
    except (OSError, UnicodeDecodeError):
        listed = None
    if listed:
        return "it lists the module codemods already."
    return "add codemods to its list of modules, or replace the file with --force."


@click.command(name="demo", short_help="Repair a tiny project before your eyes.")
@click.option("--into", type=click.Path(path_type=Path), metavar="DIR", help="Lay it out in DIR and leave it there.")
@options.color_option
def run_demo(into: Path | None, color: str) -> int:
    """Repair a tiny failing project in a temporary folder, before your eyes."""
    if into is not None:
        return _repair_demo(into.absolute(), color, stays=True)
    with tempfile.TemporaryDirectory(prefix="selfdebug-demo-") as folder:
        return _repair_demo(Path(folder).resolve(), color, stays=False)


def _repair_demo(folder: Path, color: str, stays: bool) -> int:
    demo.lay_out(folder)
    output.write(f"A small shop in {folder}: two modules and three tests, one of which fails.\n$ selfdebug run\n\n")
    repaired = repaired_with_progress(Settings(root=folder), None)
    show(repaired, "text", view(color, can_undo=stays))
    where = f"It stays in {folder}." if stays else "The folder is removed again; --into DIR keeps it."
    output.write(f"\n{where} Now try it on your own project: selfdebug run --root DIR --dry-run\n")
    return repaired.exit_code


@click.command(short_help="Print the JSON Schema of run --json.")
def schema() -> int:
    """Print the JSON Schema of what `selfdebug run --json` writes."""
    from selfdebug.reports.schema import schema as shipped

    output.write(shipped())
    return 0


COMMANDS: tuple[click.Command, ...] = (init, run_demo, schema)
