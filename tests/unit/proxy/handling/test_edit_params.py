"""What may be put into a message that passes, and what reaches no handler."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.proxy.proxied_pair import chunk, proxied_pair, request, text_of

from parley.proxy import Notification, Proxy, Request


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": "Be brief."},
        {"prompt": ["Be brief."]},
        {"prompt": None},
        {"prompt": [{"type": "text"}]},
        {"session_id": 7},
        {"meta": "loud"},
        {"volume": 11},
    ],
)
async def test_a_value_that_a_field_does_not_take_is_refused(
    version: int, fields: dict[str, Any]
) -> None:
    proxy = Proxy("wrong")
    problems: list[str] = []

    @proxy.from_client("session/prompt")
    def change(call: Request) -> None:
        with pytest.raises(TypeError) as raised:
            call.change(**fields)
        problems.append(str(raised.value))

    talk = await proxied_pair(proxy, version)
    prompt = [{"type": "text", "text": "x"}]
    talk.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": prompt}))
    assert (await talk.agent.hear())["params"]["prompt"] == prompt
    assert next(iter(fields)) in problems[0].replace("_meta", "meta").replace(
        "sessionId", "session_id"
    )


@pytest.mark.parametrize("version", [1, 2])
async def test_plain_data_that_fits_is_a_value_too(version: int) -> None:
    proxy = Proxy("plain")

    @proxy.from_client("session/prompt")
    def change(call: Request) -> None:
        call.change(prompt=[{"type": "text", "text": "a", "vendor": 1}, *call.params.prompt])

    @proxy.from_agent("session/update")
    def say(note: Notification) -> None:
        with pytest.raises(TypeError, match="content"):
            note.change(content="loud")
        note.change(content={"type": "text", "text": "b"})

    talk = await proxied_pair(proxy, version)
    odd = {"type": "_odd", "x": 1} if version == 2 else {"type": "text", "text": "x"}
    talk.client.say(request(1, "session/prompt", {"sessionId": "s", "prompt": [odd]}))
    heard = (await talk.agent.hear())["params"]["prompt"]
    assert heard[0]["text"] == "a"
    assert heard[1] == odd
    talk.agent.say(chunk("quiet"))
    assert text_of(await talk.client.hear()) == "b"


TWICE = [
    b'{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"path":"/a","path":"/b"}}',
    b'{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"p":{"a":1,"\\u0061":2}}}',
    b'{"jsonrpc":"2.0","id":1,"method":"fs/write_text_file","params":{"a":[{"b":1,"b":1}]}}',
]


@pytest.mark.parametrize(
    "update",
    [
        b'{"sessionUpdate":"plan","a":1,"a":2}',
        b'{"sessionUpdate":"agent_thought_chunk","sessionUpdate":"plan"}',
        b'{"sessionUpdate":"plan","x":[{"b":1,"\\u0062":1}]}',
    ],
)
async def test_a_notification_that_can_be_read_in_two_ways_passes_no_handler(
    update: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    proxy = Proxy("guard")
    seen: list[str] = []

    @proxy.from_agent("session/update")
    def guard(note: Notification) -> None:
        seen.append(note.kind)

    talk = await proxied_pair(proxy)
    told = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%b}}'
    talk.agent.say(told % update, told % b'{"sessionUpdate":"_x","y":[{"b":1},{"b":1}]}')
    assert (await talk.client.hear())["params"]["update"]["sessionUpdate"] == "_x"
    assert seen == ["_x"]
    assert "has a duplicate key; dropped" in caplog.text


@pytest.mark.parametrize("frame", TWICE)
async def test_what_two_readers_may_read_differently_passes_no_handler(frame: bytes) -> None:
    proxy = Proxy("guard")
    seen: list[str] = []

    @proxy.from_agent("fs/write_text_file")
    def guard(call: Request) -> None:
        seen.append(call.method)

    talk = await proxied_pair(proxy, 1)
    talk.agent.say(frame)
    assert (await talk.agent.hear())["error"]["code"] == -32600
    assert seen == []
    assert await talk.client.is_silent()
