"""The API of the page, and who gets in."""

from __future__ import annotations

import fcntl
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unit.transport.http.asgi_client import Client, Exchange, HttpResponse

from parley.gateway.page.static_files import POLICY
from parley.inspector._app import InspectorApp
from parley.inspector._detail import MAX_TEXT_BYTES
from parley.inspector._library import MAX_OPEN, Library
from parley.inspector._streams import MAX_ROWS
from parley.recording import RecordingStore
from parley.transport.http._asgi_types import Scope

from .inspected import HANDSHAKE, KEY, Frame, chunk, prompt, record, records

TOKEN = "the-token-of-the-page"
BEARER = {"authorization": f"Bearer {TOKEN}"}
END = {"id": 1, "result": {"stopReason": "end_turn"}}
FRAMES: list[Frame] = [*HANDSHAKE, ("client", prompt()), ("agent", chunk("x")), ("agent", END)]


class PageClient(Client):
    """A client whose paths have a query."""

    def scope(
        self, method: str, headers: Mapping[str, str] | None = None, *, path: str = "/", **more: Any
    ) -> Scope:
        path, _, query = path.partition("?")
        scope = super().scope(method, headers, path=path, **more)
        return {**scope, "query_string": query.encode()}

    async def get(self, path: str, **headers: str) -> HttpResponse:
        """Get something of the API with the token."""
        return await self.request("GET", {**BEARER, **headers}, path=f"/api/{path}")

    async def json(self, path: str) -> Any:
        """Get something of a recording."""
        response = await self.get(f"recordings/{KEY}/{path}")
        assert response.status == 200, response.body
        return response.json

    async def events(self, path: str, **headers: str) -> tuple[Exchange, EventReader]:
        """Open a stream."""
        exchange = self.begin("GET", {**BEARER, **headers}, body=None, path=f"/api/{path}")
        status, found = await exchange.head()
        assert (status, found["content-type"]) == (200, "text/event-stream")
        return exchange, EventReader(exchange)


