"""The defaults that guards may be given at one receiver, each looked for when a guard first asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from codemods.selfdebug.base import DefaultRole, Family, Guard, Test
from codemods.selfdebug.dereferences import Dereference, Operation, dereferences
from codemods.selfdebug.scopes import own_nodes
from codemods.selfdebug.source import Source
from codemods.selfdebug.spans import Span, text_at
from selfdebug.model import FaultKind, Receiver
from selfdebug.stages.propose import names
from selfdebug.stages.propose.classes import Classes
from selfdebug.stages.propose.collected import starts_of
from selfdebug.stages.propose.constructed import named_values, no_context, of_classes
from selfdebug.stages.propose.defaults import (
    Default,
    factor_of_one,
    for_receiver,
    for_return,
    for_value,
    is_arithmetic,
    supports,
    takes_item,
    unique,
    without_truth,
)
from selfdebug.stages.propose.docstrings import returned_by_docstring
from selfdebug.stages.propose.expectations import enclosing_function
from selfdebug.stages.propose.imports import imports_of
from selfdebug.stages.propose.loans import loans
from selfdebug.stages.propose.namesakes import namesakes
from selfdebug.stages.propose.records import Evidence, LocatedSite
from selfdebug.stages.propose.results import evident_results
from selfdebug.stages.propose.uses import for_every_use, key_of, uses_of

# What the guards of these forms fall back to can serve in the role.
_LENDING = {
    DefaultRole.RECEIVER: (Family.SUBSTITUTION, Family.LOOKUP_DEFAULT),
    DefaultRole.VALUE: (Family.EXPRESSION_DEFAULT, Family.LOOKUP_DEFAULT, Family.HANDLER),
    DefaultRole.RESULT: (Family.EARLY_RETURN, Family.HANDLER),
}
_BARE_RETURN = 5
_OTHER_FORM = 3
_ITSELF, _GIVEN = 3, 1
# A guard around an expression takes these along, so that its default meets only what comes after them.
_CHAINED = frozenset({Operation.ATTRIBUTE, Operation.SUBSCRIPT, Operation.CALL, Operation.NAME})
_GIVEN_ONCE = frozenset({"generator", "map", "filter", "zip", "enumerate", "reversed"})


class Choices:
    """For each role the defaults at one receiver, looked for when a guard first asks, and its classes."""

    def __init__(self, site: LocatedSite, receiver: Receiver, evidence: Evidence, statement: ast.stmt | None) -> None:
        self._site, self._receiver, self._evidence, self._statement = site, receiver, evidence, statement
        self._function = enclosing_function(site.source.tree, site.location.line)
        self._readable = names.bound_names(site.source.tree, site.location.line)
        self.loans = loans(evidence.mine, site.location, receiver, evidence.exception, site.source)
        self.classes = Classes(site, receiver, evidence, self._readable, self.loans)
        self._uses = dereferences(site.source, statement) if statement is not None else ()
        self._stored = frozenset(_stored_items(site.source, statement)) if statement is not None else frozenset()
        self._found: dict[DefaultRole, tuple[Default, ...]] = {}

    def of(self, guard: Guard, test: Test) -> tuple[Default, ...]:
        role = guard.default_role
        if role is DefaultRole.RECEIVER and test is Test.HAS_KEY:
            role = DefaultRole.VALUE  # the look-up is the guarded expression itself
        if role is DefaultRole.RESULT and guard.family is Family.HANDLER and isinstance(self._statement, ast.Assign):
            role = DefaultRole.VALUE  # the handler assigns it
        if role not in self._found:
            self._found[role] = self._looked_for(role)
        if guard.family is Family.LOOKUP_DEFAULT and role is DefaultRole.VALUE:
            return tuple(default for default in self._found[role] if self._supports_next_use(default))
        return self._found[role]

    def _supports_next_use(self, default: Default) -> bool:
        """Whether what is done with the dereference itself can be done with the default."""
        return all(
            takes_item(default.code) if self._stores(use) else supports(default.code, use.operation, use.name)
            for use in self._uses
            if use.receiver == self._receiver.expression
        )

    def _stores(self, use: Dereference) -> bool:
        """Whether an item is stored into the receiver of the use."""
        return use.operation is Operation.SUBSCRIPT and use.expression in self._stored

    def is_used_up(self) -> bool:
        """Whether the elements around the receiver come from what gives them only once."""
        tree = ast.walk(self._statement) if self._statement is not None else ()
        spans = {self._site.source.span(node.iter) for node in tree if isinstance(node, ast.comprehension)}
        if self._receiver.operation == Operation.ELEMENTS:
            spans = {self._receiver.receiver}
        return any(
            seen.value.type.endswith("iterator") or seen.value.type in _GIVEN_ONCE
            for seen in self._evidence.observations
            if seen.file == self._site.location.file and seen.span in spans
        )

    def is_used_later(self) -> bool:
        """Whether the function uses the receiver, a plain name, in later statements too."""
        if self._function is None or not self._receiver.code.isidentifier():
            return False
        last = self._site.location.statement.end_line
        return any(use.line > last for use in uses_of(self._receiver.code, self._function))

    def cost_of_none(self, guard: Guard) -> int:
        """How unlikely it is right to give no default: a bare `return` in a function that gives back values is."""
        if guard.default_role is not DefaultRole.RESULT or self._function is None:
            return 0
        if guard.family is Family.HANDLER and not isinstance(self._statement, ast.Return):
            return 0  # what comes after the statement goes on
        gives_back = any(isinstance(node, ast.Return) and node.value for node in own_nodes(self._function))
        return _BARE_RETURN if gives_back else 0

    def _looked_for(self, role: DefaultRole) -> tuple[Default, ...]:
        match role:
            case DefaultRole.RECEIVER:
                return self._for_receiver()
            case DefaultRole.VALUE:
                return tuple(default for default in self._for_value() if self._is_usable(default))
            case DefaultRole.RESULT:
                wanted = self._evidence.wanted
                evident = (
                    *self._results(),
                    *returned_by_docstring(self._function),
                    *self._passed(),
                    *self._lent(role),
                    *(self._like_others() if isinstance(self._statement, ast.Return) else ()),
                )
                return for_return(self._function, evident, self._named(), wanted.answers)
            case DefaultRole.EXCEPTION:
                return unique(self._exceptions())
            case DefaultRole.IMPORT:
                return unique(self._imports())
            case DefaultRole.NAME:
                return tuple(Default(name, "its name is close", cost) for cost, name in enumerate(self._near()))

    def _lent(self, role: DefaultRole) -> Iterator[Default]:
        return self.loans.defaults(_LENDING[role], self._readable, self._evidence.wanted.answers)

    def _for_receiver(self) -> tuple[Default, ...]:
        receiver, evidence = self._receiver, self._evidence
        lent = (
            each for each in self._lent(DefaultRole.RECEIVER) if supports(each.code, receiver.operation, receiver.name)
        )
        found = for_receiver(receiver, self._site.location, evidence.observations, evidence.wanted.neutral)
        made = of_classes(self.classes.seen[1], self._site.source.tree)
        own = (*self._alone(), *self._made(), *self._namesakes(receiver.code), *self._for_every_use(), *self._context())
        return unique((*own, *lent, *made, *found))

    def _made(self) -> Iterator[Default]:
        """What the project makes of a value of another kind; a None it would not make anything of."""
        return iter(()) if self._site.location.kind.is_none else self.loans.conversions(self._readable)

    def _context(self) -> Iterator[Default]:
        """A context that does nothing, for a `with` that may have none."""
        if self._receiver.operation == Operation.CONTEXT:
            yield no_context(self._readable)

    def _named(self) -> tuple[str, ...]:
        """The neutral literals of the failing test that can stand for what the statement computes."""
        named = self._evidence.wanted.neutral
        return without_truth(named) if is_arithmetic(getattr(self._statement, "value", None)) else named

    def _operators(self) -> tuple[str, ...]:
        """The operators of which the dereference itself is an operand."""
        return tuple(
            use.name
            for use in self._uses
            if use.operation is Operation.OPERAND and use.receiver == self._receiver.expression
        )

    def _for_value(self) -> tuple[Default, ...]:
        site, evidence = self._site, self._evidence
        code, is_key = text_at(site.source.lines, self._receiver.expression), self._is_in_sort_key()
        found = (
            *(self._as_result() if self._is_returned() else ()),
            *self._of_key(),
            *starts_of(self._statement),
            *self._inner_mapping(),
            *self._itself(),
            *self._as_it_is(),
            *self._lent(DefaultRole.VALUE),
            *self._like_others(),
            *for_value(code, site.location, evidence.observations, self._named(), is_key),
        )
        operators = self._operators()
        if not operators:
            return unique(found)
        numbers = (default for default in found if default.code not in ("True", "False"))
        return unique((*numbers, *(one for operator in operators for one in factor_of_one(operator))))

    def _inner_mapping(self) -> Iterator[Default]:
        """An empty mapping, where an item is stored into what is missing: `d[a][b] = 1`."""
        if any(self._stores(use) and use.receiver == self._receiver.expression for use in self._uses):
            yield Default("{}", "an item is stored into it", 0)

    def _like_others(self) -> Iterator[Default]:
        """The constant that the failing test means, and objects of the classes that the expression gave elsewhere."""
        site, start = self._site, self._receiver.expression
        types = [
            seen.value.type
            for seen in self._evidence.observations
            if seen.file == site.location.file and not seen.in_failure and seen.span.contains(start)
            if (seen.span.start_line, seen.span.start_column) == (start.start_line, start.start_column)
        ]
        yield from named_values(site.source.tree, self._evidence.wanted.answers)
        yield from of_classes(types, site.source.tree)

    def _exceptions(self) -> Iterator[Default]:
        """The exceptions that the failing test expects: as the project makes them, else with a message."""
        wanted = self._evidence.wanted.exceptions
        yield from self.loans.exceptions(wanted, self._readable)
        text = self._receiver.code.replace("\\", "\\\\").replace('"', "'").splitlines()[0]
        for name in wanted:
            if name in self._readable:
                yield Default(f'{name}("{text} is missing")', "the failing test expects it", 0)

    def _namesakes(self, code: str) -> Iterator[Default]:
        return namesakes(code, self._site.source.tree, self._site.location.line)

    def _alone(self) -> Iterator[Default]:
        """The receiver as the only element, where one value stands for several."""
        code = self._receiver.code
        if self.classes.is_single:
            yield from (Default(each, f"{code} is one value", 0) for each in (f"[{code}]", f"({code},)"))

    def _itself(self) -> Iterator[Default]:
        """The receiver, where a value stands for the function that would give it, or for what would be awaited."""
        if self._site.location.kind is not FaultKind.WRONG_TYPE:
            return
        if self._receiver.operation == Operation.CALL:
            yield Default(self._receiver.code, "a value may stand where a function could", 0)
        elif self._receiver.operation == Operation.AWAIT:
            yield Default(self._receiver.code, "a value may stand where something to await could", 0)

    def _for_every_use(self) -> Iterator[Default]:
        if self._function is None or not self._site.location.kind.is_none:
            return iter(())
        return for_every_use(self._receiver.code, self._function, self._site.location.line)

    def _imports(self) -> Iterator[Default]:
        name, file = self._receiver.code, self._site.location.file
        if name.isidentifier() and name not in self._readable:
            yield from imports_of(name, file, self._evidence.mine.texts(file))

    def _as_it_is(self) -> Iterator[Default]:
        """The receiver, where a value of another class may be what it would be made to."""
        if self._site.location.kind is FaultKind.MISSING_ATTRIBUTE and self._receiver.code.isidentifier():
            yield Default(self._receiver.code, "a value of another class may do as it is", _ITSELF)

    def _of_key(self) -> Iterator[Default]:
        """What is known of a missing key by its name, and the key itself, which often stands for its value."""
        if self._site.location.kind is not FaultKind.MISSING_KEY:
            return
        key = key_of(text_at(self._site.source.lines, self._receiver.expression))
        if key is not None:
            yield from self._namesakes(key)
            if key.isidentifier():
                yield Default(key, "a key without an entry may stand for itself", _ITSELF)

    def _is_returned(self) -> bool:
        """Whether the guarded expression, with what follows it, is what the function gives back."""
        returned = self._statement.value if isinstance(self._statement, ast.Return) else None
        return isinstance(returned, ast.Attribute | ast.Call | ast.Subscript | ast.Await)

    def _as_result(self) -> Iterator[Default]:
        """What the function gives back elsewhere, and what is returned early where such a thing is missing."""
        yield from (default for default in for_return(self._function, self._results(), (), ()) if not default.cost)
        early = self.loans.defaults((Family.EARLY_RETURN,), self._readable, self._evidence.wanted.answers)
        yield from (replace(default, cost=default.cost + _OTHER_FORM) for default in early)

    def _results(self) -> Iterator[Default]:
        return (
            evident_results(self._function, self._site.source.tree, self._site.location.line)
            if self._function is not None
            else iter(())
        )

    def _passed(self) -> Iterator[Default]:
        """What is given to the call whose result the statement gives back: it may do as the result."""
        if isinstance(self._statement, ast.Return) and isinstance(self._statement.value, ast.Call):
            for argument in reversed(self._statement.value.args):
                if isinstance(argument, ast.Name) and argument.id not in ("self", "cls"):
                    yield Default(argument.id, "the call is given it", _GIVEN)

    def _near(self) -> Iterator[str]:
        location, tree = self._site.location, self._site.source.tree
        if location.kind is FaultKind.MISSING_ATTRIBUTE:
            return names.near_attributes(self._receiver.name, tree)
        return names.near_misses(self._receiver.code, tree, location.line)

    def _is_in_sort_key(self) -> bool:
        return any(
            use.operation is Operation.SORT_KEY and use.receiver.contains(self._receiver.expression)
            for use in self._uses
        )

    def _is_usable(self, default: Default) -> bool:
        """Whether the default can be used as the result of the whole chain that starts at the receiver is."""
        start = (self._receiver.expression.start_line, self._receiver.expression.start_column)
        chain = [
            use
            for use in self._uses
            if use.receiver.contains(self._receiver.expression)
            and (use.receiver.start_line, use.receiver.start_column) == start
            and use.operation not in _CHAINED
        ]
        whole = max(chain, key=lambda use: use.receiver, default=None)
        return whole is None or supports(default.code, whole.operation.value, whole.name)


def _stored_items(source: Source, statement: ast.stmt) -> Iterator[Span]:
    """The subscripts of a statement that are stored to."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            yield source.span(node)
