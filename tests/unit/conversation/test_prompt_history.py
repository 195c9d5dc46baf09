"""Earlier prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.conversation import prompt_history as module
from parley.conversation.prompt_history import PromptHistory
from parley.errors import JournalError
from parley.journal import MemoryJournal, Record, SqliteJournal


def ask(journal: Any, key: str, *blocks: dict[str, Any], method: str = "session/prompt") -> None:
    params = {"sessionId": key, "prompt": blocks}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    journal.append(key, "to_agent", msgspec.json.encode(message))


def begin(journal: Any, key: str, cwd: Path, at: float) -> None:
    journal.put(Record(key=key, agent="a", session_id=key, cwd=str(cwd), updated_at=at))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("mine/.git", "mine/src", "other"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path / "mine"


async def test_prompts_of_the_project_come_newest_first_and_once(project: Path) -> None:
    for journal in (MemoryJournal(), SqliteJournal()):
        begin(journal, "old", project / "src", 1.0)
        begin(journal, "new", project, 2.0)
        begin(journal, "far", project.parent / "other", 3.0)
        ask(journal, "old", text("first"))
        ask(journal, "old", text("again"))
        ask(journal, "new", text("again"))
        link = {"type": "resource_link", "name": "a.txt", "uri": "file:///a.txt"}
        ask(journal, "new", text("look at @a.txt"), link)
        ask(journal, "new", text("no prompt"), method="session/other")
        ask(journal, "far", text("elsewhere"))
        journal.append("new", "to_agent", b'{"method":"session/prompt"')
        journal.append("new", "to_client", b'{"method":"session/prompt"}')
        recall = PromptHistory(journal, project)
        recall.add("meanwhile")
        await recall.load()
        assert recall.prompts == ["meanwhile", "look at @a.txt", "again", "first"]
        await journal.aclose()


def test_what_is_asked_now_comes_first(project: Path) -> None:
    recall = PromptHistory(None, project)
    for prompt in ("one", "two", " one ", "  ", "x" * 30_000):
        recall.add(prompt)
    assert recall.prompts == ["one", "two"]


async def test_it_is_searched_by_parts_of_words(project: Path) -> None:
    recall = PromptHistory(None, project)
    await recall.load()
    for prompt in ("Fix the test", "Write a TEST for it", "Explain"):
        recall.add(prompt)
    assert recall.search("test") == ["Write a TEST for it", "Fix the test"]
    assert recall.search("test fi") == ["Fix the test"]
    assert recall.search("") == recall.prompts
    assert recall.search("nothing") == []


async def test_it_is_bounded(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PROMPTS", 3)
    journal = MemoryJournal()
    for number in range(6):
        begin(journal, f"s{number}", project, float(number))
        ask(journal, f"s{number}", text(f"prompt {number}"))
    recall = PromptHistory(journal, project)
    await recall.load()
    assert recall.prompts == ["prompt 5", "prompt 4", "prompt 3"]
    recall.add("newest")
    assert recall.prompts == ["newest", "prompt 5", "prompt 4"]
    monkeypatch.setattr(module, "_MAX_BYTES", 0)
    recall = PromptHistory(journal, project)
    await recall.load()
    assert recall.prompts == []


async def test_a_journal_that_cannot_be_read_is_no_reason_to_stop(project: Path) -> None:
    class Broken(MemoryJournal):
        def list(self, **_: Any) -> list[Record]:
            raise JournalError("no")

    recall = PromptHistory(Broken(), project)
    recall.add("one")
    await recall.load()
    assert recall.prompts == ["one"]
