"""What no linter checks: the house rules."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import parley

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "parley"
SOURCES = sorted(SOURCE.rglob("*.py"))
MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(parley.__path__, "parley.")
    if not any(part.startswith("_") for part in info.name.split("."))
)
FORBIDDEN = {"utils", "helpers", "common", "core", "shared", "misc", "contrib"}
KNOWS_VERSIONS = {"schema/version.py", "peer/initialize.py"}


def _python_files() -> list[Path]:
    folders = (ROOT / name for name in ("src", "tests", "examples", "scripts"))
    return sorted(path for folder in folders for path in folder.rglob("*.py"))


@pytest.mark.parametrize("path", _python_files(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_is_read_on_a_few_screens(path: Path) -> None:
    limit = 60 if path.name == "conftest.py" or path.is_relative_to(ROOT / "examples") else 400
    assert len(path.read_text().splitlines()) <= limit


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_module_says_what_lives_in_it_and_is_named_by_a_noun(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text()))
    assert FORBIDDEN.isdisjoint(path.relative_to(SOURCE).with_suffix("").parts)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_function_is_at_most_40_lines(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = node.end_lineno - body[0].lineno + 1 if body else 0
            assert lines <= 40, f"{node.name} has {lines} lines"


@pytest.mark.parametrize("name", [name for name in MODULES if name != "parley.peer.telemetry"])
def test_a_public_module_exports_what_it_says_and_sorted(name: str) -> None:
    module = importlib.import_module(name)
    exported = getattr(module, "__all__", None)
    if exported is None:
        assert SOURCE.joinpath(*name.split(".")[1:], "__init__.py").exists(), "no __all__"
        return
    assert list(exported) == sorted(exported, key=_isort_key)
    assert all(hasattr(module, each) for each in exported)


def _isort_key(name: str) -> tuple[int, str]:
    """Sort as ruff does: constants, then classes, then the rest."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def test_the_front_door_is_small() -> None:
    assert len(parley.__all__) <= 30
    assert [name for name in dir(parley) if not name.startswith("__")] == sorted(parley.__all__)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_two_places_compare_versions(path: Path) -> None:
    name = path.relative_to(SOURCE).as_posix()
    if name in KNOWS_VERSIONS or name.startswith("session/"):
        return
    assert not re.search(r"version\s*(==|!=|<|>|in\b)", path.read_text())


def test_importing_parley_loads_no_protocol_version_no_database_and_no_extra() -> None:
    program = "import parley, sys; print(' '.join(sorted(sys.modules)))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
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
        [sys.executable, "-c", AS_ON_WINDOWS, *names], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
