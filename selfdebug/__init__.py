"""selfdebug: a concrete-syntax-tree refactoring engine that debugs a failing pytest suite.

The libcst commands are re-exported lazily, so that `python -m libcst.tool codemod -x selfdebug.NullGuard` finds them
and `import selfdebug` stays cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from selfdebug.version import __version__

if TYPE_CHECKING:
    from codemods.selfdebug import NullGuard, Probe, RemoveProbes

__all__ = ["NullGuard", "Probe", "RemoveProbes", "__version__"]


def __getattr__(name: str) -> object:
    if name in {"NullGuard", "Probe", "RemoveProbes"}:
        from importlib import import_module

        return getattr(import_module("codemods.selfdebug"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
