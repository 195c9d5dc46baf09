"""Folds chunks with the official Python SDK's accumulator; prints seconds per chunk by count."""

import json
import sys
import time

from acp.contrib.session_state import SessionAccumulator
from acp.schema import AgentMessageChunk, SessionNotification, TextContentBlock

FILLER = "the quick brown fox jumps over the lazy dog, again."


def notification(number: int) -> SessionNotification:
    content = TextContentBlock(type="text", text=f"{number:08d} {FILLER}")
    update = AgentMessageChunk(session_update="agent_message_chunk", content=content)
    return SessionNotification(session_id="bench", update=update)


def cost(count: int) -> float:
    notifications = [notification(number) for number in range(count)]
    accumulator = SessionAccumulator()
    begin = time.process_time()
    for each in notifications:
        snapshot = accumulator.apply(each)
    text = "".join(message.content.text for message in snapshot.agent_messages)
    assert len(text) == 60 * count
    return (time.process_time() - begin) / count


def main() -> None:
    cost(50)
    sys.stdout.write(json.dumps({count: cost(int(count)) for count in sys.argv[1:]}))


if __name__ == "__main__":
    main()
