"""A session of suggestions: what cannot be done with it, and how it ends."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

import pytest
from tests.conformance.raw_connection import ErrorResponse

from parley.client import connect
from parley.errors import LocalProtocolError
from parley.nes._documents.change import Spot
from parley.nes.client import NesClient, NesConnectOptions, NesSession, shown_kinds
from parley.nes.client._display import extends
from parley.nes.client._suggestion import EditSuggestion, JumpSuggestion, read_suggestion
from parley.nes.engine import TextEdit
from parley.schema import v2
from parley.schema._codec import decode

from .editor import EVERY_EVENT, URI, NesAgent, open_editor, position, span


async def test_a_document_is_open_once_and_others_are_not() -> None:
    async with open_editor("a") as editor:
        with pytest.raises(LocalProtocolError, match="open already"):
            await editor.nes.open(URI, "python", "b")
        for call in (editor.nes.save, editor.nes.close, editor.nes.focus):
            with pytest.raises(LocalProtocolError, match="not open"):
                await call("file:///w/other.py")


async def test_nothing_can_be_told_before_the_session_has_begun() -> None:
    agent = NesAgent(1, EVERY_EVENT)
    async with connect(agent, "/") as connection:
        nes = NesClient(connection)
        with pytest.raises(LocalProtocolError, match="not open"):
            await nes.open(URI, "python", "")
        await nes.aclose()
        assert agent.got("nes/start", "nes/close") == []


async def test_an_agent_that_refuses_to_close_is_no_matter(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(params: Any) -> Any:
        raise ErrorResponse(-32603)

    agent = NesAgent(1, EVERY_EVENT)
    agent.answers["nes/close"] = refuse
    with caplog.at_level(logging.WARNING):
        async with open_editor("a", agent=agent):
            pass
    assert "nes/close failed" in caplog.text


@pytest.mark.parametrize("is_shown", [False, True])
async def test_an_agent_that_has_gone_is_no_matter_at_the_end(is_shown: bool) -> None:
    async with open_editor("a") as editor:
        await editor.type("b", 0, 1)
        found = [editor.agent.edit("s", ((0, 2, 0, 2), "c"))]
        await editor.shown(*(found if is_shown else []))
        await editor.agent.transport.aclose()
        await editor.nes.connection.peer.wait_closed()
    assert editor.nes.shown is None


def test_a_client_shows_no_kinds_that_do_not_exist() -> None:
    assert shown_kinds(["edit"]) == shown_kinds([])
    with pytest.raises(ValueError, match="no kind 'dance'; choose from edit, jump, rename, search"):
        shown_kinds(["jump", "dance"])


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"onshow": print}, TypeError, "there is no option onshow=; did you mean on_show=?"),
        ({"options": {"on_show": print}}, TypeError, "there is no option options="),
        ({"kinds": ["jumps"]}, ValueError, "no kind 'jumps'; choose from edit, jump, rename, "),
        ({"kinds": "jump"}, TypeError, "kinds= takes several kinds"),
        ({"folders": "src"}, TypeError, "folders= takes several folders"),
        ({"on_show": "print"}, TypeError, "on_show= takes a plain function"),
        ({"on_show": asyncio.sleep}, TypeError, "on_show= takes a plain function"),
        ({"timing": {"debounce_after": 1}}, TypeError, "timing= takes a Timing"),
    ],
)
async def test_an_option_that_does_not_exist_is_refused(
    options: Any, error: type[Exception], told: str
) -> None:
    agent = NesAgent(1, EVERY_EVENT)
    with pytest.raises(error, match=re.escape(told)):
        NesClient.connect(agent, "/", **options)
    async with connect(agent, "/") as connection:
        with pytest.raises(error, match=re.escape(told)):
            NesClient(connection, **options)


async def test_an_option_may_belong_to_the_client_or_to_the_connection() -> None:
    options: NesConnectOptions = {"on_show": print, "name": "helper", "kinds": iter(["jump"])}
    async with NesClient.connect(NesAgent(1, EVERY_EVENT), "/", **options) as nes:
        assert nes.connection.name == "helper"
        assert nes.session.kinds == {"edit", "jump"}


async def test_a_client_shows_edits_alone_unless_told_otherwise() -> None:
    agent = NesAgent(1, EVERY_EVENT)
    async with NesClient.connect(agent, "/") as nes:
        assert nes.session.kinds == {"edit"}
        assert agent.got("initialize")[0]["clientCapabilities"]["nes"] == {}


async def test_a_client_shows_what_its_connection_offers_or_less() -> None:
    offers = shown_kinds(["jump", "rename"])
    async with connect(NesAgent(1, EVERY_EVENT), "/", nes=offers) as connection:
        async with NesClient(connection) as nes:
            assert nes.session.kinds == {"edit", "jump", "rename"}
        async with NesClient(connection, kinds=["jump"]) as nes:
            assert nes.session.kinds == {"edit", "jump"}
        with pytest.raises(ValueError, match="does not offer the kind 'searchAndReplace'"):
            NesClient(connection, kinds=["searchAndReplace"])


async def test_a_session_may_be_used_without_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    agent = NesAgent(2, EVERY_EVENT)
    agent.answers["nes/suggest"] = lambda params: {"suggestions": []}
    async with connect(agent, "/") as connection:
        session = await NesSession.start(connection)
        assert session.kinds == {"edit"}
        await session.close()


async def test_the_same_id_again_is_the_same_suggestion() -> None:
    async with open_editor("a\nb") as editor:
        for letter in "xy":
            await editor.type(letter, 0, 0)
            await editor.shown(editor.agent.edit("s", ((1, 1, 1, 1), "c")))
        assert editor.target == "yxa\nbc"
        assert editor.agent.outcomes == []


async def test_a_jump_to_a_file_that_is_not_known_goes_where_the_agent_says() -> None:
    async with open_editor("a") as editor:
        await editor.type("x", 0, 0)
        jump = {"kind": "jump", "id": "j", "uri": "file:///w/none.py", "position": position(7, 3)}
        await editor.shown(jump)
        shown = await editor.shows.get()
        assert shown == JumpSuggestion(id="j", uri="file:///w/none.py", spot=Spot(7, 3))
        assert await editor.nes.accept() == shown


def test_a_suggestion_of_an_unknown_kind_cannot_be_carried_out() -> None:
    unknown = decode(v2.NesSuggestion, b'{"kind":"dance","suggestionId":"d"}')
    assert read_suggestion(unknown, None, "utf-16") is None


def test_only_one_edit_at_the_same_place_can_say_more() -> None:
    def edit(*edits: TextEdit) -> EditSuggestion:
        return EditSuggestion(id="x", uri=URI, edits=edits)

    short, long = TextEdit(span(0, 0), "a"), TextEdit(span(0, 0), "ab")
    elsewhere = TextEdit(span(1, 0), "ab")
    assert extends(edit(long), edit(short))
    assert not extends(edit(short), edit(long))
    assert not extends(edit(short), edit(short))
    assert not extends(edit(elsewhere), edit(short))
    assert not extends(edit(long, elsewhere), edit(short))
    jump = JumpSuggestion(id="j", uri=URI, spot=Spot(0, 0))
    assert extends(edit(short), jump)
    assert not extends(jump, edit(short))
    assert not extends(jump, jump)
