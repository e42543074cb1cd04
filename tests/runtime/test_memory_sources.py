"""Sources served from memory stand in for files, in every way in which Python comes to import them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from runtime.conftest import every_path, write_files
from selfdebug.model import PytestRun
from selfdebug.pytest_process import Interpreter, PytestRequest, run_pytest
from selfdebug.runtime import PLUGIN_FOLDER, PLUGIN_NAME

FILES = {
    "pytest.ini": "[pytest]\npythonpath = src\n",
    "src/pkg/__init__.py": "WHERE = 'disk'\n",
    "src/pkg/module.py": "import inspect\ndef value():\n    return 'disk'\n",
    "src/pkg/sub/__init__.py": "",
    "src/pkg/sub/deep.py": "VALUE = 'disk'\n",
    "src/space/plain.py": "VALUE = 'disk'\n",
    "src/latin.py": "VALUE = 'disk'\n",
    "src/tool/__init__.py": "",
    "src/tool/__main__.py": "print('disk')\nVALUE = 'disk'\n",
    "src/untouched.py": "VALUE = 'disk'\n",
    "conftest.py": "import pytest\n@pytest.fixture\ndef where(): return 'disk'\n",
    "helpers.py": "VALUE = 'disk'\n",
    "test_it.py": """
        import importlib, inspect, linecache, os, runpy
        import helpers, latin, untouched
        import pkg, pkg.module, pkg.sub.deep, space.plain

        def test_values(where):
            values = [pkg.WHERE, pkg.module.value(), pkg.sub.deep.VALUE, space.plain.VALUE, where, helpers.VALUE]
            assert values == ["memory"] * 6
            assert latin.VALUE == "m\\xe9moire"
            assert untouched.VALUE == "disk"
        def test_inspection():
            assert "'memory'" in inspect.getsource(pkg.module.value)
            assert "'memory'" in inspect.getsource(pkg.sub.deep)
            linecache.checkcache()
            assert "'memory'" in linecache.getline(pkg.module.__file__, 3)
            assert "'memory'" in pkg.module.__spec__.loader.get_source("pkg.module")
            assert os.path.exists(pkg.module.__file__)
        def test_reload():
            assert importlib.reload(pkg.module).value() == "memory"
        def test_run_as_module():
            assert runpy.run_module("tool", run_name="__main__")["VALUE"] == "memory"
        def test_resources_beside_it():
            data = pkg.sub.deep.__spec__.loader.get_data(untouched.__file__)
            assert b"disk" in data
    """,
}
SERVED = {
    "src/pkg/__init__.py": b"WHERE = 'memory'\n",
    "src/pkg/module.py": b"import inspect\r\ndef value():\r\n    return 'memory'",
    "src/pkg/sub/deep.py": b"VALUE = 'memory'\n",
    "src/space/plain.py": b"VALUE = 'memory'\n",
    "src/latin.py": "# coding: latin-1\nVALUE = 'mémoire'\n".encode("latin-1"),
    "src/tool/__main__.py": b"VALUE = 'memory'\n",
    "conftest.py": b"import pytest\n@pytest.fixture\ndef where(): return 'memory'\n",
    "helpers.py": b"VALUE = 'memory'\n",
}


@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_memory_stands_in_for_the_disk(each_interpreter: Interpreter, tmp_path: Path, mode: str) -> None:
    files = dict(FILES)
    if mode == "importlib":
        files["pytest.ini"] = "[pytest]\npythonpath = src .\naddopts = --import-mode=importlib\n"
    root = write_files(tmp_path, files)
    before = every_path(root)
    done = run_pytest(PytestRequest(each_interpreter, root, sources=SERVED, timeout=60))
    assert [failure.exception for failure in done.failures] == []
    assert len(done.passed) == 5
    assert set(done.served) == set(SERVED)
    assert every_path(root) == before


def run_served(
    interpreter: Interpreter, root: Path, sources: Mapping[str, bytes], *node_ids: str, args: tuple[str, ...] = ()
) -> PytestRun:
    return run_pytest(
        PytestRequest(interpreter, root, sources=sources, node_ids=node_ids, timeout=60, pytest_args=args)
    )


def test_served_test_files_are_still_rewritten(each_interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"test_it.py": "def test_a(): assert 1\n"})
    source = b"def test_a():\n    '\xc3\xa4'; left = [1, 2]\n    assert left == [1, 3]\n"
    done = run_served(each_interpreter, root, {"test_it.py": source})
    assert done.served == ("test_it.py",)
    (failure,) = done.failures
    assert failure.exception.message.startswith("assert [1, 2] == [1, 3]")
    assert failure.deepest is not None
    assert failure.deepest.code == "assert left == [1, 3]"


def test_the_loader_of_a_served_test_file_gives_its_source(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"test_it.py": "", "data.txt": "on disk"})
    source = b"""
