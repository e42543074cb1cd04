"""Pages of the reference, made from what the package itself says: commands, settings, guards, the JSON document.

A hook of MkDocs: they exist in the site only.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from codemods.selfdebug.base import DefaultUse, Example
from codemods.selfdebug.registry import guards
from selfdebug.cli.app import app
from selfdebug.cli.run import run
from selfdebug.config import KEYS, TABLES
from selfdebug.explain.settings import ExplainSettings
from selfdebug.reports import find, format_names
from selfdebug.reports.schema import schema
from selfdebug.trace.settings import TraceSettings

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


def commands() -> Iterator[str]:
    """Every command with its help, as click shows it."""
    yield "# Commands\n\n`selfdebug COMMAND --help` shows the same."
    context = click.Context(app, info_name="selfdebug", terminal_width=100)
    yield _code(app.get_help(context))
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        if command is not None:
            yield from _command(command, context, name, "##")
    yield "## Formats\n\nWhat `--format` and `--output` of `run` write:\n\n| format | what it is |\n| --- | --- |"
    yield from (f"| `{name}` | {find(name).summary} |" for name in format_names())


def _command(command: click.Command, parent: click.Context, name: str, mark: str) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100)
    yield f"{mark} {context.command_path}\n"
    yield _code(command.get_help(context))
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                yield from _command(found, context, inner, mark + "#")


def settings() -> Iterator[str]:
    """The keys of `[tool.selfdebug]` with what the options of the same names say, and those of its tables."""
    yield "# Settings\n\nIn `[tool.selfdebug]` of pyproject.toml; an option wins over its setting.\n"
    yield "| key | what it is, and its default |\n| --- | --- |"
    said = {name: option.help for option in run.params if isinstance(option, click.Option) for name in option.opts}
    yield from (f"| `{key}` | {said[f'--{key}']} |" for key in KEYS)
    tables: tuple[type[TraceSettings | ExplainSettings], ...] = (TraceSettings, ExplainSettings)
    for name, table in zip(TABLES, tables, strict=True):
        yield f"\n## [tool.selfdebug.{name}]\n\n{inspect.cleandoc(table.__doc__ or '')}\n"
        yield "| key | default |\n| --- | --- |"
        yield from (f"| `{field.name.replace('_', '-')}` | `{_shown(field.default)}` |" for field in fields(table))


def _shown(default: object) -> str:
    """A default as TOML has it, where it has such a value."""
    return str(default) if default is None else json.dumps(default)


def guard_pages() -> Iterator[str]:
    """Every guard with what it says of itself."""
    yield "# Guards\n\nOne file each, found by folder, in the order of their names. Each example is a test.\n"
    for guard in guards().values():
        yield f"## {guard.id}\n\n{inspect.cleandoc(guard.__doc__ or '')}\n"
        default = {DefaultUse.NONE: "none", DefaultUse.OPTIONAL: "optional", DefaultUse.REQUIRED: "needed"}
        tests = ", ".join(sorted(f"`{test}`" for test in guard.tests))
        yield f"Family: {guard.family}. Default: {default[guard.default_use]}. Conditions: {tests}.\n"
        for example in guard.examples[:3]:
            yield from _example(example)
        if guard.refusals:
            yield "It refuses, for example:\n"
            yield from (f"- `{_one_line(each.before)}`: {each.reason}" for each in guard.refusals)
            yield ""


def _example(example: Example) -> Iterator[str]:
    yield _code(f"{example.before}# becomes\n{example.after}", "python")


def _one_line(code: str) -> str:
    return "; ".join(line.strip() for line in code.splitlines())


def json_page() -> Iterator[str]:
    """The keys of the document with what the schema says of them."""
    shipped: dict[str, Any] = json.loads(schema())
    yield "# The JSON document\n\n`selfdebug run --json` writes one document; `selfdebug schema` prints this schema.\n"
    yield from _properties("The document", shipped)
    for name, definition in shipped["$defs"].items():
        if "properties" in definition:
            yield from _properties(name, definition)
    yield "## The schema\n"
    yield _code(json.dumps(shipped, indent=2), "json")


def _properties(name: str, definition: dict[str, Any]) -> Iterator[str]:
    yield f"## {name}\n\n{definition.get('description', '')}\n\n| key | what it is |\n| --- | --- |"
    for key, about in definition["properties"].items():
        said = about.get("description") or about.get("$ref", "").rpartition("/")[2]
        yield f"| `{key}` | {said.replace('|', '&#124;')} |"
    yield ""


def _code(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```\n"


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "reference/commands.md": commands,
    "reference/settings.md": settings,
    "reference/guards.md": guard_pages,
    "reference/json.md": json_page,
}


def page(path: str) -> str:
    """One page as Markdown."""
    return "\n".join(PAGES[path]()) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages to the site."""
    from mkdocs.structure.files import File

    for path in PAGES:
        files.append(File.generated(config, path, content=page(path)))
    return files
