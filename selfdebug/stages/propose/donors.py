"""What a file does where a value is missing: its guards and handlers, each as a donor for places that have none.

A donor tells what was asked of which value, what happened instead, and where. The words of a value (the attribute, the
key, the function that gave it) say whether two places are about the same thing: `user = find(1)` and `find(2).name`
share `find()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import singledispatch

from codemods.selfdebug.base import Family
from selfdebug.model import Place
from selfdebug.stages.propose.defaults import is_plain, literal


class Lack(StrEnum):
    """What a value was found not to be."""

    NONE = "none"
    FALSY = "falsy"
    KEY = "key"
    LENGTH = "length"
    CLASS = "class"
    ATTRIBUTE = "attribute"
    CALLABLE = "callable"
    ZERO = "zero"
    RAISED = "raised"


@dataclass(frozen=True, slots=True)
class Donor:
    """One guard as the project has it: `fallback` is the source of what stands in (a value, or the exception raised).

    `classes` are those that an `isinstance` asks for, or that a handler catches; `owner` is the class around, and
    `commit` the short id of the change that brought it, where it comes from the history.
    """

    place: Place
    lack: Lack
    words: frozenset[str]
    family: Family
    fallback: str | None = None
    classes: tuple[str, ...] = ()
    owner: str | None = None
    commit: str = ""

    @property
    def sentence(self) -> str:
        """Where it was seen: `as in app/users.py:120`."""
        return f"as in {self.place}" + (f" (since {self.commit})" if self.commit else "")


@dataclass(frozen=True, slots=True)
class _Question:
    lack: Lack
    subject: ast.expr
    is_missing: bool
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Around:
    """The function and the class around a node, and what the function's names were assigned from."""

    function: str | None = None
    owner: str | None = None
    aliases: dict[str, str] = field(default_factory=dict)


_Offer = tuple[_Question, frozenset[str], Family, str | None]
"""A question, the words of what it is about, what is done instead, and with which value."""


_LONGEST = 80
# Words that say nothing about what a value is.
_COMMON = frozenset({"", "self", "cls", "get()", "pop()", "len()", "isinstance()"})
_LOOK_UPS = {"get": 2, "pop": 2, "setdefault": 2, "next": 2, "getattr": 3}
_OFFERING = (ast.If, ast.IfExp, ast.BoolOp, ast.comprehension, ast.Call, ast.Try)
_UNFIT = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda, ast.comprehension)


def donors_in(tree: ast.Module, file: str) -> tuple[Donor, ...]:
    """Every guard and handler of a parsed file whose effect can be told, in source order."""
    found = [
        _donor(node, offer, around, file) for node, around in _walk(tree) for offer in _offers(node, around) if offer[1]
    ]
    return tuple(sorted(found, key=lambda donor: donor.place.line))


def words_of(node: ast.expr, aliases: dict[str, str] | None = None) -> frozenset[str]:
    """What the value of an expression may be recognised by elsewhere: its last name, its key, the call that gave it."""
    words = {_word(node)}
    if isinstance(node, ast.Name) and aliases and node.id in aliases:
        words.add(aliases[node.id])
    if isinstance(node, ast.Subscript):
        words.add(f"{_word(node.value)}[]")
    match node:
        case ast.Call(func=ast.Attribute(value=holder, attr=name), args=[key, *_]) if name in _LOOK_UPS:
            words |= {f"{_word(holder)}[]", *_key_words(key)}
    return frozenset(words - _COMMON)


def aliases_in(function: ast.AST) -> dict[str, str]:
    """What each name of a function was assigned from last, as a word."""
    return {
        node.targets[0].id: _word(node.value)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }


def _word(node: ast.expr) -> str:
    word = ""
    match node:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            pass
        case ast.Call(func=inner):
            word = f"{_word(inner)}()"
        case ast.Await(value=inner) | ast.NamedExpr(value=inner):
            word = _word(inner)
        case ast.Subscript(slice=ast.Constant(value=key)):
            word = repr(key)
        case ast.Subscript(value=inner):
            word = f"{_word(inner)}[]"
    return word


def _key_words(key: ast.expr) -> set[str]:
    return {repr(key.value)} if isinstance(key, ast.Constant) else set()


