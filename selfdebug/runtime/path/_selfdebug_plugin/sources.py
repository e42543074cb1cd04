"""Serves the source of chosen files from memory to Python's import system, as if it stood in those files.

The first finder on `sys.meta_path` lets all the others find a module and changes only where the loader they chose gets
its bytes, so packages, namespace packages, editable installs, reloading and pytest's own assertion rewriting work as
before. No bytecode is read or written for such a module.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import linecache
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Mapping, Sequence

from .journal import Journal


class MemoryFinder(MetaPathFinder):
    """Finds what the other finders find, and serves the files in `sources` (by real path) from memory."""

    def __init__(self, sources: Mapping[str, bytes], journal: Journal, is_late: bool = False) -> None:
        """With `is_late`, it is known that some of the files are loaded."""
        self._sources = dict(sources)
        self._journal = journal
        self._base_names = {os.path.basename(path) for path in sources}
        stems = {os.path.splitext(name)[0] for name in self._base_names}
        # Asking all finders twice is slow, so it is done for likely names only; a package may have any name.
        self._likely = None if "__init__" in stems or "__main__" in stems else stems
        if not is_late:
            self._report_loaded()

    @property
    def sources(self) -> Mapping[str, bytes]:
        """The bytes that are served, by real path."""
        return self._sources

    @classmethod
    def from_index(cls, index: str, journal: Journal) -> MemoryFinder:
        """The finder for a JSON file that maps the paths of source files to the files that hold their bytes."""
        with open(index, encoding="utf-8") as stream:
            places: dict[str, str] = json.load(stream)
        sources = {}
        for path, place in places.items():
            with open(place, "rb") as content:
                sources[os.path.realpath(path)] = content.read()
        return cls(sources, journal)

    @classmethod
    def on_top_of(
        cls, before: MemoryFinder | None, sources: Mapping[str, bytes], journal: Journal, is_late: bool = False
    ) -> MemoryFinder | None:
        """The finder for some more sources, which takes the place of the one `before`; None where nothing is served."""
        merged = {**({} if before is None else before.sources), **sources}
        if not merged:
            return None
        if before is not None:
            sys.meta_path.remove(before)
        finder = cls(merged, journal, is_late)
        finder.stay_first()
        return finder

    def stay_first(self) -> None:
        """Go before all other finders; called now and then, since projects put theirs in front too."""
        if not sys.meta_path or sys.meta_path[0] is not self:
            sys.meta_path[:] = [self, *(finder for finder in sys.meta_path if finder is not self)]

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the other finders with a loader that reads from memory; None for modules not served."""
        if self._likely is not None and fullname.rpartition(".")[2] not in self._likely:
            return None
        spec = self._found_by_others(fullname, path, target)
        if spec is None or spec.loader is None or not spec.has_location or spec.origin is None:
            return None
        source = self._source_of(spec.origin)
        if source is not None and self._serve(spec, source):
            self._journal.append("served", path=os.path.realpath(spec.origin))
            return spec
        return None

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec: ModuleSpec | None = find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None

    def _source_of(self, origin: str) -> bytes | None:
        if os.path.basename(origin) not in self._base_names:
            return None
        return self._sources.get(os.path.realpath(origin))

    def _serve(self, spec: Any, source: bytes) -> bool:
        """Make the loader of `spec` use `source`; False for loaders that do not read source files."""
        loader: Any = spec.loader
        origin = str(spec.origin)
        if type(loader).__name__ == "AssertionRewritingHook":
            spec.loader = _RewritingLoader(loader, origin, source)
        elif isinstance(loader, importlib.abc.SourceLoader):
            # On the instance, so that a loader which instruments the code (typeguard, beartype) goes on doing so.
            loader.get_data = _Reader(loader.get_data, origin, source)  # type: ignore[method-assign] # meant
            loader.path_stats = _no_stats  # type: ignore[method-assign] # meant
        else:
            return False
        spec.cached = None
        fill_line_cache(origin, source)
        return True

    def _report_loaded(self) -> None:
        """Report the files that are loaded already, and so were not and will not be served."""
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and os.path.basename(path) in self._base_names and self._source_of(path):
                self._journal.append("loaded-before", path=os.path.realpath(path))


class _Reader:
    """The `get_data` of a loader, for one path from memory and for all others (resources) as it was."""

    def __init__(self, read: Any, origin: str, source: bytes) -> None:
        self._read, self._origin, self._source = read, origin, source

    def __call__(self, path: str) -> bytes:
        if path == self._origin:
            return self._source
        data: bytes = self._read(path)
        return data


def _no_stats(path: str) -> Mapping[str, Any]:
    """The import system neither reads nor writes bytecode for a source without a time and a size."""
    raise OSError("served from memory: " + str(path))


class _RewritingLoader:
    """Loads a module from memory with its `assert` statements rewritten, as pytest's own import hook would."""

    def __init__(self, hook: Any, origin: str, source: bytes) -> None:
        self._hook, self._origin, self._source = hook, origin, source

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hook, name)

    def create_module(self, _spec: ModuleSpec) -> ModuleType | None:
        """The usual kind of module."""
        return None

    def get_data(self, path: str) -> bytes:
        """The served bytes, or those of another file beside it."""
        if path == self._origin:
            return self._source
        data: bytes = self._hook.get_data(path)
        return data

    def get_source(self, _name: str) -> str:
        """The served text."""
        return importlib.util.decode_source(self._source)

    def exec_module(self, module: ModuleType) -> None:
        """Compile, rewrite and run the module."""
        from pathlib import Path

        from _pytest.assertion.rewrite import rewrite_asserts

        self._hook._rewritten_names[module.__name__] = Path(self._origin)
        tree = ast.parse(self._source, filename=self._origin)
        rewrite_asserts(tree, self._source, self._origin, self._hook.config)
        exec(compile(tree, self._origin, "exec", dont_inherit=True), module.__dict__)


def fill_line_cache(origin: str, source: bytes) -> None:
    """Let `linecache`, and so `inspect` and tracebacks, see the served text; an entry without a time is never stale."""
    try:
        lines = importlib.util.decode_source(source).splitlines(True)
    except (SyntaxError, UnicodeDecodeError):
        return
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    linecache.cache[origin] = (len(source), None, lines, origin)
