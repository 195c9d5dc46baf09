"""The house rules that no linter checks."""

from __future__ import annotations

import ast
import functools
import importlib
import itertools
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import TypeGuard

import parley

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "parley"
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(parley.__path__, "parley.")
    if not any(part.startswith("_") for part in info.name.split("."))
)
FORBIDDEN = {"utils", "helpers", "common", "core", "shared", "misc", "contrib"}
CORE = {"agent", "asgi_server", "client", "peer", "session", "testing", "transport"}
KNOWS_VERSIONS = {
    "schema/version.py",
    "peer/_initialize.py",
    "gateway/version2_transport.py",  # chooses by the negotiated version whether to translate
}


@functools.cache
def _trees() -> dict[str, ast.Module]:
    """Return the syntax tree of each module by its path; parsed once, and only when needed."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text())
        for path in sorted(SOURCE.rglob("*.py"))
    }


def _python_files() -> list[Path]:
    folders = (ROOT / name for name in ("src", "tests", "examples", "scripts"))
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


def test_a_file_is_read_on_a_few_screens() -> None:
    """At 400 lines look for a second concept; without one a file may grow to 800."""
    long = [
        f"{path.relative_to(ROOT)}: {lines} lines, at most {limit}"
        for path in _python_files()
        if (lines := len(path.read_text().splitlines())) > (limit := _line_limit(path))
    ]
    assert long == []


def _line_limit(path: Path) -> int:
    if path.name == "complete_agent.py" or path.parent.name == "tutorial":
        return 90
    is_short = path.name == "conftest.py" or path.is_relative_to(ROOT / "examples")
    return 60 if is_short else 800


def test_a_module_has_a_docstring_and_is_named_by_a_noun() -> None:
    undocumented = [name for name, tree in _trees().items() if not ast.get_docstring(tree)]
    assert undocumented == []
    catch_alls = [
        name for name in _trees() if not FORBIDDEN.isdisjoint(Path(name).with_suffix("").parts)
    ]
    assert catch_alls == []


def test_a_function_is_at_most_40_lines() -> None:
    long = [
        f"{name}: {node.name} has {lines} lines"
        for name, tree in _trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := _body_lines(node)) > 40
    ]
    assert long == []


def _body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function without its signature and docstring."""
    assert node.end_lineno is not None
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return node.end_lineno - body[0].lineno + 1 if body else 0


def test_a_public_module_exports_what_it_says_and_sorted() -> None:
    # The constants of a method table are its list.
    unlisted = {"parley.peer.telemetry", "parley.schema.v1.methods", "parley.schema.v2.methods"}
    wrong = [
        problem for name in MODULES if name not in unlisted and (problem := _export_problem(name))
    ]
    assert wrong == []


def _export_problem(name: str) -> str | None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", None)
    if exported is None:
        is_package = SOURCE.joinpath(*name.split(".")[1:], "__init__.py").exists()
        return None if is_package else f"{name}: no __all__"
    if list(exported) != sorted(exported, key=_isort_key):
        return f"{name}: __all__ is not sorted"
    missing = [each for each in exported if not hasattr(module, each)]
    return f"{name}: __all__ names {missing}, which do not exist" if missing else None


