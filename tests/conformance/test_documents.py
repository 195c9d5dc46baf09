"""Document events of an editor: https://agentclientprotocol.com/rfds/next-edit-suggestions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent
from parley.nes import Span, Spot, Suggestions
from parley.nes._documents.change import Change

from .nes_agent import (
    URI,
    RawNesClient,
    ScriptedEngine,
    agent_of,
    insert,
    position,
    range_at,
    serve_engine,
    served,
)
from .raw_client import in_both_versions

requirement = pytest.mark.requirement
OTHER = "file:///project/b.py"
INVALID = -32602


async def texts(client: RawNesClient, engine: ScriptedEngine, version: int) -> str:
    """Return the agent's copy of the document, by a question about it."""
    count = len(engine.predictor.questions)
    await client.suggest(version)
    assert len(engine.predictor.questions) == count + 1, (
        "the copy is not the one that was asked about"
    )
    return engine.predictor.questions[-1].document.text


@requirement("V1-DOC-03")
@in_both_versions
async def test_events_are_not_answered_and_reach_the_engine(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        seen = len(client.log)
        client.open("one\ntwo\n")
        client.notify(
            "document/didFocus",
            uri=URI,
            version=1,
            position=position(1, 2),
            visibleRange={"start": position(0, 0), "end": position(2, 0)},
        )
        client.change(2, {"range": range_at(0, 0, 3), "text": "1"})
        client.notify("document/didSave", uri=URI)
        assert await client.suggest(2) == []
        client.notify("document/didClose", uri=URI)
        assert await client.refusal("nes/suggest", client.question(2)) == INVALID
        assert len(client.log) == seen + 2
        assert engine.predictor.events == [
            ("opened", URI, "one\ntwo\n"),
            ("focused", URI, Spot(1, 2), Span(Spot(0, 0), Spot(2, 0))),
            ("changed", URI, "1\ntwo\n", [Change(Span(Spot(0, 0), Spot(0, 3)), "one", "1")]),
            ("saved", URI),
            ("closed", URI),
        ]


@requirement("V1-DOC-08")
@pytest.mark.parametrize("change", [{"text": "new"}, {"text": "new", "range": None}])
@in_both_versions
async def test_a_change_without_a_range_is_the_whole_text(version: int, change: Any) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("old")
        client.change(2, change)
        assert await texts(client, engine, 2) == "new"


@requirement("V1-DOC-09")
@in_both_versions
async def test_changes_of_one_event_build_upon_each_other(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("ab\n")
        client.change(
            2,
            {"range": range_at(0, 0, 1), "text": "long"},
            {"range": range_at(0, 4, 5), "text": "!"},
        )
        assert await texts(client, engine, 2) == "long!\n"


@requirement("V1-DOC-13")
@in_both_versions
async def test_events_about_the_unknown_do_no_harm(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        known, client.nes = client.nes, "zzz"
        client.open("text")
        client.change(2, {"text": "x"})
        client.notify("document/didClose", uri=URI)
        client.nes = known
        client.change(2, {"text": "x"})
        client.notify("document/didSave", uri=URI)
        client.notify("document/didClose", uri=URI)
        focus = {"position": position(0, 0), "visibleRange": range_at(0, 0, 0)}
        client.notify("document/didFocus", uri=URI, version=1, **focus)
        client.open("text")
        assert await texts(client, engine, 1) == "text"
        assert engine.predictor.events == [("opened", URI, "text")]
        assert [each for each in caplog.records if each.name.startswith("parley")] == []
        client.notify("document/didOpen", uri=URI)  # which is broken
        assert await texts(client, engine, 1) == "text"


BROKEN = [
    {"text": 7},
    {"range": range_at(0, 0, 1)},
    {"range": {"start": position(0, 0)}, "text": "x"},
    {"range": {"start": {"line": -1, "character": 0}, "end": position(0, 0)}, "text": "x"},
    "x",
]


@requirement("V1-DOC-14")
@pytest.mark.parametrize("broken", BROKEN)
@in_both_versions
async def test_behind_a_broken_change_the_copy_is_out_of_date(version: int, broken: Any) -> None:
    engine = ScriptedEngine()
    engine.says(insert("a"))
    async with serve_engine(version, engine) as client:
        client.open("text")
        client.change(2, {"range": range_at(0, 0, 0), "text": "a "}, broken)
        assert await client.suggest(2) == []
        client.change(3, {"range": range_at(0, 0, 0), "text": "b "})
        assert await client.suggest(3) == []
        assert engine.predictor.questions == []
        client.change(4, {"text": "new"}, {"range": range_at(0, 0, 0), "text": "c "})
        assert await texts(client, engine, 4) == "c new"


@requirement("V1-DOC-14")
@in_both_versions
async def test_changes_that_are_no_list_are_broken(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("text")
        client.notify("document/didChange", uri=URI, version=2, contentChanges={"text": "x"})
        assert await client.suggest(2) == []
        client.notify("document/didChange", uri=URI, version=3)
        assert await client.suggest(3) == []
        client.open("fresh", version=4)
        assert await texts(client, engine, 4) == "fresh"


@in_both_versions
async def test_a_change_is_read_whatever_is_added_to_it(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("text")
        client.change(2, {"text": "new", "rangeLength": 4, "_meta": 7})
        assert await texts(client, engine, 2) == "new"


@in_both_versions
async def test_changes_that_come_late_are_noticed(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("text")
        client.change(3, {"range": range_at(0, 0, 0), "text": "c"})
        client.change(2, {"range": range_at(0, 0, 0), "text": "b"})
        assert await client.suggest(3) == []
        assert engine.predictor.questions == []
        client.change(4, {"text": "whole"})
        client.change(4, {"text": "twice"})
        assert await texts(client, engine, 4) == "whole"


@in_both_versions
async def test_a_document_may_be_opened_again(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("one")
        client.open("two")
        assert await texts(client, engine, 1) == "two"
        assert [each[0] for each in engine.predictor.events] == ["opened", "closed", "opened"]


@in_both_versions
async def test_each_session_has_its_own_documents(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("one")
        await client.begin()
        assert await client.refusal("nes/suggest", client.question()) == INVALID
        assert engine.predictor.questions == []


@in_both_versions
async def test_a_file_that_is_not_open_is_among_the_recent_ones(version: int) -> None:
    engine = ScriptedEngine()
    engine.says(insert("a"))
    recent = [{"uri": URI, "languageId": "python", "text": "from the context"}]
    async with serve_engine(version, engine) as client:
        assert len(await client.suggest(7, context={"recentFiles": recent})) == 1
        document = engine.predictor.questions[0].document
        assert (document.text, document.version) == ("from the context", 7)
        assert (document.language_id, document.uri) == ("python", URI)


@in_both_versions
async def test_an_edit_of_a_file_that_is_not_open_is_about_the_text_on_the_disk(
    version: int, tmp_path: Path
) -> None:
    engine = ScriptedEngine()
    work, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (work, outside):
        folder.mkdir()
        (folder / "a.py").write_text("😀 on the disk\n")
    (work / "link.py").symlink_to(outside / "a.py")
    (work / "picture").write_bytes(b"\xff\xfe")
    async with served(agent_of(engine)) as client:
        await client.initialize(version)
        await client.begin({"workspaceUri": work.as_uri()})
        client.open("text")

        async def found(path: Path) -> list[Any]:
            engine.says(insert("a", 0, 1, path.as_uri()))
            return await client.suggest()

        for other in (outside / "a.py", work / "link.py", work / "picture", work / "none.py", work):
            assert await found(other) == []
        (edit,) = await found(work / "a.py")
        assert edit["edits"][0]["range"] == range_at(0, 2, 2)


@in_both_versions
async def test_the_disk_may_be_left_alone(version: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x")
    agent, engine = Agent("context"), ScriptedEngine()
    engine.says(insert("a", uri=(tmp_path / "a.py").as_uri()))
    Suggestions(agent, engine, files=False)
    async with served(agent) as client:
        await client.initialize(version)
        await client.begin({"workspaceUri": tmp_path.as_uri()})
        client.open("text")
        assert await client.suggest() == []
        assert len(engine.predictor.questions) == 1


CONTEXT = {
    "recentFiles": [{"uri": OTHER, "languageId": "python", "text": "😀 b\n"}],
    "relatedSnippets": [
        {"uri": OTHER, "excerpts": [{"startLine": 3, "endLine": 4, "text": "x\ny"}]}
    ],
    "editHistory": [{"uri": URI, "diff": "-a\n+b"}],
    "userActions": [
        {"action": "insertChar", "uri": OTHER, "position": position(0, 2), "timestampMs": 9}
    ],
    "openFiles": [{"uri": OTHER, "languageId": "python"}],
    "diagnostics": [
        {"uri": URI, "range": range_at(0, 2, 3), "severity": "error", "message": "bad"},
        {"uri": "file:///c", "range": range_at(7, 8, 9), "severity": "hint", "message": "?"},
    ],
}


@in_both_versions
async def test_all_context_reaches_the_engine_in_code_points(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine) as client:
        client.open("😀a\n")
        await client.suggest(context=CONTEXT)
        await client.suggest(context={})
        request, bare = engine.predictor.questions
        assert [(each.uri, each.text) for each in request.recent] == [(OTHER, "😀 b\n")]
        assert [(each.uri, each.line, each.text) for each in request.snippets] == [
            (OTHER, 3, "x\ny")
        ]
        assert [(each.uri, each.diff) for each in request.history] == [(URI, "-a\n+b")]
        action = request.actions[0]
        assert (action.action, action.spot, action.milliseconds) == ("insertChar", Spot(0, 1), 9)
        first, second = request.diagnostics
        assert (first.span, first.severity) == (Span(Spot(0, 1), Spot(0, 2)), "error")
        assert (second.span, second.message) == (Span(Spot(7, 8), Spot(7, 9)), "?")
        assert (request.open_uris, bare.open_uris) == ((OTHER,), (URI,))


@in_both_versions
async def test_an_edit_of_another_file_is_counted_in_that_file(version: int) -> None:
    engine = ScriptedEngine()
    recent = [{"uri": "file:///r", "languageId": "python", "text": "😀"}]
    proposals = [insert("x", 0, 1, uri) for uri in (OTHER, "file:///r", "file:///unknown")]
    engine.says(*proposals)
    async with serve_engine(version, engine) as client:
        client.open("plain")
        client.open("😀 other", uri=OTHER)
        found = await client.suggest(context={"recentFiles": recent})
        assert [each["uri"] for each in found] == [OTHER, "file:///r"]
        assert [each["edits"][0]["range"] for each in found] == [range_at(0, 2, 2)] * 2
