"""An agent without an SDK: answers from fixed text and floods with prebuilt bytes.

It stands opposite the client under test, so that the client's own work is what limits the run.
A prompt `updates N` is answered by N `session/update` lines of 60 characters each and then the
reply; every text starts with its number, so the client can tell the order. `paced N` sends one line
each millisecond.
"""

import json
import sys
import time
from typing import Any

LINE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"bench","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'
    b'%08d the quick brown fox jumps over the lazy dog, again."}}}}\n'
)
BLOCK = 500

RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []},
    "session/new": {"sessionId": "bench"},
    "session/set_mode": {},
    "session/prompt": {"stopReason": "end_turn"},
}


def flood(count: int) -> None:
    out = sys.stdout.buffer
    block = LINE * BLOCK
    whole = count - count % BLOCK
    for start in range(0, whole, BLOCK):
        out.write(block % tuple(range(start, start + BLOCK)))
    for number in range(whole, count):
        out.write(LINE % number)


def pace(count: int) -> None:
    out = sys.stdout.buffer
    for number in range(count):
        out.write(LINE % number)
        out.flush()
        time.sleep(0.001)


def main() -> None:
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method = message["method"]
        if method == "session/prompt":
            word, count = message["params"]["prompt"][0]["text"].split()
            {"updates": flood, "paced": pace}[word](int(count))
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[method]}
        out.write(json.dumps(reply).encode() + b"\n")
        out.flush()


if __name__ == "__main__":
    main()
