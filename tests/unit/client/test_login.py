from __future__ import annotations

import asyncio
from typing import Any

import pytest

from parley.errors import AuthRequired, InvalidParams, LocalProtocolError
from parley.schema import v2

from .scripted_agent import Message, ScriptedAgent, connected

METHODS: Message = {
    "authMethods": [
        {"type": "agent", "methodId": "web", "name": "In the browser"},
        {"type": "terminal", "methodId": "tty", "name": "In a terminal", "args": ["login"]},
        {"type": "_card", "slot": 1},
    ]
}


async def refuse_once(remote: ScriptedAgent) -> None:
    remote.refuse(await remote.take("session/new"), -32000, "Authentication required", {"why": 1})


async def test_a_session_is_tried_once_more_after_the_login_that_was_chosen() -> None:
    offered: list[str] = []

    def login(methods: list[v2.AuthMethod]) -> v2.AuthMethod:
        offered.extend(type(each).__name__ for each in methods)
        return methods[0]

    async with connected(METHODS, login=login) as (connection, remote):
        opening = asyncio.create_task(connection.new_session())
        await refuse_once(remote)
        request = await remote.take("auth/login")
        assert request["params"] == {"methodId": "web"}
        remote.respond(request, {})
        await remote.open()
        assert (await opening).id == "s"
        assert offered == ["AuthMethodAgent", "AuthMethodTerminal", "Unknown"]


async def test_an_agent_that_still_wants_a_login_is_not_asked_forever() -> None:
    async def login(_: list[v2.AuthMethod]) -> str:
        return "web"

    async with connected(METHODS, login=login) as (connection, remote):
        opening = asyncio.create_task(connection.new_session())
        await refuse_once(remote)
        remote.respond(await remote.take("auth/login"), {})
        await refuse_once(remote)
        with pytest.raises(AuthRequired):
            await opening
        await remote.is_read()


def give_up(_: list[v2.AuthMethod]) -> None:
    """Choose no login."""


@pytest.mark.parametrize("login", [None, give_up])
async def test_without_a_choice_the_error_lists_the_ways(login: Any) -> None:
    async with connected(METHODS, login=login, name="painter") as (connection, remote):
        opening = asyncio.create_task(connection.new_session())
        await refuse_once(remote)
        with pytest.raises(AuthRequired, match="required; painter offers these logins: ") as raised:
            await opening
        assert "'web' (In the browser)" in raised.value.message
        assert raised.value.data == {"why": 1}
        await remote.is_read()


@pytest.mark.requirement("V2-AUTH-08")
async def test_a_login_that_is_none_for_us_is_not_sent() -> None:
    async with connected(METHODS) as (connection, remote):
        with pytest.raises(LocalProtocolError, match=r"in a terminal\. Run .* with login"):
            await connection.login("tty")
        with pytest.raises(
            LocalProtocolError,
            match="there is no login method 'card'; the agent offers these logins: 'web'",
        ):
            await connection.login("card")
        await remote.is_read()


async def test_logging_in_and_out() -> None:
    async with connected(METHODS) as (connection, remote):
        doing = asyncio.create_task(connection.login("web"))
        remote.respond(await remote.take("auth/login"), {})
        await doing
        doing = asyncio.create_task(connection.logout())
        remote.respond(await remote.take("auth/logout"), {})
        await doing
        doing = asyncio.create_task(connection.login("web"))
        remote.refuse(await remote.take("auth/login"), -32602, "Expired")
        with pytest.raises(InvalidParams):
            await doing


@pytest.mark.requirement("V2-AUTH-17")
async def test_a_prompt_after_the_logout_says_that_a_login_is_needed() -> None:
    async with connected(METHODS) as (connection, remote):
        opening = asyncio.create_task(connection.new_session())
        await remote.open()
        asking = asyncio.create_task((await opening).ask("Hi."))
        remote.refuse(await remote.take("session/prompt"), -32000, "Authentication required")
        with pytest.raises(AuthRequired):
            await asking