class EventReader:
    """Reads the events of a stream: name, data and id."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def next(self) -> tuple[str, Any, str]:
        body = (await self._exchange.sent())["body"].decode()
        assert body.endswith("\n\n"), body
        fields = dict(line.split(": ", 1) for line in body.strip().split("\n"))
        return fields["event"], json.loads(fields["data"]), fields.get("id", "")


@asynccontextmanager
async def page() -> AsyncGenerator[PageClient]:
    library = Library(RecordingStore())
    client = PageClient(InspectorApp(library, TOKEN))
    try:
        yield client
    finally:
        await client.aclose()
        library.close()


@pytest.mark.parametrize("path", ["recordings", "events", f"recordings/{KEY}/rows", "else"])
async def test_nothing_is_told_without_the_token(path: str) -> None:
    record(*FRAMES)
    async with page() as client:
        for authorization in ("", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", TOKEN):
            headers = {"authorization": authorization, "cookie": "parley-inspect-7400="}
            response = await client.request("GET", headers, path=f"/api/{path}")
            assert (response.status, response.code) == (401, "unauthorized")


async def test_the_token_is_exchanged_for_a_cookie_that_scripts_cannot_read() -> None:
    record(*FRAMES)
    async with page() as client:
        login = await client.request(
            "POST", {"content-type": "application/json"}, path="/api/login",
            body=json.dumps({"token": TOKEN}).encode(),
        )  # fmt: skip
        assert login.status == 204
        cookie, *attributes = login.headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} < set(attributes)
        assert TOKEN not in cookie
        found = await client.request("GET", {"cookie": f"a=b; {cookie}"}, path="/api/recordings")
        assert found.status == 200
        other = await client.request("GET", {"cookie": f"{cookie}x"}, path="/api/recordings")
        assert other.status == 401


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b'{"token":"wrong"}', "application/json", 401),
        (b'{"token":""}', "application/json", 401),
        (b'{"token":5}', "application/json", 400),
        (b"{", "application/json", 400),
        (b'{"token":"the-token-of-the-page"}', "text/plain", 415),
        (b" " * 5000, "application/json", 413),
    ],
)
async def test_a_wrong_login_is_refused(body: bytes, kind: str, status: int) -> None:
    async with page() as client:
        response = await client.request(
            "POST", {"content-type": kind}, path="/api/login", body=body
        )
        assert response.status == status
        assert "set-cookie" not in response.headers


async def test_other_hosts_origins_and_methods_are_refused() -> None:
    async with page() as client:
        for headers, status in (
            ({"host": "evil.example"}, 403),
            ({"host": "127.0.0.1.evil.example:7400"}, 403),
            ({"host": ""}, 400),
            ({"origin": "https://evil.example"}, 403),
            ({"origin": "null"}, 403),
            ({"origin": "http://127.0.0.1:1"}, 403),
            ({"origin": "http://127.0.0.1:7400"}, 200),
        ):
            response = await client.get("recordings", **headers)
            assert response.status == status, headers
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            response = await client.request(method, BEARER, path="/api/recordings")
            assert response.status == 405


async def test_every_response_has_the_policy_and_is_not_stored() -> None:
    record(*FRAMES)
    async with page() as client:
        for path in (
            "recordings",
            f"recordings/{KEY}/rows",
            "missing",
            f"recordings/{KEY}/find?q=is:x",
        ):
            headers = (await client.get(path)).headers
            assert headers["content-security-policy"] == POLICY
            assert headers["cache-control"] == "no-store"
        shared = await client.request("GET", path="/shared/dom.js")
        assert (shared.status, shared.headers["content-security-policy"]) == (200, POLICY)
        for path in ("/shared/index.html", "/shared/../app.py", "/shared/", "/missing"):
            assert (await client.request("GET", path=path)).status == 404


async def test_recordings_are_listed_with_how_they_ended() -> None:
    record(*FRAMES, ("event", {"event": "exited", "code": 3}))
    record(key="20261119-211531-live-1a2b3c")
    async with page() as client:
        listed = {each["key"]: each for each in (await client.get("recordings")).json}
        assert listed[KEY]["exit"] == "exit code 3"
        assert listed[KEY]["frames"] is None
        assert listed["20261119-211531-live-1a2b3c"]["exit"] is None
        await client.json("rows")
        listed = {each["key"]: each for each in (await client.get("recordings")).json}
        assert listed[KEY]["frames"] == len(FRAMES) + 1


@pytest.mark.parametrize("key", ["missing", "..", "../x", "a%2Fb", "", "\0", KEY[:-1]])
async def test_a_recording_that_does_not_exist_is_not_found(key: str) -> None:
    record(*FRAMES)
    async with page() as client:
        assert (await client.get(f"recordings/{key}/rows")).status == 404


async def test_rows_come_in_parts() -> None:
    record(*FRAMES)
    async with page() as client:
        first = await client.json("rows?limit=2")
        assert [row[0] for row in first["rows"]] == [1, 2]
        assert (first["total"], first["is_live"], first["problem"]) == (5, False, None)
        rest = await client.json("rows?after=2")
        assert [row[0] for row in rest["rows"]] == [3, 4, 5]
        assert len(rest["rows"][0]) == 16
        assert (await client.json("rows?after=99"))["rows"] == []
        bad = await client.get(f"recordings/{KEY}/rows?after=x")
        assert (bad.status, bad.code) == (400, "bad_number")


async def test_a_filter_finds_rows() -> None:
    record(*FRAMES)
    async with page() as client:
        assert await client.json("find?q=method:prompt") == {
            "ranges": [[3, 3], [5, 5]], "count": 2, "total": 5
        }  # fmt: skip
        assert (await client.json("find?q=end_turn"))["ranges"] == [[5, 5]]
        assert (await client.json("find?q=method:prompt&after=3"))["ranges"] == [[5, 5]]
        bad = await client.get(f"recordings/{KEY}/find?q=is:x")
        assert (bad.status, bad.code) == (400, "bad_filter")


async def test_a_frame_has_its_type_its_violations_and_its_match() -> None:
    meta = {"traceparent": "00-1-2-01", "more": 1}
    params: dict[str, Any] = {"sessionId": 5, "prompt": [], "_meta": meta}
    wrong: dict[str, Any] = {"id": 1, "method": "session/prompt", "params": params}
    record(*HANDSHAKE, ("client", wrong), ("agent", END))
    async with page() as client:
        found = await client.json("rows/3")
        assert json.loads(found["text"])["params"] == params
        assert found["type"]["name"] == "PromptRequest"
        assert found["type"]["doc"]
        (violation,) = found["violations"]
        assert violation["path"] == "params.sessionId"
        assert (violation["expected"], violation["received"]) == ("string", "5")
        assert found["match"][0] == 4
        assert found["meta"] == meta
        assert found["trace"] == {"traceparent": "00-1-2-01"}
        response = await client.json("rows/4")
        assert (response["type"]["name"], response["match"][0]) == ("PromptResponse", 3)
        assert (response["meta"], response["trace"], response["violations"]) == (None, None, [])
        for number in ("0", "5", "x"):
            assert (await client.get(f"recordings/{KEY}/rows/{number}")).status in (400, 404)


async def test_a_large_frame_comes_in_parts_that_do_not_cut_characters() -> None:
    text = "ä€😀" * 60_000
    line = json.dumps({"jsonrpc": "2.0", "method": "x", "params": {"t": text}}, ensure_ascii=False)
    record(("agent", line.encode() + b"\n"))
    async with page() as client:
        parts, offset = "", 0
        while offset is not None:
            found = await client.json(f"rows/1?offset={offset}")
            assert found["is_utf8"]
            assert len(found["text"].encode()) <= MAX_TEXT_BYTES
            parts += found["text"]
            offset = found["next_offset"]
        assert parts == line


async def test_bytes_that_are_not_text_are_shown_all_the_same() -> None:
    record(("agent", b"\xff\xfe\n"), ("event", {"event": "exited", "code": 0}))
    async with page() as client:
        found = await client.json("rows/1")
        assert (found["text"], found["is_utf8"], found["type"]) == ("\ufffd\ufffd", False, None)
        assert (await client.json("rows/2"))["text"] == ""


async def test_a_stream_of_a_finished_recording_ends() -> None:
    record(*FRAMES)
    async with page() as client:
        _, events = await client.events(f"recordings/{KEY}/stream?after=3")
        name, changed, _ = await events.next()
        assert (name, [row[0] for row in changed["rows"]]) == ("changed", [1, 3])
        name, batch, id = await events.next()
        assert (name, id, [row[0] for row in batch["rows"]]) == ("rows", "5-2", [4, 5])
        assert await events.next() == ("end", {"problem": None}, "")


async def test_a_stream_follows_a_live_recording_and_reports_what_changes() -> None:
    path = record(("client", prompt()))
    with path.open("ab", buffering=0) as file, path.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with page() as client:
            _, events = await client.events(f"recordings/{KEY}/stream")
            name, batch, id = await events.next()
            assert (name, id, batch["is_live"]) == ("rows", "1-0", True)
            file.write(records(("agent", END)))
            name, changed, _ = await events.next()
            assert (name, [(row[0], row[12]) for row in changed["rows"]]) == ("changed", [(1, 2)])
            name, batch, id = await events.next()
            assert (name, id) == ("rows", "2-1")
            resumed, more = await client.events(
                f"recordings/{KEY}/stream", **{"last-event-id": "1-1"}
            )
            name, batch, id = await more.next()
            assert (name, id) == ("rows", "2-1")
            resumed.disconnect()
            lock.close()
            assert (await events.next())[0] == "end"


async def test_the_batches_of_a_stream_are_bounded() -> None:
    record(*(("stderr", b"x\n" * MAX_ROWS) for _ in range(3)))
    async with page() as client:
        _, events = await client.events(f"recordings/{KEY}/stream?after=1")
        sizes = [len((await events.next())[1]["rows"]) for _ in range(3)]
        assert sizes == [MAX_ROWS, MAX_ROWS, MAX_ROWS - 1]


async def test_a_damaged_recording_is_shown_as_far_as_possible() -> None:
    path = record(*FRAMES)
    path.write_bytes(path.read_bytes() + b"rubbish\n")
    async with page() as client:
        rows = await client.json("rows")
        assert rows["total"] == 5
        assert "is damaged at byte" in rows["problem"]
        _, events = await client.events(f"recordings/{KEY}/stream?after=5&changes=9")
        name, end, _ = await events.next()
        assert (name, end["problem"]) == ("end", rows["problem"])


async def test_the_list_of_recordings_is_sent_again_when_it_changes() -> None:
    async with page() as client:
        exchange, events = await client.events("events")
        assert await events.next() == ("recordings", [], "")
        record(*FRAMES)
        name, listed, _ = await events.next()
        assert (name, [each["key"] for each in listed]) == ("recordings", [KEY])
        exchange.disconnect()


async def test_recordings_that_nobody_looks_at_are_closed() -> None:
    library = Library(RecordingStore())
    keys = [f"20261119-2115{number:02}-demo-1a2b3c" for number in range(MAX_OPEN + 3)]
    for key in keys:
        record(*FRAMES, key=key)
        async with library.open(key) as opened:
            await opened.read_all()
    open_keys = [each.key for each in await library.infos() if each.frames is not None]
    assert sorted(open_keys) == keys[3:]
    library.close()


async def test_a_recording_can_be_downloaded(tmp_path: Path) -> None:
    record(*FRAMES)
    async with page() as client:
        lines = await client.get(f"recordings/{KEY}/export.jsonl")
        assert lines.headers["content-disposition"] == f'attachment; filename="{KEY}.jsonl"'
        assert len(lines.body.splitlines()) == len(FRAMES) + 1
        exported = RecordingStore(tmp_path).import_lines(lines.body.splitlines(keepends=True))
        assert exported.header.command == ["demo", "acp"]
        shared = await client.get(f"recordings/{KEY}/share.html")
        assert shared.headers["content-type"] == "text/html; charset=utf-8"
        assert shared.body.endswith(b"</html>\n")


async def test_a_download_that_cannot_begin_is_refused() -> None:
    path = record(*FRAMES)
    async with page() as client:
        await client.json("rows")
        path.write_bytes(b"something else\n")
        response = await client.get(f"recordings/{KEY}/export.jsonl")
        assert (response.status, response.code) == (404, "not_found")


async def test_a_recording_that_is_named_and_stored_is_listed_once_and_up_to_date() -> None:
    path = record(*FRAMES)
    store = RecordingStore()
    library = Library(store, [store.find(KEY)])
    with path.open("ab") as file:
        file.write(records(("event", {"event": "exited", "code": 0})))
    (info,) = await library.infos()
    assert info.exit == "exit code 0"
