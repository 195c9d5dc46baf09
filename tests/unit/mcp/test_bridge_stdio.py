"""The port of the bridge to which the programs connect that an agent starts."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
import pytest
from msgspec import Raw

from parley.mcp import _bridge_stdio, _shim
from parley.mcp._bridge import Bridge
from parley.schema import v2


class Talkative:
    """A provider that answers everything with much."""

    def __init__(self) -> None:
        self.asked = 0
        self.has_begun = asyncio.Event()

    async def request(self, method: str, params: Raw) -> Raw:
        self.asked += 1
        if self.asked > 5:
            self.has_begun.set()
        return Raw(msgspec.json.encode({"result": {"text": "x" * 1_000_000}}))

    async def notify(self, method: str, params: Raw) -> None:
        pass


async def _reach(bridge: Bridge) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, bytes]:
    declared = await bridge.declare(v2.McpServerAcp(name="n", server_id="s"))
    assert isinstance(declared, v2.McpServerStdio)
    env = {each.name: each.value for each in declared.env}
    host, _, port = env[_shim.ADDRESS].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=2**24)
    return reader, writer, env[_shim.TOKEN].encode()


async def test_who_does_not_come_to_the_end_of_a_token_is_hung_up_on_at_once() -> None:
    bridge = Bridge(Talkative(), reach="stdio", version=1)
    reader, writer, _ = await _reach(bridge)
    writer.write(b"x" * 100_000)
    async with asyncio.timeout(300):
        with suppress(ConnectionError):  # what it did not read is lost
            assert await reader.read() == b""
    writer.close()
    await bridge.aclose()


async def test_an_mcp_client_that_does_not_read_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_bridge_stdio, "MAX_WAITING", 5)
    provider = Talkative()
    bridge = Bridge(provider, reach="stdio", version=1)
    reader, writer, token = await _reach(bridge)
    asked = [b'{"jsonrpc":"2.0","id":%d,"method":"x","params":{}}' % n for n in range(200)]
    writer.write(b"\n".join([token, *asked, b""]))
    await provider.has_begun.wait()
    for _ in range(1000):
        await asyncio.sleep(0)
    assert provider.asked < 100
    heard = [msgspec.json.decode(await reader.readline())["id"] for _ in asked]
    assert sorted(heard) == list(range(200)), "no answer is lost"
    writer.close()
    await bridge.aclose()
