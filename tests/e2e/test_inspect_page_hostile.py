"""Hostile text in every field of the inspector: it is shown, and nothing comes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM
from tests.e2e.inspector_api import InspectorSession, ScriptedRecording, make_row, open_inspector
from tests.e2e.test_page_hostile import EVIL, HIDDEN

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

PLACES = """[...document.querySelectorAll(
  'script:not([src="app.js"]), img, iframe, style, svg, base, object, embed')]
  .map((each) => each.outerHTML)"""
ATTRIBUTES = """[...document.querySelectorAll('*')].flatMap((each) => [...each.attributes])
  .filter((each) => /^on|^srcdoc$|^style$/.test(each.name)
    && !/^(transform: translateY\\([-0-9.]+px\\)|height: [0-9.]+px);$/.test(each.value))
  .map((each) => each.name + '=' + each.value)"""
LINKS = "[...document.querySelectorAll('a')].map((each) => each.href)"
LABELS = """[...document.querySelectorAll('[title], [aria-label]')]
  .map((each) => each.title + each.ariaLabel).join()"""
FIELDS = ("source", "kind", "method", "id", "session", "update", "summary")


def evil_recording() -> ScriptedRecording:
    key = "evil/../<b>"
    recording = ScriptedRecording(
        key, name=EVIL, command=[EVIL, EVIL], cwd=EVIL, exit=EVIL, hop=EVIL
    )
    recording.add()
    fields: dict[str, Any] = dict.fromkeys(FIELDS, EVIL)
    recording.add(**fields, chunks=2, message=2, flags=31)
    for kind in ("__proto__", "constructor", "toString"):
        recording.add(source=kind, kind=kind, method=kind, update=kind)
    recording.frames[2] = {
        "text": json.dumps({EVIL: EVIL, "__proto__": {"x": EVIL}, "toString": [EVIL]}),
        "is_utf8": False,
        "type": {"name": EVIL, "version": 2, "doc": EVIL},
        "violations": [dict.fromkeys(("path", "expected", "received", "doc"), EVIL)],
        "match": make_row(1, kind=EVIL, summary=EVIL),
        "meta": {EVIL: EVIL},
        "trace": {"traceparent": EVIL},
    }
    recording.conversation = {
        "sessions": [{"id": EVIL, "title": EVIL}, {"id": "t", "title": None}],
        "session": EVIL,
        "state": EVIL,
        "entries": [
            {"kind": kind, "title": EVIL, "status": EVIL, "text": EVIL, "rows": [1, 2]}
            for kind in ("user", "agent", "thought", "tool", "plan", "error", "__proto__", EVIL)
        ],
    }
    peer = {"name": EVIL, "title": EVIL, "version": EVIL, "capabilities": {EVIL: EVIL}}
    recording.capabilities |= {
        "client": peer, "agent": peer, "rows": [1],
        "capabilities": [
            {"side": EVIL, "path": EVIL, "is_offered": False, "used": [1], "uses": 1,
             "methods": [EVIL]}
        ],
    }  # fmt: skip
    recording.process |= {
        "command": [EVIL], "cwd": EVIL, "exit": EVIL, "stderr": EVIL, "stderr_bytes": 9,
        "events": [make_row(1, source="event", kind="event", method=EVIL, summary=EVIL)],
        "masked": [{"what": EVIL, "source": EVIL, "times": 1}],
    }  # fmt: skip
    return recording


async def look(session: InspectorSession) -> None:
    """Check what has become of the text."""
    page = session.page
    assert await page.run(PLACES) == []
    assert await page.run(ATTRIBUTES) == []
    links: list[str] = await page.run(LINKS)
    allowed = {
        "http://evil.example/x",
        "http://elsewhere.example/i.png",
        "http://elsewhere.example/p.png",
    }
    own = f"{session.origin}/api/recordings/evil%2F..%2F%3Cb%3E/"
    assert {each for each in links if not each.startswith(own)} <= allowed
    texts = "document.documentElement.textContent + document.title"
    assert not set(HIDDEN) & set(await page.run(texts))
    assert not set(HIDDEN) & set(await page.run(LABELS))


@pytest.mark.requirement("SAFE-REACH-08")
async def test_hostile_text_is_inert_in_every_field() -> None:
    async with open_inspector(evil_recording()) as session:
        page = session.page
        await session.ready(5)
        await page.sees("<script>alert(1)", "#row-2 .summary")
        await look(session)
        await page.click("#row-2 .time")
        await page.sees("<script>alert(1)", ".violations")
        await page.sees("__proto__", ".json .key")
        await page.run(
            "document.querySelectorAll('details').forEach((each) => { each.open = true })"
        )
        await look(session)
        await page.click("#panel button", "Raw")
        await page.sees("__proto__", "pre.raw")
        await look(session)
        for name, place in [
            ("Conversation", ".inspected.agent"),
            ("Capabilities", ".mistake"),
            ("Process", ".terminal"),
        ]:
            await page.click("[role=tab]", name)
            await page.sees("alert(1)", place)
            await look(session)
        # Nothing is carried out later either.
        await page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        assert page.dialogs == []


async def test_hostile_text_in_an_error_of_the_filter_is_inert() -> None:
    recording = ScriptedRecording()
    recording.add()

    def fail(query: str) -> dict[str, Any]:
        del query
        return {"ranges": [], "count": 0, "total": 1}

    recording.find = fail  # type: ignore[method-assign]
    async with open_inspector(recording) as session:
        await session.ready(1)
        await session.page.press("/")
        await session.page.type(EVIL)
        await session.page.sees("0 of 1", "#query-result")
        assert await session.page.run(PLACES) == []


async def test_text_cannot_become_markup_or_script() -> None:
    async with open_inspector(evil_recording()) as session:
        await session.ready(5)
        refused = await session.page.run(
            "['innerHTML', 'outerHTML'].map((name) => { try {"
            " document.querySelector('#status')[name] = '<b>x</b>'; return 'done' }"
            " catch (error) { return error.name } })"
        )
        assert refused == ["TypeError", "TypeError"]
        session.page.problems.clear()  # the policy reports what it has refused
