"""Hostile text in every place of the page: it is shown, and nothing comes of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM
from tests.e2e.page_session import open_page

from parley.agent import Agent, AgentSession, Turn
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.transport._base import Transport

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

BIDI = "\u202egnp.txt\u2066\u200b"
EVIL = (
    "<script>alert(1)</script><img src=http://elsewhere.example/i.png onerror=alert(2)>"
    "![p](http://elsewhere.example/p.png) [l](javascript:alert(3)) [d](data:text/html,<script>)"
    "<a href='javascript:alert(4)'>x</a><style>*{display:none}</style>"
    "<base href=//elsewhere.example><svg/onload=alert(6)>"
    "<iframe srcdoc='<script>alert(5)</script>'></iframe>"
    f"{BIDI}\x1b]52;c;aGk=\x07\x1b[31mred\x9b6n\x00[good.example](http://evil.example/x)"
)
HIDDEN = "\u202e\u2066\u200b\x1b\x07\x9b\x00"
PLACES = """[...document.querySelectorAll(
  'script:not([src="app.js"]), img, iframe, style, svg, base, object, embed, link[rel=preload]')]
  .map((each) => each.outerHTML)"""
LINKS = "[...document.querySelectorAll('a')].map((each) => each.href)"
ATTRIBUTES = """[...document.querySelectorAll('*')].flatMap((each) => [...each.attributes])
  .filter((each) => /^on|^srcdoc$|^style$/.test(each.name)
    && !/^(color|background-color): rgb\\([0-9, ]+\\);$/.test(each.value))
  .map((each) => each.name + '=' + each.value)"""


def evil_agent(version: int) -> Agent:
    agent = Agent("evil", title=EVIL, versions=range(1, version + 1))
    options: Any = [v2.SessionConfigSelectOption(value=EVIL, name=EVIL, description=EVIL)]

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_commands([v2.Command(name=EVIL, description=EVIL)])
        await session.set_config_options(
            [
                v2.SessionConfigSelect(
                    config_id=EVIL, name=EVIL, description=EVIL, current_value=EVIL, options=options
                )
            ]
        )

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.session.set_title(EVIL)
        await turn.think(EVIL)
        await turn.plan([EVIL])
        await turn.session.notice(EVIL, description=EVIL)
        async with turn.tool(EVIL, kind="execute", raw_input={"command": EVIL, EVIL: EVIL}) as call:
            await call.add(EVIL)
            await call.diff(f"/tmp/{BIDI}", f"{EVIL}\n", f"{EVIL}{EVIL}\n")
            await call.add(v2.ResourceLink(name=EVIL, uri="javascript:alert(7)"))
            await call.add(v2.ResourceLink(name=EVIL, uri="http://evil.example/y"))
            await call.add(
                v2.ImageContent(data="aGk=", mime_type=EVIL, uri="http://elsewhere.example/u")
            )
            if version == 2:
                async with turn.terminal(EVIL) as terminal:
                    await call.show_terminal(terminal)
                    await terminal.write(f"{EVIL}\x1b]0;title")
                    await terminal.write("\x07\n\x1b[1;32mgreen\x1b[0m plain\rover")
                    await terminal.exit(None, signal=EVIL)
            choices = [v2.PermissionOption(option_id="yes", name=EVIL, kind="allow_once")]
            await turn.ask_permission(EVIL, tool=call, options=choices)
        form = {EVIL: v2.StringPropertySchema(title=EVIL, description=EVIL, default=EVIL)}
        await turn.elicit(EVIL, form)
        await turn.say(EVIL)
        raise RuntimeError

    return agent


async def look(page: Any) -> None:
    """Look at what has become of the text."""
    assert await page.run(PLACES) == []
    assert await page.run(ATTRIBUTES) == []
    links = await page.run(LINKS)
    assert set(links) <= {
        "http://evil.example/x",
        "http://evil.example/y",
        "http://elsewhere.example/i.png",
        "http://elsewhere.example/p.png",
    }
    text = await page.run("document.documentElement.textContent")
    assert not set(HIDDEN) & set(text)
    shown = await page.run(
        "[...document.querySelectorAll('input, option')].map((e) => e.value).join()"
    )
    assert not set(HIDDEN) & set(shown)


@pytest.mark.requirement("SAFE-REACH-08")
@pytest.mark.parametrize("version", [1, 2])
async def test_hostile_text_is_inert_everywhere(tmp_path: Path, version: int) -> None:
    async with open_page(tmp_path, evil_agent(version)) as session:
        page = session.page
        await session.ready()
        await page.click("#open-options")
        await page.sees("<script>", "#option-list")
        await look(page)
        await page.click("#options .close")
        await page.click("textarea")
        await page.type("/")
        await page.sees("<script>", "#commands")
        await look(page)
        await page.type("go")
        await page.click(".send")
        await page.when("document.querySelector('.card') && !document.querySelector('.early')")
        await page.sees("<script>alert(1)", ".card .command")
        await look(page)
        await page.click(".card button", "<script>")
        await page.when("document.querySelector('.card form') && !document.querySelector('.early')")
        await look(page)
        await page.click(".card button", "Decline")
        await page.sees("[l](javascript:alert(3))", ".agent")
        await page.sees("<script>", "#title")
        await look(page)
        assert "(evil.example)" in await page.text(".agent")
        if version == 2:
            await page.sees("overn plain", ".terminal")
            assert await page.text(".terminal .bold.fg2") == "n"
            assert "52;c" not in await page.text(".terminal")
            assert "title" not in await page.text(".terminal")
        for tag in ("thought", "tool"):
            await page.run(f"document.querySelector('.{tag}').open = true")
        await look(page)
        # Nothing is carried out later either.
        await page.run("new Promise((done) => requestIdleCallback(done))")
        assert session.page.dialogs == []


async def test_huge_text_is_bounded_and_the_page_stays_alive(tmp_path: Path) -> None:
    agent = Agent("huge")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "line":
            await turn.say("x" * 3_000_000)
        elif turn.text == "marks":
            await turn.say("*a **b _c [d `e ![f ~~" * 20_000)
        elif turn.text == "lists":
            await turn.say("\n".join("  " * (n % 40) + "- x" for n in range(20_000)))
        elif turn.text == "quotes":
            await turn.say("> " * 50_000)
        elif turn.text == "table":
            await turn.say("|a|b|\n|-|-|\n" + "|c|d|\n" * 20_000)
        else:
            for number in range(10_000):
                await turn.say(f"line {number} with *some* words\n")
        await turn.say("\n\nthe end")

    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        for prompt in ("marks", "lists", "quotes", "table", "many"):
            await session.say(prompt)
            await page.when(
                "document.querySelector('#status').textContent.startsWith('Ready') &&"
                " [...document.querySelectorAll('.agent')].at(-1)?.textContent.endsWith('the end')"
            )
        await session.say("line")
        await page.sees("too long to be shown", ".agent")
        assert len(await page.text()) < 4_000_000


class Nonsense:
    """An agent that says what no agent should."""

    async def serve(self, transport: Transport) -> None:
        self._transport = transport
        self._over = asyncio.Event()
        transport.start(self)
        await self._over.wait()

    def connection_lost(self, reason: object, /) -> None:
        self._over.set()

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            message = json.loads(frame)
            if message.get("method") == "initialize":
                info = {"name": "x", "version": "1"}
                self._answer(message, {"protocolVersion": 2, "info": info, "capabilities": {}})
            elif message.get("method") == "session/new":
                self._answer(message, {"sessionId": "s", "configOptions": [None, 1, "x"]})
            elif message.get("method") == "session/prompt":
                for update in UPDATES:
                    self._send(method="session/update", params={"sessionId": "s", "update": update})
                for number, (method, params) in enumerate(QUESTIONS):
                    self._send(id=f"q{number}", method=method, params={"sessionId": "s", **params})
                self._answer(message, {"messageId": "m"})
                said = {"sessionUpdate": "agent_message_chunk", "messageId": "a", "content": TEXT}
                self._send(method="session/update", params={"sessionId": "s", "update": said})

    def _answer(self, message: dict[str, Any], result: object) -> None:
        self._send(id=message["id"], result=result)

    def _send(self, **message: object) -> None:
        self._transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode())


TEXT = {"type": "text", "text": "survived"}
UPDATES: list[Any] = [
    None,
    17,
    [],
    {},
    {"sessionUpdate": "__proto__"},
    {"sessionUpdate": "constructor"},
    {"sessionUpdate": "_surprise", "x": "<b>"},
    {"sessionUpdate": "plan_update"},
    {
        "sessionUpdate": "plan_update",
        "plan": {"type": "items", "planId": "p", "entries": [None, 3]},
    },
    {"sessionUpdate": "agent_message", "messageId": {}, "content": 5},
    {"sessionUpdate": "agent_message_chunk", "messageId": "b", "content": None},
    {"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": 5, "locations": [None]},
    {"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [{"type": "diff"}, None]},
    {
        "sessionUpdate": "tool_call_content_chunk",
        "toolCallId": "t",
        "content": {"type": "terminal"},
    },
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "u", "data": "%%%"},
    {"sessionUpdate": "terminal_update", "terminalId": "u", "output": 3, "exitStatus": "x"},
    {"sessionUpdate": "available_commands_update", "availableCommands": [None, {"name": 3}]},
    {"sessionUpdate": "config_option_update", "configOptions": "x"},
    {"sessionUpdate": "usage_update", "used": "x", "size": []},
    {"sessionUpdate": "state_update", "state": {}},
    {"sessionUpdate": "state_update", "state": "idle", "stopReason": "__proto__"},
]
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("session/request_permission", {"options": [None, {"optionId": 3}], "title": ["x"]}),
    ("session/request_permission", {"options": 3, "subject": {"type": "tool_call"}}),
    ("elicitation/create", {"mode": "form", "requestedSchema": {"properties": {"a": None}}}),
    ("elicitation/create", {"mode": "form", "requestedSchema": 3}),
    ("elicitation/create", {"mode": "url", "url": {}}),
    ("elicitation/create", {"mode": "other"}),
    ("fs/read_text_file", {"path": "/etc/passwd"}),
]


async def test_an_agent_that_speaks_nonsense_breaks_nothing(tmp_path: Path) -> None:
    async with open_page(tmp_path, Nonsense()) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await page.sees("Unknown update: _surprise")
        await page.sees("survived", ".agent")
        await page.click("textarea")
        await page.type("/")
        await page.click("#open-options")
