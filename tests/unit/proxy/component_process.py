"""A component process: a proxy or an agent, selected by its command line."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import parley
from parley.proxy import Notification, Request
from parley.schema import v2

CHUNK = {"sessionUpdate": "agent_message_chunk", "messageId": "m"}


def main() -> None:
    """Be what the first word says."""
    kind, *words = sys.argv[1:]
    if "PIDS" in os.environ:
        with Path(os.environ["PIDS"]).open("a") as pids:
            pids.write(f"{os.getpid()}\n")
    globals()[f"be_{kind}"](*words)


def be_plain() -> None:
    """Pass everything on."""
    parley.Proxy("plain").run()


def marking(mark: str) -> parley.Proxy:
    """Return a proxy that puts a mark before each text, both ways."""
    proxy = parley.Proxy(mark)

    @proxy.from_client("session/prompt")
    def prompt(call: Request) -> None:
        first = call.params.prompt[0]
        call.change(prompt=[v2.TextContent(text=mark + first.text)])

    @proxy.from_agent("session/update")
    def update(note: Notification) -> None:
        if isinstance(note.update, v2.AgentMessageChunk):
            content = note.update.content
            assert isinstance(content, v2.TextContent)
            note.change(content=v2.TextContent(text=mark + content.text))

    return proxy


def be_mark(mark: str) -> None:
    """Be such a proxy."""
    marking(mark).run()


def be_slow() -> None:
    """Take a while for each update, a short one."""
    slow().run()


def slow() -> parley.Proxy:
    """Return a proxy whose handler holds each update back, for a moment."""
    proxy = parley.Proxy("slow")

    @proxy.from_agent("session/update")
    async def look(note: Notification) -> None:
        for _ in range(3):
            await asyncio.sleep(0)

    return proxy


def be_blocking() -> None:
    """Hang when told so, and the whole program with it; says so on stderr."""
    proxy = parley.Proxy("blocking")

    @proxy.from_client("_block")
    def block(message: object) -> None:
        sys.stderr.write("I block\n")
        sys.stderr.flush()
        be_silent()

    proxy.run()


def be_dying(when: str, code: str = "3") -> None:
    """Pass everything on until a message comes; then die, with last words."""
    proxy = parley.Proxy("dying")

    @proxy.from_client(when)
    def die(message: object) -> NoReturn:
        sys.stderr.write("these were my last words\n")
        sys.stderr.flush()
        os._exit(int(code))

    proxy.run()


def be_faulty() -> None:
    """Do what a prompt says, and no good."""
    faulty().run()


def faulty() -> parley.Proxy:
    """Return a proxy for prompts such as `hang`, `flood 5000` and `flood endlessly`."""
    proxy = parley.Proxy("faulty")

    @proxy.from_client("session/prompt")
    async def prompt(call: Request) -> None:
        word, *count = call.params.prompt[0].text.split()
        if word == "hang":
            await asyncio.get_running_loop().create_future()
        if word != "flood":
            return
        numbers = itertools.count() if count == ["endlessly"] else range(int(count[0]))
        for number in numbers:
            content = v2.TextContent(text=f"{number}".ljust(1000, "."))
            update = v2.AgentMessageChunk(message_id="m", content=content)
            await call.connection.update(call.session_id, update)

    return proxy


def be_silent() -> NoReturn:
    """Say nothing at all."""
    while True:
        time.sleep(60)


def be_agent() -> None:
    """Answer in version 1, without any help; a prompt says how many chunks to say.

    A third word in it: then die.
    """
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "initialize":
            _answer(message, {"protocolVersion": 1, "agentCapabilities": {}})
        elif message.get("method") == "session/prompt":
            count, size, *dies = message["params"]["prompt"][0]["text"].split()
            _flood(message, int(count), int(size), is_last=bool(dies))
        elif "id" in message and "method" in message:
            _answer(message, {"sessionId": "s"})


def be_deaf() -> NoReturn:
    """Answer initialize in version 1, and read nothing after that."""
    _answer(json.loads(sys.stdin.buffer.readline()), {"protocolVersion": 1})
    be_silent()


def be_mute() -> None:
    """Answer initialize in version 1, read everything after that and answer nothing."""
    _answer(json.loads(sys.stdin.buffer.readline()), {"protocolVersion": 1})
    while os.read(0, 1 << 20):
        pass


def _flood(message: Any, count: int, size: int, *, is_last: bool) -> None:
    for number in range(count):
        content = {"type": "text", "text": f"{number}".ljust(size, ".")}
        body = {"sessionId": "s", "update": CHUNK | {"content": content}}
        _say({"method": "session/update", "params": body})
    if is_last:
        os._exit(7)
    _answer(message, {"stopReason": "end_turn"})


def _answer(message: Any, result: Any) -> None:
    _say({"id": message["id"], "result": result})


def _say(message: Any) -> None:
    text = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":"))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
