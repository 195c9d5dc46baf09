"""A language model that does what it is told: the endpoint that agents are pointed at in tests.

It listens on loopback, speaks OpenAI's chat completions and responses as far as agents ask for
them, and keeps what it was asked. The last user message says what it wishes for: `READ path`,
`WRITE path` and `RUN command;` make it call the agent's tool for that, and `USE tool{…}` a tool of
an MCP server with these arguments, one after the other, each when the result of the one before is
there. Then, and to everything else, it says `ANSWER`. With `HOLD` among the wishes it stops in the
middle of that until the test lets it go on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, Literal, TypeAlias

from msgspec import Struct

__all__ = ["ANSWER", "TEXT", "Model", "conversation", "serve_model", "tools_of"]

ANSWER = "All of it is done."
TEXT = "written by a model\n"
WISH = re.compile(r"\b(READ|WRITE|USE) (\S+)|\b(RUN) ([^;]+);")
HOLD = re.compile(r"\bHOLD\b")
FREELY = {"sandbox_permissions": "require_escalated", "justification": "Asked for"}
"""How codex is told to leave its sandbox, for which it asks."""
Json: TypeAlias = dict[str, Any]


class Call(Struct):
    """The model wants a tool to be called."""

    tool: str
    arguments: Json


def _call(verb: str, tool: str, what: str) -> Call | None:
    """Return the call of a tool, if it is one that does what is wished for."""
    match verb, tool:
        case "READ", "read":  # opencode
            return Call(tool, {"filePath": what})
        case "READ", "read_text_file":  # fast-agent
            return Call(tool, {"path": what})
        case "READ", "exec_command":  # codex
            return Call(tool, {"cmd": f"cat {what}", **FREELY})
        case "WRITE", "write":
            return Call(tool, {"filePath": what, "content": TEXT})
        case "WRITE", "write_text_file":
            return Call(tool, {"path": what, "content": TEXT})
        case "WRITE", "exec_command":  # codex knows the command and makes it an edit
            lines = "".join(f"+{line}\n" for line in TEXT.splitlines())
            patch = f"*** Begin Patch\n*** Add File: {what}\n{lines}*** End Patch"
            return Call(tool, {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF\n"})
        case "RUN", "bash":
            return Call(tool, {"command": what, "description": "Run what was asked for"})
        case "RUN", "execute":
            return Call(tool, {"command": what})
        case "RUN", "exec_command":
            return Call(tool, {"cmd": what, **FREELY})
        case _:
            return None


def _use(tool: str, what: str) -> Call | None:
    """Return the call of an MCP server's tool; each agent has its own way to name such."""
    name, rest = what.split("{", 1)
    if not re.fullmatch(rf".*[_/]{re.escape(name)}", tool):
        return None
    return Call(tool, json.loads(f"{{{rest}"))