def _code(node: ast.expr | None) -> str | None:
    """The source of a value that can stand elsewhere; None for one that is long, or more than a value."""
    if node is None:
        return "None"
    if any(isinstance(each, _UNFIT) for each in ast.walk(node)):
        return None
    code = literal(node) if is_plain(node) else ast.unparse(node)
    return code if len(code) <= _LONGEST and "\n" not in code else None


def _names(node: ast.expr | None) -> tuple[str, ...]:
    if isinstance(node, ast.Tuple):
        return tuple(name for element in node.elts for name in _names(element))
    return (ast.unparse(node),) if isinstance(node, ast.Name | ast.Attribute) else ()


def _questions(test: ast.expr, truth: bool = True) -> Iterator[_Question]:
    """What a condition asks, and for each question whether its being met means that the value is missing."""
    match test:
        case ast.UnaryOp(op=ast.Not()):
            yield from _questions(test.operand, not truth)
        case ast.BoolOp():
            for value in test.values:
                yield from _questions(value, truth)
        case ast.Compare(ops=[operator], comparators=[right]):
            for question in _compared(test.left, operator, right):
                yield question if truth else _opposite(question)
        case ast.Call(func=ast.Name(id="isinstance"), args=[subject, classes]):
            yield _Question(Lack.CLASS, subject, not truth, _names(classes))
        case ast.Call(func=ast.Name(id="callable"), args=[subject]):
            yield _Question(Lack.CALLABLE, subject, not truth)
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str() as name)]):
            yield _Question(Lack.ATTRIBUTE, ast.Attribute(ast.Name("_"), name), not truth)
        case ast.NamedExpr() | ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
            yield _Question(Lack.FALSY, test.value if isinstance(test, ast.NamedExpr) else test, not truth)


def _opposite(question: _Question) -> _Question:
    return _Question(question.lack, question.subject, not question.is_missing, question.classes)


