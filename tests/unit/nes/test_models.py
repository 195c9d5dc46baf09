"""How an agent learns the text that it suggests edits of: by events, with the question, or both.

Whatever it asks for, what the user has typed and not saved counts, never what is on the disk. Each
test looks at the buffer after the suggestion was accepted.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.nes_agent import served

from parley.agent import Agent
from parley.errors import InvalidParams
from parley.nes import (
    Document,
    DocumentEvent,
    EditProposal,
    NesClient,
    Proposal,
    Question,
    Span,
    Spot,
    Suggestions,
)
from parley.nes.client import EditSuggestion, Timing
from parley.nes.engine import TextEdit
from parley.nes.serving import ServedSession

INSTANT = Timing(debounce_after=0, throttle_after=0)
MODELS: dict[str, dict[str, Any]] = {
    "events": {},
    "context": {"events": ()},
    "both": {"context": ["recentFiles", "editHistory", "openFiles"]},
    "full": {"sync": "full"},
    "no files": {"events": (), "files": False},
    "open": {"events": ["didOpen"]},
    "save": {"events": ["didSave"]},
    "focus": {"events": ["didFocus"]},
    "open and close": {"events": ["didOpen", "didClose", "didFocus"]},
    "whole changes": {"events": ["didChange"], "sync": "full"},
}
"""What an agent may ask for."""


def replacement(document: Document) -> list[Proposal]:
    """Propose to write `ccc` where `bbb` is."""
    for number, line in enumerate(document.lines):
        if (at := line.find("bbb")) >= 0:
            edit = TextEdit(Span(Spot(number, at), Spot(number, at + 3)), "ccc")
            return [EditProposal(uri=document.uri, edits=(edit,))]
    return []


def agent_asking_for(**wanted: Any) -> Agent:
    agent = Agent("replaces")

    @Suggestions(agent, **wanted).suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        known = (question.document, *question.recent, *session.documents)
        return [proposal for each in known for proposal in replacement(each)]

    return agent


@asynccontextmanager
async def editing(agent: Agent, folder: Path, **options: Any) -> AsyncGenerator[NesClient]:
    async with NesClient.connect(agent, folder, timing=INSTANT, **options) as nes:
        yield nes


async def accepted(nes: NesClient) -> EditSuggestion:
    """Ask for a suggestion, and accept it."""
    shown = await nes.ask()
    assert isinstance(shown, EditSuggestion)
    assert await nes.accept() is not None
    return shown


@pytest.mark.requirement("V1-NES-37", "V1-NES-16", "V1-DOC-01")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("model", MODELS)
async def test_what_is_accepted_changes_the_text_that_the_user_has(
    model: str, version: int, encoding: str, tmp_path: Path
) -> None:
    file = tmp_path / "a.py"
    file.write_text("aaa bbb\n")
    uri = file.as_uri()
    options = {"versions": (version,), "position_encodings": (encoding,)}
    async with editing(agent_asking_for(**MODELS[model]), tmp_path, **options) as nes:
        document = await nes.open(uri, "python", "aaa bbb\n")
        await nes.change(uri, TextEdit(Span(Spot(0, 0), Spot(0, 0)), "😀é "))
        await accepted(nes)
        assert document.text == "😀é aaa ccc\n"
        await nes.save(uri)
        await nes.change(uri, TextEdit(Span(Spot(1, 0), Spot(1, 0)), "é bbb"))
        await accepted(nes)
        assert document.text == "😀é aaa ccc\né ccc"
    assert file.read_text() == "aaa bbb\n"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("model", MODELS)
async def test_an_edit_of_another_open_document_is_about_what_the_user_has(
    model: str, version: int, tmp_path: Path
) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("bbb\n")
    one, other = ((tmp_path / name).as_uri() for name in ("a.py", "b.py"))
    wanted = {**MODELS[model], "context": ["recentFiles"]}
    async with editing(agent_asking_for(**wanted), tmp_path, versions=(version,)) as nes:
        second = await nes.open(other, "python", "bbb\n")
        await nes.open(one, "python", "nothing\n")
        await nes.change(other, TextEdit(Span(Spot(0, 0), Spot(0, 0)), "é unsaved "))
        await nes.focus(one, Spot(0, 0))
        await accepted(nes)
        assert second.text == "é unsaved ccc\n"


@pytest.mark.parametrize("version", [1, 2])
async def test_the_document_of_the_question_is_not_among_the_others(
    version: int, tmp_path: Path
) -> None:
    agent = Agent("looks")
    asked: list[list[str]] = []

    @Suggestions(agent, events=()).suggest
    async def guess(session: ServedSession, question: Question) -> None:
        asked.append([each.text for each in (question.document, *question.recent)])

    async with editing(agent, tmp_path, versions=(version,)) as nes:
        await nes.open("file:///b.py", "python", "other")
        await nes.open("file:///a.py", "python", "text")
        await nes.focus("file:///a.py")
        await nes.ask()
    assert asked[-1] == ["text", "other"]


@pytest.mark.parametrize("is_told", [True, False], ids=["open", "unknown"])
@pytest.mark.parametrize("version", [1, 2])
async def test_a_file_that_may_be_open_is_not_read_from_the_disk(
    version: int, is_told: bool, tmp_path: Path
) -> None:
    """An agent without events knows by `openFiles` which files the user may be editing."""
    other = tmp_path / "b c.py"
    other.write_text("bbb\n")
    spelled = other.as_uri().replace("b%20c", "%62%20c")
    agent = Agent("reads")

    @Suggestions(agent, events=()).suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        return replacement(Document(other.as_uri(), "", 0, other.read_text()))

    text = [{"uri": "file:///a.py", "languageId": "python", "text": "a"}]
    async with served(agent) as client:
        await client.initialize(version)
        await client.begin({"workspaceUri": tmp_path.as_uri()})
        asked: Any = {"uri": "file:///a.py", "context": {"recentFiles": text, "openFiles": []}}
        (edit,) = await client.suggest(**asked)
        assert edit["uri"] == other.as_uri()
        opened = [{"uri": spelled, "languageId": "python"}]
        context = {"recentFiles": text, **({"openFiles": opened} if is_told else {})}
        assert await client.suggest(uri="file:///a.py", context=context) == []


async def test_a_document_that_is_too_large_to_be_kept_is_not_read_from_the_disk(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.py").write_text("bbb\n")
    uri = (tmp_path / "a.py").as_uri()
    agent = Agent("reads")
    nes = Suggestions(agent)
    nes.max_document_bytes, nes.max_documents = 10, 2

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        return replacement(Document(uri, "", 0, "bbb\n"))

    async with served(agent) as client:
        await client.initialize(2)
        await client.begin({"workspaceUri": tmp_path.as_uri()})
        client.open("small", uri="file:///b.py")
        assert len(await client.suggest(uri="file:///b.py")) == 1
        client.open("typed: bbb\n", uri=uri)  # too large
        assert await client.suggest(uri="file:///b.py") == []
        assert await client.suggest(uri=uri) == []
        client.notify("document/didClose", uri=uri)
        assert len(await client.suggest(uri="file:///b.py")) == 1
        for number in range(3):  # more than are counted, so any file may be open
            client.open("much too large", uri=f"file:///{number}.py")
        assert await client.suggest(uri="file:///b.py") == []


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ({}, "Send document/didOpen before nes/suggest."),
        ({"events": ()}, "send the document in context.recentFiles of nes/suggest."),
        ({"events": (), "files": False}, "send the document in context.recentFiles"),
        ({"events": ["didOpen"]}, "send the document in context.recentFiles"),
    ],
    ids=["events", "context", "no files", "open"],
)
@pytest.mark.parametrize("version", [1, 2])
async def test_a_question_without_a_text_is_refused_with_what_is_missing(
    version: int, wanted: Any, hint: str, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("aaa bbb\n")
    uri = (tmp_path / "a.py").as_uri()
    async with served(agent_asking_for(**wanted)) as client:
        await client.initialize(version)
        await client.begin({"workspaceUri": tmp_path.as_uri()})
        asked = client.request("nes/suggest", client.question(uri=uri, context={"openFiles": []}))
        error = (await client.reply(asked))["error"]
        assert error["code"] == InvalidParams.code
        assert error["message"].startswith(f"The text of {uri} is not known.")
        assert hint in error["message"]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"events": ["didRun"]}, "there is no event didRun"),
        ({"sync": "partial"}, "sync must be 'full' or 'incremental', not 'partial'"),
        ({"events": ["didChange"]}, "incremental didChange needs didOpen"),
        ({"events": ["didOpen", "didChange"]}, "didOpen and didChange need didClose"),
    ],
    ids=["unknown", "sync", "change", "close"],
)
def test_events_that_do_not_fit_together_are_refused(wanted: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Suggestions(Agent("wrong"), **wanted)


@pytest.mark.parametrize(
    ("wanted", "heard"),
    [
        (
            {},
            [
                ("didOpen", "a", ()),
                ("didChange", "xa", ("x",)),
                ("didFocus", "xa", ()),
                ("didSave", "xa", ()),
                ("didClose", "xa", ()),
            ],
        ),
        ({"events": ["didSave", "didFocus"]}, [("didFocus", None, ()), ("didSave", None, ())]),
        ({"events": ["didOpen", "didClose"]}, [("didOpen", "a", ()), ("didClose", None, ())]),
        ({"events": ["didChange"], "sync": "full"}, [("didChange", "xa", ())]),
    ],
    ids=["all", "save and focus", "open and close", "whole changes"],
)
@pytest.mark.parametrize("version", [1, 2])
async def test_a_function_hears_the_events_that_it_wants(
    version: int, wanted: Any, heard: list[Any], tmp_path: Path
) -> None:
    agent = Agent("hears")
    nes = Suggestions(agent, **wanted)
    uri = (tmp_path / "a.py").as_uri()
    events: list[tuple[str, str | None, tuple[str, ...]]] = []
    ended = asyncio.Event()

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> None: ...

    @nes.document_event
    async def hear(session: ServedSession, event: DocumentEvent) -> None:
        await asyncio.sleep(0)  # the next event waits
        assert event.uri == uri
        text = None if event.document is None else event.document.text
        events.append((event.kind, text, tuple(each.new for each in event.changes)))
        if event.kind == "didFocus":
            assert event.spot == Spot(0, 1)
            assert event.visible is not None

    @nes.closed
    async def end(session: ServedSession) -> None:
        ended.set()

    async with editing(agent, tmp_path, versions=(version,)) as client:
        await client.open(uri, "python", "a")
        await client.change(uri, TextEdit(Span(Spot(0, 0), Spot(0, 0)), "x"))
        await client.focus(uri, Spot(0, 1))
        await client.save(uri)
        await client.close(uri)
    await asyncio.wait_for(ended.wait(), 300)
    assert events == heard
