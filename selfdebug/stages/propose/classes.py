"""The classes that guards may be given at one receiver: to ask for, to convert to, to catch, to let through."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Set
from functools import cached_property

from codemods.selfdebug.base import About, Family, Guard, Test
from codemods.selfdebug.dereferences import Operation
from selfdebug.model import FaultKind, Receiver, Value
from selfdebug.stages.propose.collected import needed_class
from selfdebug.stages.propose.constructed import instances_of, spelling
from selfdebug.stages.propose.defaults import named_types
from selfdebug.stages.propose.expectations import enclosing_function
from selfdebug.stages.propose.loans import Loans
from selfdebug.stages.propose.records import Evidence, LocatedSite

CLASS_WIDENING = "class-widen"

_BROAD = ("Exception", "BaseException", "object")
_MOST_CLASSES = 3
_COLLECTIONS = ("list", "tuple")
_COERCIBLE = ("str", "int", "float", "bytes", "bool")
_PLAIN = frozenset({*_COERCIBLE, "bytearray", "complex", "list", "tuple", "dict", "set", "frozenset"})
# What the library calls those that can be used in such a way, where the module knows it.
_PROTOCOLS = {"len": "Sized", "iterate": "Iterable", "contains": "Container", "await": "Awaitable"}
# What an object must have for a use.
_METHODS: Mapping[str, str] = {
    Operation.SUBSCRIPT: "__getitem__",
    Operation.ITERATE: "__iter__",
    Operation.UNPACK: "__iter__",
    Operation.STAR: "__iter__",
    Operation.DOUBLE_STAR: "keys",
    Operation.CONTAINS: "__contains__",
    Operation.CALL: "__call__",
    Operation.CONTEXT: "__enter__",
    Operation.AWAIT: "__await__",
}


class Classes:
    """The classes at one receiver: those that it had, those that it may have, and those that others ask it for."""

    def __init__(
        self, site: LocatedSite, receiver: Receiver, evidence: Evidence, readable: Set[str], lent: Loans
    ) -> None:
        self._site, self._receiver, self._evidence = site, receiver, evidence
        self._readable, self._loans = readable, lent

    def of(self, guard: Guard, test: Test) -> Iterator[tuple[str, ...]]:
        """The class names that a guard needs: the exception to catch, the classes that worked, or from and to."""
        is_conversion = guard.family is Family.COERCION and test in (Test.NO_EXCEPTION, Test.IS_INSTANCE)
        if is_conversion and guard.about is About.VALUE:
            bad, good = self.seen
            if bad in _COERCIBLE:
                for name in [*(name for name in good if name in _COERCIBLE), *_COERCIBLE[:2]]:
                    if name != bad:
                        yield (bad, name)
            elif needed_class(self._evidence.exception.message) == "str":
                yield ("str",)
        elif guard.id == CLASS_WIDENING:
            bad_class = next((self._class_of(value) for value in self._values[0]), None)
            yield from [(bad_class,)] if bad_class is not None else []
        elif test is Test.NOT_SENTINEL:
            bad_type = self.seen[0] or ""
            yield from ((name,) for name in instances_of(bad_type, self._site.source.tree))
        elif test is Test.IS_INSTANCE and self._receiver.operation == Operation.ELEMENTS:
            needed = needed_class(self._evidence.exception.message)
            yield from [(needed,)] if needed else []
        elif test is Test.IS_INSTANCE:
            found = (*self._loans.classes(self._readable), self._declared(), self._accepted() or self._usable())
            yield from dict.fromkeys(fit for classes in found if (fit := tuple(filter(self._serves, classes))))
        elif test is Test.NO_EXCEPTION:
            yield (self._caught(),)
        else:
            yield ()

    def _caught(self) -> str:
        """What a handler can call the exception: its class, or the nearest class above that has a name here."""
        error = self._evidence.exception
        classes = (error.short_type, *(name.rpartition(".")[2] for name in error.mro))
        readable = (name for name in classes if name in self._readable and name not in _BROAD)
        return next(readable, error.type if error.type.partition(".")[0] in self._readable else error.short_type)

    @cached_property
    def _values(self) -> tuple[list[Value], list[Value]]:
        """What the receiver was when it failed, and what it was of other classes when it did not."""
        seen = [each for each in self._evidence.observations if each.is_of(self._site.location, self._receiver)]
        bad = [each.value for each in seen if each.in_failure]
        good = {each.value.type: each.value for each in seen if not each.in_failure}
        return bad, [value for name, value in good.items() if all(name != value.type for value in bad[:1])]

    @cached_property
    def seen(self) -> tuple[str | None, tuple[str, ...]]:
        """The class that the receiver had when it failed, and those it had when it did not."""
        bad, good = self._values
        return bad[0].type if bad else None, tuple(value.type for value in good)

    def _accepted(self) -> tuple[str, ...]:
        """The classes that worked, as the code names them; none where it cannot name one, which it would turn away."""
        named = [self._class_of(value) for value in self._values[1]]
        names = tuple(dict.fromkeys(name for name in named if name is not None))
        return names if None not in named and len(names) <= _MOST_CLASSES else ()

    def _declared(self) -> tuple[str, ...]:
        """The plain classes that the annotation of a parameter has beside the one that failed."""
        function = enclosing_function(self._site.source.tree, self._site.location.line)
        arguments = function.args if function is not None else None
        given = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if arguments is not None else ()
        annotation = next((each.annotation for each in given if each.arg == self._receiver.code), None)
        named = dict.fromkeys(name for name in named_types(annotation) if name in _PLAIN and name in self._readable)
        bad = self.seen[0]
        return tuple(name for name in named if name != bad) if bad is not None else ()

    def _usable(self) -> tuple[str, ...]:
        """What can be used as the receiver is, as far as the code can name it."""
        if self.is_single:
            return _COLLECTIONS
        use = self._receiver.name if self._receiver.operation == Operation.ARGUMENT else self._receiver.operation
        protocol = _PROTOCOLS.get(use)
        return (protocol,) if protocol is not None and protocol in self._readable else ()

    def _serves(self, name: str) -> bool:
        """Whether objects of a class can be used as the receiver is, as far as that is known: of built-in classes."""
        known = getattr(builtins, name) if name in _PLAIN else None
        use = self._receiver.operation
        needed = self._receiver.name if use == Operation.ATTRIBUTE else _METHODS.get(use)
        return known is None or needed is None or any(needed in vars(each) for each in known.__mro__)

    def _class_of(self, value: Value) -> str | None:
        """The class of a value as the code can name it, or else the nearest class above that it can name."""
        if "." not in value.type:
            return value.type if value.type in self._readable else None
        last_names = (name.rpartition(".")[2] for name in (value.type, *value.bases))
        return next((name for each in last_names if (name := spelling(each, self._site.source.tree))), None)

    def converts_as_seen(self, guard: Guard, classes: tuple[str, ...]) -> bool:
        """Whether a guard makes the value one of a class that the receiver had where it worked."""
        is_conversion = guard.family is Family.COERCION and len(classes) == 2
        is_wrong = self._site.location.kind is FaultKind.WRONG_TYPE
        return is_conversion and is_wrong and classes[1] in self.seen[1]

    def has_worked(self, test: Test) -> bool:
        """Whether the receiver was called with success elsewhere, so that it is no value by itself."""
        return test is Test.CALLABLE and bool(self.seen[1])

    @property
    def is_single(self) -> bool:
        """Whether one value stands where several are gone through."""
        is_wrong = self._site.location.kind is FaultKind.WRONG_TYPE
        return is_wrong and self._receiver.operation == Operation.ITERATE and self._receiver.code.isidentifier()
