"""What an agent asks, in the whole app: logins, pages, forms, permissions."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.unit.tui.dialog_app import EVIL, FORBIDDEN, pressed
from tests.unit.tui.running_app import Talk, talking

from parley.agent import Agent, AgentConnection, AgentSession, Login, Turn
from parley.agent._elicitation import send_url_request, url_request
from parley.errors import AuthRequired
from parley.schema import v2
from parley.schema.v2 import methods
from parley.tui.dialogs.dialog import Dialog
from parley.tui.dialogs.form_card import FormCard
from parley.tui.dialogs.permission_card import PermissionCard
from parley.tui.dialogs.pickers import LoginPicker
from parley.tui.dialogs.url_card import Opener, UrlCard

EXAMPLES = Path(__file__).parents[3] / "examples"
PAGE = "https://example.org/login?code=1234"


async def asked(talk: Talk, kind: type[Dialog[Any]]) -> Dialog[Any]:
    """Wait for a question that has the focus."""
    await talk.until(lambda: talk.chat.dock.card is not None and talk.chat.dock.card.has_focus)
    await talk.pilot.pause()
    card = talk.chat.dock.card
    assert isinstance(card, kind)
    return card


def noting(opened: list[str]) -> Opener:
    """Open nothing, but note what was to be opened."""

    def note(url: str) -> bool:
        opened.append(url)
        return True

    return note


async def chooses(talk: Talk) -> None:
    """Wait for the ways to log in."""
    await talk.until(lambda: isinstance(talk.app.screen, LoginPicker))
    await talk.pilot.pause()


# Logins


def members(known: list[str], *, name: str = "In the browser") -> Agent:
    """An agent that wants a login, in one of two ways."""
    agent = Agent("members")

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if not known:
            raise AuthRequired("Log in first")

    @agent.login("browser", name=name)
    async def browse(login: Login) -> None:
        page = await login.elicit_url("Please log in", PAGE)
        if not page.is_accepted:
            raise AuthRequired("Without the page there is no login")
        known.append("browser")
        await page.complete()

    @agent.login("key", name="With a key")
    async def use_key(login: Login) -> None:
        known.append("key")

    @agent.logout
    async def forget(connection: AgentConnection) -> None:
        known.clear()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("welcome")

    return agent


async def test_a_login_is_chosen_and_goes_over_a_page() -> None:
    known: list[str] = []
    opened: list[str] = []
    async with talking(members(known), opener=noting(opened)) as talk:
        await chooses(talk)
        await talk.until_painted("In the browser  (the agent carries it out)")
        await talk.until_painted("With a key")
        await talk.answer("down", "enter")
        await asked(talk, UrlCard)
        assert (opened, known) == ([], [])
        await talk.answer("o")
        await talk.until_state("idle")
        assert (opened, known) == ([PAGE], ["browser"])
        await talk.until_shown("what that page is for is done")
        assert "you opened the page on example.org" in talk.shown
        await talk.say("hello")
        await talk.until_shown("welcome")


async def test_without_a_login_that_is_said_and_asked_again_by_a_key() -> None:
    known: list[str] = []
    async with talking(members(known)) as talk:
        await chooses(talk)
        await talk.answer("escape")
        await talk.until_state("dead")
        await talk.until_shown("Log in first")
        await talk.until(lambda: "requires a login. Press F5 or Enter to log in" in talk.painted)
        await talk.press("f5")
        await chooses(talk)
        await talk.answer("down", "down", "enter")
        await talk.until_state("idle")
        assert known == ["key"]


async def test_a_login_that_is_declined_on_the_way_is_told() -> None:
    known: list[str] = []
    async with talking(members(known)) as talk:
        await chooses(talk)
        await talk.answer("down", "enter")
        await asked(talk, UrlCard)
        await talk.answer("d")
        await talk.until_state("dead")
        await talk.until_shown("Without the page there is no login")


async def test_a_terminal_that_cannot_be_given_away_is_told(tmp_path: Path) -> None:
    agent = [sys.executable, str(EXAMPLES / "login_agent.py"), str(tmp_path / "token")]
    async with talking(agent) as talk:
        await chooses(talk)
        await talk.answer("up", "enter")
        await talk.until_state("dead")
        await talk.until_shown("this terminal cannot be handed over; use `parley")


async def test_hostile_names_of_logins_are_inert() -> None:
    async with talking(members([], name=EVIL)) as talk:
        await chooses(talk)
        assert not set(FORBIDDEN) & set(talk.painted)
        await talk.until_painted("[/etc/passwd]")
        await talk.answer("escape")
        await talk.until_state("dead")
        await talk.until(lambda: "[/etc/passwd]" in talk.painted)
        assert not set(FORBIDDEN) & set(talk.painted)


# Pages


def sender(url: str = PAGE, message: str = "Please log in") -> tuple[Agent, asyncio.Event]:
    """An agent that wants a page opened, and says that all is done when the event is set."""
    agent, done = Agent("sender"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        scope = {"session_id": turn.session.id}
        request = url_request(turn.session.client, message, url, scope)
        adapter = turn.session._state.adapter
        page = asyncio.create_task(send_url_request(adapter, request))
        ended = asyncio.create_task(done.wait())
        await asyncio.wait({page, ended}, return_when=asyncio.FIRST_COMPLETED)
        note = v2.CompleteElicitationNotification(elicitation_id=request.elicitation_id)
        await adapter.notify(methods.COMPLETE_ELICITATION, note)
        ended.cancel()
        await turn.say(f"answer: {type((await page).response).__name__}")

    return agent, done


@pytest.mark.requirement("V1-ELIC-42", "V1-ELIC-43", "V1-ELIC-45")
async def test_a_page_is_shown_whole_with_its_host_and_opened_by_a_key() -> None:
    url = f"https://login.example.org:8443/{'a' * 100}?state=1&end=1"
    opened: list[str] = []
    agent, _ = sender(url)
    async with talking(agent, opener=noting(opened)) as talk:
        await talk.say("go")
        await asked(talk, UrlCard)
        assert url in "".join(line.strip() for line in talk.painted.split("\n"))
        await talk.until_painted("on login.example.org:8443")
        assert opened == []
        await talk.answer("o")
        await talk.until_shown("answer: ElicitationAcceptAction")
        assert opened == [url]


async def test_an_address_that_looks_like_another_one_is_warned_of() -> None:
    agent, _ = sender("http://good.example@xn--pple-43d.example/", "See https://good.example/x.")
    async with talking(agent, size=(80, 30)) as talk:
        await talk.say("go")
        await asked(talk, UrlCard)
        for warning in (
            "on xn--pple-43d.example (\u0430pple.example)",
            "! the part before the @ is not the host",
            "! the host contains letters that may only look like others",
            "! plain http: others can read and change what is sent",
            "! the agent mentions good.example, but the address leads elsewhere",
        ):
            await talk.until_painted(warning)


async def test_an_address_is_copied_and_the_agent_closes_the_question() -> None:
    agent, done = sender()
    async with talking(agent) as talk:
        await talk.say("go")
        await asked(talk, UrlCard)
        await talk.answer("c")
        assert talk.app.clipboard == PAGE
        assert talk.chat.dock.card is not None
        done.set()
        await talk.until_shown("answer: ElicitationAcceptAction")
        await talk.until(lambda: talk.chat.dock.card is None)
        assert talk.shown.count("what that page is for is done") == 1


async def test_an_agent_that_closes_a_question_has_no_consent_by_that() -> None:
    agent, done = sender()
    async with talking(agent) as talk:
        await talk.say("go")
        await asked(talk, UrlCard)
        done.set()
        await talk.until_shown("answer: ElicitationCancelAction")


@pytest.mark.requirement("V1-ELIC-36")
async def test_who_does_not_want_to_wait_for_a_page_leaves_it() -> None:
    agent, _ = sender()
    async with talking(agent) as talk:
        await talk.say("go")
        await asked(talk, UrlCard)
        await talk.answer("escape")
        await talk.until_shown("answer: ElicitationCancelAction")


async def test_a_hostile_page_is_inert() -> None:
    agent, _ = sender(f"https://x.example/{EVIL}", EVIL)
    async with talking(agent, size=(120, 30)) as talk:
        await talk.say("go")
        await asked(talk, UrlCard)
        await talk.until_painted("Refused")
        assert not set(FORBIDDEN) & set(talk.painted)


# Keys that come too early, and letters that are no answer


def asker() -> tuple[Agent, asyncio.Event]:
    """An agent that asks for permission, a form and a page, each when the event is set."""
    agent, ready = Agent("asker"), asyncio.Event()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await ready.wait()
        match turn.text:
            case "permission":
                yes = v2.PermissionOption(option_id="y", name="Yes", kind="allow_once")
                no = v2.PermissionOption(option_id="n", name="No", kind="reject_once")
                await turn.ask_permission("May I?", options=[yes, no])
            case "form":
                await turn.elicit("Who are you?", {"name": v2.StringPropertySchema()})
            case _:
                await turn.elicit_url("Please log in", PAGE)

    return agent, ready


@pytest.mark.parametrize(
    ("what", "kind", "keys"),
    [
        ("permission", PermissionCard, ["y", "n", "1", "enter"]),
        ("form", FormCard, ["d", "ctrl+s", "enter", "d"]),
        ("page", UrlCard, ["o", "a", "d"]),
    ],
)
async def test_keys_that_come_with_a_question_never_answer_it(
    what: str, kind: type[Dialog[Any]], keys: list[str]
) -> None:
    agent, ready = asker()
    async with talking(agent, opener=lambda _: True) as talk:
        await talk.say(what)
        await talk.until_state("running")
        early = [pressed(key, later=0.1) for key in keys]
        ready.set()
        card = await asked(talk, kind)
        for each in early:
            talk.app.post_message(each)
            await talk.pilot.pause()
        assert talk.chat.dock.card is card
        assert not card.is_answered


async def test_a_question_in_another_tab_appears_when_its_tab_does() -> None:
    agent, ready = asker()
    async with talking(agent) as talk:
        await talk.say("permission")
        await talk.until_state("running")
        first = talk.chat
        await talk.press("ctrl+t")
        await talk.until(lambda: len(talk.app.tabs) == 2)
        ready.set()
        await talk.until(lambda: first.dock.card is not None)
        card = first.dock.card
        assert card is not None
        assert not card.counts(pressed("y", later=3600.0).time)  # nobody has seen it
        await talk.press("f7")
        await talk.until(lambda: card.has_focus)
        early = pressed("y", later=0.0)
        await talk.pilot.pause()
        talk.app.post_message(early)
        await talk.pilot.pause()
        assert not card.is_answered
        await talk.answer("n")
        await talk.until(lambda: first.dock.card is None)


async def test_a_form_is_not_declined_by_what_somebody_types() -> None:
    agent, ready = asker()
    ready.set()
    async with talking(agent) as talk:
        await talk.say("form")
        card = await asked(talk, FormCard)
        await talk.answer(*"dad")
        assert not card.is_answered
        await talk.answer("enter")
        answer = await card.answer()
        assert answer == v2.ElicitationAcceptAction(content={"name": "dad"})
