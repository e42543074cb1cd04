"""The tier for edits of imports, module levels and signatures: forks that begin where the project's code begins.

One pytest process has read its options, imported its plugins and then all libraries that the project's tests import,
but no conftest, test or module of the project. Each of its forks goes on from there as a plain run does. Which
libraries these are is told by a first run, in a fork that has none of them; a second run, which has, must be like it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from selfdebug.model import Tier
from selfdebug.pytest_process.bytecode import ProjectBytecode, share_bytecode
from selfdebug.pytest_process.forkserver import ForkServer
from selfdebug.pytest_process.scratch import JOB_PREFIX

_LEARN = {"learn": True}


class PreloadedServer(ForkServer):
    """A process that has imported what is not the project's; `run` says nothing of tests that do not bear that."""

    tier: ClassVar[Tier] = Tier.PRELOADED
    _variable: ClassVar[str] = "SELFDEBUG_PRELOADED"

    _modules: Mapping[str, Any] = MappingProxyType({"origins": {}, "environment": []})  # as a first run tells them
    _bytecode: ProjectBytecode | None = None

    def _why_no_control(self) -> str | None:
        began = time.time()
        first = self._run({}, self._seconds_left(), _LEARN)
        if first.problem is not None:
            return first.problem
        modules = self._modules
        self._bytecode = ProjectBytecode(self._first_bytecode, self._request.root, before=began)
        problem = self._asked({"preload": dict(modules)}, time.monotonic() + self._seconds_left())
        if problem is not None:
            return problem
        second = self._run({}, self._seconds_left(), _LEARN)
        if second.problem is None and modules["origins"] != self._modules["origins"]:
            return "the tests do not import the same modules when libraries are imported first"
        return self._compared(first, second)

    @property
    def _first_bytecode(self) -> Path:
        return self._scratch.folder / f"{JOB_PREFIX}first-bytecode"  # which lasts as long as the server

    @contextmanager
    def _surroundings(self, folder: Path) -> Iterator[Mapping[str, Any]]:
        """A place for bytecode of its own: what another run has compiled there is not always what this one has."""
        prefix, modules = folder / "bytecode", folder / "modules.json"
        prefix.mkdir()
        share_bytecode(prefix, self._request.interpreter, self._request.root)
        if self._bytecode is not None:
            self._bytecode.put(prefix)
        yield {"bytecode": str(prefix), "modules": str(modules), "alone": self._alone}
        if modules.is_file():
            self._modules = json.loads(modules.read_bytes())
            if self._bytecode is None:
                prefix.rename(self._first_bytecode)