def _isort_key(name: str) -> tuple[int, str]:
    """Sort as ruff does: constants, then classes, then the rest."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def test_the_page_about_tests_lists_every_helper() -> None:
    """Programs of benchmarks and of other SDKs stay out: each folder of them has one purpose."""
    tests = ROOT / "tests"
    flat = (".", "install", "interop")
    helpers = {
        path.relative_to(tests).as_posix()
        for folder in (*flat, "unit", "conformance", "e2e")
        for path in tests.joinpath(folder).glob("*.py" if folder in flat else "**/*.py")
        if not path.name.startswith(("test_", "conftest", "__init__"))
    }
    page = (tests / "README.md").read_text()
    listed = re.findall(r"^\| `(\S+\.py)` \|", page, re.MULTILINE)
    assert sorted(listed) == sorted(helpers)


def test_the_front_door_is_small() -> None:
    assert len(parley.__all__) <= 30
    names = {name for name in dir(parley) if not name.startswith("__")}
    assert names - parley._PACKAGES == set(parley.__all__)


def test_no_sleep_creates_order() -> None:
    """A task that yields with `sleep(0)` does it for fairness, and the line says so."""
    unexplained = [
        f"{name}: line {number}"
        for name in _trees()
        for number, line in enumerate((SOURCE / name).read_text().splitlines(), 1)
        if "sleep(0)" in line and "# fairness" not in line
    ]
    assert unexplained == []


def test_every_task_of_the_core_has_an_owner() -> None:
    """Tasks that no `TaskGroup` or `TaskOwner` starts are listed with their owners."""
    section = (ROOT / "docs" / "background" / "design.md").read_text().partition("\n## Tasks\n")[2]
    documented = re.findall(r"^\| `(\S+\.py)` \| (\d+) \|", section.partition("\n## ")[0], re.M)
    counted = {
        name: count
        for name, tree in _trees().items()
        if name.split("/")[0] in CORE and (count := sum(map(_starts_task, ast.walk(tree))))
    }
    assert counted == {name: int(count) for name, count in documented}


def _starts_task(node: ast.AST) -> bool:
    """Return whether a node calls `create_task` or `ensure_future` of asyncio or a loop."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    receiver = ast.unparse(node.func.value).removesuffix("()")
    is_bare = receiver == "asyncio" or receiver.endswith(("loop", "_loop"))
    return is_bare and node.func.attr in ("create_task", "ensure_future")


def test_only_the_code_that_negotiates_compares_versions() -> None:
    comparing = [
        name
        for name, tree in _trees().items()
        if name not in KNOWS_VERSIONS
        and not name.startswith("session/")
        and any(_compares_version(node) for node in ast.walk(tree))
    ]
    assert comparing == []


def _compares_version(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Compare)
        and ast.unparse(node.left).endswith("version")
        and not ast.unparse(node.left).endswith("http_version")
        and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Lt | ast.Gt | ast.In)
    )


def test_importing_parley_loads_no_protocol_version_no_database_and_no_extra() -> None:
    program = "import parley, sys; print(' '.join(sorted(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300
    ).stdout.split()
    extras = {"uvloop", "opentelemetry", "rich", "textual", "h2", "h11", "websockets", "mcp"}
    assert extras.isdisjoint(loaded)
    assert "sqlite3" not in loaded
    versions = ("parley.schema.v1", "parley.schema.v2")
    assert not [name for name in loaded if name.startswith(versions)]


AS_ON_WINDOWS = """
import importlib, os, signal, sys
names = sys.argv[1:]
for name in names:  # the standard library and the extras stay as they are here
    importlib.import_module(name)
for name in [name for name in sys.modules if name.partition(".")[0] == "parley"]:
    del sys.modules[name]
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in ("O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "POSIX_SPAWN_DUP2",
             "fchown", "fork", "geteuid", "getuid", "killpg", "openpty", "posix_spawn", "pread",
             "register_at_fork", "setsid"):
    delattr(os, name)
del signal.SIGKILL, signal.SIGHUP
sys.platform = "win32"
for name in names:
    importlib.import_module(name)
"""


def test_every_module_can_be_imported_where_there_is_no_posix() -> None:
    needs_extra = ("parley.peer.telemetry", "parley.tui")
    names = [name for name in MODULES if not name.startswith(needs_extra)]
    done = subprocess.run(
        [sys.executable, "-c", AS_ON_WINDOWS, *names], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_only_one_place_starts_this_interpreter() -> None:
    """A child that is Python looks for modules in the project unless it is told not to."""
    assert [
        f"{name}:{node.lineno}"
        for name, tree in _trees().items()
        if name != "_interpreter.py"
        for node in ast.walk(tree)
        if _names_interpreter(node)
    ] == []


def _names_interpreter(node: ast.AST) -> TypeGuard[ast.expr]:
    """Return whether code names `sys.executable`, or has `-m` and a module of ours in a list."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("executable", "_base_executable")
    if not isinstance(node, ast.List | ast.Tuple):
        return False
    words = [each.value for each in node.elts if isinstance(each, ast.Constant)]
    return any(
        one == "-m" and str(other).partition(".")[0] == "parley"
        for one, other in itertools.pairwise(words)
    )
