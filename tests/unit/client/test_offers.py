from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Struct

from parley.client import ConnectOptions, Session, connect
from parley.errors import LocalProtocolError, MethodNotFound
from parley.peer import TypedHandler
from parley.schema import v2
from parley.transport import memory_pair

from .scripted_agent import Message, ScriptedAgent, connected, opened


async def capabilities(**options: Any) -> Message:
    """Return what a client with these options offers."""
    local, transport = memory_pair()
    remote = ScriptedAgent(transport)
    initialized = asyncio.create_task(remote.initialize())
    async with connect(local, versions=(2,), **options):
        found: Message = (await initialized)["params"].get("capabilities", {})
        return found


def document(uri: str) -> v2.WorkspaceDocument:
    return v2.WorkspaceDocument(uri=uri, language_id="python")


class Editor:
    """Has one file in front, and more that are open."""

    def open_documents(self, session: Session) -> list[v2.WorkspaceDocument]:
        return [document("file:///a.py"), document("untitled:1"), document("file://host/b.py")]

    async def recent_documents(
        self, limit: int | None, session: Session
    ) -> list[v2.WorkspaceDocument]:
        assert limit is None or limit == 2
        return [document("http://x/y"), *(document(f"file:///{name}.py") for name in "abc")]

    def active_document(self, session: Session) -> v2.WorkspaceDocument | None:
        return None


class OneFile:
    def active_document(self, session: Session) -> v2.WorkspaceDocument | None:
        return document("file:///a.py")


async def test_nothing_is_offered_that_was_not_given() -> None:
    assert await capabilities() == {}


def ignore(*_: object) -> None:
    """Return an empty result."""


OFFERS: list[tuple[dict[str, Any], Message]] = [
    ({"elicit": ignore}, {"elicitation": {"form": {}}}),
    ({"elicit_url": ignore}, {"elicitation": {"url": {}}}),
    ({"editor": OneFile()}, {"workspace": {"activeDocument": {}}}),
    (
        {"editor": Editor()},
        {"workspace": {"openDocuments": {}, "recentDocuments": {}, "activeDocument": {}}},
    ),
    ({"capabilities_meta": {"example.org": True}}, {"_meta": {"example.org": True}}),
]


@pytest.mark.parametrize(("options", "offered"), OFFERS)
async def test_what_was_given_is_offered(options: dict[str, Any], offered: Message) -> None:
    assert await capabilities(**options) == offered


async def test_the_editor_tells_of_files_and_honours_the_limit() -> None:
    async with opened(editor=Editor()) as (_, remote):
        assert await _uris(remote, "workspace/open_documents") == ["file:///a.py"]
        all_three = [f"file:///{name}.py" for name in "abc"]
        assert await _uris(remote, "workspace/recent_documents") == all_three
        assert await _uris(remote, "workspace/recent_documents", limit=2) == all_three[:2]
        remote.call(1, "workspace/active_document", {"sessionId": "s"})
        assert (await remote.take())["result"] == {"document": None}
    async with opened(editor=OneFile()) as (_, remote):
        remote.call(1, "workspace/active_document", {"sessionId": "s"})
        found = {"uri": "file:///a.py", "languageId": "python"}
        assert (await remote.take())["result"] == {"document": found}
        remote.call(2, "workspace/open_documents", {"sessionId": "s"})
        assert (await remote.take())["error"]["code"] == -32601


async def _uris(remote: ScriptedAgent, method: str, **more: object) -> list[str]:
    remote.call(1, method, {"sessionId": "s", **more})
    return [each["uri"] for each in (await remote.take())["result"]["documents"]]


async def test_an_editor_is_off_unless_offered() -> None:
    async with opened() as (_, remote):
        remote.call(1, "workspace/active_document", {"sessionId": "s"})
        assert (await remote.take())["error"]["code"] == -32601


class NoSession:
    """An editor that does not want to know who asks."""

    def open_documents(self) -> list[v2.WorkspaceDocument]:
        return []


async def test_an_editor_that_cannot_be_called_is_refused_when_it_is_given() -> None:
    local, _ = memory_pair()
    with pytest.raises(
        TypeError, match=r"editor\.open_documents calls .* open_documents\(session\)"
    ):
        async with connect(local, editor=NoSession()):
            pass


async def test_an_editor_answers_no_session_of_which_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.client._connection_state.FOREIGN_SESSIONS", 1)
    async with opened(editor=Editor()) as (_, remote):
        remote.say("hello", session="foreign")
        remote.update("subagent_update", sessionId="more")
        remote.call(1, "workspace/open_documents", {"sessionId": "more"})
        error = (await remote.take())["error"]
        assert (error["code"], error["data"]["problem"]) == (
            -32602,
            "params.sessionId: there are too many sessions",
        )


class Point(Struct):
    x: int


def _next(point: Point) -> int:
    return point.x + 1


async def _double(params: dict[str, int]) -> int:
    return 2 * params["x"]


EXTENSIONS: dict[str, Callable[[Any], Any] | TypedHandler] = {
    "_double": _double,
    "_typed": TypedHandler(_next, Point),
}


@pytest.mark.requirement("V2-EXT-05")
async def test_extensions_of_the_agent_are_handled_and_unknown_ones_refused() -> None:
    async with opened(extensions=EXTENSIONS) as (_, remote):
        for method, expected in (("_double", 6), ("_typed", 4)):
            remote.call(1, method, {"x": 3})
            assert (await remote.take())["result"] == expected
        remote.call(1, "_typed", {"x": "three"})
        assert (await remote.take())["error"]["code"] == -32602
        remote.call(1, "_other", {})
        assert (await remote.take())["error"]["code"] == -32601


async def test_an_extension_may_be_a_notification() -> None:
    seen: asyncio.Queue[Any] = asyncio.Queue()
    async with opened(extensions={"_note": seen.put_nowait}) as (_, remote):
        remote.send({"method": "_other", "params": {}})
        remote.send({"method": "_note", "params": {"x": 1}})
        assert await seen.get() == {"x": 1}


async def test_extensions_of_ours_reach_the_agent() -> None:
    async with connected() as (connection, remote):
        asking = asyncio.create_task(connection.request("_where", {"x": 1}, result=Point))
        request = await remote.take("_where")
        assert request["params"] == {"x": 1}
        remote.respond(request, {"x": 2})
        assert await asking == Point(2)
        asking = asyncio.create_task(connection.request("_plain"))
        remote.respond(await remote.take("_plain"), [1, 2])
        assert await asking == [1, 2]
        asking = asyncio.create_task(connection.request("_unknown"))
        remote.refuse(await remote.take("_unknown"), -32601, "Method not found")
        with pytest.raises(MethodNotFound):
            await asking
        await connection.notify("_note", {"x": 1})
        assert (await remote.take("_note"))["params"] == {"x": 1}
        with pytest.raises(LocalProtocolError, match="start with an underscore"):
            await connection.request("session/new", {})


async def test_callbacks_for_updates_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    async def later(*_: object) -> None:
        raise RuntimeError("later")

    def at_once(*_: object) -> None:
        raise RuntimeError("at once")

    for on_update in (later, at_once):
        options: ConnectOptions = {"on_update": on_update, "name": "painter"}
        async with opened(**options) as (session, remote):
            asking = asyncio.create_task(session.ask("Hi."))
            await remote.accept()
            remote.say("Fine.")
            remote.idle()
            assert await asking == "Fine."
    assert caplog.text.count("painter: on_update failed") == 8
