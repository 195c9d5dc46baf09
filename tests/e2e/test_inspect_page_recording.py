"""The page of the inspector with its real server, and recordings that are written meanwhile."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, DESKTOP, Page, browser

from parley.inspector._library import Library
from parley.inspector._serving import serve
from parley.recording import ActiveRecording, RecordingStore, RecordingWriter, Source

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

ROW = ".viewport .row"


def send(recording: ActiveRecording, source: Source, **message: Any) -> None:
    recording.write(source, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def say(recording: ActiveRecording, text: str) -> None:
    """Send a chunk of a message of the agent."""
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    params = {"sessionId": "s", "update": update}
    send(recording, "agent", method="session/update", params=params)


def begin(recording: ActiveRecording) -> None:
    """Record a connection up to a prompt."""
    hello = {"protocolVersion": 1, "clientInfo": {"name": "editor", "version": "1"}}
    send(recording, "client", id=0, method="initialize", params=hello)
    agent: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {}}
    send(recording, "agent", id=0, result=agent)
    new: dict[str, Any] = {"cwd": 17, "mcpServers": []}
    send(recording, "client", id=1, method="session/new", params=new)
    send(recording, "agent", id=1, result={"sessionId": "s"})
    prompt = {"sessionId": "s", "prompt": [{"type": "text", "text": "Say *hi*"}]}
    send(recording, "client", id=2, method="session/prompt", params=prompt)


@asynccontextmanager
async def open_live(folder: Path) -> AsyncGenerator[tuple[Page, ActiveRecording, str]]:
    """Open the page on a recording that is being written."""
    store = RecordingStore(folder)
    with RecordingWriter(store) as writer:
        recording = writer.start("demo", ["parley", "demo"], cwd="/srv")
        begin(recording)
        async with serve(Library(store)) as url, browser() as opened:
            page = await opened.open(url, DESKTOP)
            yield page, recording, url
            origin = url.partition("/#")[0]
            assert page.problems == []
            assert [each for each in page.requests if not each.startswith(f"{origin}/")] == []


async def test_a_live_recording_is_shown_while_it_is_written(tmp_path: Path) -> None:
    async with open_live(tmp_path) as (page, recording, _):
        await page.sees("no response", ROW)
        assert "Live" in await page.text("#recordings")
        for text in ("Good ", "morning ", "to you"):
            say(recording, text)
        await page.sees("3 chunks", ROW)
        await page.sees("Good morning to you", f"{ROW} .summary")
        send(recording, "agent", id=2, result={"stopReason": "end_turn"})
        await page.sees("end_turn", f"{ROW} .summary")
        await page.when("!document.querySelector('#timeline').textContent.includes('no response')")
        recording.write("stderr", b"a \x1b[31mwarning\x1b[0m\n")
        recording.write_event("exited", code=3)
        recording.close()
        await page.sees("exit code 3", ROW)
        await page.sees("exit code 3", "#status")
        await page.click("[role=tab]", "Process")
        await page.sees("warning", ".terminal .fg1")
        await page.click("[role=tab]", "Conversation")
        await page.sees("hi", ".inspected.user em")
        await page.sees("Good morning to you", ".inspected.agent")
        await page.click("[role=tab]", "Capabilities")
        await page.sees("editor 1", ".capabilities")


async def test_a_violation_is_found_and_explained(tmp_path: Path) -> None:
    async with open_live(tmp_path) as (page, _, _):
        await page.sees("no response", ROW)
        await page.press("/")
        await page.type("is:invalid")
        await page.sees("1 of 5", "#query-result")
        await page.press("Enter")
        await page.press("j")
        await page.press("Enter")
        await page.sees("params.cwd", ".violations")
        await page.sees("17", ".violations")
        await page.sees("NewSessionRequest", ".type")
        await page.press("Escape")
        await page.press("m")
        await page.sees("response", ".detail h2")


async def test_a_recording_can_be_shared_from_the_page(tmp_path: Path) -> None:
    async with open_live(tmp_path) as (page, _, _):
        await page.sees("no response", ROW)
        for name in ("share-html", "share-jsonl"):
            text: str = await page.run(
                f"fetch(document.querySelector('#{name}').href).then((each) => each.text())"
            )
            assert "session/prompt" in text


async def test_a_mistake_in_a_filter_is_explained(tmp_path: Path) -> None:
    async with open_live(tmp_path) as (page, _, _):
        await page.sees("no response", ROW)
        await page.press("/")
        await page.type("is:nonsense")
        await page.sees("nonsense", "#query-result.error")
        await page.run("document.querySelector('#query').select()")
        await page.type("from:client")
        await page.sees("3 of 5", "#query-result")


async def test_only_who_has_the_token_sees_recordings(tmp_path: Path) -> None:
    async with serve(Library(RecordingStore(tmp_path))) as url, browser() as opened:
        page = await opened.open(url.partition("#")[0], DESKTOP)
        await page.sees("Open the address that parley inspect printed", "#signed-out")
        page = await opened.open(url, DESKTOP)
        await page.sees("There are no recordings yet", "#recordings")
