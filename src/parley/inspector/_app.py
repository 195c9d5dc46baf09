"""The application of the inspector: the files of the page, and a JSON API for the page.

Access: the URL is `http://127.0.0.1:PORT/#TOKEN`. The page sends the token once with `POST
/api/login`, removes it from the address (`history.replaceState`), and gets a cookie that scripts
cannot read. Programs may send `Authorization: Bearer TOKEN` instead. Host and Origin are always
checked. With `?recording=KEY` in the URL, the page shows this recording first. The page's own files
are at `/NAME`, those of the gateway's page at `/shared/NAME`; they are public and contain no
secrets.

Errors have a status of 400 or more and the body `{"error": {"code": …, "message": …}}`.

| request | response |
|---|---|
| `POST /api/login` `{"token": …}` | 204 and the cookie; 401 `unauthorized` |
| `GET /api/recordings` | a list of recordings, newest first |
| `GET /api/events` | events: `recordings` with this list, at once and after each change |
| `GET /api/recordings/KEY/rows?after=N&limit=5000` | `{"rows": [row, …], "total", "changes", \
"is_live", "problem"}` |
| `GET /api/recordings/KEY/stream?after=N&changes=M` | events, see below |
| `GET /api/recordings/KEY/rows/N?offset=0` | a frame in detail, see below |
| `GET /api/recordings/KEY/find?q=FILTER` | `{"ranges": [[first, last], …], "count", "total"}` |
| `GET /api/recordings/KEY/conversation?session=ID` | the conversation of a session |
| `GET /api/recordings/KEY/capabilities` | what both sides offered, and what was used |
| `GET /api/recordings/KEY/process` | the process of the agent: its command, stderr, exit |
| `GET /api/recordings/KEY/export.jsonl` | the recording as JSON lines, to download |
| `GET /api/recordings/KEY/share.html` | one page that opens from disk, to download |

A **recording** is `{"key", "name", "command": [word, …], "cwd", "started_at", "ended_at", "exit",
"frames", "bytes", "is_live", "hop", "chain"}`. Times are Unix times in seconds. `ended_at` is null
while it is live. `exit` is null, or a text such as `exit code 1` or `SIGKILL`. `frames` is null as
long as nobody has opened the recording.

`problem` is null, or the reason why the rest of the recording cannot be read, for people.

A **row** is an array, so that many are small:

| index | |
|---|---|
| 0 `number` | the number of the row, from 1 |
| 1 `at` | seconds since the recording began |
| 2 `source` | `client`, `agent`, `stderr` or `event` |
| 3 `kind` | `request`, `response`, `error` (an error response), `notification`, `batch`, \
`invalid` (not a message), `text` (a line of stderr) or `event` |
| 4 `method` | the method; of a response, that of its request; of an event, its name; or `""` |
| 5 `id` | the id of the message as JSON text, such as `1` or `"a"`; `""` without one |
| 6 `session` | the session; `""` without one |
| 7 `update` | the kind of a session update, such as `tool_call`; else `""` |
| 8 `size` | the size of the frame in bytes |
| 9 `latency` | of a request and its response, the seconds between them; else null |
| 10 `summary` | the essence on one line, at most 200 characters; untrusted text |
| 11 `flags` | a sum: 1 error, 2 slow, 4 cancelled, 8 unanswered (so far), 16 invalid (it violates \
the schema or is not a message) |
| 12 `match` | the number of the response of a request, or of the request of a response; else 0 |
| 13 `message` | of a chunk, the number of the first chunk of its message; else 0 |
| 14 `chunks` | of the first chunk of a message, the number of its chunks so far; else 0 |
| 15 `batch` | of a message in a batch, the number of the row of the batch; else 0 |

Rows change after they were sent: a request gets its response (latency, flags, match), the first
chunk of a message more chunks (`summary`, `chunks`).

The **stream** has these events; each `id:` is `N-M`, the last row and the number of changes so far.
`EventSource` sends it in `Last-Event-ID` when it reconnects; otherwise pass `after=N&changes=M`.

- `rows`: `{"rows": [row, …], "total", "changes", "is_live"}`; at most 5,000 new rows, at most every
  50 ms.
- `changed`: `{"rows": [row, …]}`; the present state of rows that were sent before and have changed.
- `end`: `{"problem": null}`; the recording has ended, or cannot be read further for that reason.
  Close the stream then; `EventSource` would open it again.

A **frame in detail** is `{"row", "text", "offset", "next_offset", "size", "is_utf8", "type",
"violations", "match", "meta", "trace"}`. `text` is at most 256 KiB of the exact text from byte
`offset` on; `next_offset` is null at the end. `type` is null or `{"name", "version", "doc"}`, the
type of the params, of the result or of the error in the negotiated version, with its documentation.
A violation is `{"path", "expected", "received", "doc"}`. `match` is the row of the response of a
request or the reverse, or null. `meta` is the `_meta` of the params or result, or null. `trace` has
those of `traceparent`, `tracestate` and `baggage` that `_meta` has, or is null.

The **filter** language is that of `_filter.py`: words, `"a phrase"`, `method:`, `session:`,
`from:`, `kind:`, `id:`, `is:error` and so on, each also with `-` in front. A filter with a mistake
gets 400 `bad_filter`, with a message for people. With `after=N`, only later rows are searched.

A **conversation** is `{"sessions": [{"id", "title"}, …], "session": ID, "state", "entries": [entry,
…]}`; without `session`, of the first session. An entry is `{"kind", "title", "status", "text",
"rows"}`: `kind` is `user`, `agent`, `thought`, `tool`, `plan`, `error` or `other`; `text` is
Markdown for messages and plain text otherwise, at most 64 KiB; `rows` are the numbers of its
frames, at most 1,000 of them.

**Capabilities** are `{"version", "requested_version", "client", "agent", "rows": [number, …],
"capabilities": [capability, …]}`. `client` and `agent` are null or `{"name", "title", "version",
"capabilities"}`, with the capabilities as they were sent. A capability is `{"side", "path",
"is_offered", "used": [number, …], "uses", "methods": [method, …]}`: `side` offers it; `used` are at
most 100 rows that need it, `uses` the number of all. If it is used without being offered, that is a
mistake of the other side.

A **process** is `{"command", "cwd", "pid", "agent_pid", "started_at", "duration", "exit",
"is_live", "stderr", "stderr_bytes", "events": [row, …], "masked": [{"what", "source", "times"}, …],
"lost_bytes", "frames", "bytes": {"client", "agent", "stderr"}}`. `stderr` is at most the last
64 KiB.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
from msgspec import Struct

from parley.errors import RecordingError
from parley.gateway import page as gateway_page
from parley.gateway.page.static_files import GUARDS, StaticFiles
from parley.transport.http._app.access import Access
from parley.transport.http._app.responses import (
    Header,
    Headers,
    HttpError,
    parse_number,
    path_within,
    send_error,
    send_response,
)
from parley.transport.http._asgi_types import Receive, Scope, Send

from ._capabilities import capabilities_of
from ._conversation import conversation_of
from ._detail import detail_of
from ._filter import Filter, FilterError, ranges
from ._library import Library, OpenRecording
from ._process import process_of
from ._share import jsonl_of, page_of
from ._streams import MAX_ROWS, EventSink, row_batch, stream_recordings, stream_rows

_MAX_STREAMS = 64
"""The number of event streams that are open at the same time."""
_MAX_LOGIN_BYTES = 4096
_BATCH_BYTES = 256 * 1024
_COOKIE_AGE_SECONDS = 30 * 24 * 60 * 60
_ALLOW_GET = ((b"allow", b"GET, HEAD"),)
_NOT_STORED = (b"cache-control", b"no-store")
_SHARED_SUFFIXES = (".js", ".css", ".svg")
_PAGE = Path(__file__).parent / "page"


class _Login(Struct):
    token: str


class _Request(Struct, frozen=True):
    """A request for something of the API, with what the handlers need of it."""

    words: list[str]
    """The parts of the path after `/api/`."""
    query: dict[str, str]
    headers: Headers
    receive: Receive
    send: Send

    def number(self, name: str, default: int = 0) -> int:
        """Return a number of the query.

        Raises:
            HttpError: It is not a number.
        """
        return parse_number(self.query[name], name) if name in self.query else default


class InspectorApp:
    """The application; the module describes its requests and responses."""

    def __init__(self, library: Library, token: str) -> None:
        """Prepare to serve the page.

        Args:
            library: The recordings.
            token: The token that the URL has.
        """
        self._library = library
        self._token = token
        self._access = Access({token: "user"})
        self._cookie = secrets.token_urlsafe(32)
        self._files = [
            StaticFiles(Path(gateway_page.__file__).parent, "/shared/", suffixes=_SHARED_SUFFIXES)
        ]
        if _PAGE.is_dir():
            self._files.append(StaticFiles(_PAGE, "/"))
        self._streams = 0
        self._of_recording: dict[str, Callable[[_Request, OpenRecording], Awaitable[None]]] = {
            "rows": self._rows,
            "stream": self._stream,
            "find": self._find,
            "conversation": self._conversation,
            "capabilities": self._capabilities,
            "process": self._process,
            "export.jsonl": self._export,
            "share.html": self._share,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope["headers"])
        try:
            self._access.check_host_and_origin(scope, headers)
            path = path_within(scope)
            if path == "/api/login":
                await self._login(scope, headers, receive, send)
                return
            if scope["method"] not in ("GET", "HEAD"):
                raise HttpError(405, "method_not_allowed", "Only GET is served here",
                                headers=_ALLOW_GET)  # fmt: skip
            for files in self._files:
                if path in files:
                    await files.send(path, scope["method"], headers, send)
                    return
            if not path.startswith("/api/"):
                raise HttpError(404, "not_found", "There is no such page")
            self._check_login(scope, headers)
            words = path.removeprefix("/api/").split("/")
            await self._respond(_Request(words, _query(scope), headers, receive, send))
        except HttpError as refused:
            await send_error(send, refused, headers=(*GUARDS, _NOT_STORED))

    # Access

    async def _login(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise HttpError(405, "method_not_allowed", "Log in with POST",
                            headers=((b"allow", b"POST"),))  # fmt: skip
        if (headers.one(b"content-type") or "").partition(";")[0].strip() != "application/json":
            raise HttpError(415, "not_json", "The content type must be application/json")
        try:
            login = msgspec.json.decode(await _read_body(receive), type=_Login)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise HttpError(400, "bad_login", 'The body must be {"token": …}') from None
        if not hmac.compare_digest(login.token.encode(errors="replace"), self._token.encode()):
            raise _not_logged_in()
        cookie = (
            f"{_cookie_name(scope)}={self._cookie}; Path=/; HttpOnly; SameSite=Strict; "
            f"Max-Age={_COOKIE_AGE_SECONDS}"
        )
        fields = [*GUARDS, _NOT_STORED, (b"set-cookie", cookie.encode())]
        await send_response(send, 204, headers=fields)

    def _check_login(self, scope: Scope, headers: Headers) -> None:
        if headers.get_all(b"authorization"):
            self._access.principal(scope, headers)
            return
        name = _cookie_name(scope)
        for value in headers.get_all(b"cookie"):
            try:
                found = SimpleCookie(value).get(name)
            except CookieError:
                continue
            if found is not None and hmac.compare_digest(
                found.value.encode(errors="replace"), self._cookie.encode()
            ):
                return
        raise _not_logged_in()

    # The API

    async def _respond(self, request: _Request) -> None:
        match request.words:
            case ["recordings"]:
                await _send_json(request, await self._library.infos())
            case ["events"]:
                await self._recordings(request)
            case ["recordings", key, "rows", number]:
                async with self._open(key) as opened:
                    await self._detail(request, opened, parse_number(number, "the row"))
            case ["recordings", key, name] if name in self._of_recording:
                async with self._open(key) as opened:
                    await self._of_recording[name](request, opened)
            case _:
                raise _missing()

    @asynccontextmanager
    async def _open(self, key: str) -> AsyncGenerator[OpenRecording]:
        try:
            async with self._library.open(key) as opened:
                yield opened
        except RecordingError as error:
            raise HttpError(404, "not_found", f"The recording cannot be read: {error}") from error

    async def _recordings(self, request: _Request) -> None:
        async with self._stream_sink(request) as sink:
            await stream_recordings(self._library, sink)

    async def _stream(self, request: _Request, opened: OpenRecording) -> None:
        after, changes = request.number("after"), request.number("changes")
        if (last := request.headers.one(b"last-event-id")) is not None:
            first, _, second = last.partition("-")
            after, changes = parse_number(first, "Last-Event-ID"), parse_number(second or "0", "M")
        async with self._stream_sink(request) as sink:
            await stream_rows(opened, sink, after=after, changes=changes)

    @asynccontextmanager
    async def _stream_sink(self, request: _Request) -> AsyncGenerator[EventSink]:
        if self._streams >= _MAX_STREAMS:
            raise HttpError(503, "too_many_streams", "Too many pages are open; close some")
        self._streams += 1
        try:
            async with EventSink.opened(request.receive, request.send, GUARDS) as sink:
                yield sink
        finally:
            self._streams -= 1

    async def _rows(self, request: _Request, opened: OpenRecording) -> None:
        limit = min(request.number("limit", MAX_ROWS), MAX_ROWS)
        recording = await opened.read_all()
        await _send_json(request, row_batch(recording, request.number("after"), limit))

    async def _detail(self, request: _Request, opened: OpenRecording, number: int) -> None:
        if number > len(opened.recording.table.rows):
            await opened.read_all()
        if not 0 < number <= len(opened.recording.table.rows):
            raise HttpError(404, "not_found", "There is no such row")
        offset = request.number("offset")
        await _send_json(request, detail_of(opened.recording, number, offset))

    async def _find(self, request: _Request, opened: OpenRecording) -> None:
        try:
            chosen = Filter(request.query.get("q", ""))
        except FilterError as error:
            raise HttpError(400, "bad_filter", str(error)) from error
        after = request.number("after")
        recording = await opened.read_all()
        rows = recording.table.rows[after:]
        total = after + len(rows)
        if chosen.searches_frames:
            numbers = await opened.run(lambda found: chosen.numbers(rows, found.data))
        else:
            numbers = chosen.numbers(rows, recording.data)
        found = {"ranges": ranges(numbers), "count": len(numbers), "total": total}
        await _send_json(request, found)

    async def _conversation(self, request: _Request, opened: OpenRecording) -> None:
        session = request.query.get("session")
        await _send_json(request, await opened.run(lambda found: conversation_of(found, session)))

    async def _capabilities(self, request: _Request, opened: OpenRecording) -> None:
        await _send_json(request, await opened.run(capabilities_of))

    async def _process(self, request: _Request, opened: OpenRecording) -> None:
        await _send_json(request, await opened.run(process_of))

    async def _export(self, request: _Request, opened: OpenRecording) -> None:
        key = opened.recording.header.key
        await _send_file(request, jsonl_of(opened.recording), f"{key}.jsonl")

    async def _share(self, request: _Request, opened: OpenRecording) -> None:
        recording = await opened.read_all()
        await _send_file(request, page_of(recording), f"{recording.header.key}.html")


def _query(scope: Scope) -> dict[str, str]:
    """Return the query of a request; of a name that is repeated, the last value."""
    text: str = scope.get("query_string", b"").decode("ascii", "replace")
    try:
        return {name: values[-1] for name, values in parse_qs(text, max_num_fields=16).items()}
    except ValueError:
        raise HttpError(400, "bad_query", "The query has too many fields") from None


def _cookie_name(scope: Scope) -> str:
    """Return the name of the cookie: browsers send cookies to all ports of a host."""
    server = scope.get("server") or ("", 0)
    return f"parley-inspect-{server[1]}"


def _not_logged_in() -> HttpError:
    return HttpError(401, "unauthorized", "Open the address that `parley inspect` has printed")


def _missing() -> HttpError:
    return HttpError(404, "not_found", "The API does not have this")


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise HttpError(400, "incomplete", "The request is incomplete")
        body += message.get("body", b"")
        if len(body) > _MAX_LOGIN_BYTES:
            raise HttpError(413, "too_large", "The body is too large")
        if not message.get("more_body", False):
            return bytes(body)


async def _send_json(request: _Request, value: object) -> None:
    await send_response(
        request.send, 200, msgspec.json.encode(value), headers=(*GUARDS, _NOT_STORED)
    )


async def _send_file(request: _Request, parts: Iterable[bytes], name: str) -> None:
    """Send a file to download, part by part, as fast as the browser takes it."""
    kind = b"text/html; charset=utf-8" if name.endswith(".html") else b"application/jsonl"
    fields: list[Header] = [
        *GUARDS,
        _NOT_STORED,
        (b"content-type", kind),
        (b"content-disposition", f'attachment; filename="{name}"'.encode()),
    ]
    iterator = iter(parts)
    batch = await asyncio.to_thread(_next_batch, iterator)  # before it begins, it can be refused
    await request.send({"type": "http.response.start", "status": 200, "headers": fields})
    while batch:
        await request.send({"type": "http.response.body", "body": batch, "more_body": True})
        batch = await asyncio.to_thread(_next_batch, iterator)
    await request.send({"type": "http.response.body", "body": b""})


def _next_batch(parts: Iterator[bytes]) -> bytes:
    """Return the next parts, about `_BATCH_BYTES` of them; nothing at the end."""
    batch = bytearray()
    for part in parts:
        batch += part
        if len(batch) >= _BATCH_BYTES:
            break
    return bytes(batch)
