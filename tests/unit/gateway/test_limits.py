"""Every limit of a gateway: told in one place with its default, the same wherever it counts."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from parley.asgi_server.limits import ServerLimits
from parley.asgi_server.server import Server
from parley.client import Remote, connect
from parley.errors import Overloaded
from parley.gateway import AgentHost, Gateway, HostLimits
from parley.gateway.app import GatewayApp
from parley.gateway.limits import LIMITS, GatewayLimits, read_limits
from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access
from parley.transport.http._app.limits import AppLimits

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "remote.md"
UNITS = {"KiB": 1024, "MiB": 1024**2}


def defaults() -> dict[str, set[float]]:
    """Return the default of each limit, in each part that has it."""
    found: dict[str, set[float]] = {name: set() for name in LIMITS}
    for name in AppLimits.__struct_fields__:
        found["message_bytes" if name == "body_bytes" else name].add(getattr(AppLimits(), name))
    for name in HostLimits.__struct_fields__:
        found[name].add(getattr(HostLimits(), name))
    for each in fields(ServerLimits):
        if each.name != "body_bytes":
            shown = "sockets" if each.name == "connections" else each.name
            found[shown].add(getattr(ServerLimits(), each.name))
    return found


def told(page: str) -> dict[str, float]:
    """Return what the table of a page says about the defaults."""
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|[^|]*\|$", page.partition("## Limits")[2], re.M)
    found: dict[str, float] = {}
    for names, values in rows:
        parts: list[tuple[str, str]] = re.findall(r"([0-9.,]*[0-9])(?: (KiB|MiB))?", values)
        keys: list[str] = re.findall(r"`(\w+)`", names)
        assert len(keys) == len(parts), (names, values)
        for key, (number, unit) in zip(keys, parts, strict=True):
            found[key] = float(number.replace(",", "")) * UNITS.get(unit, 1)
    return found


def test_a_limit_that_several_parts_have_is_the_same_in_each() -> None:
    assert {name: found for name, found in defaults().items() if len(found) != 1} == {}


def test_the_page_tells_every_limit_with_its_default() -> None:
    page = PAGE.read_text()
    assert told(page) == {name: float(*found) for name, found in defaults().items()}


def test_the_defaults_have_room_for_what_is_promised() -> None:
    bounds = GatewayLimits()
    assert bounds.app.connections_per_principal >= 1_000
    assert bounds.app.sessions_per_principal >= 10_000
    assert bounds.app.connections_per_principal < bounds.app.connections < bounds.server.connections


def test_one_name_sets_every_part_that_has_it() -> None:
    bounds = read_limits({"in_flight": 7, "message_bytes": 8}, "limits")
    assert (bounds.app.in_flight, bounds.host.in_flight) == (7, 7)
    assert (bounds.app.body_bytes, bounds.server.message_bytes) == (8, 8)


@pytest.mark.requirement("SAFE-IN-08")
@pytest.mark.parametrize("one", ["http", "ws"])
@pytest.mark.parametrize("other", ["http", "ws"])
async def test_sessions_of_a_principal_are_counted_whichever_way_it_comes(
    one: str, other: str
) -> None:
    gateway = Gateway([AgentHost("demo", demo_agent())])
    limits = AppLimits(sessions_per_principal=2)
    app = GatewayApp(gateway, access=Access({"a": "ann", "b": "bob"}), limits=limits)
    async with Server(app) as server:
        place = "{}:{}/acp".format(*server.addresses[0])
        async with (
            connect(f"{one}://{place}", "/", remote=Remote(token="a")) as first,
            connect(f"{other}://{place}", "/", remote=Remote(token="a")) as second,
            connect(f"{other}://{place}", "/", remote=Remote(token="b")) as bob,
        ):
            session = await first.new_session()
            await second.new_session()
            for each in (first, second):
                with pytest.raises(Overloaded, match="limit of 2 open sessions"):
                    await each.new_session()
            await bob.new_session()
            await session.close()
        await app.aclose()
        await gateway.aclose()
