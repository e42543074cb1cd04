"""The libcst commands of selfdebug, exported lazily: importing this package imports neither libcst nor a guard.

They are found by `python -m libcst.tool codemod selfdebug.NullGuard` where a `.libcst.codemod.yaml` lists `codemods`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemods.selfdebug.commands import NullGuard, Probe, RemoveProbes

__all__ = ["NullGuard", "Probe", "RemoveProbes"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("codemods.selfdebug.commands"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
