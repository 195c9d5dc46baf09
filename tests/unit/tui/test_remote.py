"""The chat with an agent that is elsewhere: it is away, is back, or stays away."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from tests.unit.transport.http.proxy import Proxy
from tests.unit.tui.running_app import Talk, talking

from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access
from parley.transport.http._app.limits import AppLimits
from parley.transport.http._app.serving import serve

both = pytest.mark.parametrize("scheme", ["http", "ws"])


@asynccontextmanager
async def far(scheme: str, grace: float = 60.0) -> AsyncGenerator[tuple[Talk, Proxy]]:
    """Chat with an agent behind a network that can be cut."""
    limits = AppLimits(grace=grace)
    async with (
        serve(demo_agent(), "127.0.0.1:0", access=Access(), limits=limits) as serving,
        Proxy(serving.addresses[0][1]) as proxy,
        talking(f"{scheme}://127.0.0.1:{proxy.port}/acp") as talk,
    ):
        await talk.until_state("idle")
        yield talk, proxy


@both
async def test_an_agent_that_is_away_and_back_is_shown_and_nothing_is_lost(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.tui.chat._BACK_FOR", 3600.0)  # it is still there when we look
    async with far(scheme) as (talk, proxy):
        proxy.go_down()
        await talk.until(lambda: "Connection lost, reconnecting." in talk.status)
        await talk.say("Hello")
        await talk.until_state("running")
        proxy.come_back()
        await talk.until(lambda: "is back" in talk.status)
        assert "away" not in talk.status
        await talk.until_shown("echo: Hello")
        await talk.until_state("idle")


@both
async def test_an_agent_that_stays_away_is_connected_to_again(scheme: str) -> None:
    async with far(scheme, grace=1.0) as (talk, proxy):
        await talk.say("Hello")
        await talk.until_shown("echo: Hello")
        await talk.until_state("idle")
        proxy.go_down()
        await talk.until_state("dead")
        await talk.until(lambda: "Disconnected. Press F5 to reconnect." in talk.status)
        await talk.until_shown("has been unreachable for 1 seconds")
        assert talk.shown.count("has been unreachable for 1 seconds") == 1
        await talk.until_painted("Press F5 or Enter to reconnect")
        proxy.come_back()
        await talk.press("f5")
        await talk.until_state("idle")
        await talk.until_shown("is there again, and the session is resumed")
        await talk.say("Still there?")
        await talk.until_shown("echo: Still there?")
        assert "is back" not in talk.status


async def test_an_agent_that_is_gone_for_good_is_never_said_to_be_back() -> None:
    """The end is reported before the conversation has ended, and the screen may be painted then."""
    async with talking() as talk:
        await talk.until_state("idle")
        for state in ("away", "gone"):
            talk.chat.conversation.remote_changed(state, "the network is cut")
            talk.chat.tick()
            assert "Connection lost, reconnecting." in talk.status
            assert "is back" not in talk.status


async def test_a_server_that_is_not_there_is_tried_again() -> None:
    async with talking("http://127.0.0.1:9/acp") as talk:
        await talk.until_state("dead")
        await talk.until_shown("connection refused")
        await talk.until(lambda: "cannot be reached. Press F5" in talk.painted)