class Model(ThreadingHTTPServer):
    """The endpoint, and what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Exchange)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        """What agents are given as the base URL."""
        self.asked: list[Json] = []
        """The bodies of all requests."""
        self.is_holding = Event()
        """Set while an answer is held: the turn is in its middle."""
        self.go_on = Event()
        """Lets held answers go on."""


@contextmanager
def serve_model() -> Generator[Model]:
    """Serve a model in a thread of its own."""
    with Model() as model:
        thread = Thread(target=model.serve_forever, name="model")
        thread.start()
        try:
            yield model
        finally:
            model.go_on.set()
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
        is_chat = self.path.endswith("/chat/completions")
        events = _chat(body) if is_chat else _responses(body)
        with suppress(ConnectionError):  # who was killed or cancelled does not listen to the end
            self._answer("text/event-stream", *_stream(events))

    def _answer(self, kind: str, *pieces: bytes) -> None:
        """Answer, piece by piece: behind the first one it is held."""
        assert isinstance(self.server, Model)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(sum(map(len, pieces))))
        self.end_headers()
        self.wfile.write(pieces[0])
        for piece in pieces[1:]:
            self.server.is_holding.set()
            self.server.go_on.wait()
            self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


def _stream(events: Iterator[Json | str | None]) -> list[bytes]:
    """Return the events as they are sent, cut where the answer is held."""
    pieces = [b""]
    for event in events:
        if event is None:
            pieces.append(b"")
            continue
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        data = event if isinstance(event, str) else json.dumps(event)
        pieces[-1] += f"{name}data: {data}\n\n".encode()
    return pieces


def decide(body: Json) -> Call | Literal["hold"] | None:
    """Return the next tool call that the last user message wishes for, if there is one."""
    tools = tools_of(body)
    wishes: list[tuple[str, str]] = []
    is_held = False
    for role, text in conversation(body):
        if role == "tool":
            del wishes[:1]
        elif role == "user":
            found = WISH.finditer(text)
            wishes = [(each[1] or each[3], each[2] or each[4]) for each in found]
            is_held = HOLD.search(text) is not None
    if not wishes:
        return "hold" if is_held and tools else None  # who offers no tools wants a title
    verb, what = wishes[0]
    calls = (_use(tool, what) if verb == "USE" else _call(verb, tool, what) for tool in tools)
    return next((call for call in calls if call is not None), None)


def tools_of(body: Json) -> list[str]:
    """Return the names of the tools that an agent offers, those of MCP servers in groups."""
    names: list[str] = []
    for tool in body.get("tools") or ():
        names.append(tool.get("function", tool).get("name", ""))
        names += [f"{tool['name']}/{each['name']}" for each in tool.get("tools", ())]
    return names


def conversation(body: Json) -> list[tuple[str, str]]:
    """Return role and text of each message; the role of a tool's result is `tool`."""
    said: list[tuple[str, str]] = []
    for each in body.get("messages") or body["input"]:
        is_result = each.get("type", "message").endswith("_output")
        role = "tool" if is_result else each.get("role", "")
        said.append((role, _text(each.get("output") if is_result else each.get("content"))))
    return said


def _text(content: Any) -> str:
    """Return the text of a message, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


def _chat(body: Json) -> Iterator[Json | str | None]:
    """Answer as chat completions do: deltas, a reason to finish, `[DONE]`."""
    call = decide(body)
    base = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": body["model"],
    }

    def chunk(delta: Json, reason: str | None = None) -> Json:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    if not isinstance(call, Call):
        for word in _words(is_held=call is not None):
            yield word if word is None else chunk({"content": word})
    else:
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        start = {"index": 0, "id": _call_id(body), "type": "function", "function": function}
        yield chunk({"tool_calls": [start]})
    yield chunk({}, "tool_calls" if isinstance(call, Call) else "stop")
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    yield {**base, "choices": [], "usage": usage}
    yield "[DONE]"


def _responses(body: Json) -> Iterator[Json | str | None]:
    """Answer as responses do: an item that grows, then the whole."""
    call = decide(body)
    base = {"id": "resp_1", "object": "response", "created_at": 0, "model": body["model"]}
    yield {"type": "response.created", "response": {**base, "status": "in_progress", "output": []}}
    where = {"output_index": 0, "item_id": "item_1"}
    item: Json
    if not isinstance(call, Call):
        parts: list[Json] = [{"type": "output_text", "text": ANSWER, "annotations": []}]
        item = {"type": "message", "id": "item_1", "role": "assistant", "content": parts}
        yield {"type": "response.output_item.added", **where, "item": {**item, "content": []}}
        delta = {"type": "response.output_text.delta", **where, "content_index": 0}
        for word in _words(is_held=call is not None):
            yield word if word is None else {**delta, "delta": word}
    else:
        item = {
            "type": "function_call",
            "id": "item_1",
            "call_id": _call_id(body),
            "name": call.tool.rpartition("/")[2],
            "arguments": json.dumps(call.arguments),
        }
        if "/" in call.tool:  # codex has the tools of each MCP server in a group
            item["namespace"] = call.tool.rpartition("/")[0]
        yield {"type": "response.output_item.added", **where, "item": {**item, "arguments": ""}}
    yield {"type": "response.output_item.done", **where, "item": {**item, "status": "completed"}}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    done = {**base, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def _words(*, is_held: bool) -> Iterator[str | None]:
    """Say the answer word by word; None is where it is held."""
    first, *rest = re.findall(r"\S+ ?", ANSWER)
    yield first
    if is_held:
        yield None
    yield from rest


def _call_id(body: Json) -> str:
    """Return an id that no other call of the conversation has."""
    return f"call_{len(body.get('messages') or body.get('input') or ())}"
