"""The versions of the protocol in which an agent is spoken to, where they are configured."""

from __future__ import annotations

import pytest

from parley.config import config_path
from parley.errors import InternalError, InvalidParams
from parley.gateway.config import AgentSettings, Settings
from parley.gateway.owners import MemoryOwners
from parley.gateway.service import open_service

from .agent_hosts import (
    DEMO,
    INITIALIZE_PARAMS,
    INITIALIZE_RESULT,
    client,
    open_host,
    open_raw_host,
    raw_client,
)

NEWER = {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "_meta": {"kept": [1.0]}}


@pytest.mark.parametrize("is_shared", [False, True])
async def test_a_newer_client_speaks_the_version_that_is_configured(is_shared: bool) -> None:
    async with (
        open_host(DEMO, versions=(1,), is_shared=is_shared) as host,
        client(host) as new,
        client(host, versions=(1,)) as old,
    ):
        assert (new.version, old.version) == (1, 1)
        for each in (new, old):
            assert await (await each.new_session()).ask("hello") == "echo: hello"
    async with open_host(versions=(1, 2)) as host, client(host) as new:
        assert new.version == 2


async def test_an_older_client_is_told_and_nothing_is_started() -> None:
    async with open_host(DEMO, versions=(2,)) as host:
        with pytest.raises(InvalidParams, match="served in version 2 of the protocol only"):
            async with client(host, versions=(1,)):
                pass
        assert host.process_count == 0
        async with client(host) as new:
            assert new.version == 2


async def test_only_the_number_is_changed_also_when_a_client_tries_again() -> None:
    async with open_raw_host(versions=(1,)) as (host, agent):
        end, serving = raw_client(host)
        end.send(id="try", method="initialize", params=NEWER)
        asked = await agent.take("initialize")
        assert asked["params"] == {**NEWER, "protocolVersion": 1}
        agent.send(id=asked["id"], error={"code": -32603, "message": "not yet"})
        assert (await end.take())["error"]["message"] == "not yet"
        end.send(id="again", method="initialize", params=NEWER)
        asked = await agent.take("initialize")
        assert asked["params"] == {**NEWER, "protocolVersion": 1}
        agent.answer(asked, INITIALIZE_RESULT)
        assert await end.take() == {"jsonrpc": "2.0", "id": "again", "result": INITIALIZE_RESULT}
        await end.transport.aclose()
        await serving


async def test_an_older_client_that_tries_again_is_refused_again() -> None:
    async with open_raw_host(versions=(2,)) as (host, agent):
        end, serving = raw_client(host)
        assert (await end.ask(1, "initialize", INITIALIZE_PARAMS))["error"]["code"] == -32602
        end.send(id=2, method="initialize", params={})  # which the agent refuses
        asked = await agent.take("initialize")
        agent.send(id=asked["id"], error={"code": -32602, "message": "Which version?"})
        await end.take()
        assert (await end.ask(3, "initialize", INITIALIZE_PARAMS))["error"]["code"] == -32602
        assert await agent.is_silent()
        await end.transport.aclose()
        await serving


@pytest.mark.parametrize(
    "answer", [{**INITIALIZE_RESULT, "protocolVersion": 2, "info": {}}, {"odd": 1}]
)
async def test_an_agent_that_answers_in_another_version_is_not_passed_on(answer: object) -> None:
    async with open_raw_host(versions=(1,), is_shared=True) as (host, agent):
        (one, first), (other, second) = raw_client(host), raw_client(host)
        for end in (one, other):
            end.send(id=1, method="initialize", params=INITIALIZE_PARAMS)
        agent.answer(await agent.take("initialize"), answer)
        for end in (one, other):
            assert (await end.take())["error"]["code"] == InternalError.code
            await end.transport.aclose()
        await first
        await second
        assert host.start_error


async def test_what_the_configuration_says_about_an_agent_holds_in_a_gateway() -> None:
    config_path().parent.mkdir(parents=True)
    command = f"command = {DEMO!r}\n".replace("'", '"')
    config_path().write_text(f"[agents.old]\n{command}protocol = 1\n")
    agents = [
        AgentSettings(name="old", target="old"),
        AgentSettings(name="again", target="old", protocol=2),
        AgentSettings(name="any", target=DEMO),
    ]
    settings = Settings(http="127.0.0.1:0", agents=agents, has_token=False)
    async with open_service(settings, on_event=lambda _: None, owners=MemoryOwners()) as service:
        assert [list(each.versions) for each in service.gateway] == [[1], [2], []]
