"""What a function gives back when it has nothing to give: read from its returns, those it passes on, and its use.

`return self.find(x)` gives back what `find` gives back, so the constant returns of `find` are as good as its own; and
where callers take the result apart (`index, token = self.next(i)`), nothing is a tuple of as many Nones. What guards
and handlers of the module return (`if date is None: return str(value)`) serves where its names are parameters too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from codemods.selfdebug.expressions import last_name
from codemods.selfdebug.scopes import own_nodes
from selfdebug.stages.propose.constructed import is_constructed
from selfdebug.stages.propose.defaults import Default, is_plain, literal
from selfdebug.stages.propose.names import bound_names

Function = ast.FunctionDef | ast.AsyncFunctionDef
_OWN, _PASSED_ON, _TAKEN_APART, _AS_ELSEWHERE = 0, 1, 1, 2
_LONGEST = 60


def evident_results(function: Function, module: ast.Module, line: int) -> Iterator[Default]:
    """The results that speak for themselves at a line of a function of `module`, its own constants first."""
    if function.name == "__get__":
        yield Default("self", "a descriptor gives itself back where there is no object", _OWN)
    for code in (*_constants(function), *_constructed(function, module)):
        yield Default(code, f"{function.name} returns {code} elsewhere", _OWN)
    for callee in _passed_on(function, module):
        for code in _constants(callee):
            yield Default(code, f"{function.name} gives back what {callee.name} returns, {code} among it", _PASSED_ON)
    for count in sorted(set(_parts_taken(function.name, module))):
        code = f"({', '.join(['None'] * count)}{',' if count == 1 else ''})"
        yield Default(code, f"a caller takes the result of {function.name} apart", _TAKEN_APART)
    known = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    given = known | _given_before(function, line)
    for name in _returned_names(function):
        if name in given:
            yield Default(name, f"{function.name} gives {name} back elsewhere", _PASSED_ON)
    readable = known | bound_names(module, 0)
    for fallback in _fallbacks(module):
        code = ast.unparse(fallback)
        own = {node.id for node in ast.walk(fallback) if isinstance(node, ast.Name)} & (known - {"self", "cls"})
        if own and len(code) <= _LONGEST and _is_readable(fallback, readable):
            near = function.lineno <= fallback.lineno <= (function.end_lineno or function.lineno)
            yield Default(code, f"as in line {fallback.lineno}", _OWN if near else _AS_ELSEWHERE)


def _given_before(function: Function, line: int) -> set[str]:
    """The names that statements of the function's own body, none that may be left out, have given a value by then."""
    return {
        node.id
        for statement in function.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and (statement.end_lineno or statement.lineno) < line
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _returned_names(function: Function) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name):
            yield node.value.id


def _fallbacks(module: ast.Module) -> Iterator[ast.expr]:
    """What guards and handlers return that is no constant."""
    for node in ast.walk(module):
        if isinstance(node, ast.If | ast.ExceptHandler):
            match node.body:
                case [ast.Return(value=ast.expr() as value)] if not is_plain(value):
                    yield value


def _is_readable(expression: ast.expr, readable: Set[str]) -> bool:
    """Whether each name of the expression is one of these, and it binds none and waits for nothing."""
    unfit = (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda, ast.comprehension)
    nodes = list(ast.walk(expression))
    return not any(isinstance(node, unfit) for node in nodes) and all(
        node.id in readable for node in nodes if isinstance(node, ast.Name)
    )


def _constants(function: Function) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            if is_plain(node.value):
                yield literal(node.value)
            elif isinstance(node.value, ast.Tuple) and all(is_plain(element) for element in node.value.elts):
                comma = "," if len(node.value.elts) == 1 else ""
                yield f"({', '.join(literal(element) for element in node.value.elts)}{comma})"


def _constructed(function: Function, module: ast.Module) -> Iterator[str]:
    """The objects of constants, and the module's constants, that the function returns."""
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None and is_constructed(node.value, module):
            yield ast.unparse(node.value)


def _passed_on(function: Function, module: ast.Module) -> Iterator[Function]:
    """The functions of the module whose result is this one's: `return g(...)`, `return self.g(...)`."""
    called = {
        _called_name(node.value)
        for node in own_nodes(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call)
    }
    for node in ast.walk(module):
        if isinstance(node, Function) and node.name in called and node is not function:
            yield node


def _parts_taken(name: str, module: ast.Module) -> Iterator[int]:
    """How many names the results of calls of `name` are assigned to, where it is more than one thing."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and last_name(node.value.func) == name:
            for target in node.targets:
                if isinstance(target, ast.Tuple | ast.List) and not any(
                    isinstance(element, ast.Starred) for element in target.elts
                ):
                    yield len(target.elts)


def _called_name(call: ast.Call) -> str | None:
    function = call.func
    if isinstance(function, ast.Attribute):
        is_own = isinstance(function.value, ast.Name) and function.value.id in ("self", "cls")
        return function.attr if is_own else None
    return function.id if isinstance(function, ast.Name) else None
