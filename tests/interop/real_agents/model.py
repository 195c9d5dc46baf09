"""A language model that does what it is told: the endpoint that agents are pointed at in tests.

It listens on loopback, speaks OpenAI's chat completions and responses as far as opencode and codex
ask for them, and keeps what it was asked. A user message with `WRITE path` makes it call the
agent's tool for writing, one with `RUN command;` the one for commands. When the result is there,
and to everything else, it says `ANSWER`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeAlias

from msgspec import Struct

__all__ = ["ANSWER", "TEXT", "Model", "serve_model"]

ANSWER = "All of it is done."
TEXT = "written by a model\n"
WISH = re.compile(r"\b(WRITE) (\S+)|\b(RUN) ([^;]+);")
Json: TypeAlias = dict[str, Any]


class Call(Struct):
    """The model wants a tool to be called."""

    tool: str
    arguments: Json


def _call(verb: str, tool: str, what: str) -> Call | None:
    """Return the call of a tool, if it is one that does what is wished for."""
    match verb, tool:
        case "WRITE", "write":  # opencode
            return Call(tool, {"filePath": what, "content": TEXT})
        case "RUN", "bash":  # opencode
            return Call(tool, {"command": what, "description": "Run what was asked for"})
        case "RUN", "exec_command":  # codex
            freely = {"sandbox_permissions": "require_escalated", "justification": "Asked for"}
            return Call(tool, {"cmd": what, **freely})
        case _:
            return None


class Model(ThreadingHTTPServer):
    """The endpoint, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        """What agents are given as the base URL."""
        self.asked: list[Json] = []
        """The bodies of all requests."""


@contextmanager
def serve_model() -> Generator[Model]:
    """Serve a model in a thread of its own."""
    with Model() as model:
        thread = Thread(target=model.serve_forever, name="model")
        thread.start()
        try:
            yield model
        finally:
            model.shutdown()
            thread.join()


class _Exchange(BaseHTTPRequestHandler):
    """One request and its answer."""

    def do_GET(self) -> None:
        self._answer("application/json", b'{"object":"list","data":[]}')

    def do_POST(self) -> None:
        body: Json = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert isinstance(self.server, Model)
        self.server.asked.append(body)
        events = _chat(body) if self.path.endswith("/chat/completions") else _responses(body)
        self._answer("text/event-stream", _stream(events))

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


def _stream(events: Iterator[Json | str]) -> bytes:
    lines: list[str] = []
    for event in events:
        if isinstance(event, str):
            lines.append(f"data: {event}\n\n")
            continue
        name = f"event: {event['type']}\n" if "type" in event else ""
        lines.append(f"{name}data: {json.dumps(event)}\n\n")
    return "".join(lines).encode()


def decide(messages: list[tuple[str, str]], tools: list[str]) -> Call | None:
    """Return the tool call that the last wish asks for, unless it has been answered.

    Args:
        messages: Role and text of each; the role of a tool's result is `tool`.
        tools: The names of the tools that the agent offers.
    """
    wish: tuple[str, str] | None = None
    for role, text in messages:
        if role == "tool":
            wish = None
        elif role == "user" and (found := WISH.search(text)):
            wish = (found[1], found[2]) if found[1] else (found[3], found[4])
    calls = [] if wish is None else [_call(wish[0], tool, wish[1]) for tool in tools]
    return next((call for call in calls if call is not None), None)


def _text(content: Any) -> str:
    """Return the text of a message, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


def _chat(body: Json) -> Iterator[Json | str]:
    """Answer as chat completions do: deltas, a reason to finish, `[DONE]`."""
    messages = [(each["role"], _text(each.get("content"))) for each in body["messages"]]
    call = decide(messages, [tool["function"]["name"] for tool in body.get("tools") or ()])
    base = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body["model"],
    }

    def chunk(delta: Json, reason: str | None = None) -> Json:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    if call is None:
        for word in ANSWER.split(" "):
            yield chunk({"content": f"{word} "})
    else:
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        start = {"index": 0, "id": _call_id(body), "type": "function", "function": function}
        yield chunk({"tool_calls": [start]})
    yield chunk({}, "stop" if call is None else "tool_calls")
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    yield {**base, "choices": [], "usage": usage}
    yield "[DONE]"


def _responses(body: Json) -> Iterator[Json | str]:
    """Answer as responses do: an item that grows, then the whole."""
    messages: list[tuple[str, str]] = []
    for each in body["input"]:
        is_result = each.get("type", "message").endswith("_output")
        role = "tool" if is_result else each.get("role", "")
        messages.append((role, _text(each.get("content"))))
    call = decide(messages, [tool.get("name", "") for tool in body.get("tools") or ()])
    base = {"id": "resp_1", "object": "response", "created_at": 0, "model": body["model"]}
    yield {"type": "response.created", "response": {**base, "status": "in_progress", "output": []}}
    where = {"output_index": 0, "item_id": "item_1"}
    item: Json
    if call is None:
        parts: list[Json] = [{"type": "output_text", "text": ANSWER, "annotations": []}]
        item = {"type": "message", "id": "item_1", "role": "assistant", "content": parts}
        yield {"type": "response.output_item.added", **where, "item": {**item, "content": []}}
        for word in re.findall(r"\S+ ?", ANSWER):
            yield {"type": "response.output_text.delta", **where, "content_index": 0, "delta": word}
    else:
        item = {
            "type": "function_call",
            "id": "item_1",
            "call_id": _call_id(body),
            "name": call.tool,
            "arguments": json.dumps(call.arguments),
        }
        yield {"type": "response.output_item.added", **where, "item": {**item, "arguments": ""}}
    yield {"type": "response.output_item.done", **where, "item": {**item, "status": "completed"}}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    done = {**base, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def _call_id(body: Json) -> str:
    """Return an id that no other call of the conversation has."""
    return f"call_{len(body.get('messages') or body.get('input') or ())}"
