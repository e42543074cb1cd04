"""What is told of a failure: exact columns, local variables without secrets, causes, groups, hidden frames."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from codemods.selfdebug.spans import split_lines, text_at
from runtime.conftest import write_files
from selfdebug.model import Failure, Frame, PytestRun
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest

FILES = {
    "shop/__init__.py": "",
    "shop/columns.py": """
        def umlaut(ä):
            return "äöü€𝄞", ä.größe.fehlt.upper()

        def lines(first, second):
            return (
                first
                + "ünïcödé"
                + (second
                   .missing)
            )

        def nested(a, b):
            return a["key"]["inner"] + b[0][1]

        def tabs(x):
        \tif x is None:
        \t\treturn x.tab
    """.replace("        \t", "        \t"),
    "shop/values.py": """
        import collections, dataclasses, os, time

        class Endless:
            def __repr__(self):
                while True: pass
        class Sleeper:
            def __repr__(self):
                time.sleep(30)
        class Raising:
            def __repr__(self): raise SystemExit("no")
        class Unhappy(BaseException): pass
        class Worse:
            def __repr__(self): raise Unhappy
        class Wrong:
            def __repr__(self): return 3
        class Huge:
            def __repr__(self): return "h" * 10_000_000
        class Plain: pass
        class Child(Plain, collections.OrderedDict): pass
        class Meta(type):
            def __getattribute__(cls, name): raise RuntimeError(name)
        class Odd(metaclass=Meta): pass
        class Text(str):
            def __getitem__(self, index): raise RuntimeError
            def __len__(self): raise RuntimeError
        class Subtle:
            def __repr__(self): return Text("subtle")
        class Equal:
            def __eq__(self, other): raise RuntimeError
            __hash__ = None
        @dataclasses.dataclass
        class User:
            name: str
            password: str

        def collect():
            nothing = None
            number = 12
            big = 7 ** 100_000
            text = "x" * 100_000
            endless, sleeper, raising = Endless(), Sleeper(), Raising()
            worse, wrong, huge = Worse(), Wrong(), Huge()
            plain, child, odd, subtle, equal = Plain(), Child(a=1), Odd(), Subtle(), Equal()
            recursive = [1]
            recursive.append(recursive)
            deep = [[[[[[1]]]]]]
            many = list(range(10_000))
            password = "hunter2"
            api_key = None
            token = ""
            settings = {"DB_PASSWORD": "hunter3", "host": "localhost", 5: b"\\xff", "auth_token": None}
            user = User("ann", "hunter4")
            url = "postgres://ann:hunter5@localhost/shop"
            jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
            header = "Authorization: Bearer abcdef0123456789hunter6"
            key = b"AKIAIOSFODNN7EXAMPLE"
            pem = "-----BEGIN RSA PRIVATE KEY-----\\nhunter7\\n-----END RSA PRIVATE KEY-----"
            error = ValueError("password=hunter8")
            nothing.here
    """,
    "shop/chains.py": """
        def parse(text):
            return {}[text]

        def explicit():
            try:
                parse("a")
            except KeyError as error:
                raise RuntimeError("explicit") from error

        def implicit():
            try:
                parse("b")
            except KeyError:
                None.attribute

        def silent():
            try:
                parse("c")
            except KeyError:
                raise RuntimeError("silent") from None

        def loop():
            first, second = ValueError("first"), ValueError("second")
            first.__cause__, second.__cause__ = second, first
            raise first

        def hidden():
            __tracebackhide__ = True
            parse("d")

        def deep(n):
            return deep(n + 1)

        class Strange(Exception):
            def __str__(self): raise RuntimeError("no text")

        def strange():
            raise Strange

        def long():
            raise ValueError("v" * 100_000)

        def local_class():
            class Own(LookupError): pass
            raise Own("mine")

        def unbound():
            if None:
                value = 1
            return value

        def undefined():
            return undefined_name
    """,
    "test_shop.py": """
        import pytest
        from shop import chains, columns, values

        class Thing: fehlt = größe = missing = None

        def test_umlaut(): columns.umlaut(Thing())
        def test_lines(): columns.lines("", None)
        def test_nested(): columns.nested({"key": None}, None)
        def test_tabs(): columns.tabs(None)
        def test_values(): values.collect()

        CHAINS = "explicit implicit silent loop hidden strange long local_class unbound".split()
        @pytest.mark.parametrize("name", CHAINS)
        def test_chain(name): getattr(chains, name)()
        def test_undefined(): chains.undefined()
        def test_deep(): chains.deep(0)
        def test_key(): {}[("a", None)]
    """,
}
GROUPS = """
    import asyncio

    def leaf(value):
        return value.upper()

    def raise_group():
        errors = []
        for value in (None, 3):
            try:
                leaf(value)
            except AttributeError as error:
                errors.append(error)
        raise ExceptionGroup("both", [errors[0], ExceptionGroup("inner", [errors[1]])])

    def test_group(): raise_group()

    def test_tasks():
        async def work(value): leaf(value)
        async def main():
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(work(None))
        asyncio.run(main())
