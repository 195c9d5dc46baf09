from __future__ import annotations

import pytest

from parley.nes._documents.paths import name_of, path_of
from parley.nes.embedded._source import SourceFile
from parley.nes.engine import Workspace
from parley.nes.model._context import shown_path

ELSEWHERE = (
    "untitled:1",
    "http://example.com/a",
    "file://host/a",
    "file:a",
    "file:///a%00b",
    "file://[/a",
)


def test_only_files_of_this_machine_have_a_path() -> None:
    assert path_of("file:///a%20b/c.py") == "/a b/c.py"
    assert path_of("file://localhost/a") == "/a"
    assert [path_of(uri) for uri in ELSEWHERE] == [None] * len(ELSEWHERE)


@pytest.mark.parametrize(
    ("uri", "name"),
    [
        ("file:///w/a%20b.py", "a b.py"),
        ("file:///w/%2Eenv", ".env"),
        ("file://host/w/.env?x#y", ".env"),
        ("untitled:Untitled-1", "Untitled-1"),
        ("file://[/w/.env", ".env"),
        ("file:///", ""),
        ("", ""),
    ],
)
def test_a_file_that_is_elsewhere_has_a_name_at_least(uri: str, name: str) -> None:
    assert name_of(uri) == name


def test_only_what_is_on_this_machine_is_in_the_workspace() -> None:
    workspace = Workspace(folders=("/w",))
    assert shown_path("file:///w/b/%C3%BC.py", workspace) == "b/ü.py"
    assert shown_path("file://host/w/b/a.py", workspace) == "a.py"
    assert shown_path("vscode-remote://host/w/b/a.py", workspace) == "a.py"
    assert shown_path("file:///", workspace) == "untitled"


def test_a_uri_that_makes_no_sense_does_no_harm() -> None:
    assert shown_path("file://[/w/a.py", Workspace(folders=("/w",))) == "a.py"
    assert SourceFile("file://[/w/a.py", [""]).path.name == "a.py"
