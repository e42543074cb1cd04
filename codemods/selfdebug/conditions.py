"""The condition of a guard: as code, for the expression it asks about, and how a new name is bound for one."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import libcst as cst

from codemods.selfdebug import facts
from codemods.selfdebug.base import RefusedError, Test
from codemods.selfdebug.defaults import expression_of
from codemods.selfdebug.edits import assignment
from codemods.selfdebug.precedence import operand_of_and, operand_of_comparison, operand_of_not
from codemods.selfdebug.purity import is_constant, may_ask_again, may_be_read_before, may_repeat, may_run_before
from codemods.selfdebug.scopes import fresh_name, is_dotted_name
from codemods.selfdebug.sites import bare, branches, earlier
from codemods.selfdebug.subscripts import subscript

if TYPE_CHECKING:
    from codemods.selfdebug.base import Parameters
    from codemods.selfdebug.evaluation import Step
    from codemods.selfdebug.sites import Site

SUBJECT = "_subject_"
"""What stands for the subject in the code of a condition."""


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A question about `subject`, a node of the unit: `holds` and `fails` are its code with a placeholder for it."""

    test: Test
    subject: cst.BaseExpression
    holds: str
    fails: str

    def about(self, code: str) -> tuple[str, str]:
        """The condition and its opposite as code, for a subject of this code, which may be used as it is."""
        return self.holds.replace(SUBJECT, code), self.fails.replace(SUBJECT, code)

    def positive(self, subject: cst.BaseExpression) -> cst.BaseExpression:
        """The condition under which the code runs as before."""
        return _filled(self.holds, subject)

    def negative(self, subject: cst.BaseExpression) -> cst.BaseExpression:
        """The opposite: the condition under which the guard acts."""
        return _filled(self.fails, subject)


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A condition inside an expression. `name` stands for the subject where that may not be evaluated twice."""

    condition: Condition
    name: str | None

    @property
    def subject(self) -> cst.BaseExpression:
        """How the condition names its subject: as it is, or bound on the way."""
        bare_subject = bare(self.condition.subject)
        if self.name is None:
            return one_line(bare_subject)
        parentheses = {"lpar": [cst.LeftParen()], "rpar": [cst.RightParen()]}
        is_named = isinstance(bare_subject, cst.NamedExpr)
        new = bare_subject if is_named else cst.NamedExpr(cst.Name(self.name), bare_subject)
        return new.with_changes(**parentheses)

    @property
    def positive(self) -> cst.BaseExpression:
        """The condition under which the code runs as before."""
        return self.condition.positive(self.subject)

    @property
    def negative(self) -> cst.BaseExpression:
        """The condition under which the guard acts."""
        return self.condition.negative(self.subject)

    def body(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """`node` with the name in the place of the subject."""
        return named(node, self.condition.subject, self.name)


def condition_for(site: Site, parameters: Parameters) -> Condition:
    """The condition that the parameters ask for at this site. Raises RefusedError when it cannot be asked here."""
    condition = unchecked_condition(site, parameters)
    if facts.already_known(site, condition):
        raise RefusedError("already guarded by this condition")
    return condition


def unchecked_condition(site: Site, parameters: Parameters) -> Condition:
    """As `condition_for`, whether or not the code around the site makes sure of it already."""
    test, receiver = parameters.test, site.receiver
    if test is Test.NOT_NONE:
        return Condition(test, receiver, f"{SUBJECT} is not None", f"{SUBJECT} is None")
    if test is Test.NOT_SENTINEL:
        name = _class_list(parameters.classes[:1])
        return Condition(test, receiver, f"{SUBJECT} is not {name}", f"{SUBJECT} is {name}")
    if test is Test.HAS_KEY:
        container, key = subscript(site)
        code = _repeatable_code(site, key)
        return Condition(test, container, f"{code} in {SUBJECT}", f"{code} not in {SUBJECT}")
    if test is Test.NON_ZERO:
        return Condition(test, receiver, f"{SUBJECT} != 0", f"{SUBJECT} == 0")
    if test is Test.IN_RANGE:
        return _in_range(site)
    question = _question(site, parameters)  # guards that ask nothing at all never come here
    return Condition(test, receiver, question, f"not {question}")


def _question(site: Site, parameters: Parameters) -> str:
    """A condition whose opposite is written with `not`."""
    if parameters.test is Test.IS_INSTANCE:
        return f"isinstance({SUBJECT}, {_class_list(parameters.classes)})"
    if parameters.test is Test.HAS_ATTRIBUTE:
        return f"hasattr({SUBJECT}, {site.code(expression_of(site, repr(_attribute(site))))})"
    if parameters.test is Test.CALLABLE:
        return f"callable({SUBJECT})"
    if parameters.test is Test.AWAITABLE:
        return f"inspect.isawaitable({SUBJECT})"
    return SUBJECT


# What the library calls of an object that it is given, where this one method tells that it can.
_PROTOCOLS = {"len": "__len__", "reversed": "__reversed__", "enumerate": "__iter__", "sum": "__iter__"}


def _attribute(site: Site) -> str:
    node = site.expression
    match node:
        case cst.Call(func=cst.Name(value=function), args=[cst.Arg(value=given), *_]) if given is site.receiver:
            if function in _PROTOCOLS:
                return _PROTOCOLS[function]
    if node is site.receiver and isinstance(site.parent(node), cst.For | cst.CompFor):
        return "__iter__"
    if not isinstance(node, cst.Attribute) or node.value is not site.receiver:
        raise RefusedError("the dereference is no attribute of the receiver")
    name = node.attr.value
    if name.startswith("__") and not name.endswith("__"):
        raise RefusedError("a private name means something else in a string")
    return name


def _in_range(site: Site) -> Condition:
    length = f"len({SUBJECT})"
    wanted = _unpacked_length(site)
    if wanted:
        operator, opposite, count = wanted
        return Condition(Test.IN_RANGE, site.receiver, f"{length} {operator} {count}", f"{length} {opposite} {count}")
    container, index = subscript(site)
    code = _repeatable_code(site, index)
    if code.removeprefix("-").isdecimal():
        holds, fails = (">=", "<") if code.startswith("-") else (">", "<=")
        bound = code.removeprefix("-")
        return Condition(Test.IN_RANGE, container, f"{length} {holds} {bound}", f"{length} {fails} {bound}")
    if not may_repeat(container):
        raise RefusedError("the container would have to be evaluated twice")
    if "-" not in code:  # an index that grows goes too far at the end; one below zero that worked still does
        return Condition(Test.IN_RANGE, container, f"{code} < {length}", f"{code} >= {length}")
    inside = f"-{length} <= {code} < {length}"
    return Condition(Test.IN_RANGE, container, inside, f"not {inside}")


def _unpacked_length(site: Site) -> tuple[str, str, int] | None:
    """How long the receiver must be to be unpacked by its assignment, as operator, opposite and number."""
    assign = site.holder
    if not isinstance(assign, cst.Assign) or assign.value is not site.receiver:
        return None
    target = assign.targets[0].target
    if not isinstance(target, cst.Tuple | cst.List):
        return None
    starred = sum(isinstance(element, cst.StarredElement) for element in target.elements)
    count = len(target.elements) - starred
    return (">=", "<", count) if starred else ("==", "!=", count)


def _repeatable_code(site: Site, key: cst.BaseExpression) -> str:
    key = bare(key)
    if not may_ask_again(key):
        raise RefusedError("the key would have to be evaluated twice")
    if isinstance(key, cst.Tuple):
        return site.code(key) if key.lpar else f"({site.code(key)})"
    return cst.Module([]).code_for_node(operand_of_comparison(key))


def _class_list(classes: tuple[str, ...]) -> str:
    if not classes:
        raise RefusedError("no class to test for")
    if not all(map(is_dotted_name, classes)):
        raise RefusedError("a class name is no name")
    return classes[0] if len(classes) == 1 else f"({', '.join(classes)})"


def _filled(code: str, subject: cst.BaseExpression) -> cst.BaseExpression:
    template = cst.parse_expression(code)
    if code == SUBJECT:
        return subject
    fitted = operand_of_not(subject) if code == f"not {SUBJECT}" else operand_of_comparison(subject)
    while True:  # the range test names its subject twice
        place = _placeholder(template)
        if place is None:
            return template
        filled = template.deep_replace(place, fitted.deep_clone())
        assert isinstance(filled, cst.BaseExpression)
        template = filled


def _placeholder(node: cst.CSTNode) -> cst.Name | None:
    if isinstance(node, cst.Name):
        return node if node.value == SUBJECT else None
    return next((found for child in node.children if (found := _placeholder(child)) is not None), None)


def one_line(node: cst.BaseExpression) -> cst.BaseExpression:
    """A copy of `node` without the line breaks and comments inside it."""
    code = cst.Module([]).code_for_node(node)
    if "\n" not in code:
        return node.deep_clone()
    return cst.parse_expression(ast.unparse(ast.parse(f"({code}\n)", mode="eval")))


def named(node: cst.BaseExpression, subject: cst.BaseExpression, name: str | None) -> cst.BaseExpression:
    """`node` with `name` in the place of `subject` (unchanged without a name)."""
    if name is None:
        return node
    if node is subject:
        return cst.Name(name)
    changed = node.deep_replace(subject, cst.Name(name))
    assert isinstance(changed, cst.BaseExpression)
    return changed


def bind(site: Site, condition: Condition, outer: cst.BaseExpression) -> Bound:
    """The condition in front of `outer`. Raises RefusedError when values or the order of evaluation would change."""
    path = _subject_path(site, condition, outer)
    subject = condition.subject
    if may_repeat(subject) or is_constant(subject):
        if not may_be_read_before(subject, earlier(path)):
            raise RefusedError("what runs before it may change the receiver")
        return Bound(condition, None)
    if not may_run_before(subject, earlier(path)):
        raise RefusedError("the receiver would be evaluated before what stands before it")
    return Bound(condition, _name_for(site, subject))


def _subject_path(site: Site, condition: Condition, outer: cst.BaseExpression) -> list[Step]:
    return list(takewhile(lambda step: step.child is not outer, site.steps_from(condition.subject)))


@dataclass(frozen=True, slots=True, eq=False)
class Ahead:
    """A condition in a statement of its own. `name` is assigned first where the subject may not be read twice.

    `path` are the conditions under which the statement evaluates the receiver at all.
    """

    condition: Condition
    name: str | None
    path: tuple[cst.BaseExpression, ...]

    @property
    def subject(self) -> cst.BaseExpression:
        """How the condition names its subject."""
        return cst.Name(self.name) if self.name else one_line(bare(self.condition.subject))

    @property
    def hoisted(self) -> list[cst.BaseStatement]:
        """The assignment of the name, if there is one."""
        if self.name is None:
            return []
        subject = bare(self.condition.subject)
        return [assignment(self.name, subject.value if isinstance(subject, cst.NamedExpr) else subject)]

    @property
    def positive(self) -> cst.BaseExpression:
        """The condition under which the statement runs as before. Raises RefusedError when it would be roundabout."""
        if self.path:
            raise RefusedError("the statement does not always evaluate the receiver")
        return self.condition.positive(self.subject)

    @property
    def negative(self) -> cst.BaseExpression:
        """The condition under which the guard acts."""
        return all_of([*self.path, self.condition.negative(self.subject)])


def ahead(site: Site, condition: Condition) -> Ahead:
    """The condition in front of the statement. Raises RefusedError when values or the order would change."""
    _require_own_statement(site)
    path = site.steps_from(condition.subject)
    conditions = branches(path)
    subject = condition.subject
    if may_repeat(subject) or is_constant(subject):
        if not may_be_read_before(subject, earlier(path)):
            raise RefusedError("what runs before it may change the receiver")
        return Ahead(condition, None, tuple(_asked(step) for step in reversed(conditions)))
    if conditions:
        raise RefusedError("the statement does not always evaluate the receiver")
    if not may_run_before(subject, earlier(path)):
        raise RefusedError("the receiver would be evaluated before what stands before it")
    return Ahead(condition, _name_for(site, subject), ())


def _name_for(site: Site, subject: cst.BaseExpression) -> str:
    """What a value that may not be evaluated twice is called: as the code calls it already (`x := f()`), or anew."""
    if isinstance(subject, cst.NamedExpr):
        return cst.ensure_type(subject.target, cst.Name).value
    if isinstance(site.block_scope, ast.ClassDef):
        raise RefusedError("a name bound here would become an attribute of the class")
    return fresh_name(site.block_scope, site.source.tree, subject)


def _require_own_statement(site: Site) -> None:
    if site.is_elif:
        raise RefusedError("nothing can be put before an elif")
    if isinstance(site.holder, cst.ExceptHandler | cst.MatchCase):
        raise RefusedError("nothing can be put before this clause")


def _asked(step: Step) -> cst.BaseExpression:
    condition = step.condition
    assert condition is not None
    if not may_ask_again(condition):
        raise RefusedError("the condition around the receiver may not be evaluated twice")
    again = one_line(bare(condition))
    return again if step.reach == "if-true" else cst.UnaryOperation(cst.Not(), operand_of_not(again))


def all_of(conditions: list[cst.BaseExpression]) -> cst.BaseExpression:
    """The conditions joined by `and`."""
    joined = conditions[0]
    for condition in conditions[1:]:
        joined = cst.BooleanOperation(operand_of_and(joined), cst.And(), operand_of_and(condition))
    return joined
