"""The documents tell the truth: their code is in the examples, their screens are real."""

from __future__ import annotations

import builtins
import inspect
import re
import subprocess
import sys
from argparse import ArgumentParser
from dis import get_instructions
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any

import pytest

import parley.agent
import parley.client
import parley.nes
from parley.cli import parser_of
from parley.gateway.operator_app import FORWARDED
from parley.nes.embedded._coefficients import PLACE
from parley.nes.embedded._scoring import BY_HAND
from parley.nes.model import FORMATS
from parley.nes.serving import ServedSession
from parley.session._transcript import Transcript
from parley.testing import Recorder, ScriptedPeer
from parley.tui.commands import COMMANDS
from parley.tui.keys import KEYS, key_label

from .notebook import read_notebook
from .shell import EXAMPLES, ROOT, Shell

DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
SOURCES = [
    *(path.read_text().splitlines() for path in EXAMPLES.rglob("*.py")),
    *(
        cell.source.splitlines()
        for path in EXAMPLES.rglob("*.ipynb")
        for cell in read_notebook(path)
    ),
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def name(page: Path) -> str:
    return page.relative_to(DOCS if page.is_relative_to(DOCS) else ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_in_a_document_is_quoted_from_an_example(page: Path) -> None:
    for block in blocks(page, "python"):
        assert any(quotes(block, lines) for lines in SOURCES), f"in no example:\n{block}"


def quotes(block: str, lines: list[str]) -> bool:
    """Return whether a block is imports of an example and some lines of it, moved to the left."""
    wanted = block.splitlines()
    while wanted and (wanted[0] == "" or (is_import(wanted[0]) and wanted[0] in lines)):
        del wanted[0]
    return any(
        dedent("\n".join(lines[start : start + len(wanted)])).splitlines() == wanted
        for start in range(len(lines) - len(wanted) + 1)
    )


def without_docstring(lines: list[str]) -> list[str]:
    """Return an example without its first paragraph, if that is a docstring."""
    if not lines or not lines[0].startswith('"""'):
        return lines
    end = next(number for number, line in enumerate(lines) if line.endswith('"""'))
    return lines[end + 2 :]


def is_import(line: str) -> bool:
    return line.startswith(("import ", "from "))


SNIPPETS = [
    (page, block)
    for page in PAGES
    for block in blocks(page, "python")
    if block.splitlines() not in map(without_docstring, SOURCES)
]
"""The code that is not a whole example or notebook cell, which other tests run."""


@pytest.mark.parametrize(
    ("page", "block"), SNIPPETS, ids=lambda part: name(part) if isinstance(part, Path) else ""
)
def test_a_snippet_has_all_the_imports_that_it_needs(page: Path, block: str) -> None:
    known: dict[str, Any] = {"__name__": "page", "__file__": str(EXAMPLES / "page.py")}
    code = compile(block, page.name, "exec", dont_inherit=True)
    exec(code, known)
    assert used(code) - known.keys() - vars(builtins).keys() == set()


def used(code: CodeType) -> set[str]:
    """Return the names of the module that code and the functions in it look up."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    own = {each.argval for each in get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    return own.union(*map(used, inner))


AGENTS: dict[str, type] = {
    "agent": parley.agent.Agent,
    "call": parley.agent.ToolCall,
    "connection": parley.agent.AgentConnection,
    "session": parley.agent.AgentSession,
    "turn": parley.agent.Turn,
}
CLIENTS: dict[str, type] = {
    "agent": parley.client.Connection,
    "client": parley.client.Connection,
    "session": parley.client.Session,
    "turn": parley.client.PromptTurn,
    "transcript": Transcript,
    "workspace": parley.client.Workspace,
}
EDITORS: dict[str, type] = {
    "agent": parley.agent.Agent,
    "nes": parley.nes.NesClient,
    "session": ServedSession,
    "question": parley.nes.Question,
    "workspace": parley.nes.Workspace,
}
KNOWN: dict[str, list[dict[str, type]]] = {
    "how-to/agents.md": [AGENTS],
    "reference/agents.md": [AGENTS],
    "reference/clients.md": [CLIENTS],
    "how-to/chat.md": [AGENTS],
    "how-to/editors.md": [AGENTS],
    "how-to/clients.md": [CLIENTS],
    "how-to/nes.md": [EDITORS, {"nes": parley.nes.Suggestions}],
    "reference/nes.md": [EDITORS, {"nes": parley.nes.Suggestions}],
    "background/next-edits.md": [EDITORS],
    "reference/errors.md": [CLIENTS],
    "how-to/permissions.md": [AGENTS, CLIENTS],
    "start/quickstart.md": [AGENTS, CLIENTS],
    "how-to/testing.md": [CLIENTS, {"recorder": Recorder, "peer": ScriptedPeer}],
    "how-to/workspace.md": [CLIENTS],
    "README.md": [AGENTS, CLIENTS],
}


@pytest.mark.parametrize("page", [page for page in PAGES if name(page) in KNOWN], ids=name)
def test_a_document_speaks_only_of_names_that_exist(page: Path) -> None:
    words = " ".join(re.findall(r"`([^`\n]+)`", page.read_text()))
    for variable, attribute in re.findall(r"(?<![\w./])([a-z]+)\.(?!py\b)([a-z_]+)", words):
        kinds = [known[variable] for known in KNOWN[name(page)] if variable in known]
        assert not kinds or any(has(kind, attribute) for kind in kinds), f"{variable}.{attribute}"


def has(kind: type, attribute: str) -> bool:
    """Tell whether a class, or what its `__init__` makes, has an attribute."""
    is_set = re.search(rf"\bself\.{attribute}\b", inspect.getsource(kind))
    return hasattr(kind, attribute) or is_set is not None


OTHERS = [page for page in PAGES if not page.name.startswith("tutorial-")]
SCREENS = [(page, block) for page in OTHERS for block in blocks(page, "console")]
"""What commands print; `test_tutorials.py` has those of the tutorials."""


@pytest.mark.parametrize(
    ("page", "block"), SCREENS, ids=lambda part: name(part) if isinstance(part, Path) else ""
)
def test_a_screen_in_a_document_is_what_one_sees(page: Path, block: str, shell: Shell) -> None:
    command, *expected = block.splitlines()
    seen = shell("sh", "-c", f"({command.removeprefix('$ ')}) 2>&1").stdout
    assert seen.splitlines() == expected


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if "://" in target:
            continue
        there = page.parent / target if target else page
        assert there.exists(), f"{name(page)}: {target}"
        assert not anchor or anchor in anchors(there), f"{name(page)}: {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Return what the headings of a page are linked by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=name)
def test_a_line_of_text_is_not_too_long_for_a_diff(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    assert [line for line in lines if len(line) > 140] == []


def test_every_page_is_listed_by_the_index_of_its_folder() -> None:
    """These indexes are the navigation of the site; `docs/index.md` lists the sections."""
    unlisted = [
        name(page)
        for page in DOCS.rglob("*.md")
        if page != DOCS / "index.md" and page not in entries(index_above(page))
    ]
    assert unlisted == []


def index_above(page: Path) -> Path:
    """Return the index that has to list a page, or that lists an index."""
    return (page.parent.parent if page.name == "index.md" else page.parent) / "index.md"


def entries(index: Path) -> set[Path]:
    """Return the pages that an index lists, one on each line."""
    listed = re.findall(r"^- \[[^]]+\]\(([^)#]+)\): ", index.read_text(), re.MULTILINE)
    return {(index.parent / target).resolve() for target in listed}


def test_the_readme_leads_to_every_section() -> None:
    readme = (ROOT / "README.md").read_text()
    indexes = [DOCS / "index.md", *DOCS.glob("*/index.md")]
    assert [name(page) for page in indexes if f"(docs/{name(page)})" not in readme] == []


def rows(section: str) -> set[tuple[str, ...]]:
    """Return the rows of the tables in a section of the page about the chat, without a head."""
    text = (DOCS / "how-to" / "chat.md").read_text()
    part = text.split(f"\n{section}\n", 1)[1]
    until = re.search(rf"^#{{1,{section.index(' ')}}} ", part, re.MULTILINE)
    lines = part[: until and until.start()].replace("`", "").splitlines()
    cells = [
        tuple(each.strip() for each in line[1:-1].split(" |")) for line in lines if "|" in line
    ]
    return {row for row in cells if row[-1] and not row[0].startswith("---")}


@pytest.mark.parametrize("place", KEYS)
def test_the_keys_of_the_chat_are_those_of_its_page(place: str) -> None:
    assert rows(f"### {place}") == set(KEYS[place])


def test_the_commands_of_the_chat_are_those_of_its_page() -> None:
    assert rows("## Commands") == {
        (
            f"/{each.name} {each.argument}".rstrip(),
            key_label(each.key),
            f"{each.title.rstrip('…')}: {each.what}",
        )
        for each in COMMANDS
    }


def test_no_place_and_no_command_of_the_chat_is_only_in_its_page() -> None:
    text = (DOCS / "how-to" / "chat.md").read_text()
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) == set(KEYS)
    named = set(re.findall(r"`/([a-z]+)[ `]", text))
    assert named == {each.name for each in COMMANDS}


def test_the_options_of_the_chat_are_those_of_its_page() -> None:
    command, parser = parser_of("chat")
    told = {word for option, _ in rows("## Begin") for word in re.findall(r"--?[a-z-]+", option)}
    known = {word for action in parser._actions for word in action.option_strings}
    assert told == known - {"-h", "--help"}
    for key in ("F1", "Ctrl-P", "Ctrl-C"):
        assert key in command.DESCRIPTION


def test_the_options_of_next_edit_suggestions_are_those_of_the_page() -> None:
    _, parser = parser_of("nes")
    choices: Any = next(each.choices for each in parser._actions if each.choices)
    actions: dict[str, ArgumentParser] = choices
    known = {
        word
        for each in actions.values()
        for action in each._actions
        for word in action.option_strings
    }
    section = (DOCS / "reference" / "cli.md").read_text().partition("## parley nes\n")[2]
    cells = re.findall(r"^\| (.*?) \|", section.partition("\n## ")[0], re.MULTILINE)
    told = {word for cell in cells for word in re.findall(r"(?<![\w-])--?[a-z-]+", cell)}
    assert told | {"-h", "--help", "--stdio", "--theme"} == known
    assert {cell.strip("`").split()[0] for cell in cells[1:5]} == set(actions)


def named(page: str, head: str) -> list[str]:
    """Return the names in the first column of a table, sorted."""
    table = (DOCS / page).read_text().partition(f"\n{head}\n")[2].partition("\n\n")[0]
    cells = " ".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))
    return sorted(re.findall(r"`([^`]+)`", cells))


def test_the_rules_of_the_embedded_engine_are_those_of_the_page() -> None:
    assert named("background/next-edits.md", "| rule | what it proposes |") == sorted(
        BY_HAND.keys() | PLACE.keys()
    )


def test_the_prompt_formats_are_those_of_the_page() -> None:
    assert named("reference/nes.md", "| format | for |") == sorted([*FORMATS, "infer"])


def test_the_page_of_methods_is_up_to_date() -> None:
    command = [sys.executable, "scripts/document_methods.py", "--check"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert "up to date" in done.stdout, done.stderr


def test_the_proxy_in_the_documents_passes_on_agents_alone_and_says_that_it_is_one() -> None:
    page = (DOCS / "how-to" / "remote.md").read_text()
    ((path, block),) = re.findall(r"^location ~ (\S+) \{\n(.*?)^\}", page, re.DOTALL | re.MULTILINE)
    passed = [each for each in ("/acp", "/acp/x", "/acpx", "/metrics") if re.search(path, each)]
    assert passed == ["/acp", "/acp/x"]
    told = {name.lower().encode() for name in re.findall(r"proxy_set_header (\S+) [^\"]", block)}
    assert told & set(FORWARDED), "what `metrics = loopback` looks for"
