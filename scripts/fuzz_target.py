"""What must hold for any bytes from a peer; `fuzz.py` looks for bytes for which it does not.

An input is one byte, which says into what pieces the rest is cut, and a stream of lines. The stream
goes through the splitter, its frames through a conversation in which every request has been asked,
and their params and results through the types of both versions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Raw

from parley.errors import MalformedValue
from parley.peer._routes import Route, build_routes
from parley.peer._update_reader import UpdateReader
from parley.rpc._codec import MAX_DEPTH
from parley.rpc._codec import decode as decode_frame
from parley.rpc._engine import (
    BatchEvents,
    Engine,
    EngineConfig,
    ErrorReply,
    Event,
    IncomingRequest,
    ResponseEvent,
)
from parley.rpc._framing import Frame, FrameSplitter, OversizedFrame
from parley.rpc._message import (
    Batch,
    ErrorObject,
    Failure,
    Message,
    Notification,
    Success,
)
from parley.rpc._peek import is_too_deep
from parley.schema._codec import decode, encode
from parley.schema.base import Method, MethodTable
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods as v2_methods

__all__ = ["check", "seeds", "words"]

AnyMethod: TypeAlias = Method[Any, Any]

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden"
LIMIT_BYTES = 1500
TABLES = [
    rows.TABLE.extended((*rows.DOCUMENT_METHODS, *rows.NES_METHODS, *rows.WORKSPACE_METHODS))
    for rows in (v1_methods, v2_methods)
]
ASKED = [method for table in TABLES for method in table.methods if method.kind == "request"]
"""The requests of both versions; the place of each is the id with which it is asked."""


def check(data: bytes) -> None:
    """Raise if an input shows that something does not hold."""
    size, stream = (data[0] % 64 + 1 if data else 1), data[1:]
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    frames = _split([stream])
    assert list(map(_shown, _split(pieces))) == list(map(_shown, frames)), "pieces matter"
    engine: Engine[AnyMethod] = Engine(EngineConfig(skips_noise=size % 2 == 0))
    for method in ASKED if b'"id"' in stream else ():
        engine.send_request(method.name, None, method)
    for frame in frames:
        _check_event(engine, engine.receive(frame))
    for table in TABLES:
        _check_updates(table, stream[: stream.rfind(b"\n") + 1])


def _split(pieces: Iterable[bytes]) -> list[Frame]:
    splitter = FrameSplitter(LIMIT_BYTES)
    return [frame for piece in pieces for frame in splitter.feed(piece)]


def _shown(frame: Frame) -> tuple[bytes, bytes]:
    return bytes(frame), frame.tail if isinstance(frame, OversizedFrame) else b""


def _check_event(engine: Engine[AnyMethod], event: Event[AnyMethod] | None) -> None:
    """Look at what a frame was taken for, and answer what wants an answer."""
    match event:
        case BatchEvents(events):
            for each in events:
                _check_event(engine, each)
        case Notification(method, params):
            _check_params("notification", method, params)
        case IncomingRequest():
            _check_params("request", event.method, event.params)
            is_fine = len(event.method) % 2 == 0
            no = ErrorObject(-32000, event.method)
            reply = (
                engine.respond(event, b"{}") if is_fine else engine.respond_with_error(event, no)
            )
            assert reply is None or _is_answer(decode_frame(reply))
        case ResponseEvent(method, Raw() as result):
            _check_value(method.result, result)
        case ErrorReply(frame):
            assert b"\n" not in frame
            assert _is_answer(decode_frame(frame)), "a refusal is no answer"
        case _:
            pass


def _is_answer(message: Message | None) -> bool:
    items = message.items if isinstance(message, Batch) else (message,)
    return all(isinstance(item, Success | Failure) for item in items)


def _check_params(kind: str, name: str, params: Raw) -> None:
    for method in chain.from_iterable(table.methods for table in TABLES):
        if (method.kind, method.name) == (kind, name):
            _check_value(method.params, params)


def _check_value(tp: Any, raw: Raw) -> None:
    """See that what is read can be written, and then reads and writes as the same."""
    try:
        value = decode(tp, raw if len(raw) else None)
    except MalformedValue:
        return
    written = encode(value)
    assert b"\n" not in written
    assert encode(decode(tp, written)) == written, "what was written reads otherwise"


def _check_updates(table: MethodTable, block: bytes) -> None:
    """See that the short way for updates agrees with the long one, in blocks and line by line."""
    routes, reader = _updates(table)
    if not any(head in block for head in reader.heads):
        return
    lines = block.split(b"\n")[:-1]
    expected = [_read(routes, line) for line in lines]
    groups = reader.read_block(block)
    if groups is not None:
        found = [params for group in groups for params in group.params]
        assert found == expected, "a block differs"
    for line, params in zip(lines, expected, strict=True):
        update = reader.read(line) if line.startswith(reader.heads) else None
        assert update is None or update.params == [params], "a line differs"


@cache
def _updates(table: MethodTable) -> tuple[dict[str, Route], UpdateReader]:
    routes = build_routes({"session/update": print}, table, "notification", "client")
    return routes, UpdateReader(routes.values())


def _read(routes: dict[str, Route], line: bytes) -> Any:
    """Read an update the long way; its depth is limited there and not on the short one."""
    depth = 100_000 if is_too_deep(line, MAX_DEPTH) else MAX_DEPTH
    engine: Engine[None] = Engine(EngineConfig(max_depth=depth))
    event = engine.receive(line)
    if not isinstance(event, Notification) or event.method not in routes:
        return None
    try:
        return routes[event.method].read(event.params)
    except MalformedValue:
        return None


def seeds() -> Iterator[bytes]:
    """Yield inputs to begin with: messages made of the golden files, and what is no message.

    Also those that once broke something, each a file in `tests/golden/fuzz`.
    """
    yield from (path.read_bytes() for path in sorted(GOLDEN.glob("fuzz/*")))
    for version, table in enumerate(TABLES, 1):
        paths = sorted(GOLDEN.glob(f"v{version}/*.json"))
        cases = [json.loads(path.read_bytes()) for path in paths]
        messages = [
            json.dumps(message, separators=(",", ":")).encode() + b"\n"
            for case in cases
            for message in _messages(table, case["type"], case.get("value"))
        ]
        updates = [line for line in messages if b'"session/update"' in line and len(line) < 300]
        yield from (b"\x05" + line for line in messages)
        yield from (b"\x05" + b"".join(pair) for pair in pairwise(updates))
    for line in (b"", b"[]", b"[1,{}]", b"{bad", b"\xff", rb'{"a":"\ud800"}', b"[" * 200, b"NaN"):
        yield b"\x01" + line + b"\n"
    yield b"\x3f" + b'{"jsonrpc":"2.0","id":1,"result":"%b"}\n' % (b"x" * LIMIT_BYTES)


def _messages(table: MethodTable, type_name: str, value: Any) -> Iterator[Any]:
    """Yield messages whose params or result are, or contain, a value of this type."""
    inside: dict[str, tuple[str, Any]] = {
        "SessionUpdate": ("session/update", {"sessionId": "s", "update": value}),
        "ContentBlock": ("session/prompt", {"sessionId": "s", "prompt": [value]}),
        "McpServer": ("session/new", {"cwd": "/", "mcpServers": [value]}),
    }
    if type_name in inside:
        name, params = inside[type_name]
        yield {"jsonrpc": "2.0", "method": name, "params": params}
    for method in table.methods:
        call = {"jsonrpc": "2.0", "method": method.name, "params": value}
        if getattr(method.params, "__name__", "") == type_name:
            yield call if method.kind == "notification" else {**call, "id": 1}
        if getattr(method.result, "__name__", "") == type_name:
            yield {"jsonrpc": "2.0", "id": ASKED.index(method), "result": value}


def words() -> set[bytes]:
    """Return what a mutation may put in: keys, names of methods, tags, and what breaks lines."""
    texts = {method.name for table in TABLES for method in table.methods}
    texts |= {"jsonrpc", "2.0", "id", "method", "params", "result", "error", "code", "message"}
    for seed in seeds():
        texts |= set(seed.decode("latin-1").split('"')[1::2])
    found = {text.encode("latin-1") for text in texts if 0 < len(text) < 40}
    return found | {
        b"\n",
        b",\n",
        b":\n",
        b"}\n{",
        b"\r\n",
        b"\xef\xbb\xbf",
        rb"\ud83d",
        b"\xff",
        b"[[",
    }
