"""Git in temporary folders, hermetic, and all that a user could see of a project before and after a run."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TEMPLATE_DIR": "",  # no sample hooks, which every copy of a repository would copy
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
    "LC_ALL": "C",
}


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Run git in a folder and return its output without the last line end."""
    environment = {**os.environ, **GIT_ENVIRONMENT}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


@dataclass(frozen=True)
class Seen:
    """Everything of a project that a run must leave as it was."""

    files: dict[str, tuple[object, ...]]
    index: bytes | None
    status: str
    stashes: str
    branches: str

    @classmethod
    def at(cls, root: Path) -> Seen:
        files = files_at(root)
        inside, _, place = git(
            root, "rev-parse", "--is-inside-work-tree", "--git-path", "index", check=False
        ).partition("\n")
        if inside != "true":
            return cls(files, None, "", "", "")
        index = root / place
        data = index.read_bytes() if index.exists() else None
        status = git(root, "status", "--porcelain=v2", "--branch", "--ignored", check=False)
        return cls(
            files,
            data,
            "\n".join(line for line in status.splitlines() if line != "! .selfdebug/"),
            git(root, "stash", "list", check=False),
            git(root, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes", check=False),
        )


def files_at(root: Path) -> dict[str, tuple[object, ...]]:
    """Every file, folder and link below a root but git's and ours."""
    return {
        str(path.relative_to(root)): _described(path)
        for path in sorted(root.rglob("*"))
        if path.relative_to(root).parts[0] not in (".git", ".selfdebug")
    }


def _described(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    if path.is_symlink():
        return ("link", str(path.readlink()))
    if path.is_dir():
        return ("folder", status.st_mode)
    return ("file", path.read_bytes(), status.st_mode, status.st_mtime_ns, status.st_nlink)
