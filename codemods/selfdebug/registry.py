"""Every guard by its id: one module in `guards/` is one guard, and nothing else is edited to add one."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType, ModuleType

from codemods.selfdebug.base import Guard


class RegistryError(Exception):
    """A module in the guards folder does not hold exactly one complete guard."""


@cache
def guards() -> Mapping[str, Guard]:
    """All guards by id, in alphabetical order. Raises RegistryError for a module that is not one guard."""
    from codemods.selfdebug import guards as package

    return load(package.__path__, package.__name__)


def load(folders: Iterable[str], package: str) -> Mapping[str, Guard]:
    """The guards in `folders` as modules of `package`. Raises RegistryError (a failing import counts as one too)."""
    found: dict[str, Guard] = {}
    for info in sorted(pkgutil.iter_modules(folders), key=lambda info: info.name):
        name = f"{package}.{info.name}"
        try:
            module = importlib.import_module(name)
        except (ImportError, SyntaxError, NameError, AttributeError, TypeError) as error:
            raise RegistryError(f"{name} cannot be imported: {error}") from error
        guard = _guard_of(module)
        if guard.id in found:
            raise RegistryError(f"two modules claim the id {guard.id}")
        found[guard.id] = guard
    return MappingProxyType(found)


def _guard_of(module: ModuleType) -> Guard:
    classes = [
        each
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Guard) and each.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise RegistryError(f"{module.__name__} must define one guard, not {len(classes)}")
    guard_class = classes[0]
    missing = [name for name in ("family", "summary") if not hasattr(guard_class, name)]
    if missing or inspect.isabstract(guard_class):
        raise RegistryError(f"{module.__name__} is incomplete: {', '.join(missing) or 'rewrite'} is missing")
    if not (guard_class.__doc__ and guard_class.examples and guard_class.refusals):
        raise RegistryError(f"{module.__name__} needs a docstring, examples and refusals")
    guard: Guard = guard_class()
    return guard
