"""The configuration that makes a host start our MCP server: printed, or written into the host's own file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from selfdebug.errors import UsageError

SERVER = "selfdebug"


class Host(StrEnum):
    """The hosts whose configuration is known."""

    CLAUDE = "claude"
    CODEX = "codex"
    CURSOR = "cursor"
    VSCODE = "vscode"


@dataclass(frozen=True, slots=True)
class HostFile:
    """Where a host keeps its servers of a project, and under which key."""

    file: str
    key: str


_FILES = {
    Host.CLAUDE: HostFile(".mcp.json", "mcpServers"),
    Host.CODEX: HostFile(".codex/config.toml", "mcp_servers"),
    Host.CURSOR: HostFile(".cursor/mcp.json", "mcpServers"),
    Host.VSCODE: HostFile(".vscode/mcp.json", "servers"),
}


def file_of(host: Host, root: Path) -> Path:
    """The file of the project at `root` that the host reads."""
    return root / _FILES[host].file


def configuration(host: Host, command: tuple[str, ...]) -> str:
    """The configuration that starts `command`, as the host writes it."""
    if host is Host.CODEX:
        words = ", ".join(json.dumps(word) for word in command[1:])
        return f"[mcp_servers.{SERVER}]\ncommand = {json.dumps(command[0])}\nargs = [{words}]\n"
    return json.dumps({_FILES[host].key: {SERVER: _entry(host, command)}}, indent=2) + "\n"


def write(host: Host, root: Path, command: tuple[str, ...]) -> tuple[Path, bool]:
    """Add the server to the host's file, leaving all else in it; returns the file and whether it changed.

    Raises UsageError when the file is not what the host would read, or cannot be written.
    """
    file = file_of(host, root)
    try:
        before = file.read_text(encoding="utf-8") if file.is_file() else ""
        after = _toml(before, host, command) if host is Host.CODEX else _json(before, file, host, command)
        if after == before:
            return file, False
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(after, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"Cannot write {file}: {error}.") from error
    return file, True


def _entry(host: Host, command: tuple[str, ...]) -> dict[str, Any]:
    entry: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    return {"type": "stdio", **entry} if host is Host.VSCODE else entry


def _json(before: str, file: Path, host: Host, command: tuple[str, ...]) -> str:
    try:
        document = json.loads(before) if before.strip() else {}
        servers = document.setdefault(_FILES[host].key, {})
        if servers.get(SERVER) == _entry(host, command):
            return before
        servers[SERVER] = _entry(host, command)
    except (ValueError, AttributeError, TypeError) as error:
        raise UsageError(
            f"{file} is not the JSON that {host} reads; add this by hand: {configuration(host, command)}"
        ) from error
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _toml(before: str, host: Host, command: tuple[str, ...]) -> str:
    """The text with our table replaced or added at its end; the rest of the file stays byte for byte."""
    ours = configuration(host, command)
    table = re.compile(rf"^\[mcp_servers\.{SERVER}\][^\n]*\n(?:(?!\[)[^\n]*(?:\n|\Z))*", re.MULTILINE)
    if table.search(before):
        return table.sub(lambda _: ours, before, count=1)
    gap = "" if not before else "\n" if before.endswith("\n") else "\n\n"
    return f"{before}{gap}{ours}"
