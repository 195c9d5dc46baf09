"""Patterns of paths: strict where they allow, generous where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.policy._path import allows, denies, holds

STRICT = [
    ("src/a.py", "/w/src/a.py", True),
    ("./src/a.py", "/w/src/a.py", True),
    ("src/*", "/w/src/a.py", True),
    ("src/*", "/w/src/b/a.py", False),
    ("src/*", "/w/src", False),
    ("*.py", "/w/a.py", True),
    ("*.py", "/w/src/a.py", False),
    ("**/*.py", "/w/a.py", True),
    ("**/*.py", "/w/src/b/a.py", True),
    ("src/**", "/w/src/b/a.py", True),
    ("src/**", "/w/src", False),
    ("src/**/test/*.py", "/w/src/test/a.py", True),
    ("src/**/test/*.py", "/w/src/b/c/test/a.py", True),
    ("src/**/test/*.py", "/w/src/b/test/c/a.py", False),
    ("src/", "/w/src", True),
    ("src/", "/w/src/b/a.py", True),
    ("src/", "/w/srcs/a.py", False),
    ("src", "/w/src/a.py", False),
    (".", "/w/a/b", True),
    (".", "/w", True),
    ("**", "/w/a/b", True),
    ("**", "/x/a", False),
    ("?.py", "/w/a.py", True),
    ("?", "/w/a/", False),
    ("/etc/*", "/etc/passwd", True),
    ("/**", "/etc/passwd", True),
    ("src/a.py", "/w/SRC/a.py", False),
    ("a*", "/w/a\nb", True),
]


@pytest.mark.parametrize(("pattern", "path", "fits"), STRICT)
def test_what_a_pattern_allows(pattern: str, path: str, fits: bool) -> None:
    assert allows(path, pattern, "/w") is fits


GENEROUS = [
    ("src/*", "/w/src/b/a.py", True),
    ("src", "/w/src/b/a.py", True),
    ("*.lock", "/w/a/b/x.lock", True),
    ("*.lock", "/elsewhere/x.lock", True),
    (".env", "/w/a/.env", True),
    (".env", "/w/.env/x", True),
    (".env", "/w/.environment", False),
    ("SRC/A.py", "/w/src/a.PY", True),
    ("secret/", "/w/secret", True),
    ("**/.env", "/w/.env", True),
    ("/etc/*", "/etc/a/b", True),
    ("src/a.py", "/w/src/b.py", False),
    ("w", "/w/a", False),
    ("caf\u00e9", "/w/cafe\u0301", True),
]


@pytest.mark.parametrize(("pattern", "path", "fits"), GENEROUS)
def test_what_a_pattern_denies(pattern: str, path: str, fits: bool) -> None:
    assert denies([path], pattern, "/w") is fits


@pytest.mark.parametrize(("pattern", "path", "fits"), STRICT)
def test_a_pattern_denies_at_least_what_it_allows(pattern: str, path: str, fits: bool) -> None:
    assert denies([path], pattern, "/w") >= fits


def test_home_is_where_the_user_is_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, home = tmp_path / "real", tmp_path / "home"
    real.mkdir()
    home.symlink_to(real)
    monkeypatch.setenv("HOME", str(home))
    assert allows(f"{real}/notes/a", "~/notes/**", "/w")
    assert not allows(f"{home}/notes/a", "~/notes/**", "/w"), "paths have no symlinks"
    assert denies([f"{home}/notes/a"], "~/notes/**", "/w")
    assert denies([f"{real}/notes/a"], "~/notes/**", "/w")


def test_a_symlink_in_a_project_does_not_widen_what_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "src").symlink_to("/etc")
    assert not allows("/etc/passwd", "src/**", str(tmp_path))
    assert denies(["/etc/passwd"], "src/**", str(tmp_path))


def test_a_directory_may_hold_what_a_pattern_means() -> None:
    assert holds(["/w"], "secret/**", "/w")
    assert holds(["/"], "/w/secret", "/w")
    assert holds(["/w"], "**/.env", "/w")
    assert not holds(["/w/build"], "secret/**", "/w")
    assert not holds(["/w/sec"], "secret/**", "/w")
