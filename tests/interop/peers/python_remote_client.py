"""A client on the official Python SDK over HTTP or WebSocket.

`python_remote_client.py VERSION URL` prints what it saw as JSON.
"""

import asyncio
import json
import sys
from typing import Any

import acp


class Seen:
    """What came in one session."""

    def __init__(self) -> None:
        self.text = ""
        self.has_spoken = asyncio.Event()
        self.idle: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def say(self, text: str) -> None:
        self.text += text
        self.has_spoken.set()

    async def until_words(self, count: int) -> None:
        """Wait for what was said: updates are handled in tasks, which an answer overtakes."""
        while len(self.text.split()) < count:
            self.has_spoken.clear()
            await self.has_spoken.wait()


class Client:
    def __init__(self, version: int) -> None:
        self.version = version
        self.sessions: dict[str, Seen] = {}
        self.permission = ""

    def of(self, session_id: str) -> Seen:
        return self.sessions.setdefault(session_id, Seen())

    async def session_update(self, session_id: str, update: Any, **rest: Any) -> None:
        plain = update.model_dump(mode="json", by_alias=True, exclude_unset=True)
        seen = self.of(session_id)
        if plain["sessionUpdate"] == "agent_message_chunk":
            seen.say(plain["content"]["text"])
        elif plain["sessionUpdate"] == "agent_message":
            seen.say("".join(block["text"] for block in plain["content"]))
        elif plain.get("state") == "idle" and not seen.idle.done():
            seen.idle.set_result(plain.get("stopReason"))

    async def request_permission(self, options: list[Any], **rest: Any) -> Any:
        self.permission = options[0].option_id
        answer = {"outcome": {"outcome": "selected", "optionId": self.permission}}
        return _schema(self.version).RequestPermissionResponse.model_validate(answer)


class Conversation:
    def __init__(self, conn: Any, client: Client) -> None:
        self.conn, self.client, self.version = conn, client, client.version

    async def open(self) -> str:
        more: dict[str, Any] = {"mcp_servers": []} if self.version == 1 else {}
        session: str = (await self.conn.new_session(cwd="/", **more)).session_id
        return session

    async def turn(self, session: str, text: str, words: int = 1) -> tuple[str, str]:
        seen = self.client.sessions[session] = Seen()
        block = _schema(self.version).TextContentBlock(type="text", text=text)
        answer = await self.conn.prompt(session_id=session, prompt=[block])
        reason = answer.stop_reason if self.version == 1 else await seen.idle
        await seen.until_words(words)
        return reason, seen.text

    async def cancelled(self, session: str) -> str:
        running = asyncio.create_task(self.turn(session, "wait"))
        await asyncio.sleep(0)
        await self.client.of(session).has_spoken.wait()
        if self.version == 1:
            await self.conn.cancel(session_id=session)
        else:
            await self.conn.cancel_session(session_id=session)
        return (await running)[0]

    async def again(self, session: str) -> str:
        await self.turn(session, "flood 3", 3)
        await self.conn.close_session(session_id=session)
        seen = self.client.sessions[session] = Seen()
        if self.version == 1:
            await self.conn.load_session(session_id=session, cwd="/", mcp_servers=[])
        else:
            start = {"type": "start"}
            await self.conn.resume_session(session_id=session, cwd="/", replay_from=start)
        await seen.until_words(3)  # with HTTP the stream is opened behind the answer
        return seen.text

    async def refused(self) -> Any:
        try:
            if self.version == 1:
                await self.conn.ext_method("demo/nothing", {})
            else:
                await self.conn.send_extension_request("_demo/nothing", {})
        except acp.RequestError as error:
            return error.code
        return None

    async def report(self) -> dict[str, Any]:
        first = await self.open()
        end, flood = await self.turn(first, "flood 1000", 1000)
        _, ask = await self.turn(first, "ask")
        cancel = await self.cancelled(first)
        _, big = await self.turn(first, "big 1000000")
        _, measure = await self.turn(first, f"measure {'y' * 999_992}")
        second = await self.open()
        turns = (self.turn(first, "flood 300", 300), self.turn(second, "flood 400", 400))
        both = await asyncio.gather(*turns)
        return {
            "flood": [int(word) for word in flood.split()],
            "end": end,
            "ask": [self.client.permission, ask],
            "cancel": cancel,
            "big": len(big),
            "measure": measure,
            "both": [len(text.split()) for _, text in both],
            "refused": await self.refused(),
            "again": await self.again(await self.open()),
        }


def _schema(version: int) -> Any:
    if version == 1:
        return acp.schema
    from acp.experimental.v2 import schema

    return schema


async def transport_to(url: str) -> Any:
    if url.startswith("ws"):
        from acp.ws import create_websocket_stream

        return await create_websocket_stream(url)
    from acp.http import create_http_stream

    return create_http_stream(url)


async def run(version: int, url: str) -> dict[str, Any]:
    client, transport = Client(version), await transport_to(url)
    if version == 1:
        async with acp.connect_to_agent(client, transport) as conn:
            answer = await conn.initialize(protocol_version=1)
            report = await Conversation(conn, client).report()
    else:
        from acp.experimental.v2 import connect_to_agent

        async with connect_to_agent(client, transport) as conn:
            me = _schema(2).Implementation(name="interop-client", version="1.0")
            answer = await conn.initialize(protocol_version=2, info=me)
            report = await Conversation(conn, client).report()
    return {"version": answer.protocol_version, **report}


if __name__ == "__main__":
    json.dump(asyncio.run(run(int(sys.argv[1]), sys.argv[2])), sys.stdout)
