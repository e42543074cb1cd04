"""The commands that set up, show and explain the installation: doctor, demo, init, schema."""

from __future__ import annotations

import re
import tempfile
from dataclasses import asdict
from pathlib import Path

import click

from codemods.selfdebug.commands import CONFIG
from selfdebug.batch.schema import batch_schema
from selfdebug.cli import options, output
from selfdebug.cli.projects import project
from selfdebug.cli.run import repaired_with_progress, show, view
from selfdebug.config import Settings
from selfdebug.demo import lay_out
from selfdebug.doctor import Check, Status, examine
from selfdebug.errors import ExitCode, UsageError
from selfdebug.reports.documents import dumps
from selfdebug.reports.schema import schema as shipped_schema
from selfdebug.terminal import Paint, Tone, one_line

LIBCST_CONFIG = ".libcst.codemod.yaml"


@click.command()
@options.root_option
@click.option("--force", is_flag=True, help="Replace an existing file.")
def init(root: Path | None, force: bool) -> int:
    """Write .libcst.codemod.yaml, so that libcst's own front end finds the guards and the probes.

    An existing file is kept, unless --force is given.
    """
    file = project(root) / LIBCST_CONFIG
    if not force and (file.exists() or file.is_symlink()):
        output.write_prose(f"Kept {file}; {_advice(file)}")
        return 0
    try:
        file.write_text(CONFIG, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write {file}: {error.strerror or error}.") from error
    output.write_prose(f"Wrote {file}; python -m libcst.tool codemod selfdebug.NullGuard --help tells how to go on.")
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


@click.command()
@click.option("--into", type=click.Path(path_type=Path), metavar="DIR", help="Lay it out in DIR and leave it there.")
@options.color_option
def demo(into: Path | None, color: str) -> int:
    """Repair a tiny failing project in a temporary folder, before your eyes."""
    if into is not None:
        return _repair_demo(into.absolute(), color, stays=True)
    with tempfile.TemporaryDirectory(prefix="selfdebug-demo-") as folder:
        return _repair_demo(Path(folder).resolve(), color, stays=False)


def _repair_demo(folder: Path, color: str, stays: bool) -> int:
    lay_out(folder)
    output.write(f"A small shop, two modules with three tests, one of which fails:\n  {folder}\n$ selfdebug run\n\n")
    repaired = repaired_with_progress(Settings(root=folder), None)
    show(repaired, "text", view(color, can_undo=stays))
    where = f"It stays in {folder}." if stays else "The folder is removed again; --into DIR keeps it."
    output.write_prose(f"\n{where} Now try it on your own project:\n  selfdebug run --root DIR --dry-run")
    return repaired.exit_code


@click.command()
@click.argument("command", type=click.Choice(["run", "batch"]), default="run")
def schema(command: str) -> int:
    """Print the JSON Schema of what `selfdebug run --json` (or batch --json) writes."""
    output.write(shipped_schema() if command == "run" else batch_schema())
    return 0


@click.command()
@options.project_options
@options.python_option
@options.json_option
@options.color_option
def doctor(root: Path | None, config_file: Path | None, python: str | None, as_json: bool, color: str) -> int:
    """Check what a run needs: versions, the interpreter of the tests, git, locks, unfinished runs, writable folders."""
    checks = examine(root, config_file, options.interpreter(python))
    if as_json:
        output.write(dumps({"checks": [asdict(check) for check in checks]}))
    else:
        paint = output.paint(color)
        output.write("".join(f"{row}\n" for check in checks for row in paint.folded(_check_line(check, paint), 6)))
    is_sound = all(check.status is not Status.FAIL for check in checks)
    return 0 if is_sound else int(ExitCode.STILL_FAILING)


def _check_line(check: Check, paint: Paint) -> str:
    tone = {"ok": Tone.GOOD, "warn": Tone.WARNING, "fail": Tone.BAD}[check.status.value]
    return f"{paint(f'{check.status.value:4}', tone)}  {one_line(check.name)}: {one_line(check.sentence)}"
