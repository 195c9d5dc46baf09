"""The page in a real Chromium: a conversation, from the door to the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, DESKTOP, Failed
from tests.e2e.page_session import TOKEN, open_page
from tests.e2e.test_page_guard import ScriptedAgent

from parley.agent import Agent, AgentSession, Turn
from parley.schema import v2
from parley.testing.demo import demo_agent

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

READABLE = "document.querySelector('.card') && !document.querySelector('.card.early')"


def first_version() -> Agent:
    return demo_agent(versions=(1,))


async def test_the_token_is_asked_for_once_and_stays_in_the_tab(tmp_path: Path) -> None:
    async with open_page(tmp_path, path="/", token="") as session:
        page = session.page
        await page.click("#token")
        await page.type("wrong")
        await page.press("Enter")
        await page.sees("does not accept this token", "#sign-in-message")
        assert await page.run("sessionStorage.length") == 0
        await page.click("#token")
        await page.type(TOKEN)
        await page.press("Enter")
        await session.ready()
        await page.reload()
        await session.ready()
        assert await page.run("localStorage.length") == 0
        assert await page.run("document.cookie") == ""
        await page.click("#open-sessions")
        await page.sees("Session …", "#session-list")
        await page.click("#forget")
        await page.sees("signed out", "#sign-in-message")
        assert TOKEN not in await page.run("JSON.stringify(sessionStorage)")


async def test_the_door_warns_where_others_can_read_along(tmp_path: Path) -> None:
    async with open_page(tmp_path, path="/", token="") as session:
        page = session.page
        await page.sees("Token", "#sign-in")
        assert await page.run("document.getElementById('insecure-warning').hidden")
        plain = "Object.defineProperty(window, 'isSecureContext', { value: false })"
        await page.call("Page.addScriptToEvaluateOnNewDocument", source=plain)
        await page.reload()
        await page.when("document.getElementById('insecure-warning').checkVisibility()")


async def test_the_token_is_in_a_header_and_never_in_an_address(tmp_path: Path) -> None:
    async with open_page(tmp_path) as session:
        await session.ready()
        assert await session.page.run("location.href") == f"{session.origin}/chat/"
        assert await session.page.run("history.length") <= 2
        sent = [each for each in session.page.headers if "Authorization" in each]
        assert sent
        assert all(each["Authorization"] == f"Bearer {TOKEN}" for each in sent)


@pytest.mark.parametrize("make", [demo_agent, first_version])
async def test_a_turn_shows_what_the_agent_does(tmp_path: Path, make: Callable[[], Agent]) -> None:
    async with open_page(tmp_path, make()) as session:
        page = session.page
        await session.ready()
        await session.say("hello **there**")
        await page.sees("echo: hello there", ".agent")
        assert await page.text(".user") == "hello **there**"
        assert await page.text(".agent strong") == "there"
        await session.say("tool")
        await page.sees("tool:done", ".agent")
        assert "Count to three" in await page.text(".tool summary")
        await session.say("diff")
        await page.sees("diff:done", ".agent")
        assert "+new world" in await page.text(".diff .added")
        assert "-old world" in await page.text(".diff .removed")
        await session.say("plan")
        await page.sees("plan:done", ".agent")
        assert await page.count(".plan li[data-status=completed]") == 3
        await session.ready()


@pytest.mark.parametrize("make", [demo_agent, first_version])
@pytest.mark.parametrize(
    ("answer", "said"), [("Yes", '"optionId":"yes"'), ("No", '"optionId":"no"')]
)
async def test_a_permission_is_decided_by_a_button(
    tmp_path: Path, make: Callable[[], Agent], answer: str, said: str
) -> None:
    async with open_page(tmp_path, make()) as session:
        page = session.page
        await session.ready()
        await session.say("perm")
        await page.sees('"harm": "none"', ".card .action")
        await page.sees("Waiting for you", "#status")
        await page.when(READABLE)
        await page.click(".card button", answer)
        await page.sees(said, ".agent")
        assert await page.count(".card") == 0


async def test_a_tap_that_comes_with_the_card_is_no_answer(tmp_path: Path) -> None:
    async with open_page(tmp_path) as session:
        page = session.page
        await session.ready()
        await page.run(
            "new MutationObserver(() => document.querySelector('.card .allow')?.click())"
            ".observe(document.querySelector('#dock'), { childList: true, subtree: true })"
        )
        await session.say("perm")
        await page.when(READABLE)
        assert "perm:" not in await page.text()
        await page.click(".card button", "No")
        await page.sees('"optionId":"no"', ".agent")


@pytest.mark.parametrize("make", [demo_agent, first_version])
async def test_stop_cancels_a_turn_and_the_question_in_it(
    tmp_path: Path, make: Callable[[], Agent]
) -> None:
    async with open_page(tmp_path, make()) as session:
        page = session.page
        await session.ready()
        await session.say("slow")
        await page.sees("waiting to be cancelled", ".agent")
        await page.click(".stop")
        await page.sees("Cancelled.", ".cancelled")
        await session.say("perm")
        await page.sees("May I?" if make is demo_agent else "Do something", ".card")
        await page.click(".stop")
        await page.when("document.querySelectorAll('.cancelled').length === 2")
        assert await page.count(".card") == 0
        await session.say("still there?")
        await page.sees("echo: still there?", ".agent")


async def test_a_prompt_waits_for_the_turn_of_an_agent_of_version_1(tmp_path: Path) -> None:
    async with open_page(tmp_path, first_version()) as session:
        page = session.page
        await session.ready()
        await session.say("slow")
        await page.sees("waiting to be cancelled", ".agent")
        await session.say("and then?")
        await page.sees("and then?", ".user.pending")
        await page.click(".stop")
        await page.sees("Cancelled.", ".cancelled")
        await page.sees("The prompt was not accepted", ".error")
        assert await page.run("document.querySelector('textarea').value") == "and then?"
        await page.click(".send")
        await page.sees("echo: and then?", ".agent")
        assert await page.count(".user") == 2


async def test_an_agent_that_lists_no_sessions_says_so(tmp_path: Path) -> None:
    agent = ScriptedAgent(protocolVersion=1, agentCapabilities={})
    async with open_page(tmp_path, agent) as session:
        await session.ready()
        await session.page.click("#open-sessions")
        await session.page.sees(
            "The sessions cannot be listed: the agent does not offer", "#session-list"
        )


async def test_words_appear_as_they_come(tmp_path: Path) -> None:
    agent, goes_on = Agent("slow"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.think("I think **so**")
        for word in ("```py\n", "one\n", "two\n", "```\nand **bo"):
            await turn.say(word)
            await goes_on.wait()
            goes_on.clear()
        await turn.say("ld**")

    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await page.sees("I think so", ".thought")
        assert await page.run("document.querySelector('.thought').open") is False
        for code, whole in (("", ""), ("one", ""), ("two", ""), ("", "and **bo")):
            await page.sees(code, "pre.code")
            await page.sees(whole, ".agent p") if whole else None
            assert await page.run("document.querySelector('article.agent').ariaBusy") == "true"
            goes_on.set()
        await page.sees("bold", ".agent strong")
        assert await page.text("pre.code") == "one\ntwo\n"
        await session.ready()
        assert await page.run("document.querySelector('article.agent').ariaBusy") == "false"


async def test_a_failed_turn_says_why(tmp_path: Path) -> None:
    async with open_page(tmp_path) as session:
        await session.ready()
        await session.say("boom")
        await session.page.sees("Boom", ".error")
        await session.say("and now?")
        await session.page.sees("echo: and now?")


async def test_commands_are_offered_behind_a_slash(tmp_path: Path) -> None:
    async with open_page(tmp_path, size=DESKTOP) as session:
        page = session.page
        await session.ready()
        await session.say("commands")
        await page.sees("commands:fs", ".agent")
        await page.click("textarea")
        await page.type("/pl")
        await page.sees("makes a plan", "#commands")
        await page.press("Tab")
        assert await page.run("document.querySelector('textarea').value") == "/plan "
        await page.press("Enter")
        await page.sees("plan:done", ".agent")


async def test_options_can_be_set(tmp_path: Path) -> None:
    agent = Agent("choosy")
    values = [
        v2.SessionConfigSelectOption(value=each, name=each.title()) for each in ("ask", "code")
    ]

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_config_options(
            [
                v2.SessionConfigSelect(
                    config_id="mode", name="Mode", current_value="ask", options=values
                ),
                v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False),
            ]
        )

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"{turn.session.option('mode')} {turn.session.option('loud')}")

    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await page.click("#open-options")
        await page.sees("Mode", "#option-list")
        choose = "(() => { const one = document.querySelector('#option-list select');"
        await page.run(
            f"{choose} one.selectedIndex = 1; one.dispatchEvent(new Event('change')) }})()"
        )
        await page.click("#option-list input")
        await page.when("document.querySelector('#option-list input').checked")
        await page.click("#options .close")
        await session.say("which?")
        await page.sees("code True", ".agent")


async def test_a_form_is_filled_in(tmp_path: Path) -> None:
    agent = Agent("curious")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        form = v2.ElicitationSchema(
            type="object",
            properties={
                "name": v2.StringPropertySchema(title="Your name", min_length=2),
                "age": v2.IntegerPropertySchema(minimum=1, maximum=150),
                "colour": v2.StringPropertySchema(enum=["red", "blue"]),
                "sure": v2.BooleanPropertySchema(default=True),
                "tags": v2.MultiSelectPropertySchema(
                    items=v2.StringMultiSelectItems(enum=["a", "b", "c"]), default=["b"]
                ),
            },
            required=["name", "age", "colour"],
        )
        answer = await turn.elicit("Who are you?", form)
        given = answer.content if isinstance(answer, v2.ElicitationAcceptAction) else None
        await turn.say(json.dumps(given, sort_keys=True))

    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("go")
        await page.sees("Your name *", ".card")
        await page.when(READABLE)
        await page.click(".card button", "Answer")
        assert await page.count(".card") == 1  # it is not filled in
        await page.click(".card input[type=text]")
        await page.type("Ann")
        await page.click(".card input[type=number]")
        await page.type("42")
        choose = "(() => { const one = document.querySelector('.card select');"
        await page.run(
            f"{choose} one.selectedIndex = 2; one.dispatchEvent(new Event('change')) }})()"
        )
        await page.click(".card fieldset input")
        await page.click(".card button", "Answer")
        await page.sees(
            '{"age": 42, "colour": "blue", "name": "Ann", "sure": true, "tags": ["a", "b"]}',
            ".agent",
        )


@pytest.mark.requirement("V1-ELIC-09")
@pytest.mark.parametrize("version", [1, 2])
async def test_a_question_before_there_is_a_session_is_asked_and_can_be_stopped(
    tmp_path: Path, version: int
) -> None:
    agent = Agent("curious", title="Your own computer", versions=(version,))
    answers: list[str] = []

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        while "accept" not in answers:
            answer = await session.elicit("Where?", {"team": v2.StringPropertySchema()})
            answers.append(type(answer).__name__.removeprefix("Elicitation")[:6].lower())

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("hello")

    async with open_page(tmp_path, agent) as session:
        page = session.page
        await page.sees("agent0 asks for information", ".card .question")
        await page.sees("Waiting for you", "#status")
        await page.click(".stop")
        await page.when(READABLE)
        assert answers == ["cancel"]
        await page.click(".card input")
        await page.type("blue")
        await page.click(".card button", "Answer")
        await session.ready()
        assert answers == ["cancel", "accept"]
        await session.say("hi")
        await page.sees("hello")


@pytest.mark.parametrize(
    "hello",
    [
        {"capabilities": {"session": {"load": {}}}},
        {"capabilities": {"session": {}}, "agentInfo": {"name": "x", "version": "1"}},
    ],
    ids=["no-info", "agent-info"],
)
async def test_an_agent_of_an_earlier_draft_of_version_2_is_understood(
    tmp_path: Path, hello: dict[str, Any]
) -> None:
    agent = ScriptedAgent(**hello)
    async with open_page(tmp_path, agent) as session:
        await session.ready()
        await session.say("go")
        await agent.prompted.wait()
        await session.page.sees("Working", "#status")
        agent.update("state_update", state="idle", stopReason="max_tokens")
        await session.page.sees("cut off at the token limit")
        await session.ready()


async def test_a_page_elsewhere_is_opened_only_by_the_user_and_only_on_the_web(
    tmp_path: Path,
) -> None:
    agent = Agent("sender")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        visit = await turn.elicit_url("Log in, please", turn.text)
        await turn.say(f"accepted: {visit.is_accepted}")
        if visit.is_accepted:
            await visit.complete()

    async with open_page(tmp_path, agent) as session:
        page = session.page
        await session.ready()
        await session.say("javascript:alert(1)")
        await page.sees("not a web address", ".card")
        assert await page.count(".card a") == 0
        await page.when(READABLE)
        await page.click(".card button", "Decline")
        await page.sees("accepted: False", ".agent")
        await session.say(f"{session.origin}/chat/icon.svg")
        await page.sees(f"Open 127.0.0.1:{session.proxy.port}", ".card a")
        await page.when(READABLE)
        await page.click(".card a")
        await page.sees("accepted: True", ".agent")
        await page.sees("Done.", ".note")


async def test_the_policy_of_the_page_is_at_work_and_breaches_are_seen(tmp_path: Path) -> None:
    async with open_page(tmp_path) as session:
        page = session.page
        await session.ready()
        with pytest.raises(Failed, match="TrustedHTML"):
            await page.run("document.createElement('div').innerHTML = '<b>x</b>'")
        await page.run("fetch('http://elsewhere.example/').catch(() => {})")
        await page.when("document.createElement('i') && true")
        assert any("elsewhere.example" in each for each in page.problems)
        page.problems.clear()
        page.requests[:] = [url for url in page.requests if "elsewhere" not in url]
