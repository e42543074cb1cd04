"""What a function gives back when it has nothing to give: read from its returns, those it passes on, and its use.

`return self.find(x)` gives back what `find` gives back, so the constant returns of `find` are as good as its own; and
where callers take the result apart (`index, token = self.next(i)`), nothing is a tuple of as many Nones.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from selfdebug.stages.propose.defaults import Default, is_plain, literal, own_nodes

Function = ast.FunctionDef | ast.AsyncFunctionDef
_OWN, _PASSED_ON, _TAKEN_APART = 0, 1, 1


def evident_results(function: Function, module: ast.Module) -> Iterator[Default]:
    """The constant results of a function of `module`, its own first."""
    for code in _constants(function):
        yield Default(code, f"{function.name} returns {code} elsewhere", _OWN)
    for callee in _passed_on(function, module):
        for code in _constants(callee):
            yield Default(code, f"{function.name} gives back what {callee.name} returns, {code} among it", _PASSED_ON)
    for count in sorted(set(_parts_taken(function.name, module))):
        code = f"({', '.join(['None'] * count)}{',' if count == 1 else ''})"
        yield Default(code, f"a caller takes the result of {function.name} apart", _TAKEN_APART)


def _constants(function: Function) -> Iterator[str]:
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            if is_plain(node.value):
                yield literal(node.value)
            elif isinstance(node.value, ast.Tuple) and all(is_plain(element) for element in node.value.elts):
                comma = "," if len(node.value.elts) == 1 else ""
                yield f"({', '.join(literal(element) for element in node.value.elts)}{comma})"


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
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _last_name(node.value) == name:
            for target in node.targets:
                if isinstance(target, ast.Tuple | ast.List) and not any(
                    isinstance(element, ast.Starred) for element in target.elts
                ):
                    yield len(target.elts)


def _last_name(call: ast.Call) -> str | None:
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)


def _called_name(call: ast.Call) -> str | None:
    function = call.func
    if isinstance(function, ast.Attribute):
        is_own = isinstance(function.value, ast.Name) and function.value.id in ("self", "cls")
        return function.attr if is_own else None
    return function.id if isinstance(function, ast.Name) else None
