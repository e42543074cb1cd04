"""What donors lend to one receiver: fallbacks, exceptions, classes and the form of the guard, each with its distance.

A donor in the same function, class or file may be about something else; one from elsewhere has to share a word that
tells what the value is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from codemods.selfdebug.base import Family
from codemods.selfdebug.source import Source
from selfdebug.model import ExceptionRecord, FaultKind, FaultLocation, Receiver
from selfdebug.stages.propose.defaults import NEUTRAL, Default
from selfdebug.stages.propose.donors import Donor, Lack, aliases_in, words_of
from selfdebug.stages.propose.expectations import enclosing_function
from selfdebug.stages.propose.mine import Mine

_LACKS = {
    FaultKind.MISSING_KEY: {Lack.KEY},
    FaultKind.INDEX_RANGE: {Lack.LENGTH, Lack.FALSY},
    FaultKind.ZERO_DIVISION: {Lack.ZERO, Lack.FALSY},
    FaultKind.WRONG_TYPE: {Lack.CLASS, Lack.CALLABLE},
    FaultKind.MISSING_ATTRIBUTE: {Lack.ATTRIBUTE, Lack.CLASS},
}
_OF_NONE = {Lack.NONE, Lack.FALSY, Lack.CLASS, Lack.CALLABLE}
_IN_FUNCTION, _IN_CLASS, _IN_FILE, _ELSEWHERE = 0, 1, 2, 3
_LOOSE = 2  # what a default costs whose donor may be about something else
_OF_ANOTHER = 1  # and by how much more where it stood in for another variable, which may be of another class
_BONUS = (4, 4, 3, 2)
_SAME_WAY = -1  # what the function itself looks up has this neutral default
_ALSO_EXPECTED = -4  # the project's own fallback, and the failing test names it
_MOST = 6


@dataclass(frozen=True, slots=True)
class Loan:
    """One donor as seen from a receiver: how far away it is, and whether it is about the same thing by its words."""

    donor: Donor
    distance: int
    is_alike: bool


def loans(mine: Mine, location: FaultLocation, receiver: Receiver, error: ExceptionRecord, source: Source) -> Loans:
    """What the project lends to a receiver of the file `source`."""
    function = enclosing_function(source.tree, location.line)
    owner = _class_around(source.tree, location.line)
    words = _words(location.kind, receiver, aliases_in(function) if function is not None else {})
    found = []
    for donor in mine.donors(location.file, source.data, words):
        is_here = donor.place.file == location.file and not donor.commit
        if not _fits(donor, location.kind, error) or (is_here and donor.place.line == location.line):
            continue
        is_alike = bool(words & donor.words)
        if is_here and function is not None and _is_within(function, donor.place.line):
            found.append(Loan(donor, _IN_FUNCTION, is_alike))
        elif is_here and owner is not None and donor.owner == owner:
            found.append(Loan(donor, _IN_CLASS, is_alike))
        else:
            found.append(Loan(donor, _IN_FILE if is_here else _ELSEWHERE, is_alike))
    return Loans(tuple(sorted(found, key=lambda loan: (not loan.is_alike, loan.distance))))


def _words(kind: FaultKind, receiver: Receiver, aliases: dict[str, str]) -> Set[str]:
    """The words of what is missing: those of the receiver, with the key, the attribute or the call that failed."""
    code = f"({receiver.code}\n)"
    if kind is FaultKind.MISSING_KEY:
        code = f"({receiver.code})[{receiver.name}\n]"
    elif kind is FaultKind.OTHER:
        code = f"({receiver.code}\n)()"
    try:
        words = words_of(ast.parse(code, mode="eval").body, aliases)
    except (SyntaxError, ValueError):  # a slice or a star, which are no value by themselves
        words = frozenset()
    return words | {receiver.name} if kind is FaultKind.MISSING_ATTRIBUTE else words


def _fits(donor: Donor, kind: FaultKind, error: ExceptionRecord) -> bool:
    if donor.lack is Lack.RAISED:
        known = {name.rsplit(".", 1)[-1] for name in (error.type, *error.mro)} - {
            "Exception",
            "BaseException",
            "object",
        }
        return bool(known & {name.rsplit(".", 1)[-1] for name in donor.classes})
    return donor.lack in (_OF_NONE if kind.is_none else _LACKS.get(kind, ()))


def _class_around(tree: ast.Module, line: int) -> str | None:
    around = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and _is_within(node, line)]
    return max(around, key=lambda node: node.lineno).name if around else None


def _is_within(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


@dataclass(frozen=True, slots=True)
class Loans:
    """The donors of one receiver, those about the same thing first, and near ones before far ones."""

    found: tuple[Loan, ...] = ()

    def form(self, family: Family) -> str | None:
        """Where the nearest guard of this form about the same thing is."""
        alike = (loan.donor for loan in self.found if loan.is_alike and loan.donor.family is family)
        return next((donor.sentence for donor in alike), None)

    def bonus(self, family: Family) -> int:
        """By how much earlier a guard of this form is tried, since the project guards the same thing so."""
        alike = (loan.distance for loan in self.found if loan.is_alike and loan.donor.family is family)
        return max((_BONUS[distance] for distance in alike), default=0)

    def defaults(self, families: Sequence[Family], readable: Set[str], expected: Sequence[str]) -> Iterator[Default]:
        """The fallbacks of guards of these forms that can be read where they are to stand."""
        lent = 0
        for loan in self.found:
            donor = loan.donor
            if donor.family not in families or donor.fallback is None or lent >= _MOST:
                continue
            if (loan.is_alike or _is_custom(loan)) and can_stand(donor.fallback, readable):
                lent += 1
                cost = loan.distance // _ELSEWHERE if loan.is_alike else _LOOSE
                cost = _SAME_WAY if _is_same_way(loan) else cost
                cost += _OF_ANOTHER if donor.family is Family.SUBSTITUTION and not loan.is_alike else 0
                cost += _ALSO_EXPECTED if donor.fallback in expected else 0
                yield Default(donor.fallback, donor.sentence, cost, donor.sentence)

    def conversions(self, readable: Set[str]) -> Iterator[Default]:
        """What the project makes of such a value where it is not of the kind that is needed: of a key `getter(key)`."""
        for loan in self.found:
            donor = loan.donor
            is_made = donor.family is Family.SUBSTITUTION and donor.lack in (Lack.CLASS, Lack.CALLABLE)
            if is_made and loan.is_alike and donor.fallback and can_stand(donor.fallback, readable):
                yield Default(donor.fallback, donor.sentence, 0, donor.sentence)

    def exceptions(self, wanted: Sequence[str], readable: Set[str]) -> Iterator[Default]:
        """The exceptions of a wanted class, made as the project makes them where the same thing is missing."""
        for loan in self.found:
            donor = loan.donor
            raised = donor.fallback or ""
            name = raised.partition("(")[0].rsplit(".", 1)[-1]
            if donor.family is Family.RAISE and loan.is_alike and name in wanted and can_stand(raised, readable):
                yield Default(raised, donor.sentence, 0, donor.sentence)

    def classes(self, readable: Set[str]) -> Iterator[tuple[str, ...]]:
        """The classes that the project asks such a value for."""
        for loan in self.found:
            names = loan.donor.classes
            is_asked = loan.donor.lack is Lack.CLASS and loan.is_alike and bool(names)
            if is_asked and all(name.partition(".")[0] in readable for name in names):
                yield names


def _is_same_way(loan: Loan) -> bool:
    """Whether a look-up beside this one has a neutral default: the lines of a function are much alike."""
    is_beside = loan.distance == _IN_FUNCTION and loan.donor.family is Family.LOOKUP_DEFAULT
    return is_beside and loan.donor.fallback in NEUTRAL


def _is_custom(loan: Loan) -> bool:
    """Whether the fallback is what this function or class gives whatever is missing: a constant or a sentinel."""
    is_free = not {"self", "cls", "("} & set(re.findall(r"\w+|\(", loan.donor.fallback or ""))
    return loan.distance == _IN_FUNCTION or (loan.distance == _IN_CLASS and is_free)


def can_stand(code: str, readable: Set[str]) -> bool:
    """Whether each name of the expression is one of these, and it binds none."""
    names = (node for node in ast.walk(ast.parse(code, mode="eval")) if isinstance(node, ast.Name))
    return all(node.id in readable for node in names)
