"""The cookbook shows whole programs and files, and each of them is executed."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from parley.cli import parser_of

from .notebook import read_notebook, run_cell
from .shell import EXAMPLES, ROOT

COOKBOOK, DEPLOY = EXAMPLES / "cookbook", EXAMPLES / "deploy"
NOTEBOOK = COOKBOOK / "notebook.ipynb"
PAGES = sorted((ROOT / "docs" / "how-to" / "cookbook").glob("*.md"))
PROGRAMS = sorted(COOKBOOK.rglob("*.py"))
FILE_LANGUAGES = {"caddy", "dockerfile", "ini", "nginx", "toml", "yaml"}
EXECUTED_ELSEWHERE = {
    "official_sdk/agent.py": "tests/interop/test_migration.py",
    "official_sdk/client.py": "tests/interop/test_migration.py",
    "over_ssh.py": "tests/e2e/test_cookbook_hosting.py",
    "starlette_app.py": "tests/e2e/test_remote_programs.py",
}


def name(path: Path) -> str:
    return path.name


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each block of code, also of those in a list."""
    found = re.findall(r"^( *)```(\w+)\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE)
    return [
        (language, re.sub(f"^{indent}", "", text, flags=re.M)) for indent, language, text in found
    ]


BLOCKS = [block for page in PAGES for block in blocks(page)]


def program(path: Path) -> str:
    """Return a program without its docstring."""
    text = path.read_text()
    docstring = ast.parse(text).body[0]
    assert docstring.end_lineno is not None
    return "\n".join(text.splitlines()[docstring.end_lineno :]).strip("\n") + "\n"


def test_the_pages_show_each_program_as_a_whole() -> None:
    shown = [text for language, text in BLOCKS if language == "python"]
    cells = [f"{cell.source}\n" for cell in read_notebook(NOTEBOOK)]
    assert set(shown) == {program(path) for path in PROGRAMS} | set(cells)


def test_the_pages_show_each_file_as_a_whole() -> None:
    shown = [text for language, text in BLOCKS if language in FILE_LANGUAGES]
    assert sorted(shown) == sorted(path.read_text() for path in DEPLOY.iterdir())


@pytest.mark.parametrize("path", PROGRAMS, ids=name)
def test_a_program_of_the_cookbook_is_executed_by_a_test(path: Path) -> None:
    """What a `console` block runs is compared by `test_documents.py`."""
    inside = path.relative_to(COOKBOOK).as_posix()
    if inside in EXECUTED_ELSEWHERE:
        assert path.stem in (ROOT / EXECUTED_ELSEWHERE[inside]).read_text()
        return
    commands = [text.splitlines()[0] for language, text in BLOCKS if language == "console"]
    agents = re.findall(r'^AGENT = "(.*)"', "\n".join(map(program, PROGRAMS)), re.MULTILINE)
    assert any(f"examples/cookbook/{inside}" in line for line in [*commands, *agents])


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "index.md"], ids=name)
def test_a_recipe_names_a_pitfall_and_the_page_with_the_rest(page: Path) -> None:
    recipes = page.read_text().split("\n## ")[1:]
    assert recipes
    lacking = [
        recipe.partition("\n")[0]
        for recipe in recipes
        if not re.search(r"^Watch out: ", recipe, re.MULTILINE) or "](" not in recipe
    ]
    assert lacking == []


def test_the_commands_in_the_pages_are_valid() -> None:
    scripts = "".join(text for language, text in BLOCKS if language == "sh")
    lines = scripts.replace("\\\n", " ").splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("parley ")]
    assert commands
    for action, *words in commands:
        parser_of(action)[1].parse_args(words)  # exits if there is no such option


async def test_the_notebook_runs_in_jupyter() -> None:
    names: dict[str, Any] = {}
    for cell in read_notebook(NOTEBOOK):
        assert await run_cell(cell.source, names) == cell.output
