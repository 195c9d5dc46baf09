"""Suggestions over the network: sessions of theirs are sessions of the transport's, too."""

from __future__ import annotations

import pytest

from parley import connect
from parley.client import Remote
from parley.gateway import Access, serve
from parley.schema import v2
from parley.schema.v2 import methods

from .test_serving import ask, edit, open_text, proposing, start

TOKEN = "a-token-of-more-than-thirty-two-characters"


@pytest.mark.parametrize("scheme", ["http", "ws"])
@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_on_the_network_suggests(scheme: str, version: int) -> None:
    agent, _ = proposing(edit((0, 0), (0, 0), "x"))
    async with serve(agent, "127.0.0.1:0", access=Access({TOKEN: "ann"})) as serving:
        url = serving.url.replace("http", scheme, 1)
        async with connect(url, remote=Remote(token=TOKEN), versions=(version,)) as client:
            session = await start(client.adapter)
            await open_text(client.adapter, session, "text")
            assert len(await ask(client.adapter, session)) == 1
            ending = v2.CloseNesRequest(session_id=session)
            await client.adapter.request(methods.CLOSE_NES, ending)
