"""An agent asks the user also where no turn runs: while it prepares something, or in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import parley
from parley.agent import Agent, AgentConnection, AgentSession, Login, Turn
from parley.agent._elicitation import handling, request_scope
from parley.client import Connection as ClientConnection
from parley.client import Session as ClientSession
from parley.errors import InvalidParams, LocalProtocolError, RequestError, Unsupported
from parley.schema import v2

FORM = {"name": v2.StringPropertySchema()}
IN_BOTH_VERSIONS = pytest.mark.parametrize("version", [1, 2])


def accepted(response: v2.CreateElicitationResponse) -> Any:
    """Return what was filled in."""
    assert isinstance(response, v2.ElicitationAcceptAction)
    return response.content


class User:
    """Fills in every form, opens every page and allows everything, and keeps what was asked."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.sessions: list[str | None] = []

    def fill_in(self, request: v2.ElicitationFormMode, session: ClientSession | None) -> Any:
        self._keep(request, session)
        return {"name": "Ada"}

    def open_page(self, request: v2.ElicitationUrlMode, session: ClientSession | None) -> str:
        self._keep(request, session)
        return "accept"

    def allow(self, request: v2.RequestPermissionRequest, session: ClientSession) -> str:
        self._keep(request, session)
        return "allow"

    def _keep(self, request: Any, session: ClientSession | None) -> None:
        self.requests.append(request)
        self.sessions.append(None if session is None else session.id)

    def options(self, version: int) -> dict[str, Any]:
        return {
            "elicit": self.fill_in,
            "elicit_url": self.open_page,
            "permission": self.allow,
            "versions": (version,),
        }


