"""The page of the inspector in real Chromium: the timeline, the filter, the panels."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM, Page
from tests.e2e.inspector_api import (
    CANCELLED,
    ERROR,
    INVALID,
    SLOW,
    UNANSWERED,
    ScriptedRecording,
    make_row,
    open_inspector,
)

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

ROWS = ".viewport .row"
AT_END = """(() => {
  const view = document.querySelector('.viewport');
  return view.scrollHeight - view.scrollTop - view.clientHeight < 2;
})()"""
FOLLOWS = "document.querySelector('#follow').getAttribute('aria-pressed') === 'true'"


async def selected(page: Page) -> str:
    await page.when("document.querySelector('.row.selected')")
    return str(await page.run("document.querySelector('.row.selected').id"))


async def shown(page: Page, summary: str) -> None:
    await page.sees(summary, f"{ROWS} .summary")


async def gone(page: Page, summary: str) -> None:
    wanted = json.dumps(summary)
    await page.when(
        f"![...document.querySelectorAll('{ROWS} .summary')]"
        f".some((each) => each.textContent.includes({wanted}))"
    )


async def wheel(page: Page, distance: int) -> None:
    """Scroll the timeline with the mouse."""
    box = await page.run(
        "(({ x, y }) => [x + 50, y + 50])"
        "(document.querySelector('.viewport').getBoundingClientRect())"
    )
    await page.call(
        "Input.dispatchMouseEvent", type="mouseWheel", x=box[0], y=box[1], deltaX=0, deltaY=distance
    )


async def test_each_frame_is_a_row_with_what_is_known_about_it() -> None:
    recording = ScriptedRecording()
    recording.add(
        source="client", kind="request", method="session/new", id="7", session="", update="",
        summary="/srv/shop", latency=0.031, size=1234, match=2,
    )  # fmt: skip
    recording.add(kind="response", method="session/new", id="7", update="", session="ses_12345678")
    async with open_inspector(recording) as session:
        await session.ready(2)
        await shown(session.page, "/srv/shop")
        cells = await session.page.run(
            "Object.fromEntries([...document.querySelector('#row-1').children]"
            ".map((each) => [each.className, each.textContent]))"
        )
        assert cells == {
            "time": "0.001", "direction": "→ client", "kind": "request", "method": "session/new",
            "id": "7", "session": "", "summary": "/srv/shop", "marks": "", "latency": "31 ms",
            "size": "1.2 kB",
        }  # fmt: skip
        assert await session.page.text("#row-2 .session") == "12345678"


async def test_what_is_wrong_stands_out_in_words() -> None:
    recording = ScriptedRecording()
    for flag in (ERROR, SLOW, CANCELLED, UNANSWERED, INVALID, ERROR | SLOW):
        recording.add(flags=flag)
    async with open_inspector(recording) as session:
        await session.ready(6)
        await session.page.when(f"document.querySelectorAll('{ROWS}').length === 6")
        words = await session.page.run(
            f"[...document.querySelectorAll('{ROWS} .marks')].map((each) => each.textContent)"
        )
        assert words == [
            "✕ error", "◷ slow", "⊘ cancelled", "… no response", "! invalid", "✕ error◷ slow",
        ]  # fmt: skip


async def test_the_live_recording_is_marked_and_another_can_be_opened() -> None:
    first, second = ScriptedRecording("first", is_live=True), ScriptedRecording("second")
    first.add(summary="of the first")
    second.add(summary="of the second")
    async with open_inspector(first, second) as session:
        page = session.page
        await shown(page, "of the first")
        assert await page.text("#recordings .live") == await page.text("#recordings [aria-current]")
        assert "Live" in await page.text("#recordings .live")
        await page.click("#recordings button", "second")
        await shown(page, "of the second")
        assert "of the first" not in await page.text("#timeline")
        assert await page.run("document.querySelector('#share-html').href") == (
            f"{session.origin}/api/recordings/second/share.html"
        )
        await page.click(ROWS, "of the second")
        await selected(page)
        await page.reload()
        await shown(page, "of the second")
        assert await selected(page) == "row-1"


async def test_new_rows_are_followed_unless_the_reader_has_scrolled_up() -> None:
    recording = ScriptedRecording(is_live=True)
    recording.add(200)
    async with open_inspector(recording) as session:
        page = session.page
        await shown(page, "summary 200")
        recording.add(100)
        await shown(page, "summary 300")
        assert await page.run(AT_END)
        await wheel(page, -600)
        await page.when(f"!({FOLLOWS})")
        await page.when(f"!({AT_END})")
        place = await page.run("document.querySelector('.viewport').scrollTop")
        recording.add(100)
        await session.ready(400)
        assert await page.run("document.querySelector('.viewport').scrollTop") <= place
        await wheel(page, 100_000)
        await page.when(FOLLOWS)
        recording.add(100)
        await shown(page, "summary 500")
        await page.press("k")
        await page.when(f"!({FOLLOWS})")
        await page.press("f")
        recording.add(100)
        await shown(page, "summary 600")
        recording.end()
        await page.sees("600 frames", "#status")


async def test_a_request_that_gets_its_response_changes() -> None:
    recording = ScriptedRecording(is_live=True)
    row: dict[str, Any] = {
        "source": "client", "kind": "request", "method": "session/prompt", "id": "1", "update": "",
    }  # fmt: skip
    recording.add(**row, flags=UNANSWERED)
    async with open_inspector(recording) as session:
        await session.page.sees("no response", "#row-1")
        recording.change(make_row(1, **row, latency=2.5, match=2))
        await session.page.sees("2.5 s", "#row-1")
        assert "no response" not in await session.page.text("#row-1")


async def test_the_chunks_of_a_message_are_folded_and_can_be_unfolded() -> None:
    recording = ScriptedRecording()
    recording.add(summary="before")
    recording.add(summary="the first chunk", message=2, chunks=3)
    recording.add(2, summary="a later chunk", message=2)
    recording.add(summary="after")
    async with open_inspector(recording) as session:
        page = session.page
        await shown(page, "after")
        await gone(page, "a later chunk")
        await page.click(".fold", "3 chunks")
        await shown(page, "a later chunk")
        assert await page.run("document.querySelector('#timeline').ariaRowCount") == "6"
        await page.click(ROWS, "a later chunk")
        await selected(page)
        await page.press("Escape")
        await page.press("ArrowLeft")
        await gone(page, "a later chunk")
        assert await selected(page) == "row-2"
        await page.press("ArrowRight")
        await shown(page, "a later chunk")


async def test_a_filter_shows_only_the_rows_that_fit() -> None:
    recording = ScriptedRecording(is_live=True)
    recording.add(summary="needle one")
    recording.add(500)
    recording.add(summary="a failure", flags=ERROR)
    async with open_inspector(recording) as session:
        page = session.page
        await shown(page, "a failure")
        await page.press("/")
        await page.type("needle")
        await page.sees("1 of 502", "#query-result")
        await gone(page, "summary 500")
        await shown(page, "needle one")
        recording.add(summary="needle two")
        await shown(page, "needle two")
        await page.run("document.querySelector('#query').select()")
        await page.type("is:wrong")
        await page.sees("There is no filter is:wrong.", "#query-result")
        await page.run("document.querySelector('#query').select()")
        await page.type("no such text")
        await page.sees("No frame fits the filter.", "#no-rows")
        await page.press("Escape")
        await page.run("document.querySelector('#query').value = ''")
        await page.click(".chip", "Errors")
        await page.sees("1 of 503", "#query-result")
        await shown(page, "a failure")
        await gone(page, "needle one")
        await page.click(".chip", "Errors")
        await shown(page, "needle two")


async def test_a_frame_in_detail_shows_what_belongs_to_it() -> None:
    recording = ScriptedRecording()
    recording.add(source="client", kind="request", method="session/new", id="1", match=2)
    recording.add(kind="response", method="session/new", id="1", match=1, summary="it is done")
    recording.frames[1] = {
        "text": '{"id": 12345678901234567890, "params": {"list": [1.0, {"deep": true}]}}',
        "type": {"name": "NewSessionRequest", "version": 2, "doc": "A request for a session."},
        "violations": [
            {"path": "params.cwd", "expected": "an absolute path", "received": '"x"', "doc": ""}
        ],
        "match": recording.rows[1],
        "meta": {"traceparent": "00-abc"},
        "trace": {"traceparent": "00-abc"},
    }
    async with open_inspector(recording) as session:
        page = session.page
        await page.click(ROWS, "summary 1")
        await page.sees("12345678901234567890", ".json .number")
        assert "1.0" in await page.text(".json .number")
        for text, place in [
            ("1 violation", ".violations"), ("params.cwd", ".violations"),
            ("an absolute path", ".violations"), ("NewSessionRequest", ".type"),
            ("A request for a session.", ".type"), ("traceparent", ".detail section"),
        ]:  # fmt: skip
            await page.sees(text, place)
        await page.click("#panel button", "Raw")
        await page.sees('"list": [1.0, {"deep": true}]', "pre.raw")
        await page.click(".to-row", "Response #2: it is done")
        await page.sees("#2 response", ".detail h2")
        assert await selected(page) == "row-2"
        await page.press("m")
        await page.sees("#1 request", ".detail h2")


async def test_a_detail_filters_by_its_value() -> None:
    recording = ScriptedRecording()
    recording.add(id='"a b"', session="session one")
    async with open_inspector(recording) as session:
        await session.page.click(ROWS, "summary 1")
        for name, query in [("id", 'id:"a b"'), ("session", 'session:"session one"')]:
            await session.page.click(f"button[title^={name}]", "Filter")
            assert await session.page.run("document.querySelector('#query').value") == query
            await session.page.sees("of 1", "#query-result")


async def test_text_that_is_not_json_or_too_large_is_shown_as_it_is() -> None:
    recording = ScriptedRecording()
    recording.add(kind="invalid", flags=INVALID)
    recording.add(summary="large")
    recording.add(summary="deep")
    recording.add(summary="huge")
    recording.frames[1] = {"text": "Traceback \x1b[31m", "is_utf8": False}
    recording.frames[2] = {"text": json.dumps({"long": ["x" * 1000] * 1000, "end": "the end"})}
    recording.frames[3] = {"text": "[" * 100_000 + "]" * 100_000}
    recording.frames[4] = {"text": json.dumps("y" * 9_000_000)}
    async with open_inspector(recording) as session:
        page = session.page
        await page.click(ROWS, "summary 1")
        await page.sees("Traceback ␛[31m", "pre.raw")
        await page.sees("This is not JSON.", ".detail")
        await page.sees("not UTF-8", ".detail")
        await page.click(ROWS, "large")
        await page.sees('"the end"', ".json")
        await page.sees("Show more (800 left)", ".json button")
        await page.click(ROWS, "deep")
        await page.sees("#3", ".detail h2")
        await page.sees("1 item", ".json")
        await page.click(ROWS, "huge")
        await page.sees("This is too large for a tree.", ".detail")
        before = len(await page.text("pre.raw"))
        await page.click("#panel button", "Load more")
        await page.when(f"document.querySelector('pre.raw').textContent.length > {before}")


async def test_the_panels_show_the_conversation_the_capabilities_and_the_process() -> None:
    recording = ScriptedRecording()
    recording.add(30)
    recording.conversation |= {
        "sessions": [{"id": "s", "title": "Fix the discount"}], "session": "s",
        "entries": [
            {"kind": "user", "title": "", "status": "", "text": "Please *fix* it", "rows": [3]},
            {"kind": "tool", "title": "Tests", "status": "failed", "text": "a *b*", "rows": [4, 5]},
        ],
    }  # fmt: skip
    recording.capabilities |= {
        "client": {"name": "zed", "title": "Zed", "version": "1", "capabilities": {"fs": {}}},
        "capabilities": [
            {"side": "client", "path": "fs.readTextFile", "is_offered": True, "used": [],
             "uses": 0, "methods": []},
            {"side": "client", "path": "terminal", "is_offered": False, "used": [9], "uses": 2,
             "methods": ["terminal/create"]},
        ],
    }  # fmt: skip
    recording.process |= {
        "stderr": "\x1b[31mred\x1b[0m words", "stderr_bytes": 20,
        "events": [make_row(30, source="event", kind="event", method="exited")],
        "masked": [{"what": "env API_KEY", "source": "client", "times": 2}], "lost_bytes": 5000,
    }  # fmt: skip
    async with open_inspector(recording) as session:
        page = session.page
        await session.ready(30)
        await page.click("[role=tab]", "Conversation")
        await page.sees("Fix the discount", "#session-select")
        await page.sees("Tool call: Tests [failed]", ".inspected.tool")
        await page.sees("a *b*", ".inspected.tool pre")
        await page.sees("fix", ".inspected.user em")
        await page.click(".inspected button", "2 frames from #4")
        assert await selected(page) == "row-4"
        await page.click("[role=tab]", "Capabilities")
        await page.sees("1 used without being offered", ".capabilities")
        await page.sees("! no, but used", ".mistake")
        await page.click(".mistake button", "#9")
        await page.when("document.querySelector('.row.selected').id === 'row-9'")
        await page.click("[role=tab]", "Process")
        await page.sees("red words", ".terminal")
        assert await page.text(".terminal .fg1") == "red"
        await page.sees("env API_KEY", ".process")
        await page.sees("5.0 kB are not in the recording", ".process")


async def test_a_hundred_thousand_rows_are_loaded_but_only_those_in_view_are_drawn() -> None:
    recording = ScriptedRecording()
    recording.add(100_000)
    async with open_inspector(recording) as session:
        page = session.page
        await shown(page, "summary 100000")
        assert await page.count("*") < 1_000
        await page.call("HeapProfiler.collectGarbage")
        heap = await page.call("Runtime.getHeapUsage")
        assert heap["usedSize"] + heap["backingStorageSize"] < 60_000_000
        for number in (50_000, 1, 99_999):
            await page.run(
                "(() => { const view = document.querySelector('.viewport');"
                f"view.scrollTop = {number - 1} * 26; }})()"
            )
            await page.when(f"document.querySelector('#row-{number}')")
        assert await page.count("*") < 1_000
        assert await page.run("document.querySelector('#timeline').ariaRowCount") == "100001"


async def test_nothing_is_lost_while_thousands_of_rows_arrive() -> None:
    recording = ScriptedRecording(is_live=True)
    async with open_inspector(recording) as session:
        await session.ready(0)
        for _ in range(40):
            recording.add(250)
            await session.page.run("new Promise(requestAnimationFrame)")
        await session.ready(10_000)
        await shown(session.page, "summary 10000")
        await session.page.press("Home")
        await shown(session.page, "summary 1")


async def test_the_token_is_exchanged_and_leaves_the_address() -> None:
    async with open_inspector(ScriptedRecording()) as session:
        page = session.page
        await page.sees("Nothing has been recorded yet.", "#no-rows")
        assert await page.run("location.hash") == ""
        assert await page.run("document.cookie") == ""
        other = await session.browser.open(f"{session.origin}/#wrong")
        await other.sees("Open the address that parley inspect printed", "#signed-out")
        assert await other.run("location.hash") == ""


async def test_a_page_without_recordings_says_how_to_make_one() -> None:
    async with open_inspector() as session:
        await session.page.sees("parley tap -- COMMAND", "#recordings")
