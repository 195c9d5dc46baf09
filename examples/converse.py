"""Start `wire_agent.py` as a process, prompt it, and show every message that passes."""

import asyncio
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from parley.peer import Direction, Peer, initialize
from parley.rpc import Frame
from parley.schema import v1
from parley.schema.v1 import methods
from parley.transport import ProcessTransport


def show(direction: Direction, frame: Frame) -> None:
    message: dict[str, Any] = json.loads(frame)
    body: dict[str, Any] = message.get("params") or message.get("result") or {}
    arrow = "client ->      " if direction == "outbound" else "      <- agent "
    label = message.get("method", f"answer to {message.get('id')}")
    line = f"{arrow} {label:<15} {json.dumps(body.get('update', body), ensure_ascii=False)}"
    width = shutil.get_terminal_size((120, 24)).columns
    print(line if len(line) <= width else line[: width - 3] + "...", flush=True)


async def main(text: str) -> None:
    answer: list[str] = []

    def update(note: v1.SessionNotification) -> None:
        match note.update:
            case v1.AgentMessageChunk(content=v1.TextContent(text=piece)):
                answer.append(piece)
            case _:
                pass

    agent = Path(__file__).with_name("wire_agent.py")
    transport = await ProcessTransport.spawn([sys.executable, str(agent)])
    async with Peer(transport, "client", observer=show) as peer:
        me = v1.Implementation(name="converse", version="0.1.0")
        await initialize(peer, {1: v1.InitializeRequest(protocol_version=1, client_info=me)})
        peer.set_handlers(peer.table, notifications={"session/update": update})
        where = v1.NewSessionRequest(cwd=str(Path.cwd()), mcp_servers=[])
        session = await peer.request(methods.NEW_SESSION, where)
        blocks: list[v1.ContentBlock] = [v1.TextContent(text=text)]
        question = v1.PromptRequest(session_id=session.session_id, prompt=blocks)
        end = await peer.request(methods.PROMPT, question)
    print(f"\nThe agent's answer: {''.join(answer).strip()}")
    print(f"The turn ended with: {end.stop_reason}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "Hello from the other end of the wire"))
