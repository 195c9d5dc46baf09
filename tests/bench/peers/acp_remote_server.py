"""The remote agent under test, on the official Python SDK (0.12.1 and 1.0.0rc3 alike), by uvicorn.

The same program as `subjects/parley_remote_server.py`.
"""

import asyncio
import socket
import sys
import time
from typing import Any

import uvicorn
from acp import PROTOCOL_VERSION, InitializeResponse, NewSessionResponse, PromptResponse
from acp.http.asgi import create_asgi_app
from acp.schema import AgentMessageChunk, TextContentBlock

FILLER = "the quick brown fox jumps over the lazy dog, again."


class BenchAgent:
    def __init__(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, **rest: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=PROTOCOL_VERSION)

    async def new_session(self, **rest: Any) -> NewSessionResponse:
        return NewSessionResponse(session_id="bench")

    async def prompt(self, session_id: str, prompt: list[Any], **rest: Any) -> PromptResponse:
        for text in [f"{number:08d} {FILLER}" for number in range(int(prompt[0].text.split()[1]))]:
            content = TextContentBlock(type="text", text=text)
            update = AgentMessageChunk(session_update="agent_message_chunk", content=content)
            await self.conn.session_update(session_id, update)
        return PromptResponse(stop_reason="end_turn")

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return {"seconds": time.process_time()} if method == "bench/cpu" else params


async def serve() -> None:
    server = uvicorn.Server(uvicorn.Config(create_asgi_app(BenchAgent), log_level="warning"))
    # Said to be TCP, so that asyncio switches off Nagle's algorithm on its connections.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(100)
        serving = asyncio.create_task(server.serve([listening]))
        sys.stdout.write(f"http://127.0.0.1:{listening.getsockname()[1]}/acp\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        server.force_exit = server.should_exit = True
        await serving


if __name__ == "__main__":
    asyncio.run(serve())
