"""Config options that a program declares with Python values, and the checks of their values."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from parley.agent import Agent, AgentFeatures, AgentSession, Turn
from parley.errors import InvalidParams, LocalProtocolError
from parley.schema import v2
from parley.schema.v2 import methods
from parley.testing import pair

from .agent_clients import Client, connected_client, counting_agent, texts

VERSIONS = pytest.mark.parametrize("version", [1, 2])
CHOICE = v2.SessionConfigSelectOption


async def set_option(client: Client, session: str, id: str, value: str | bool) -> Any:
    params: v2.SetSessionConfigOptionRequest
    if isinstance(value, bool):
        params = v2.SetSessionConfigBooleanRequest(session_id=session, config_id=id, value=value)
    else:
        params = v2.SetSessionConfigValueRequest(session_id=session, config_id=id, value=value)
    response = await client.request(methods.SET_SESSION_CONFIG_OPTION, params)
    return {each.config_id: each.current_value for each in response.config_options}  # type: ignore[union-attr]


async def test_options_from_python_values_are_in_the_response_that_opens_a_session() -> None:
    agent = counting_agent()
    agent.option("model", ["fast", "good"], category="model")
    agent.option("thought_level", {"low": "Low", "high": "High"}, default="high", description="D")
    agent.option("verbose", bool, title="Say more", default=True)
    async with connected_client(agent) as client:
        params = v2.NewSessionRequest(cwd="/project")
        opened = await client.request(methods.NEW_SESSION, params)
    assert opened.config_options == [
        v2.SessionConfigSelect(
            config_id="model",
            name="Model",
            category="model",
            current_value="fast",
            options=[CHOICE(value="fast", name="fast"), CHOICE(value="good", name="good")],
        ),
        v2.SessionConfigSelect(
            config_id="thought_level",
            name="Thought level",
            description="D",
            current_value="high",
            options=[CHOICE(value="low", name="Low"), CHOICE(value="high", name="High")],
        ),
        v2.SessionConfigBoolean(config_id="verbose", name="Say more", current_value=True),
    ]


@VERSIONS
async def test_a_turn_reads_the_value_that_the_user_has_set(version: int) -> None:
    agent = Agent("x")
    model = agent.option("model", ["fast", "good"])
    verbose = agent.option("verbose", bool)
    assert (model.id, model.default, verbose.default) == ("model", "fast", False)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        assert turn.option("model") == turn.option(model)
        assert turn.session.option(verbose) is False
        await turn.say(turn.option(model).upper())

    async with pair(agent, versions=(version,)) as client:
        session = await client.new_session()
        assert await session.ask("Hello") == "FAST"
        await session.set_config_option("model", "good")
        assert await session.ask("Hello") == "GOOD"


async def test_a_hook_runs_for_changes_of_its_option_and_its_error_restores_the_value() -> None:
    agent, changes = counting_agent(), list[tuple[str, str | bool]]()
    model = agent.option("model", ["fast", "good", "broken"])
    agent.option("loud", bool)

    @model.on_change
    async def load(session: AgentSession, value: str) -> None:
        assert session.option(model) == value
        if value == "broken":
            raise InvalidParams("It is broken")
        changes.append(("model", value))

    @agent.set_config_option
    async def note(session: AgentSession, config_id: str, value: str | bool) -> None:
        changes.append((f"any {config_id}", value))

    async with connected_client(agent) as client:
        session = await client.new()
        with pytest.raises(InvalidParams, match="It is broken"):
            await set_option(client, session, "model", "broken")
        with pytest.raises(InvalidParams, match="use one of broken, fast, good"):
            await set_option(client, session, "model", "best")
        assert await set_option(client, session, "model", "good") == {
            "model": "good",
            "loud": False,
        }
        await set_option(client, session, "model", "good")
        await set_option(client, session, "loud", True)
    assert changes == [
        ("model", "good"),
        ("any model", "good"),
        ("any model", "good"),
        ("any loud", True),
    ]


@pytest.mark.parametrize("how", ["resumed", "forked"])
async def test_a_session_keeps_its_values_where_the_option_still_has_them(
    how: Literal["resumed", "forked"],
) -> None:
    agent = counting_agent()
    agent.option("model", ["fast", "good"])
    agent.option("tone", ["polite", "curt"])
    agent.option("loud", ["no", "yes"])
    async with pair(agent) as client:
        session = await client.new_session()
        for id, value in (("model", "good"), ("tone", "curt"), ("loud", "yes")):
            await session.set_config_option(id, value)
    later = counting_agent(AgentFeatures(fork=True), store=agent.store)
    later.option("model", ["fast", "good", "better"])
    later.option("tone", ["polite", "kind"])
    later.option("loud", bool)
    async with pair(later) as client:
        if how == "resumed":
            opened = await client.resume_session(session.id)
        else:
            opened = await client.fork_session(session.id)
        values = {
            each.config_id: each.current_value for each in known(opened.transcript.config_options)
        }
    assert values == {"model": "good", "tone": "polite", "loud": False}


def known(options: Any) -> list[v2.SessionConfigSelect | v2.SessionConfigBoolean]:
    return list(options)


async def test_options_that_only_one_session_has_stay_when_it_is_resumed() -> None:
    agent = counting_agent()
    agent.option("model", ["fast", "good"])
    quiet = v2.SessionConfigBoolean(config_id="quiet", name="Quiet", current_value=True)

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if session.origin == "new":
            await session.set_config_options([*session.config_options, quiet])

    async with connected_client(agent) as client:
        session = await client.new()
        await client.close(session)
        options = (await client.resume(session)).config_options
        assert [each.config_id for each in known(options)] == ["model", "quiet"]


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        ((5, bool), TypeError, "the id of an option must be a string, not int"),
        (("x", "fast"), TypeError, "the option 'x' takes a list of strings, or bool, not str"),
        (("x", int), TypeError, "the option 'x' takes a list of strings, or bool, not type"),
        (("x", [1]), TypeError, "the option 'x' takes a list of strings, or bool, not of int"),
        (("x", {"a": 1}), TypeError, "the option 'x': a label must be a string, not int"),
        (("x", ()), ValueError, "the option 'x' needs at least one value"),
        (("x", ["a", "a"]), ValueError, "the option 'x' has a value twice: a, a"),
    ],
)
def test_values_that_no_option_could_have_are_refused(
    arguments: Any, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=f"^{problem}$"):
        Agent("x").option(*arguments)


@pytest.mark.parametrize(
    ("values", "more", "error", "problem"),
    [
        (["a"], {"default": "b"}, ValueError, "the option 'x': default= must be one of a, not 'b'"),
        (["a"], {"default": 1}, TypeError, "the option 'x': default= must be a string, not int"),
        (bool, {"default": "a"}, TypeError, "the option 'x': default= must be True or False"),
        (bool, {"title": 5}, TypeError, "title= must be a string, not int"),
        (bool, {"category": 5}, TypeError, "category= must be a string, not int"),
    ],
)
def test_a_wrong_argument_of_an_option_is_refused_by_name(
    values: Any, more: Any, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=f"^{problem}"):
        Agent("x").option("x", values, **more)


def test_an_option_is_declared_once_and_has_one_hook() -> None:
    agent = Agent("x")
    loud = agent.option("loud", bool)
    with pytest.raises(LocalProtocolError, match="already has an option 'loud'"):
        agent.option("loud", bool)

    async def change(session: AgentSession, value: bool) -> None: ...

    assert loud.on_change(change) is change
    with pytest.raises(LocalProtocolError, match="'loud' already has a hook"):
        loud.on_change(change)
    with pytest.raises(TypeError, match=r"calls its function as <lambda>\(session, value\)|async"):
        loud.on_change(lambda: None)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        (
            [("model", "best")],
            ValueError,
            "the option 'model': current_value= must be one of fast, not 'best'",
        ),
        ([("model", True)], TypeError, "current_value= must be a string, not bool"),
        ([("loud", "yes")], TypeError, "current_value= must be True or False, not str"),
        (
            [("model", "fast"), ("model", "fast")],
            ValueError,
            "there are two options with the id 'model'",
        ),
    ],
)
async def test_a_current_value_that_the_option_does_not_have_is_refused_where_it_is_given(
    options: list[tuple[str, Any]], error: type[Exception], problem: str
) -> None:
    agent = Agent("x")

    def option(id: str, value: Any) -> v2.SessionConfigOption:
        if id == "loud":
            return v2.SessionConfigBoolean(config_id=id, name=id, current_value=value)
        choices = [CHOICE(value="fast", name="Fast")]
        return v2.SessionConfigSelect(config_id=id, name=id, current_value=value, options=choices)

    @agent.prompt
    async def reply(turn: Turn) -> None:
        with pytest.raises(error, match=problem):
            await turn.session.set_config_options([option(*each) for each in options])
        await turn.say("refused")

    async with connected_client(agent) as client:
        assert texts(await client.turn(await client.new())) == ["refused"]
