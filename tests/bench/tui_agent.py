"""An agent without an SDK that says a long Markdown text in small pieces, as fast as it can.

A prompt `say N` is answered by N updates; with `load N` as arguments it opens a session again by
telling N updates. What was said ends with a word that tells how many times that was, so that who
looks at the screen knows when everything is there.
"""

import json
import sys
from typing import Any

CHUNK_CHARS = 20
TEXT = """## Part {n}

The function `call_{n}` has **two** callers, see [the guide](https://example.org/{n}). It is rather
long, so it is *broken* into several parts, of which this is one.

- first, look at the callers
- then change the signature
  - and the tests

```python
def call_{n}(name: str, count: int = {n}) -> str:
    \"\"\"Return a name so many times.\"\"\"
    return ", ".join([name] * count)  # no trailing comma
```

| file | lines | what |
|---|---|---|
| call_{n}.py | {n} | signature |

"""
BLOCK = 256
FEATURES = {"loadSession": True}
RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": FEATURES, "authMethods": []},
    "session/new": {"sessionId": "bench"},
    "session/load": {},
    "session/prompt": {"stopReason": "end_turn"},
}


def chunks(count: int) -> list[str]:
    """Return a text in so many pieces."""
    parts: list[str] = []
    length = 0
    while length < count * CHUNK_CHARS:
        parts.append(TEXT.replace("{n}", str(len(parts))))
        length += len(parts[-1])
    text = "".join(parts)
    return [text[n * CHUNK_CHARS : (n + 1) * CHUNK_CHARS] for n in range(count)]


def last_word(times: int) -> str:
    """Return how the text ends that is said the so-manieth time."""
    return f"said-{times}-times"


def lines(texts: list[str]) -> list[bytes]:
    return [
        json.dumps(
            {
                "jsonrpc": "2.0",
                "method": "session/update",
                "params": {
                    "sessionId": "bench",
                    "update": {
                        "sessionUpdate": "agent_message_chunk",
                        "content": {"type": "text", "text": text},
                    },
                },
            }
        ).encode()
        + b"\n"
        for text in texts
    ]


def say(count: int, times: int) -> None:
    told = lines([*chunks(count), f"\n\n{last_word(times)}\n\n"])
    for start in range(0, len(told), BLOCK):
        sys.stdout.buffer.write(b"".join(told[start : start + BLOCK]))


def main() -> None:
    loaded = int(sys.argv[2]) if sys.argv[1:2] == ["load"] else 0
    times = 0
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method = message.get("method")
        if method not in RESULTS:
            continue
        if method == "session/prompt":
            times += 1
            say(int(message["params"]["prompt"][0]["text"].split()[1]), times)
        if method == "session/load":
            say(loaded, times)
        reply = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[method]}
        sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
