"""The hint about an agent that cannot write because this client does not write for it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from parley.policy import parse_flags
from parley.testing.scripted import Expect, ScriptedPeer, Send, Step

from .recording_view import END, PROMPT, RecordingView, conversing, opening


def edit(
    path: Path, *, number: int = 1, status: str = "failed", about: Path | None = None
) -> list[Step]:
    """Return the steps of an agent that edits a file through the client and reports how it went."""
    location = {"path": str(about or path)}
    call = {"toolCallId": f"c{number}", "title": "Edit", "kind": "edit", "locations": [location]}
    params = {"sessionId": "s", "path": str(path), "content": "new"}
    return [
        update({"sessionUpdate": "tool_call", **call}),
        Send({"id": number, "method": "fs/write_text_file", "params": params}),
        Expect({"id": number}),
        update({"sessionUpdate": "tool_call_update", "toolCallId": f"c{number}", "status": status}),
    ]


def update(fields: dict[str, Any]) -> Step:
    return Send({"method": "session/update", "params": {"sessionId": "s", "update": fields}})


async def hints(*turns: list[Step], cwd: Path, **choices: Any) -> list[str]:
    """Return what is noted while an agent takes some turns."""
    steps = [step for turn in turns for step in (PROMPT, *turn, END)]
    agent = ScriptedPeer(*opening(), *steps)
    async with conversing(agent, cwd=cwd, **choices) as (conversation, view):
        view.permission = None
        for count in range(1, len(turns) + 1):
            conversation.send("Go")
            await view.until(partial(has_results, view, count))
            await view.until_state("idle")
        return view.notes


def has_results(view: RecordingView, count: int) -> bool:
    return len(view.results) == count


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    return tmp_path / "outside" / "notes.txt"


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    return path


async def test_a_write_outside_the_directories_is_explained_once(
    outside: Path, inside: Path
) -> None:
    turns = [edit(outside), edit(outside, number=2)]
    [note] = await hints(*turns, cwd=inside)
    assert note.startswith(f"scripted could not write {outside} through Parley (")
    assert "outside" in note.partition("(")[2]
    assert "With --no-workspace, it is offered no files and terminals of Parley" in note


async def test_a_file_that_cannot_be_written_is_explained(inside: Path) -> None:
    (inside / "taken").mkdir()
    allow = parse_flags(["edit"], "allow")
    [note] = await hints(edit(inside / "taken"), cwd=inside, allow=allow)
    assert "is a directory" in note


@pytest.mark.parametrize("rules", ["user", "rule"])
async def test_what_was_denied_on_purpose_is_not_explained(rules: str, inside: Path) -> None:
    deny = parse_flags(["edit"], "deny") if rules == "rule" else ()
    notes = await hints(edit(inside / "a.txt"), cwd=inside, deny=deny)
    assert not any("--no-workspace" in each for each in notes)


async def test_a_call_that_went_well_or_is_about_another_file_needs_no_hint(
    outside: Path, inside: Path
) -> None:
    assert await hints(edit(outside, status="completed"), cwd=inside) == []
    assert await hints(edit(outside, about=inside / "other.txt"), cwd=inside) == []