def _compared(left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Iterator[_Question]:
    if isinstance(left, ast.NamedExpr):
        left = left.value
    match operator, right:
        case ((ast.Is() | ast.Eq()), ast.Constant(value=None)):
            yield _Question(Lack.NONE, left, True)
        case ((ast.IsNot() | ast.NotEq()), ast.Constant(value=None)):
            yield _Question(Lack.NONE, left, False)
        case ((ast.In() | ast.NotIn()), _):
            yield _Question(Lack.KEY, ast.Subscript(right, left), isinstance(operator, ast.NotIn))
        case _ if isinstance(left, ast.Call) and _word(left) == "len()" and left.args:
            is_missing = isinstance(operator, ast.Lt | ast.LtE | ast.NotEq) or _is_zero_test(operator, right)
            yield _Question(Lack.LENGTH, left.args[0], is_missing)
        case ((ast.Eq() | ast.NotEq()), ast.Constant(value=0)):
            yield _Question(Lack.ZERO, left, isinstance(operator, ast.Eq))


def _is_zero_test(operator: ast.cmpop, right: ast.expr) -> bool:
    return isinstance(operator, ast.Eq) and isinstance(right, ast.Constant) and right.value == 0


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, _Around]]:
    """The nodes that may offer something, with what is around them."""
    todo: list[tuple[ast.AST, _Around]] = [(tree, _Around())]
    while todo:
        node, around = todo.pop()
        if isinstance(node, _OFFERING):
            yield node, around
        if isinstance(node, ast.ClassDef):
            around = replace(around, owner=node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            around = replace(around, function=node.name, aliases=aliases_in(node))
        todo.extend((child, around) for child in ast.iter_child_nodes(node))


def _donor(node: ast.AST, offer: _Offer, around: _Around, file: str) -> Donor:
    question, words, family, fallback = offer
    placed = node.target if isinstance(node, ast.comprehension) else node
    line: int = placed.lineno  # type: ignore[attr-defined]  # all other nodes that offer anything have one
    place = Place(file, line, around.function)
    return Donor(place, question.lack, words, family, fallback, question.classes, around.owner)


@singledispatch
def _offers(_node: ast.AST, _around: _Around) -> Iterator[_Offer]:
    """What one node does where a value is missing."""
    return iter(())


@_offers.register
def _if(node: ast.If, around: _Around) -> Iterator[_Offer]:
    for question in _questions(node.test):
        missing, present = (node.body, node.orelse) if question.is_missing else (node.orelse, node.body)
        words = words_of(question.subject, around.aliases)
        if missing:
            for family, fallback in _effects(missing, ast.unparse(question.subject)):
                yield question, words, family, fallback
        elif present:
            yield question, words, Family.WRAP, None


@_offers.register
def _conditional(node: ast.IfExp, around: _Around) -> Iterator[_Offer]:
    for question in _questions(node.test):
        fallback = _code(node.body if question.is_missing else node.orelse)
        if fallback is not None:
            yield question, words_of(question.subject, around.aliases), Family.EXPRESSION_DEFAULT, fallback


@_offers.register
def _boolean(node: ast.BoolOp, around: _Around) -> Iterator[_Offer]:
    first, last = node.values[0], node.values[-1]
    if isinstance(node.op, ast.And):
        for question in _questions(first):
            if not question.is_missing:
                yield question, words_of(question.subject, around.aliases), Family.CONDITION_PREFIX, None
    elif isinstance(first, ast.Name | ast.Attribute | ast.Call | ast.Subscript) and (code := _code(last)):
        yield _Question(Lack.FALSY, first, True), words_of(first, around.aliases), Family.SUBSTITUTION, code


@_offers.register
def _comprehension(node: ast.comprehension, around: _Around) -> Iterator[_Offer]:
    for test in node.ifs:
        for question in _questions(test):
            if not question.is_missing:
                yield question, words_of(question.subject, around.aliases), Family.FILTER, None


@_offers.register
def _call(node: ast.Call, around: _Around) -> Iterator[_Offer]:
    name = _word(node.func)
    code = _code(node.args[-1]) if len(node.args) == _LOOK_UPS.get(name) else None
    if _is_bare_get(node):
        code = "None"
    if code is None:
        return
    if name == "getattr":
        words = frozenset(str(arg.value) for arg in node.args[1:2] if isinstance(arg, ast.Constant))
        lack = Lack.ATTRIBUTE
    else:
        holder = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]
        words, lack = words_of(ast.Subscript(holder, node.args[0]), around.aliases), Lack.KEY
    yield _Question(lack, node, True), words, Family.LOOKUP_DEFAULT, code


def _is_bare_get(node: ast.Call) -> bool:
    """Whether it is `d.get(k)`, which gives None."""
    is_get = isinstance(node.func, ast.Attribute) and node.func.attr == "get"
    return is_get and len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Starred)


@_offers.register
def _try(node: ast.Try, around: _Around) -> Iterator[_Offer]:
    words: set[str] = set()
    for statement in node.body:
        for each in ast.walk(statement):
            if isinstance(each, ast.Subscript | ast.Call | ast.Attribute):
                words |= words_of(each, around.aliases)
    for handler in node.handlers:
        question = _Question(Lack.RAISED, ast.Name("_"), True, _names(handler.type))
        for _, fallback in _effects(handler.body, ""):
            yield question, frozenset(words), Family.HANDLER, fallback


def _effects(body: Sequence[ast.stmt], subject: str) -> Iterator[tuple[Family, str | None]]:
    """What a short block does in the place of what was meant; longer ones do nothing that could be lent."""
    match body:
        case [ast.Continue()]:
            yield Family.CONTINUE, None
        case [ast.Pass()]:
            yield Family.WRAP, None
        case [ast.Return(value=value)]:
            yield from _with_code(Family.EARLY_RETURN, value)
        case [ast.Raise(exc=ast.expr() as raised)]:
            yield from _with_code(Family.RAISE, raised)
        case [ast.Assign(targets=[target], value=value)]:
            is_subject = ast.unparse(target) == subject
            yield from _with_code(Family.SUBSTITUTION if is_subject else Family.EXPRESSION_DEFAULT, value)


def _with_code(family: Family, value: ast.expr | None) -> Iterator[tuple[Family, str | None]]:
    code = _code(value)
    if code is not None:
        yield family, code
