"""The commands for agents and their hosts: mcp, skill."""

from __future__ import annotations

import os
import sys
from importlib import util
from pathlib import Path

import click

from selfdebug import config
from selfdebug.cli import options, output
from selfdebug.errors import UsageError
from selfdebug.explain import mcp_hosts, skill
from selfdebug.explain.settings import load
from selfdebug.workspace.state import find_state_dir


@click.group(cls=options.Commands, invoke_without_command=True)
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A project that clients may work on; repeatable. Default: the project of the current folder.",
)
@click.option("--http", "port", type=click.IntRange(0, 65535), metavar="PORT", help="Serve http://127.0.0.1:PORT/mcp.")
@click.pass_context
def mcp(ctx: click.Context, roots: tuple[Path, ...], port: int | None) -> int | None:
    """Serve the tools of selfdebug to an agent's host, over standard input and output.

    Needs the extra "mcp": pip install "selfdebug[mcp]".
    """
    if ctx.invoked_subcommand is not None:
        return None
    if util.find_spec("mcp") is None or util.find_spec("mcp_types") is None:
        raise UsageError('The server needs the extra "mcp": pip install "selfdebug[mcp]".')
    import anyio

    from selfdebug.explain import mcp_server

    folders = tuple(config.project_root(root) for root in roots) or (config.project_root(None),)
    states = tuple(find_state_dir(folder, os.environ) for folder in folders)
    served = mcp_server.Served(folders, states, load(folders[0] / "pyproject.toml"))
    if port is not None:
        output.say(f"selfdebug: serving http://127.0.0.1:{port}/mcp")
        mcp_server.serve_http(served, port)
    else:
        anyio.run(mcp_server.serve_stdio, served)
    return 0


@mcp.command("install")
@click.option("--client", type=click.Choice([host.value for host in mcp_hosts.Host]), required=True)
@click.option("--print", "mode", flag_value="print", default="print", help="Show the configuration (default).")
@click.option("--write", "mode", flag_value="write", help="Write it into the client's file of this project.")
@options.root_option
def install_mcp(client: str, mode: str, root: Path | None) -> int:
    """Make a host start this server: show its configuration, or write it into the host's file of the project."""
    folder = config.project_root(root)
    host = mcp_hosts.Host(client)
    command = (sys.executable, "-m", "selfdebug", "mcp", "--root", str(folder))
    if mode == "print":
        output.write(f"# {mcp_hosts.file_of(host, folder)}\n" if host is mcp_hosts.Host.CODEX else "")
        output.write(mcp_hosts.configuration(host, command))
        return 0
    file, changed = mcp_hosts.write(host, folder, command)
    output.write(f"{'Wrote' if changed else 'Already in'} {file}\n")
    return 0


@click.group("skill", cls=options.Commands)
def skill_group() -> None:
    """The skill that teaches an agent how to explain a run."""


@skill_group.command()
def path() -> int:
    """Print the folder of the skill."""
    output.write(f"{skill.folder()}\n")
    return 0


@skill_group.command("show")
@options.root_option
def show_skill(root: Path | None) -> int:
    """Print the skill, with the instruction of [tool.selfdebug.explain] appended."""
    output.write(skill.text(load(config.project_root(root) / "pyproject.toml").instruction))
    return 0


@skill_group.command("install")
@click.option(
    "--client", type=click.Choice([host.value for host in skill.SkillHost]), default="agents", show_default=True
)
@click.option("--user", is_flag=True, help="Into your home folder instead of the project.")
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="DIR", help="Into this folder for skills.")
@click.option("--force", is_flag=True, help="Replace a file that differs.")
@options.root_option
def install_skill(client: str, user: bool, target: Path | None, force: bool, root: Path | None) -> int:
    """Put the skill where an agent looks for skills."""
    folder = config.project_root(root)
    base = Path.home() if user else folder
    into = target or base / skill.SkillHost(client).folder
    done = skill.install(into, load(folder / "pyproject.toml").instruction, force)
    output.write(f"{'Already in' if done.unchanged else 'Wrote'} {done.file}\n")
    return 0
