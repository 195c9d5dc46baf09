"""Every example runs, and the documents tell the truth about them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _run(*command: str, timeout: float = 60) -> str:
    done = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_converse_shows_a_whole_conversation() -> None:
    lines = _run("examples/converse.py", "three small words").splitlines()
    assert lines[0].startswith("client ->       initialize")
    assert [line.split()[2] for line in lines if line.startswith("client ->")] == [
        "initialize",
        "session/new",
        "session/prompt",
    ]
    assert lines[-2] == "The agent's answer: You said 3 words: three small words"
    assert lines[-1] == "The turn ended with: end_turn"


def test_the_program_in_the_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    program = tmp_path / "readme.py"
    program.write_text(blocks[0].replace('["python", ', f'["{sys.executable}", '))
    printed = _run(str(program))
    assert "AgentMessageChunk" in printed
    assert printed.splitlines()[-1].startswith("PromptResponse(")


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"])
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_page_of_methods_is_up_to_date() -> None:
    assert "up to date" in _run("scripts/document_methods.py", "--check")


def test_the_page_of_requirements_is_up_to_date() -> None:
    assert "up to date" in _run("-m", "scripts.document_conformance", "--check")
