"""Looks at live objects without running any code of the program: names, instance attributes, items, short outlines."""

from __future__ import annotations

import types
import weakref
from functools import lru_cache
from itertools import islice
from typing import Any, List, Optional

from .redaction import HIDDEN, is_code_name, is_secret_name, looks_random, redact
from .values import class_name
from .watching import Watch

Token = Optional[List[Any]]
"""`[identity, class, outline]` of an object, and the length of built-in ones; None for None.

An identity holds as long as the object lives.
"""


class _Missing:
    """Stands for a name, attribute or item that is not there."""


MISSING = _Missing()
UNKNOWN = _Missing()
MISSING_TOKEN: Token = [0, "", "<missing>"]
MAX_TEXT = 60
MAX_SHOWN = 6
_MRO = type.__dict__["__mro__"].__get__
_CLASS_NAMESPACE = type.__dict__["__dict__"].__get__
_INSTANCE_FIRST = object.__getattribute__
_PLAIN = (bool, float, complex, type(Ellipsis), type(NotImplemented))
_KEYS = (str, bytes, int, bool, float, type(None))
_SEQUENCES = (list, tuple)
MAX_NAMES = 4096
_class_names: dict[int, tuple[Any, str]] = {}  # by identity, with a weak reference to the class
_is_secret = lru_cache(maxsize=4096)(is_secret_name)
_is_of_code = lru_cache(maxsize=4096)(is_code_name)
_SIZED = (str, list, dict, tuple, set, frozenset, bytes)
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}


def look_up(watches: Any, names: Any, module_globals: dict[str, Any]) -> dict[str, Token]:
    """The tokens of the chains that can be told, given the local and the global names of a frame."""
    objects: dict[str, Any] = {}
    found: dict[str, Token] = {}
    for watch in watches:
        value = _value_of(watch, objects, names, module_globals)
        objects[watch.key] = value
        if value is MISSING:
            found[watch.key] = MISSING_TOKEN
        elif value is not UNKNOWN:
            found[watch.key] = token(value, _name_for(watch, objects))
    return found


def _name_for(watch: Watch, objects: dict[str, Any]) -> str:
    """The name that tells of a secret: of a variable, an attribute or a key; at a position that of the container."""
    key = objects.get(watch.argument) if watch.operation == "item-of" else watch.argument
    return key if type(key) is str else (watch.base or "").rpartition(".")[2]


def _value_of(watch: Watch, objects: dict[str, Any], names: Any, module_globals: dict[str, Any]) -> Any:
    if watch.operation == "name":
        value = names.get(watch.key, MISSING)
        if value is MISSING:
            value = module_globals.get(watch.key, MISSING)
        return value
    base = objects.get(watch.base or "", UNKNOWN)
    if isinstance(base, _Missing):
        return UNKNOWN
    if watch.operation == "attribute":
        return attribute(base, watch.argument)
    index = objects.get(watch.argument, UNKNOWN) if watch.operation == "item-of" else watch.argument
    return item(base, index)


def attribute(owner: Any, name: str) -> Any:
    """The attribute as the object's own namespace or slot has it; UNKNOWN where a descriptor would have to run."""
    if isinstance(owner, type):
        return _of_class(owner, name)
    found = _of_class(type(owner), name)
    if type(found) is types.MemberDescriptorType:
        return _in_slot(found, owner)
    if isinstance(found, property):
        return UNKNOWN
    if not hasattr(type(found), "__get__"):
        return _without_descriptor(owner, name, found)
    function = _function_of(found)
    if function is not None:
        return _beside_method(owner, name, function)
    namespace = _namespace(owner)
    return dict.__getitem__(namespace, name) if namespace is not None and name in namespace else UNKNOWN


def _without_descriptor(owner: Any, name: str, found: Any) -> Any:
    """The attribute where the class has no descriptor for it, so that nothing has to run.

    It is not looked up in `__dict__`: from Python 3.11 on an object is slow for the rest of its life once it was asked
    for that.
    """
    try:
        return _INSTANCE_FIRST(owner, name)
    except AttributeError:
        return UNKNOWN if _of_class(type(owner), "__getattr__") is not MISSING else found


def _function_of(descriptor: Any) -> types.FunctionType | None:
    """The function of a method of any kind, which binding does not run; None for all other descriptors."""
    kind = type(descriptor)
    inner = descriptor if kind is types.FunctionType else None
    if kind is staticmethod or kind is classmethod:
        inner = descriptor.__func__
    return inner if type(inner) is types.FunctionType else None


def _beside_method(owner: Any, name: str, function: types.FunctionType) -> Any:
    """What the object itself has under the name of a method; UNKNOWN where it is that method."""
    value = _INSTANCE_FIRST(owner, name)
    if type(value) is types.MethodType and (value.__self__ is owner or value.__self__ is type(owner)):
        return UNKNOWN if value.__func__ is function else value
    return UNKNOWN if value is function else value