import os
def test_loader():
    assert "def test_loader" in __loader__.get_source(__name__)
    assert b"def test_loader" in __loader__.get_data(__file__)
    assert __loader__.get_data(os.path.join(os.path.dirname(__file__), "data.txt")) == b"on disk"
"""
    assert run_served(interpreter, root, {"test_it.py": source}).passed == {"test_it.py::test_loader"}


def test_the_plugin_does_nothing_when_nobody_asks(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"test_it.py": "def test_a(): pass\n"})
    before = every_path(root)
    env = {**os.environ, "PYTHONPATH": str(PLUGIN_FOLDER), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(interpreter.path), "-m", "pytest", "-p", PLUGIN_NAME, "-p", "no:cacheprovider"]
    assert subprocess.run(command, cwd=root, env=env, capture_output=True, check=False).returncode == 0
    assert every_path(root) == before


def test_the_frames_of_served_files_have_the_served_columns(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(
        tmp_path,
        {"module.py": "def f(x):\n    return x.a\n", "test_it.py": "import module\ndef test_a(): module.f(None)\n"},
    )
    done = run_served(interpreter, root, {"module.py": "def f(x):\n\n    return 'ü', x.long_name\n".encode()})
    frame = done.failures[0].deepest_source
    assert frame is not None
    assert (frame.line, frame.code) == (3, "return 'ü', x.long_name")
    assert frame.span is not None
    assert (frame.span.start_column, frame.span.end_column) == (16, 27)


def test_a_served_file_that_does_not_compile_is_a_failure_to_collect(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"module.py": "", "test_it.py": "import module\ndef test_a(): pass\n"})
    done = run_served(interpreter, root, {"module.py": b"def f(:\n"})
    assert [failure.exception.type for failure in done.failures] == ["SyntaxError"]
    assert done.failures[0].deepest is not None
    assert str(done.failures[0].deepest.place) == "module.py:1"
    assert not done.passed


def test_a_served_file_that_keeps_pytest_from_starting_is_told_by_the_run(
    interpreter: Interpreter, tmp_path: Path
) -> None:
    files = {"conftest.py": "import module\n", "module.py": "", "test_it.py": "def test_a(): pass\n"}
    done = run_served(interpreter, write_files(tmp_path, files), {"module.py": b"None.upper\n"})
    assert not done.ended
    assert done.exit_code == 4
    assert [(failure.node_id, failure.exception.name) for failure in done.failures] == [("conftest.py", "upper")]
    assert done.served == ("module.py",)


def test_a_file_that_nobody_imports_is_not_served(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(tmp_path, {"module.py": "", "other.py": "", "test_it.py": "import module\ndef test_a(): pass\n"})
    done = run_served(interpreter, root, {"module.py": b"x = 1\n", "other.py": b"y = 1\n"})
    assert done.served == ("module.py",)


def test_a_file_that_was_imported_before_the_plugin_is_not_served(interpreter: Interpreter, tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\naddopts = -p early\n",
        "early.py": "import module\n",
        "module.py": "VALUE = 1\n",
        "test_it.py": "import importlib, module\ndef test_a(): assert module.VALUE == 1\n"
        "def test_b(): importlib.reload(module)\n",
    }
    done = run_served(interpreter, write_files(tmp_path, files), {"module.py": b"VALUE = 2\n"})
    assert "test_it.py::test_a" in done.passed
    assert done.served == ()


def test_files_behind_links_and_editable_installs_are_served(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(
        tmp_path / "project",
        {
            "lib/thing/__init__.py": "VALUE = 1\n",
            "conftest.py": """
                import sys, importlib.util, importlib.machinery
                class Editable:
                    @classmethod
                    def find_spec(cls, name, path=None, target=None):
                        if name == "renamed":
                            return importlib.util.spec_from_file_location(
                                name, LINK + "/thing/__init__.py", submodule_search_locations=[LINK + "/thing"])
                class Old:  # a finder without find_spec
                    def find_module(self, name, path=None): return None
                import os
                LINK = os.path.join(os.path.dirname(__file__), "link")
                sys.meta_path[:] = [Old(), *sys.meta_path, Editable]
            """,
            "test_it.py": "import renamed\ndef test_a(): assert renamed.VALUE == 2\n",
        },
    )
    (root / "link").symlink_to(root / "lib", target_is_directory=True)
    done = run_served(interpreter, root, {"lib/thing/__init__.py": b"VALUE = 2\n"})
    assert done.failures == ()
    assert done.served == ("lib/thing/__init__.py",)


def test_a_loader_of_the_project_keeps_its_work(interpreter: Interpreter, tmp_path: Path) -> None:
    """As typeguard and beartype do it: a loader that instruments what it compiles."""
    root = write_files(
        tmp_path,
        {
            "conftest.py": """
                import sys
                from importlib.machinery import PathFinder, SourceFileLoader
                class Loader(SourceFileLoader):
                    def source_to_code(self, data, path, *, _optimize=-1):
                        return super().source_to_code(data + b"\\nINSTRUMENTED = True\\n", path)
                class Finder:
                    @staticmethod
                    def find_spec(name, path=None, target=None):
                        spec = PathFinder.find_spec(name, path, target) if name == "module" else None
                        if spec is not None:
                            spec.loader = Loader(name, spec.origin)
                        return spec
                sys.meta_path.insert(0, Finder)
            """,
            "module.py": "VALUE = 1\n",
            "test_it.py": "import module\ndef test_a(): assert (module.VALUE, module.INSTRUMENTED) == (2, True)\n",
        },
    )
    done = run_served(interpreter, root, {"module.py": b"VALUE = 2"})
    assert done.failures == ()


def test_a_loader_that_reads_no_source_is_left_alone(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(
        tmp_path,
        {
            "conftest.py": """
                import os, sys, importlib.util
                class Loader:
                    def create_module(self, spec): return None
                    def exec_module(self, module): module.VALUE = "made up"
                class Finder:
                    @staticmethod
                    def find_spec(name, path=None, target=None):
                        if name == "module":
                            place = os.path.join(os.path.dirname(__file__), "module.py")
                            return importlib.util.spec_from_file_location(name, place, loader=Loader())
                sys.meta_path.insert(0, Finder)
            """,
            "module.py": "VALUE = 1\n",
            "test_it.py": "import module\ndef test_a(): assert module.VALUE == 'made up'\n",
        },
    )
    done = run_served(interpreter, root, {"module.py": b"VALUE = 2"})
    assert done.passed == {"test_it.py::test_a"}
    assert done.served == ()


def test_xdist_workers_are_served_too(interpreter: Interpreter, tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    files = {"module.py": "VALUE = 1\n", "test_it.py": "import module\ndef test_a(): assert module.VALUE == 2\n"}
    done = run_served(interpreter, write_files(tmp_path, files), {"module.py": b"VALUE = 2\n"}, args=("-n", "1"))
    assert (done.failures, done.served) == ((), ("module.py",))


def test_a_same_size_edit_in_the_same_second_is_seen(interpreter: Interpreter, tmp_path: Path) -> None:
    root = write_files(
        tmp_path, {"module.py": "VALUE = 1\n", "test_it.py": "import module\ndef test_a(): assert module.VALUE == 2\n"}
    )
    assert run_pytest(PytestRequest(interpreter, root)).failed
    status = (root / "module.py").stat()
    (root / "module.py").write_text("VALUE = 2\n")
    os.utime(root / "module.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert run_pytest(PytestRequest(interpreter, root)).passed
