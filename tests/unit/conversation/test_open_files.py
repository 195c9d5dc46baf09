"""The editor state that a conversation offers: open, recent and active documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.client import Session
from parley.client._attachments import link_block, picture_block, text_block
from parley.conversation import open_files
from parley.conversation.open_files import OpenFiles
from parley.conversation.setup import ConversationOptions, ConversationSetup
from parley.schema import v2

from .recording_view import conversing

SESSION: Session = None  # type: ignore[assignment]  # the files are the same for every session


def recent(files: OpenFiles, limit: int | None = None) -> list[str]:
    return [Path(each.uri).name for each in files.recent_documents(limit, SESSION)]


def test_the_first_open_file_is_the_active_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = OpenFiles(["a b.py", tmp_path / "c.md", "d/../a b.py"])
    first = v2.WorkspaceDocument(uri=f"{tmp_path.as_uri()}/a%20b.py", language_id="python")
    second = v2.WorkspaceDocument(uri=f"{tmp_path.as_uri()}/c.md", language_id="markdown")
    assert list(files.open_documents(SESSION)) == [first, second]
    assert files.active_document(SESSION) == first


def test_attached_files_are_recent_before_open_ones(tmp_path: Path) -> None:
    files = OpenFiles([tmp_path / "open.py", tmp_path / "x"])
    files.add_attachments(["Look", text_block(tmp_path / "a#1.md", "x", "#L1-L2")])
    files.add_attachments([link_block(tmp_path / "b.rs", 3), link_block(tmp_path / "x", 0)])
    files.add_attachments([text_block(tmp_path / "a#1.md", "x")])
    assert recent(files) == ["a%231.md", "x", "b.rs", "open.py"]
    assert recent(files, 2) == ["a%231.md", "x"]
    kinds = [each.language_id for each in files.recent_documents(None, SESSION)]
    assert kinds == ["markdown", "plaintext", "rust", "python"]


def test_only_text_files_are_documents(tmp_path: Path) -> None:
    files = OpenFiles([tmp_path / "open.py"])
    blob = v2.BlobResourceContents(uri=f"{tmp_path.as_uri()}/c.bin", blob="")
    files.add_attachments(
        [
            v2.TextContent(text="Look"),
            picture_block(tmp_path / "a.png", b""),
            link_block(tmp_path / "a.png", 3),
            link_block(tmp_path, None),
            v2.EmbeddedResource(resource=blob),
            v2.ResourceLink(uri="https://example.com/a.py", name="a.py", size=1),
        ]
    )
    assert recent(files) == ["open.py"]


def test_only_the_newest_attached_files_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_files, "MAX_RECENT", 2)
    files = OpenFiles([tmp_path / "open.py"])
    files.add_attachments([link_block(tmp_path / f"{number}.py", 1) for number in range(4)])
    assert recent(files) == ["3.py", "2.py", "open.py"]


def test_without_open_files_no_editor_is_offered(tmp_path: Path) -> None:
    assert "editor" not in ConversationSetup().connect_options()
    setup = ConversationSetup(ConversationOptions(open_files=[tmp_path / "a.py"]))
    assert setup.connect_options().get("editor") is setup.open_files
    assert setup.changed().open_files is not setup.open_files, (
        "each tab has recent files of its own"
    )


@pytest.mark.parametrize("version", [1, 2])
async def test_a_file_that_a_prompt_mentions_is_recent(tmp_path: Path, version: int) -> None:
    agent = Agent("curious")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for each in await turn.session.editor.recent_documents():
            await turn.say(f"{each.language_id} {Path(each.uri).name};")

    (tmp_path / "new.ts").write_text("1")
    choices: dict[str, Any] = {
        "cwd": tmp_path,
        "open_files": [tmp_path / "old.py"],
        "protocol": version,
    }
    async with conversing(agent, **choices) as (conversation, view):
        conversation.send("Look at @new.ts")
        await view.until(lambda: view.results)
        assert view.said == "typescript new.ts;python old.py;"
