"""The page of the inspector in a browser, on a server whose recordings a test scripts.

The server sends the API that `parley/inspector/_app.py` describes. What a row says, and when it
arrives, is up to the test; so hostile text can be in every field.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.e2e.browser import DESKTOP, Browser, Page, browser

import parley
from parley.asgi_server.server import Server
from parley.gateway.page import POLICY

SOURCE = Path(parley.__file__).parent
PAGE = SOURCE / "inspector" / "page"
SHARED = SOURCE / "gateway" / "page"
TOKEN = "the-token-of-the-inspector"
KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
BATCH_ROWS = 5_000
PART_CHARS = 256 * 1024

ERROR, SLOW, CANCELLED, UNANSWERED, INVALID = 1, 2, 4, 8, 16
_NUMBER, _SUMMARY, _FLAGS = 0, 10, 11


CAPABILITIES: dict[str, Any] = {
    "version": 2, "requested_version": 2, "client": None, "agent": None, "rows": [],
    "capabilities": [],
}  # fmt: skip
PROCESS: dict[str, Any] = {
    "command": ["parley", "demo"], "cwd": "/srv", "pid": 1, "agent_pid": 2,
    "started_at": 1763500000.0, "duration": 100.0, "exit": "exit code 0", "is_live": False,
    "stderr": "", "stderr_bytes": 0, "events": [], "masked": [],
    "lost_bytes": 0, "frames": 0, "bytes": {"client": 1, "agent": 2, "stderr": 3},
}  # fmt: skip
CONVERSATION: dict[str, Any] = {"sessions": [], "session": "", "state": "idle", "entries": []}


def make_row(number: int, **fields: Any) -> list[Any]:
    """Return a row; a notification of the agent unless its fields say otherwise."""
    row = {
        "number": number, "at": number / 1000, "source": "agent", "kind": "notification",
        "method": "session/update", "id": "", "session": "session-1", "update": "tool_call",
        "size": 200, "latency": None, "summary": f"summary {number}", "flags": 0, "match": 0,
        "message": 0, "chunks": 0, "batch": 0,
    }  # fmt: skip
    assert fields.keys() <= row.keys()
    return [*(row | fields).values()]


class ScriptedRecording:
    """A recording whose rows and frames a test sets, also while the page looks at it."""

    def __init__(self, key: str = "demo", *, is_live: bool = False, **header: Any) -> None:
        self.header: dict[str, Any] = {
            "key": key, "name": key, "command": ["parley", "demo"], "cwd": "/srv",
            "started_at": 1763500000.0, "ended_at": None if is_live else 1763500100.0,
            "exit": None if is_live else "exit code 0", "bytes": 1000, "hop": None, "chain": None,
        } | header  # fmt: skip
        self.is_live = is_live
        self.rows: list[list[Any]] = []
        self.frames: dict[int, dict[str, Any]] = {}
        self.conversation: dict[str, Any] = dict(CONVERSATION)
        self.capabilities: dict[str, Any] = dict(CAPABILITIES)
        self.process: dict[str, Any] = dict(PROCESS)
        self._changed: list[list[Any]] = []
        self._streams: set[asyncio.Event] = set()

    @property
    def summary(self) -> dict[str, Any]:
        """The entry in the list of recordings."""
        return {**self.header, "frames": len(self.rows), "is_live": self.is_live}

    def add(self, count: int = 1, **fields: Any) -> None:
        """Add rows with the next numbers."""
        start = len(self.rows) + 1
        self.rows += [make_row(number, **fields) for number in range(start, start + count)]
        self._notify()

    def change(self, row: list[Any]) -> None:
        """Replace a row."""
        self.rows[row[_NUMBER] - 1] = row
        self._changed.append(row)
        self._notify()

    def end(self) -> None:
        self.is_live = False
        self._notify()

    def _notify(self) -> None:
        for stream in self._streams:
            stream.set()

    def batch(self, after: int, limit: int) -> dict[str, Any]:
        return {
            "rows": self.rows[after : after + min(limit, BATCH_ROWS)], "total": len(self.rows),
            "changes": len(self._changed), "is_live": self.is_live, "problem": None,
        }  # fmt: skip

    def frame(self, number: int, offset: int) -> dict[str, Any]:
        """Return a frame in detail, with its text in parts."""
        row = self.rows[number - 1]
        message = {"jsonrpc": "2.0", "method": row[4], "params": {"n": number}}
        found: dict[str, Any] = {
            "row": row, "text": json.dumps(message), "is_utf8": True, "type": None,
            "violations": [], "match": None, "meta": None, "trace": None,
        } | self.frames.get(number, {})  # fmt: skip
        size, end = len(found["text"]), offset + PART_CHARS
        part = {"text": found["text"][offset:end], "offset": offset, "size": size}
        return found | part | {"next_offset": end if end < size else None}

    def find(self, query: str) -> dict[str, Any]:
        """Return the rows that fit: `is:error`, or a text in the summary."""
        is_error = query == "is:error"
        found = [
            row[_NUMBER]
            for row in self.rows
            if (row[_FLAGS] & ERROR if is_error else query in row[_SUMMARY])
        ]
        ranges: list[list[int]] = []
        for number in found:
            if ranges and ranges[-1][1] == number - 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        return {"ranges": ranges, "count": len(found), "total": len(self.rows)}

    async def stream(self, after: int, changes: int, send: Callable[..., Any]) -> None:
        """Send rows and changes until the recording ends."""
        changed = asyncio.Event()
        self._streams.add(changed)
        try:
            while True:
                changed.clear()
                batch = self.batch(after, BATCH_ROWS)
                if batch["rows"]:
                    after = batch["rows"][-1][_NUMBER]
                    await send("rows", batch)
                if len(self._changed) > changes:
                    rows, changes = self._changed[changes:], len(self._changed)
                    await send("changed", {"rows": rows})
                if after < len(self.rows):
                    continue
                if not self.is_live:
                    await send("end", {"problem": None})
                    return
                await changed.wait()
        finally:
            self._streams.discard(changed)


class ScriptedInspector:
    """An ASGI application: the files of the page, and the API."""

    def __init__(self, *recordings: ScriptedRecording) -> None:
        self.recordings = {each.header["key"]: each for each in recordings}
        self.requests: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path, query = scope["raw_path"].decode(), parse_qs(scope["query_string"].decode())
        self.requests.append(f"{path}?{scope['query_string'].decode()}")
        headers = dict(scope["headers"])
        if path == "/api/login":
            body = json.loads((await receive())["body"])
            ok = body == {"token": TOKEN}
            cookie = [(b"set-cookie", f"t={TOKEN}; HttpOnly; SameSite=Strict; Path=/".encode())]
            await _respond(send, 204 if ok else 401, b"", "text/plain", cookie if ok else [])
        elif not path.startswith("/api/"):
            await self._file(path, send)
        elif headers.get(b"cookie") != f"t={TOKEN}".encode():
            await _json(send, {"error": {"code": "unauthorized", "message": "no"}}, 401)
        elif path == "/api/recordings":
            await _json(send, [each.summary for each in self.recordings.values()])
        elif path == "/api/events":
            emit = await _begin_events(send)
            await emit("recordings", [each.summary for each in self.recordings.values()])
            await _disconnected(receive)
        else:
            _, _, _, key, *rest = path.split("/")
            await self._recording(self.recordings[unquote(key)], rest, query, receive, send)

    async def _file(self, path: str, send: Any) -> None:
        folder, name = (SHARED, path[8:]) if path.startswith("/shared/") else (PAGE, path[1:])
        file = folder / (name or "index.html")
        if "/" in name or not file.is_file():
            await _respond(send, 404, b"", "text/plain", [])
        else:
            await _respond(send, 200, file.read_bytes(), KINDS[file.suffix], [])

    async def _recording(
        self, recording: ScriptedRecording, rest: list[str], query: Any, receive: Any, send: Any
    ) -> None:
        match rest:
            case ["rows"]:
                after, limit = int(query["after"][0]), int(query["limit"][0])
                await _json(send, recording.batch(after, limit))
            case ["rows", number]:
                offset = int(query.get("offset", ["0"])[0])
                await _json(send, recording.frame(int(number), offset))
            case ["find"]:
                if query["q"][0] == "is:wrong":
                    error = {"code": "bad_filter", "message": "There is no filter is:wrong."}
                    await _json(send, {"error": error}, 400)
                else:
                    await _json(send, recording.find(query["q"][0]))
            case ["stream"]:
                emit = await _begin_events(send)
                after, changes = int(query["after"][0]), int(query["changes"][0])
                await _until_gone(receive, recording.stream(after, changes, emit))
                await send({"type": "http.response.body", "body": b""})
            case ["conversation"]:
                await _json(send, recording.conversation)
            case ["capabilities"]:
                await _json(send, recording.capabilities)
            case ["process"]:
                await _json(send, recording.process)
            case _:
                await _respond(send, 200, b"exported", "text/plain", [])


async def _disconnected(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _until_gone(receive: Any, work: Any) -> None:
    tasks = [asyncio.ensure_future(each) for each in (work, _disconnected(receive))]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _respond(
    send: Any, status: int, body: bytes, kind: str, more: list[tuple[bytes, bytes]]
) -> None:
    headers = [
        (b"content-type", kind.encode()), (b"content-length", b"%d" % len(body)),
        (b"content-security-policy", POLICY.encode()), (b"x-content-type-options", b"nosniff"),
        *more,
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _json(send: Any, value: Any, status: int = 200) -> None:
    await _respond(send, status, json.dumps(value).encode(), "application/json", [])


async def _begin_events(send: Any) -> Callable[[str, Any], Any]:
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def emit(name: str, data: Any) -> None:
        body = f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})

    return emit


class InspectorSession:
    """The page of the inspector, open."""

    def __init__(self, page: Page, browser: Browser, origin: str, api: ScriptedInspector) -> None:
        self.page = page
        self.browser = browser
        self.origin = origin
        self.api = api

    async def ready(self, count: int) -> None:
        """Wait until a number of rows has been loaded."""
        await self.page.sees(f"{count:,} frame", "#status")

    def check(self) -> None:
        """Check that the page sent nothing to other servers, and that nothing failed."""
        assert self.page.problems == []
        assert self.page.dialogs == []
        foreign = [url for url in self.page.requests if not url.startswith(f"{self.origin}/")]
        assert foreign == []
        assert not any(TOKEN in url for url in self.page.requests)


@asynccontextmanager
async def open_inspector(
    *recordings: ScriptedRecording,
    size: tuple[int, int, bool] = DESKTOP,
    dark: bool = False,
) -> AsyncGenerator[InspectorSession]:
    """Open the page on some recordings."""
    api = ScriptedInspector(*recordings)
    async with Server(api, "127.0.0.1", 0) as server, browser() as opened:
        origin = f"http://127.0.0.1:{server.addresses[0][1]}"
        page = await opened.open(f"{origin}/#{TOKEN}", size, dark)
        session = InspectorSession(page, opened, origin, api)
        yield session
        session.check()
