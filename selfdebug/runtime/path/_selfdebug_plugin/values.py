"""Snapshots of live objects: class, bases and a bounded, redacted repr that cannot raise, hang or grow."""

from __future__ import annotations

import re
from types import FrameType
from typing import Any, Dict, Mapping

from .guarded import guarded
from .redaction import HIDDEN, is_code_name, is_secret_name, looks_random, redact

Snapshot = Dict[str, Any]

MAX_REPR = 400
MAX_STRING = 240
MAX_ITEMS = 20
MAX_DEPTH = 3
MAX_LOCALS = 60
MAX_BASES = 20
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
# The descriptors of `type` itself: a metaclass may answer for its classes whatever it likes.
_MODULE_OF, _QUALNAME_OF, _MRO_OF = (
    type.__dict__[attribute].__get__ for attribute in ("__module__", "__qualname__", "__mro__")
)
_SIZED = (str, bytes, bytearray, list, tuple, set, frozenset, dict)
_NOTHING: tuple[tuple[str, Snapshot], ...] = ()
_PLAIN = (type(None), bool, float, complex, type(Ellipsis), type(NotImplemented))


def snapshot(value: object, name: str = "") -> Snapshot:
    """What is reported of `value`, a local or expression called `name` (which may be a name for secrets)."""
    text, truncated, redacted = render(value, name)
    return {
        "type": class_name(type(value)),
        "bases": base_names(type(value)),
        "repr": text,
        "is_none": value is None,
        "truncated": truncated,
        "redacted": redacted,
    }


def outline(value: object) -> Snapshot:
    """A cheaper snapshot for the thousandth evaluation: no code of the program is called, no container is opened."""
    if type(value) in _PLAIN or (type(value) is int and value.bit_length() < 64):
        return snapshot(value)
    name = class_name(type(value))
    return {
        "type": name,
        "bases": base_names(type(value)),
        "repr": "<" + name + ">",
        "is_none": False,
        "truncated": True,
        "redacted": False,
    }


def local_variables(frame: FrameType) -> list[tuple[str, Snapshot]]:
    """The first MAX_LOCALS variables of a frame, without the names that the interpreter and pytest make up."""
    return guarded(lambda: _local_variables(frame.f_locals), list(_NOTHING), seconds=2.0)


def _local_variables(names: Mapping[str, object]) -> list[tuple[str, Snapshot]]:
    shown = [name for name in list(names) if isinstance(name, str) and name.isidentifier()]
    return [(name, snapshot(names[name], name)) for name in shown[:MAX_LOCALS] if not _is_noise(name)]


def _is_noise(name: str) -> bool:
    return name in ("__builtins__", "__doc__", "__loader__", "__spec__", "__cached__", "__file__", "__package__")


def class_name(cls: type) -> str:
    """The qualified name of a class, without `builtins.`; no metaclass is asked."""
    module, name = _MODULE_OF(cls), _QUALNAME_OF(cls)
    return str(name) if type(module) is not str or module == "builtins" else module + "." + str(name)


def base_names(cls: type) -> list[str]:
    """The names of the classes that `cls` inherits from, nearest first, without `object`."""
    return [class_name(base) for base in _MRO_OF(cls)[1:MAX_BASES] if base is not object]


def render(value: object, name: str = "") -> tuple[str, bool, bool]:
    """A repr of at most MAX_REPR characters, whether it was shortened, and whether something was hidden in it."""
    if type(value) in _PLAIN:
        return repr(value), False, False
    painter = _Painter()
    text = guarded(lambda: painter.paint(value, name, 0), "", seconds=1.0)
    if not text:
        return "<" + class_name(type(value)) + " without repr>", True, painter.redacted
    if len(text) > MAX_REPR:
        return text[: MAX_REPR - 3] + "...", True, painter.redacted
    return text, painter.truncated, painter.redacted


class _Painter:
    """Writes reprs and remembers whether it left something out."""

    def __init__(self) -> None:
        self.truncated = False
        self.redacted = False
        self._spent = 0

    def paint(self, value: object, name: str, depth: int) -> str:
        """The repr of `value`, which stands under the variable or key `name`."""
        kind = type(value)
        if value is None or kind is bool:
            return repr(value)
        if name and is_secret_name(name) and not ((kind in _SIZED and not value) or _says_nothing(kind)):
            self.redacted = True
            return HIDDEN
        text = self._paint_visible(kind, value, name if name and is_code_name(name) else "", depth)
        self._spent += len(text)
        return text

    def _paint_visible(self, kind: type, value: Any, code_name: str, depth: int) -> str:
        if kind in _PLAIN:
            return repr(value)
        if kind is int:
            return self._integer(value)
        if kind in (str, bytes, bytearray):
            return self._string(value, bool(code_name))
        if kind in _BRACKETS:
            return self._container(kind, value, code_name, depth)
        return self._object(kind, value)

    def _integer(self, value: int) -> str:
        if value.bit_length() > 1024:
            self.truncated = True
            return "<int of " + str(value.bit_length()) + " bits>"
        return repr(value)

    def _string(self, value: Any, is_of_code: bool) -> str:
        if is_of_code and looks_random(value if isinstance(value, str) else bytes(value[:4096]).decode("latin-1")):
            self.redacted = True
            return HIDDEN
        shown = value
        if isinstance(value, str):
            shown, hidden = redact(value)
            self.redacted = self.redacted or hidden
        else:
            clean, hidden = redact(bytes(value[:4096]).decode("latin-1"))
            if hidden:
                self.redacted, shown = True, clean.encode("latin-1")
        if len(value) > MAX_STRING:
            self.truncated = True
            return repr(shown[:MAX_STRING]) + "..."
        return repr(shown)

    def _container(self, kind: type, value: Any, code_name: str, depth: int) -> str:
        opening, closing = _BRACKETS[kind]
        if not value:
            return repr(value)
        if depth >= MAX_DEPTH or self._spent > MAX_REPR:
            self.truncated = True
            return opening + "..." + closing
        parts: list[str] = []
        for index, item in enumerate(value):
            if index >= MAX_ITEMS or self._spent > MAX_REPR:
                self.truncated = True
                parts.append("...")
                break
            if kind is dict:
                parts.append(self._item(value, item, code_name, depth + 1))
            else:
                parts.append(self.paint(item, code_name, depth + 1))
        closing = "," + closing if kind is tuple and len(parts) == 1 else closing
        return opening + ", ".join(parts) + closing

    def _item(self, mapping: dict[object, object], key: object, code_name: str, depth: int) -> str:
        name = key if type(key) is str and (is_secret_name(key) or not code_name) else code_name
        return self.paint(key, "", depth) + ": " + self.paint(mapping[key], name, depth)

    def _object(self, kind: type, value: object) -> str:
        if _says_nothing(kind):
            return "<" + class_name(kind) + " object>"
        text: str | None = guarded(lambda: _own_repr(value), None)
        if text is None:
            self.truncated = True
            return "<" + class_name(kind) + " without repr>"
        clean, hidden = redact(_ADDRESS.sub("", text))
        self.redacted = self.redacted or hidden
        self.truncated = self.truncated or len(text) > MAX_REPR
        return clean


def _says_nothing(kind: type) -> bool:
    """Whether the repr of the objects of a class is only its name."""
    return getattr(kind, "__repr__", None) is object.__repr__


def _own_repr(value: object) -> str:
    # A repr may be an instance of a subclass of str, whose methods are the program's own code too.
    return str.__str__(repr(value))[: 2 * MAX_REPR]
