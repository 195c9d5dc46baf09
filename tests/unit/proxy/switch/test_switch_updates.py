"""What a switch takes for an update is one, however it begins."""

from __future__ import annotations

import json

from tests.unit.proxy.switched_pair import SwitchedPair


async def test_what_only_begins_as_an_update_is_routed_as_what_it_is() -> None:
    pair = SwitchedPair()
    begin = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a"}'
    pair.agent.say(begin + b',"method":"_other","params":{"sessionId":"b"}}')
    pair.agent.say(begin + b',"params":{"sessionId":"b"}}')
    pair.agent.say(begin + b',"more":1}')
    await pair.client.until(lambda: len(pair.client.frames) == 3)
    routed = [(message.method, message.session_id) for message in pair.routed]
    assert routed == [("_other", "b"), ("session/update", "b"), ("session/update", "a")]


async def test_what_begins_as_an_update_and_is_no_message_goes_nowhere() -> None:
    pair = SwitchedPair()
    pair.agent.say(b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a"')
    assert json.loads(await pair.agent.next())["error"]["code"] == -32700
    assert not pair.client.frames
