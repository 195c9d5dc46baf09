"""What a switch takes for an update is one, however it begins."""

from __future__ import annotations

import json

from tests.unit.proxy.wires import Wires


async def test_what_only_begins_as_an_update_is_routed_as_what_it_is() -> None:
    wires = Wires()
    begin = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a"}'
    wires.agent.say(begin + b',"method":"_other","params":{"sessionId":"b"}}')
    wires.agent.say(begin + b',"params":{"sessionId":"b"}}')
    wires.agent.say(begin + b',"more":1}')
    await wires.client.until(lambda: len(wires.client.frames) == 3)
    routed = [(message.method, message.session_id) for message in wires.routed]
    assert routed == [("_other", "b"), ("session/update", "b"), ("session/update", "a")]


async def test_what_begins_as_an_update_and_is_no_message_goes_nowhere() -> None:
    wires = Wires()
    wires.agent.say(b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a"')
    assert json.loads(await wires.agent.next())["error"]["code"] == -32700
    assert not wires.client.frames
