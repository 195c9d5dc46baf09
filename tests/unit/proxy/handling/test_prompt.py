"""A prompt of a proxy's own, and the client's in the same session."""

from __future__ import annotations

import pytest
from tests.unit.proxy.proxied_pair import (
    chunk,
    notification,
    proxied_pair,
    request,
    result,
    text_of,
)

from parley.proxy import Proxy, Request

VERSIONS = pytest.mark.parametrize("version", [1, 2])


@VERSIONS
async def test_a_proxy_does_not_prompt_while_the_agent_works_for_the_client(version: int) -> None:
    proxy = Proxy("meddler")

    @proxy.from_client("_ask")
    async def ask(call: Request) -> object:
        call.unblock()
        return {"said": await call.connection.ask("s", "And?")}

    talk = await proxied_pair(proxy, version)
    talk.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    asked = await talk.agent.hear()
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    ended = notification("session/update", {"sessionId": "s", "update": idle})
    if version == 2:
        talk.agent.say(result(asked["id"], {"messageId": "u"}))
        await talk.client.hear()
    talk.client.say(request(2, "_ask", {}))
    refused = await talk.client.hear()
    assert (refused["id"], refused["error"]["code"]) == (2, -32600)
    assert "prompt of the client" in refused["error"]["message"]
    talk.agent.say(chunk("for you"))
    assert text_of(await talk.client.hear()) == "for you"
    talk.agent.say(ended if version == 2 else result(asked["id"], {"stopReason": "end_turn"}))
    await talk.client.hear()
    talk.client.say(request(3, "_ask", {}))
    own = await talk.agent.hear()
    assert own["params"]["prompt"] == [{"type": "text", "text": "And?"}]
    talk.agent.say(chunk("no"), result(own["id"], {"stopReason": "end_turn", "messageId": "u"}))
    if version == 2:
        talk.agent.say(ended)
    assert (await talk.client.hear())["result"] == {"said": "no"}


@VERSIONS
async def test_a_prompt_that_was_refused_keeps_no_proxy_from_prompting(version: int) -> None:
    proxy = Proxy("meddler")

    @proxy.from_client("_ask")
    async def ask(call: Request) -> object:
        return {"said": await call.connection.ask("s", "And?")}

    talk = await proxied_pair(proxy, version)
    talk.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": []}))
    refused = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32602,"message":"no"}}'
    talk.agent.say(refused % (await talk.agent.hear())["id"])
    await talk.client.hear()
    talk.client.say(request(2, "_ask", {}))
    assert (await talk.agent.hear())["method"] == "session/prompt"
