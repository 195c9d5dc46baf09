"""Tool calls, questions and errors on the page in a real Chromium, without noise."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, Page
from tests.e2e.page_session import PageSession, open_page
from tests.e2e.test_page_guard import OPTIONS, ScriptedAgent

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

PATCH = "--- /a.py\n+++ /a.py\n@@ -1 +1 @@\n-old = 1\n+new = 2\n\\ No newline at end of file"


@asynccontextmanager
async def working_agent(folder: Path) -> AsyncGenerator[tuple[ScriptedAgent, PageSession]]:
    """Open the page on an agent that is in a turn."""
    agent = ScriptedAgent()
    async with open_page(folder, agent) as session:
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        yield agent, session


async def ask(agent: ScriptedAgent, page: Page, name: str, **call: Any) -> None:
    """Ask for permission for a tool call, and wait for the card."""
    subject = {"type": "tool_call", "toolCall": {"toolCallId": name, "title": name, **call}}
    params = {"sessionId": "s", "title": name, "subject": subject, "options": OPTIONS}
    agent.send(id=name, method="session/request_permission", params=params)
    await page.sees(name, ".card .statement")


async def withdraw(agent: ScriptedAgent, page: Page, name: str) -> None:
    agent.withdraw(name)
    await page.when("!document.querySelector('.card')")


def diff(operation: str, patch: str) -> dict[str, Any]:
    changes = [{"operation": operation, "path": "/a.py"}]
    return {"type": "diff", "changes": changes, "patch": {"format": "git_patch", "text": patch}}


async def visible_text(page: Page, where: str) -> str:
    """Return the text of an element without what is folded."""
    return str(await page.run(f"document.querySelector({where!r}).innerText"))


@pytest.mark.parametrize(
    "output",
    [
        "one\ntwo\n",
        {"formatted_output": "one\ntwo\n", "exit_code": 0},
        {"output": {"text": "one\ntwo"}},
        {"stdout": "one", "stderr": "two"},
        [{"type": "content", "content": {"type": "text", "text": "one\ntwo"}}],
    ],
)
async def test_output_that_is_only_in_the_raw_output_is_shown(tmp_path: Path, output: Any) -> None:
    async with working_agent(tmp_path) as (agent, session):
        call = {"toolCallId": "t", "title": "List", "kind": "execute"}
        agent.update("tool_call_update", **call, rawInput={"command": "ls"}, status="in_progress")
        agent.update("tool_call_update", toolCallId="t", status="completed", rawOutput=output)
        shown = "document.querySelector('.tool .terminal').innerText"
        await session.page.when(f"{shown}.includes('one') && {shown}.includes('two')")


async def test_raw_output_is_folded_where_the_content_shows_it(tmp_path: Path) -> None:
    async with working_agent(tmp_path) as (agent, session):
        content = [{"type": "content", "content": {"type": "text", "text": "as content"}}]
        call = {"toolCallId": "t", "title": "List", "kind": "execute", "rawOutput": "as content"}
        agent.update("tool_call_update", **call, content=content)
        await session.page.sees("List", ".tool summary")
        await session.page.run("document.querySelector('.tool').open = true")
        await session.page.sees("as content", ".tool .content")
        assert await session.page.count(".tool .terminal") == 0


async def test_a_patch_is_shown_without_its_remarks(tmp_path: Path) -> None:
    async with working_agent(tmp_path) as (agent, session):
        agent.update(
            "tool_call_update", toolCallId="t", title="Edit", content=[diff("modify", PATCH)]
        )
        await session.page.sees("new = 2", ".diff .added")
        assert "No newline" not in await session.page.text(".diff")
        assert await session.page.text(".diff .path .sign") == "~"


@pytest.mark.parametrize("before", ["/dev/null", "/a.py"])
async def test_a_new_file_is_marked_as_one(tmp_path: Path, before: str) -> None:
    async with working_agent(tmp_path) as (agent, session):
        patch = f"--- {before}\n+++ /a.py\n@@ -0,0 +1 @@\n+new = 2\n"
        agent.update(
            "tool_call_update", toolCallId="t", title="Edit", content=[diff("modify", patch)]
        )
        await session.page.sees("new = 2", ".diff .added")
        assert await session.page.text(".diff .path .sign") == "+"


async def test_titles_are_shown_without_fences(tmp_path: Path) -> None:
    async with working_agent(tmp_path) as (agent, session):
        for number, title in enumerate(("```sh\nls -la\n```", "`ls -la`", "ls -la")):
            agent.update("tool_call_update", toolCallId=f"t{number}", title=title)
        await session.page.when("document.querySelectorAll('.tool').length === 3")
        assert await session.page.text(".tool .title") == "ls -la\nls -la\nls -la"
        agent.update("tool_call_update", toolCallId="t3", title="Use `ls` and `cat`")
        await session.page.sees("Use `ls` and `cat`", ".tool .title")


@pytest.mark.requirement("SAFE-PAGE-02")
async def test_an_input_that_only_repeats_the_changes_is_folded(tmp_path: Path) -> None:
    async with working_agent(tmp_path) as (agent, session):
        page = session.page
        repeated = {"file_path": "/a.py", "old_string": "old = 1", "new_string": "new = 2"}
        content = [diff("modify", PATCH)]
        await ask(agent, page, "edit", rawInput={**repeated, "all": False}, content=content)
        assert "old_string" not in await visible_text(page, ".card .action")
        assert "old_string" in await page.text(".card .action details")
        await withdraw(agent, page, "edit")
        for name, value in (("replace_all", True), ("run", "rm -rf /")):
            await ask(agent, page, name, rawInput={**repeated, name: value}, content=content)
            assert f'"{name}"' in await visible_text(page, ".card .action")
            await withdraw(agent, page, name)


@pytest.mark.requirement("SAFE-PAGE-02")
async def test_a_command_is_shown_once(tmp_path: Path) -> None:
    async with working_agent(tmp_path) as (agent, session):
        page = session.page
        for name, raw_input in (
            ("one", {"command": "ls /tmp"}),
            ("two", {"command": "ls /tmp", "commands": ["ls /tmp"]}),
            ("three", {"command": "ls /tmp", "cmd": "ls /tmp", "parsed_cmd": [{"cmd": "ls /tmp"}]}),
        ):
            await ask(agent, page, name, rawInput=raw_input)
            assert (await page.text(".card .action")).count("ls /tmp") == 1
            assert "Input" not in await page.text(".card .action")
            await withdraw(agent, page, name)


@pytest.mark.requirement("SAFE-PAGE-02")
@pytest.mark.parametrize(
    "more",
    [
        {"commands": ["ls", "rm -rf /"]},
        {"parsed_cmd": [{"cmd": "rm -rf /"}]},
        {"script": "rm -rf /"},
        {"cwd": "rm -rf /"},
    ],
)
async def test_what_a_command_does_not_repeat_is_shown(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    async with working_agent(tmp_path) as (agent, session):
        await ask(agent, session.page, "ask", rawInput={"command": "ls", **more})
        assert "rm -rf /" in await visible_text(session.page, ".card .action")


@pytest.mark.requirement("SAFE-PAGE-02")
async def test_a_long_input_is_shortened_and_marked(tmp_path: Path) -> None:
    async with working_agent(tmp_path) as (agent, session):
        page = session.page
        await ask(agent, page, "ask", rawInput={"text": "x" * 5_000, "z": "the end"})
        shown = await visible_text(page, ".card .action")
        assert "more characters are folded below" in shown
        assert "the end" not in shown
        assert "the end" in await page.text(".card .action details")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"details": "out of disk"}, "out of disk"),
        ({"message": "out of disk"}, "out of disk"),
        ({"reason": "out of disk"}, "out of disk"),
        ("out of disk", "out of disk"),
    ],
)
async def test_an_error_is_shown_with_its_reason(tmp_path: Path, data: Any, reason: str) -> None:
    async with working_agent(tmp_path) as (agent, session):
        error = {"code": -32603, "message": "Internal error", "data": data}
        agent.update("state_update", state="idle", stopReason="error", error=error)
        await session.page.sees(f"Internal error: {reason}", ".error")


async def test_the_reason_is_not_repeated(tmp_path: Path) -> None:
    async with working_agent(tmp_path) as (agent, session):
        error = {"code": 1, "message": "No disk: out of disk", "data": {"details": "out of disk"}}
        agent.update("state_update", state="idle", stopReason="error", error=error)
        await session.page.sees("No disk: out of disk", ".error")
        assert (await session.page.text(".error")).count("out of disk") == 1