"""


@pytest.fixture(scope="module")
def shop(each_interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PytestRun]:
    root = write_files(tmp_path_factory.mktemp("shop"), FILES)
    return root, run_pytest(PytestRequest(each_interpreter, root, timeout=90))


def failure_of(shop: tuple[Path, PytestRun], test: str) -> Failure:
    return next(failure for failure in shop[1].failures if failure.node_id == f"test_shop.py::{test}")


def keeps_columns(interpreter: Interpreter) -> bool:
    return tuple(map(int, interpreter.version.split("."))) >= (3, 11)


def source_frame(failure: Failure) -> Frame:
    assert failure.deepest_source is not None
    return failure.deepest_source


@pytest.mark.parametrize(
    ("test", "expression"),
    [
        ("test_umlaut", "ä.größe.fehlt"),
        ("test_lines", "missing"),  # an attribute on a line of its own: the interpreter keeps only its name
        ("test_nested", 'a["key"]["inner"]'),
        ("test_tabs", "x.tab"),
    ],
)
def test_columns_name_the_expression_in_code_points(
    shop: tuple[Path, PytestRun], each_interpreter: Interpreter, test: str, expression: str
) -> None:
    frame = source_frame(failure_of(shop, test))
    if not keeps_columns(each_interpreter):
        assert frame.span is None
        return
    lines = split_lines((shop[0] / "shop/columns.py").read_text("utf-8"))
    assert frame.span is not None
    assert text_at(lines, frame.span) == expression


def test_a_frame_names_its_file_line_function_and_code(shop: tuple[Path, PytestRun]) -> None:
    failure = failure_of(shop, "test_umlaut")
    frame = source_frame(failure)
    assert (frame.file, frame.line, frame.function) == ("shop/columns.py", 2, "umlaut")
    assert frame.code == 'return "äöü€𝄞", ä.größe.fehlt.upper()'
    assert Path(frame.path).is_absolute()
    assert not frame.is_test
    assert [other.file for other in failure.project_frames] == ["test_shop.py", "shop/columns.py"]
    assert failure.project_frames[0].is_test


def test_exceptions_name_what_they_miss(shop: tuple[Path, PytestRun]) -> None:
    exception = failure_of(shop, "test_umlaut").exception
    assert (exception.type, exception.name) == ("AttributeError", "fehlt")
    assert exception.mro == ("AttributeError", "Exception", "BaseException")
    assert failure_of(shop, "test_key").exception.key == "('a', None)"
    assert failure_of(shop, "test_undefined").exception.name == "undefined_name"
    assert failure_of(shop, "test_chain[unbound]").exception.name == "value"


def test_local_variables_are_bounded_and_no_repr_can_hang_or_raise(shop: tuple[Path, PytestRun]) -> None:
    values = dict(source_frame(failure_of(shop, "test_values")).locals)
    assert values["nothing"].is_none
    assert values["number"].repr == "12"
    assert values["big"].repr == "<int of 280736 bits>"
    assert values["text"].truncated
    assert len(values["text"].repr) < 400
    for name in ("endless", "sleeper", "raising", "worse", "wrong"):
        assert values[name].repr == f"<shop.values.{name.capitalize()} without repr>", values[name]
        assert values[name].truncated
    assert values["huge"].truncated
    assert len(values["huge"].repr) <= 400
    assert values["plain"].repr == "<shop.values.Plain object>"
    assert values["child"].type == "shop.values.Child"
    assert values["child"].bases == ("shop.values.Plain", "collections.OrderedDict", "dict")
    assert values["odd"].type == "shop.values.Odd"
    assert values["subtle"].repr == "subtle"
    assert values["equal"].repr == "<shop.values.Equal object>"
    assert values["recursive"].repr == "[1, [1, [1, [...]]]]"
    assert values["deep"].repr == "[[[[...]]]]"
    assert values["many"].repr.endswith("19, ...]")
    assert values["settings"].type == "dict"


def test_secrets_are_hidden_before_they_leave_the_process(shop: tuple[Path, PytestRun]) -> None:
    frame = source_frame(failure_of(shop, "test_values"))
    values = dict(frame.locals)
    for name in ("password", "settings", "user", "url", "jwt", "header", "key", "pem", "error"):
        assert values[name].redacted, values[name]
        assert "redacted" in values[name].repr
    assert "hunter" not in repr(frame.locals)
    assert values["api_key"].is_none  # that it is missing is no secret
    assert values["token"].repr == "''"
    assert "'host': 'localhost'" in values["settings"].repr
    assert "'auth_token': None" in values["settings"].repr
    assert "name='ann'" in values["user"].repr
    assert "postgres://ann:" in values["url"].repr


def test_causes_are_those_that_python_would_print(shop: tuple[Path, PytestRun]) -> None:
    explicit = failure_of(shop, "test_chain[explicit]")
    assert [cause.exception.type for cause in explicit.causes] == ["KeyError"]
    assert str(source_frame(explicit.causes[0]).place) == "shop/chains.py:2"
    assert explicit.causes[0].exception.key == "'a'"
    implicit = failure_of(shop, "test_chain[implicit]")
    assert [cause.exception.type for cause in implicit.causes] == ["KeyError"]
    assert failure_of(shop, "test_chain[silent]").causes == ()
    loop = failure_of(shop, "test_chain[loop]")
    assert [cause.exception.message for cause in loop.causes] == ["second"]


def test_hidden_frames_are_marked(shop: tuple[Path, PytestRun]) -> None:
    failure = failure_of(shop, "test_chain[hidden]")
    assert [(frame.function, frame.is_hidden) for frame in failure.frames[-2:]] == [("hidden", True), ("parse", False)]


def test_a_deep_recursion_is_shortened_in_the_middle(shop: tuple[Path, PytestRun]) -> None:
    failure = failure_of(shop, "test_deep")
    assert failure.exception.type == "RecursionError"
    assert len(failure.frames) < 200
    assert failure.frames[0].file == "test_shop.py"
    assert dict(source_frame(failure).locals)["n"].type == "int"


def test_messages_that_raise_or_never_end_are_bounded(shop: tuple[Path, PytestRun]) -> None:
    strange = failure_of(shop, "test_chain[strange]").exception
    assert (strange.type, strange.message) == ("shop.chains.Strange", "")
    long = failure_of(shop, "test_chain[long]").exception
    assert long.is_cut
    assert len(long.message) == 4000
    own = failure_of(shop, "test_chain[local_class]").exception
    assert own.type == "shop.chains.local_class.<locals>.Own"
    assert own.mro[:2] == (own.type, "LookupError")


@pytest.fixture
def groups(each_interpreter: Interpreter, tmp_path: Path) -> Iterator[PytestRun]:
    if not keeps_columns(each_interpreter):
        text = "class BaseExceptionGroup(Exception):\n    def __init__(self, text, exceptions):\n"
        text += "        self.exceptions = exceptions\nExceptionGroup = BaseExceptionGroup\n"
        backport = {"groups.py": text}
        tests = "from groups import ExceptionGroup\n" + "\n".join(
            line.removeprefix("    ") for line in GROUPS.partition("    def test_tasks")[0].split("\n")
        )
        yield run_pytest(PytestRequest(each_interpreter, write_files(tmp_path, {**backport, "test_groups.py": tests})))
    else:
        yield run_pytest(PytestRequest(each_interpreter, write_files(tmp_path, {"test_groups.py": GROUPS})))


def test_the_leaves_of_groups_are_told_with_their_frames(groups: PytestRun) -> None:
    failure = groups.failures[0]
    assert failure.exception.short_type.endswith("ExceptionGroup")
    assert [leaf.exception.message for leaf in failure.group] == [
        "'NoneType' object has no attribute 'upper'",
        "'int' object has no attribute 'upper'",
    ]
    assert all(leaf.deepest is not None and leaf.deepest.function == "leaf" for leaf in failure.group)
    for of_tasks in groups.failures[1:]:
        assert [leaf.deepest.function for leaf in of_tasks.group if leaf.deepest] == ["leaf"]


@pytest.mark.parametrize("options", [(), ("--doctest-continue-on-failure",)])
def test_what_the_example_of_a_doctest_raised_is_the_failure(
    interpreter: Interpreter, tmp_path: Path, options: tuple[str, ...]
) -> None:
    source = 'def first(items):\n    """\n    >>> first(None)\n    >>> first(())\n    """\n    return items[0]\n'
    root = write_files(tmp_path, {"names.py": source})
    (told,) = run_pytest(PytestRequest(interpreter, root, pytest_args=("--doctest-modules", *options))).failures
    assert (told.node_id, told.exception.type) == ("names.py::names.first", "TypeError")
    assert told.deepest is not None
    assert (told.deepest.file, told.deepest.line, told.deepest.function) == ("names.py", 6, "first")
