"""Turns a pytest process that has read its options and loaded its plugins into a server for whole runs.

No conftest, test or module of the project has been imported then. For each job the process forks, and the child goes
on from there as a plain run does, with the edited files served from memory; it leaves after the end of the session.

Between two jobs the libraries that the project's files import can be imported here, for all later children. A job
with "learn" tells which these are, in the file that it names: {"origins": {name: [class of the loader, path]},
"environment": [names of variables that were set or changed while the tests were collected]}. A run that is "alone" may
change what it likes outside its process, as any other run of the tests does.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import warnings
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Generator, Iterator

import pytest

from .forking import Footprints, open_descriptors, why_not_fork
from .journal import Journal
from .reporter import Reporter
from .serving import FINE, SPREAD, UNFIT, Message, Server, fork, is_distributed, read_sources
from .sources import MemoryFinder
from .tracebacks import Project

# Loaders that do nothing but load. Others, such as pytest's rewriting of assertions, may do it by what a run has set.
_PLAIN_LOADERS = frozenset({"SourceFileLoader", "ExtensionFileLoader", "SourcelessFileLoader", "BuiltinImporter"})
# These exchange parts of modules that were imported before, and miss those that have copied such parts.
_PATCHING = ("gevent.monkey", "eventlet.patcher")
_OF_A_RUN = frozenset({"PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTHONPATH"})
# The versions of all plugins are read from files, and long tracebacks parse whole files.
_QUIET = {"no_header": True, "tbstyle": "line"}
_exit = os._exit


class PreloadedSession:
    """The server, as a plugin of the process that it stops in the middle of its start."""

    def __init__(self, descriptor: int, journal: Journal, reporter: Reporter, finder: MemoryFinder | None) -> None:
        self._server = Server(descriptor)
        self._journal, self._reporter, self._finder = journal, reporter, finder
        self._temporary = os.environ["TMPDIR"]
        self._scratch = os.path.dirname(journal.base)
        self._project = Project(os.environ["SELFDEBUG_ROOT"])
        self._known = open_descriptors()
        self._job: Message = {}
        self._environment: dict[str, str] = {}
        self._footprints: Footprints | None = None

    # ------------------------------------------------------------ hooks

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self) -> Generator[None, Any, None]:
        """The last moment before code of the project runs: serve here, and go on in the children only."""
        problem = why_not_fork(self._known | {self._server.descriptor}, self._temporary)
        if problem is not None:
            self._server.refuse(problem)
            _exit(0)
        if not self._is_child_of_server():
            _exit(0)
        yield

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: Any) -> None:
        """Leave at once where other processes would run the tests; write no text that nobody reads."""
        if is_distributed(config):
            _exit(SPREAD)
        for option, value in _QUIET.items():
            if hasattr(config.option, option):
                setattr(config.option, option, value)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_finish(self) -> Generator[None, Any, None]:
        """Tell what was imported, before tests do so in a state of their own making."""
        yield
        if self._job.get("learn"):
            with open(self._job["modules"], "w", encoding="utf-8") as stream:
                json.dump({"origins": _origins(), "environment": self._changed_variables()}, stream)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any, exitstatus: Any) -> Generator[None, Any, None]:
        """Leave with the last record, before plugins import what they need for reports that nobody reads."""
        self._reporter.end(session, exitstatus)
        has_left_traces = self._footprints is not None and self._footprints.first is not None
        _exit(UNFIT if has_left_traces else FINE)
        yield  # never; it makes this a wrapper, and so the first of all

    # ------------------------------------------------------------ one job

    def _is_child_of_server(self) -> bool:
        """Serve; return True in each child, which is to go on, and False here when nobody asks any more."""
        for job in self._server.jobs():
            if "preload" in job:
                self._server.answer(self._why_not_preloaded(**job["preload"]), False)
                continue
            sources = read_sources(job)
            pid = fork()
            if pid == 0:
                self._begin(job, sources)
                return True
            self._server.answer(*self._server.end_of(pid, float(job["timeout"])))
        return False

    def _begin(self, job: Message, sources: dict[str, bytes]) -> None:
        """Make a child of the server what a process of its own would be."""
        os.setpgid(0, 0)
        os.close(self._server.descriptor)
        self._job = job
        self._journal.redirect(job["records"])
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = job["bytecode"]
        self._reporter.move(MemoryFinder.on_top_of(self._finder, sources, self._journal))
        self._environment = dict(os.environ)
        if not job["alone"]:
            self._footprints = Footprints(self._scratch)
            self._footprints.watch()

    def _changed_variables(self) -> list[str]:
        after = {name: value for name, value in os.environ.items() if not name.startswith("SELFDEBUG_")}
        changed = {name for name, value in after.items() if self._environment.get(name) != value}
        changed.update(name for name in self._environment if name not in after and not name.startswith("SELFDEBUG_"))
        return sorted(changed - _OF_A_RUN)

    # ------------------------------------------------------------ libraries

    def _why_not_preloaded(self, origins: dict[str, Any], environment: list[str]) -> str | None:
        """Import the libraries among the modules of a run; return what speaks against forking after that."""
        if not origins.keys().isdisjoint(_PATCHING):
            return "a library exchanges parts of modules that were imported before it"
        before = set(sys.modules)
        with _variables_read() as read:
            for name, (loader, path) in origins.items():
                if loader in _PLAIN_LOADERS and name not in sys.modules and not (path and path in self._project):
                    _import(name)
        if any(name in environment and reader in sys.modules for name, reader in read):
            return "a library reads, when it is imported, a variable that the project sets before"
        for name, (_, path) in _origins().items():
            if name not in before and path and path in self._project:
                return "a library imports the project"
        return why_not_fork(self._known | {self._server.descriptor}, self._temporary)


def _import(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            importlib.import_module(name)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - a library may raise anything; the run that needs it will see it raised
            return


def _origins() -> dict[str, tuple[str, str | None]]:
    """The kind of loader and the file of each module, in the order in which their imports began."""
    found = {}
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType):  # others may import something as soon as they are looked at
            loader = getattr(vars(module).get("__spec__"), "loader", None)
            kind = loader if isinstance(loader, type) else type(loader)
            file = vars(module).get("__file__")
            found[name] = (kind.__name__, file if isinstance(file, str) else None)
    return found


def _imported_now() -> str:
    """The module whose own code has led here; one that reads a variable and then fails is imported again by the run."""
    frame = sys._getframe(1)
    while frame.f_code.co_name != "<module>" and frame.f_back is not None:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


@contextmanager
def _variables_read() -> Iterator[set[tuple[str, str]]]:
    """The names of the environment variables that are asked for meanwhile, each with the module that is imported."""
    read: set[tuple[str, str]] = set()
    environment: Any = os.environ
    encode = environment.encodekey

    def note(key: Any) -> Any:
        read.add((key, _imported_now()))
        return encode(key)

    environment.encodekey = note
    try:
        yield read
    finally:
        environment.encodekey = encode