def replying_agent() -> Agent:
    """Return an agent that replies to every prompt."""
    agent = Agent("asker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("yes")

    return agent


@IN_BOTH_VERSIONS
@pytest.mark.requirement("V1-ELIC-06", "V1-ELIC-07", "V2-ELIC-03")
async def test_a_form_while_a_session_is_opened_belongs_to_the_request(version: int) -> None:
    agent, user, names = replying_agent(), User(), list[Any]()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        names.append(accepted(await session.elicit("Who are you?", FORM)))
        page = await session.elicit_url("And here?", "https://example.com")
        assert page.is_accepted

    async with parley.connect(agent, **user.options(version)) as client:
        session = await client.new_session()
        assert await session.ask("Hello") == "yes"
        await session.close()
        await client.resume_session(session.id)
    assert names == [{"name": "Ada"}] * 2
    assert user.sessions == [None] * 4
    assert [each.session_id for each in user.requests] == [None] * 4
    first, page, again, _ = [each.request_id for each in user.requests]
    assert first == page
    assert first != again


def ask_to_log_out(agent: Agent, ask: Callable[[AgentConnection], Awaitable[None]]) -> None:
    @agent.logout
    async def log_out(connection: AgentConnection) -> None:
        await ask(connection)

    @agent.login("form", name="With a form")
    async def log_in(login: Login) -> None: ...


def ask_to_set_a_provider(agent: Agent, ask: Callable[[AgentConnection], Awaitable[None]]) -> None:
    @agent.list_providers
    async def providers(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return [v2.ProviderInfo(provider_id="main", supported=["openai"], required=False)]

    @agent.set_provider
    async def change(request: v2.SetProviderRequest, connection: AgentConnection) -> None:
        await ask(connection)

    @agent.disable_provider
    async def disable(provider_id: str, connection: AgentConnection) -> None:
        await ask(connection)


def ask_in_a_request(agent: Agent, ask: Callable[[AgentConnection], Awaitable[None]]) -> None:
    @agent.request("_example.com/ask")
    async def respond(params: Any, connection: AgentConnection) -> None:
        await ask(connection)


SET_MAIN = v2.SetProviderRequest(
    provider_id="main", api_type="openai", base_url="https://example.com"
)
REQUESTS: dict[str, tuple[Any, Callable[[ClientConnection], Awaitable[Any]]]] = {
    "logout": (ask_to_log_out, lambda client: client.logout()),
    "set": (ask_to_set_a_provider, lambda client: client.set_provider(SET_MAIN)),
    "disable": (ask_to_set_a_provider, lambda client: client.disable_provider("main")),
    "own": (ask_in_a_request, lambda client: client.request("_example.com/ask", {})),
}


@IN_BOTH_VERSIONS
@pytest.mark.parametrize("request_name", REQUESTS)
async def test_a_form_in_another_request_belongs_to_that(request_name: str, version: int) -> None:
    prepare, send = REQUESTS[request_name]
    agent, user = replying_agent(), User()

    async def ask(connection: AgentConnection) -> None:
        assert accepted(await connection.elicit("Who are you?", FORM)) == {"name": "Ada"}
        page = await connection.elicit_url("And here?", "https://example.com")
        await page.complete()

    prepare(agent, ask)
    async with parley.connect(agent, **user.options(version)) as client:
        await send(client)
    form, page = user.requests
    assert form.request_id == page.request_id
    assert form.request_id is not None
    assert user.sessions == [None, None]


async def test_a_question_of_a_request_that_was_answered_is_refused_here() -> None:
    agent, user, errors = replying_agent(), User(), asyncio.Queue[Exception]()
    tasks: list[asyncio.Task[None]] = []
    has_response = asyncio.Event()

    async def ask_late(connection: AgentConnection) -> None:
        await has_response.wait()
        try:
            await connection.elicit("Who are you?", FORM)
        except LocalProtocolError as error:
            errors.put_nowait(error)

    @agent.request("_example.com/ask")
    async def respond(params: Any, connection: AgentConnection) -> None:
        tasks.append(asyncio.create_task(ask_late(connection)))

    async with parley.connect(agent, **user.options(2)) as client:
        await client.request("_example.com/ask", {})
        has_response.set()
        assert "no request from this client is being handled" in str(await errors.get())
    assert user.requests == []


@IN_BOTH_VERSIONS
async def test_a_turn_does_not_ask_for_the_request_that_began_it(version: int) -> None:
    agent, user = Agent("asker"), User()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        with pytest.raises(LocalProtocolError, match=r"turn\.elicit"):
            await turn.session.connection.elicit("Who are you?", FORM)
        await turn.say("asked nothing")

    async with parley.connect(agent, **user.options(version)) as client:
        assert await (await client.new_session()).ask("Hello") == "asked nothing"
    assert user.requests == []


@IN_BOTH_VERSIONS
async def test_a_session_asks_outside_of_its_turns(version: int) -> None:
    agent, user, opened = replying_agent(), User(), list[AgentSession]()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        opened.append(session)

    async with parley.connect(agent, **user.options(version)) as client:
        session = await client.new_session()
        (asking,) = opened
        assert await asking.ask_permission("May I?", command="make") == "allow"
        assert accepted(await asking.elicit("Who are you?", FORM)) == {"name": "Ada"}
        assert (await asking.elicit_url("And here?", "https://example.com")).is_accepted
        assert session.transcript.state == "idle"
        assert await session.ask("Hello") == "yes"
        await asking.ask_permission("And now?")
    assert user.sessions == [session.id] * 4


async def test_a_question_in_between_does_not_hide_that_a_turn_waits() -> None:
    agent, states = Agent("asker"), list[str]()
    is_asked, may_respond, opened = asyncio.Event(), asyncio.Event(), list[AgentSession]()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        opened.append(session)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.ask_permission("In the turn")

    async def allow(request: v2.RequestPermissionRequest, session: ClientSession) -> str:
        if request.title == "In between":
            is_asked.set()
            await may_respond.wait()
        states.append(session.transcript.state)
        return "allow"

    async with parley.connect(agent, permission=allow, versions=(2,)) as client:
        session = await client.new_session()
        between = asyncio.create_task(opened[0].ask_permission("In between"))
        await is_asked.wait()
        await session.prompt("Hello")
        assert states == ["requires_action"]
        may_respond.set()
        assert await between == "allow"
        assert session.transcript.state == "idle"


@IN_BOTH_VERSIONS
async def test_a_permission_for_a_session_nobody_knows_is_refused_here(version: int) -> None:
    agent, user = replying_agent(), User()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        with pytest.raises(LocalProtocolError, match="still being opened"):
            await session.ask_permission("May I?")

    async with parley.connect(agent, **user.options(version)) as client:
        await client.new_session()
    assert user.requests == []


def test_no_question_belongs_to_a_request_with_the_id_null() -> None:
    with handling(connection := object(), None), pytest.raises(Unsupported, match="id null"):
        request_scope(connection)


WRONG_FORMS: dict[str, tuple[Any, str]] = {
    "string": ({"size": "string"}, "'size' must be a field such as v2.StringPropertySchema(), not"),
    "dict": ({"size": {"type": "string"}}, "'size' must be a field such as"),
    "class": ({"size": v2.StringPropertySchema}, "'size' must be a field such as"),
    "name": ({5: v2.StringPropertySchema()}, "the name of a form field must be a string, not int"),
    "list": (["size"], "a form must be a dict of fields or a v2.ElicitationSchema, not list"),
    "enum": ({"size": v2.StringPropertySchema(enum="SML")}, "'size' cannot be used"),  # type: ignore[arg-type]
    "none": ({"size": v2.StringPropertySchema(enum=[])}, "'size' cannot be used"),
    "title": ({"size": v2.BooleanPropertySchema(title=5)}, "'size': title has a value of the"),  # type: ignore[arg-type]
    "schema": (
        v2.ElicitationSchema(type="object", properties={"size": "string"}),  # type: ignore[dict-item]
        "'size' must be a field such as",
    ),
}


@pytest.mark.parametrize("name", WRONG_FORMS)
async def test_a_form_that_cannot_be_sent_is_a_type_error_that_names_the_field(name: str) -> None:
    form, problem = WRONG_FORMS[name]
    agent, user, errors = Agent("asker"), User(), list[str]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            await turn.elicit("What shall it be?", form)
        except TypeError as error:
            errors.append(str(error))
        await turn.say("The turn goes on.")

    async with parley.connect(agent, **user.options(2)) as client:
        assert await (await client.new_session()).ask("Hello") == "The turn goes on."
    assert problem in errors[0]
    assert user.requests == []


WRONG_QUESTIONS: dict[str, tuple[Callable[[Any], Awaitable[Any]], str]] = {
    "message": (
        lambda turn: turn.elicit(5, FORM),
        "the message of a form must be a string, not int",
    ),
    "url": (
        lambda turn: turn.elicit_url("Look", None),
        "the URL of a page must be a string, not None",
    ),
    "page": (
        lambda turn: turn.elicit_url(None, "https://x.y"),
        "the message of a page must be a string",
    ),
    "options": (lambda turn: turn.ask_permission(options=["allow"]), "ask_permission takes a"),
}


@pytest.mark.parametrize("name", WRONG_QUESTIONS)
async def test_a_question_of_the_wrong_type_is_refused_here(name: str) -> None:
    call, problem = WRONG_QUESTIONS[name]
    agent, user, errors = Agent("asker"), User(), list[str]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            await call(turn)
        except TypeError as error:
            errors.append(str(error))

    async with parley.connect(agent, **user.options(2)) as client:
        await (await client.new_session()).prompt("Hello")
    assert errors[0].startswith(problem)
    assert user.requests == []


async def test_a_client_without_forms_is_not_asked_during_setup() -> None:
    agent = replying_agent()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        with pytest.raises(Unsupported):
            await session.elicit("Who are you?", FORM)
        raise InvalidParams("Say who you are in _meta")

    async with parley.connect(agent) as client:
        with pytest.raises(RequestError, match="Say who you are"):
            await client.new_session()