def _in_slot(slot: types.MemberDescriptorType, owner: Any) -> Any:
    try:
        return slot.__get__(owner)
    except AttributeError:
        return MISSING


def _of_class(cls: type, name: str) -> Any:
    for base in _MRO(cls):
        namespace = _CLASS_NAMESPACE(base)
        if name in namespace:
            return namespace[name]
    return MISSING


def _namespace(owner: Any) -> dict[str, Any] | None:
    if isinstance(owner, types.ModuleType):
        of_module: dict[str, Any] = types.ModuleType.__getattribute__(owner, "__dict__")
        return of_module
    descriptor = _of_class(type(owner), "__dict__")
    if type(descriptor) is not types.GetSetDescriptorType:
        return None
    try:
        namespace = descriptor.__get__(owner)
    except (AttributeError, TypeError):
        return None
    return namespace if isinstance(namespace, dict) else None


def item(container: Any, index: Any) -> Any:
    """The item of a plain dict, list or tuple under a plain index; UNKNOWN where code of the program would run."""
    if isinstance(index, _Missing) or type(index) not in _KEYS:
        return UNKNOWN
    if isinstance(container, dict) and (type(container).__getitem__ is dict.__getitem__):
        return dict.get(container, index, MISSING)
    if type(container) in _SEQUENCES and isinstance(index, int):
        return container[index] if -len(container) <= index < len(container) else MISSING
    return UNKNOWN


def token(value: Any, name: str = "") -> Token:
    """The token of a value that stands under `name`, which may be a name for secrets."""
    if value is None:
        return None
    kind = type(value)
    if kind is int or kind in _SIZED:
        text = outline(value, name)
        return [id(value), kind.__name__, text] if kind is int else [id(value), kind.__name__, text, len(value)]
    return [id(value), _name_of(kind), outline(value, name)]


def _name_of(cls: type) -> str:
    """The name of a class, looked up once while it lives."""
    known = _class_names.get(id(cls))
    if known is not None and known[0]() is cls:
        return known[1]
    name = class_name(cls)
    if len(_class_names) > MAX_NAMES:
        _class_names.clear()
    _class_names[id(cls)] = weakref.ref(cls), name
    return name


def outline(value: Any, name: str = "", depth: int = 0) -> str:
    """A short text for a value: of plain objects and small containers what they hold, of all others the class."""
    kind = type(value)
    if kind in _PLAIN or value is None:
        return repr(value)
    if name and (kind is int or kind in _SIZED) and _is_secret(name):
        return HIDDEN
    if kind in (int, str, bytes):
        return _of_text(value, name) if kind is not int else repr(value) if value.bit_length() < 128 else "<int>"
    if kind in _BRACKETS:
        return _of_dict(value, name, depth) if kind is dict else _of_items(value, kind, name, depth)
    if kind is types.ModuleType:
        return "<module " + _named(value) + ">"
    return "<" + _name_of(value if kind is type else kind) + ">"


def _named(module: types.ModuleType) -> str:
    name = (_namespace(module) or {}).get("__name__")
    return name if type(name) is str else "?"


def _of_text(value: Any, name: str) -> str:
    is_text = type(value) is str
    shown = value[:MAX_TEXT] if is_text else value[:MAX_TEXT].decode("latin-1")
    if name and _is_of_code(name) and looks_random(shown):
        return HIDDEN
    clean = _redacted(shown)
    return ("" if is_text else "b") + repr(clean) + ("..." if len(value) > MAX_TEXT else "")


@lru_cache(maxsize=4096)
def _redacted(text: str) -> str:
    return redact(text)[0]


def _of_dict(value: dict[Any, Any], name: str, depth: int) -> str:
    if depth > 1:
        return "{...}"
    # At once, since another thread may change it; and not all of it, since it may be large.
    shown = [(key, held) for key, held in list(islice(value.items(), MAX_SHOWN)) if type(key) in _KEYS]
    parts = [outline(key) + ": " + outline(held, _under(name, key), depth + 1) for key, held in shown]
    return "{" + ", ".join(parts + ["..."] * (len(value) > len(shown))) + "}"


def _under(name: str, key: Any) -> str:
    """The name of a value of a dict: its key, unless only the name of the dict tells that it may be a secret."""
    return name if name and _is_of_code(name) and not _is_secret(str(key)) else str(key)


def _of_items(value: Any, kind: type, name: str, depth: int) -> str:
    opening, closing = _BRACKETS[kind][0], _BRACKETS[kind][1]
    if not value:
        return kind.__name__ + "()" if kind in (set, frozenset) else opening + closing
    if depth > 1:
        return opening + "..." + closing
    parts = [outline(held, name, depth + 1) for held in list(islice(value, MAX_SHOWN))]
    more = ["..."] if len(value) > MAX_SHOWN else []
    return opening + ", ".join(parts + more) + ("," if kind is tuple and len(value) == 1 else "") + closing
