"""Next edit suggestions in an editor's client: its requests, and its use of the responses.

https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.unit.nes.client.editor import (
    EVERY_CONTEXT,
    EVERY_EVENT,
    URI,
    Editor,
    NesAgent,
    open_editor,
    position,
    range_,
    span,
)

from parley.client import connect
from parley.errors import AuthRequired, Unsupported
from parley.nes._documents.change import Span, Spot
from parley.nes.client import NesClient
from parley.nes.engine import Diagnostic, TextEdit
from parley.schema import v2

from .raw_agent import RawAgent
from .raw_connection import ErrorResponse

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])
OTHER = "file:///w/b.py"
LOGIN: dict[int, list[dict[str, str]]] = {
    1: [{"id": "key", "name": "Key"}],
    2: [{"methodId": "key", "name": "Key", "type": "agent"}],
}


async def busy(editor: Editor) -> None:
    """Perform every kind of user action once."""
    await editor.nes.focus(URI, Spot(0, 0))
    await editor.type("x", 0, 0)
    await editor.nes.save(URI)
    await editor.nes.open(OTHER, "python", "")
    await editor.nes.focus(OTHER)
    await editor.nes.close(OTHER)
    await editor.type("y", 0, 0)
    editor.clock.advance(10)
    await editor.settle()


def told(editor: Editor) -> list[str]:
    """Return which events came, in order."""
    return [each for each in editor.agent.methods if each.startswith("document/")]


# Sessions


@requirement("V1-NES-02", "V2-NES-01")
@in_both_versions
@pytest.mark.parametrize("offer", [{}, {"nes": None}, {"nes": False}])
async def test_an_agent_that_makes_no_suggestions_is_not_asked(version: int, offer: Any) -> None:
    agent = RawAgent(version, offer)
    with pytest.raises(Unsupported, match="nes"):
        async with NesClient.connect(agent, "/"):
            pass
    assert agent.methods == ["initialize"]


@requirement("V2-NES-01")
@in_both_versions
async def test_an_agent_needs_no_conversations_to_make_suggestions(version: int) -> None:
    async with open_editor(version=version) as editor:
        await editor.type("a", 0, 0)
        await editor.question()
        assert not [each for each in editor.agent.methods if each.startswith("session/")]


@requirement("V1-NES-03", "V1-DOC-02")
@in_both_versions
async def test_the_id_of_the_session_is_in_everything_that_follows(version: int) -> None:
    agent = NesAgent(version, EVERY_EVENT, EVERY_CONTEXT)
    agent.answers["nes/start"] = lambda params: {"sessionId": "?odd id"}
    async with open_editor("a", agent=agent) as editor:
        await busy(editor)
        await editor.type("b", 0, 0)
        editor.clock.advance(1)
        await editor.settle()
        question = [each for each in agent.log if each.get("method") == "nes/suggest"][-1]
        agent.suggest(question, agent.edit("s", ((0, 0, 0, 0), "!")))
        await editor.settle()
        await editor.nes.accept()
    own = [each for each in agent.log if each.get("method", "").startswith(("nes/", "document/"))]
    later = [each["params"] for each in own if each["method"] != "nes/start"]
    assert {each["sessionId"] for each in later} == {"?odd id"}
    assert {each["method"] for each in own} >= {
        *("nes/start", "nes/suggest", "nes/accept", "nes/close"),
        *(f"document/{name}" for name in EVERY_EVENT),
    }


@requirement("V1-NES-04", "V2-NES-02")
@in_both_versions
async def test_conversations_and_suggestions_know_nothing_of_each_other(version: int) -> None:
    more: dict[str, Any] = {"session": {}} if version == 2 else {}
    agent = NesAgent(version, EVERY_EVENT, **more)
    names = iter("ab")
    agent.answers["nes/start"] = lambda params: {"sessionId": next(names)}
    async with connect(agent, "/") as connection:
        session = await connection.new_session()
        async with NesClient(connection) as one, NesClient(connection) as other:
            assert [session.id, one.session.id, other.session.id] == ["s", "a", "b"]
            assert list(connection.sessions) == ["s"]
        assert [each["sessionId"] for each in agent.got("nes/close")] == ["b", "a"]
        await session.ask("still here")


@requirement("V1-NES-05")
@in_both_versions
async def test_a_session_may_begin_without_a_word(version: int) -> None:
    async with open_editor(None, version=version, options={"folders": []}) as editor:
        assert editor.agent.got("nes/start") == [{}]


@requirement("V1-NES-05")
async def test_a_folder_that_is_no_repository_is_told_as_such(tmp_path: Path) -> None:
    async with open_editor(None, options={"folders": [tmp_path]}) as editor:
        (start,) = editor.agent.got("nes/start")
        assert start == {
            "workspaceUri": tmp_path.as_uri(),
            "workspaceFolders": [{"uri": tmp_path.as_uri(), "name": tmp_path.name}],
        }


@requirement("V1-NES-05")
async def test_a_repository_is_told_with_owner_name_and_address(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = https://example.org/owner/name.git\n'
    )
    async with open_editor(None, options={"folders": [tmp_path]}) as editor:
        assert editor.agent.got("nes/start")[0]["repository"] == {
            "name": "name",
            "owner": "owner",
            "remoteUrl": "https://example.org/owner/name.git",
        }


@requirement("V1-NES-08", "V1-NES-09", "V2-NES-06")
@in_both_versions
async def test_when_a_login_is_wanted_the_user_logs_in_and_it_begins_again(version: int) -> None:
    agent = NesAgent(version, EVERY_EVENT)
    agent.hello["authMethods"] = LOGIN[version]
    is_open = False

    def start(params: Any) -> Any:
        if not is_open:
            raise ErrorResponse(-32000)
        return {"sessionId": "n"}

    def log_in(params: Any) -> Any:
        nonlocal is_open
        is_open = True
        return {}

    method = "authenticate" if version == 1 else "auth/login"
    agent.answers |= {"nes/start": start, method: log_in}

    def choose(methods: list[v2.AuthMethod]) -> v2.AuthMethod:
        return methods[0]

    async with open_editor(agent=agent, login=choose) as editor:
        await editor.type("a", 0, 0)
        assert await editor.shown(agent.edit("s", ((0, 1, 0, 1), "b"))) is not None
    assert agent.methods[:4] == ["initialize", "nes/start", method, "nes/start"]


@requirement("V1-NES-09")
async def test_a_login_that_nobody_makes_is_told_as_such() -> None:
    agent = NesAgent(1, EVERY_EVENT)
    agent.hello["authMethods"] = LOGIN[1]

    def refuse(params: Any) -> Any:
        raise ErrorResponse(-32000)

    agent.answers["nes/start"] = refuse
    with pytest.raises(AuthRequired, match="Key"):
        async with NesClient.connect(agent, "/"):
            pass


# Questions


@requirement("V1-NES-19", "V2-NES-03")
@in_both_versions
@pytest.mark.parametrize("name", [None, *EVERY_CONTEXT])
async def test_only_declared_context_is_sent(version: int, name: str | None) -> None:
    wanted: dict[str, Any] | None = None if name is None else {name: {}}
    agent = NesAgent(version, EVERY_EVENT, wanted)
    async with open_editor("a", agent=agent) as editor:
        await editor.nes.diagnose(URI, [Diagnostic(URI, span(0, 0, 0, 1), "error", "no")])
        await busy(editor)
        for question in agent.got("nes/suggest"):
            assert list(question.get("context", {})) == ([] if name is None else [name])
        assert agent.questions


@requirement("V1-NES-20")
@in_both_versions
async def test_not_more_context_than_declared_is_sent(version: int) -> None:
    counted = {name: {"maxCount": 2} for name in ("recentFiles", "editHistory", "userActions")}
    agent = NesAgent(version, EVERY_EVENT, counted)
    async with open_editor("a\n" * 40, agent=agent) as editor:
        for number in range(4):
            await editor.nes.open(f"file:///w/{number}.py", "python", "")
            await editor.type("x", number * 10, 0)
            editor.clock.advance(5)
        await editor.settle()
        last = agent.got("nes/suggest")[-1]["context"]
        assert [len(last[name]) for name in counted] == [2, 2, 2]


@requirement("V1-NES-21", "V1-NES-22")
@in_both_versions
async def test_a_question_says_why_it_is_asked(version: int) -> None:
    agent = NesAgent(version, EVERY_EVENT, {"diagnostics": {}})
    async with open_editor("a", agent=agent) as editor:
        await editor.type("x", 0, 0)
        assert (await editor.question())["params"]["triggerKind"] == "automatic"
        await editor.nes.diagnose(URI, [Diagnostic(URI, span(0, 0, 0, 1), "error", "no such name")])
        question = (await editor.question())["params"]
        assert question["triggerKind"] == "diagnostic"
        assert question["context"]["diagnostics"] == [
            {
                "uri": URI,
                "range": range_(0, 0, 0, 1),
                "severity": "error",
                "message": "no such name",
            }
        ]
        asking = asyncio.create_task(editor.nes.ask())
        question = await agent.asked()
        assert question["params"]["triggerKind"] == "manual"
        agent.suggest(question)
        await asking


@requirement("V1-NES-23", "V2-NES-09")
@in_both_versions
async def test_an_empty_selection_is_left_out(version: int) -> None:
    async with open_editor("abc", version=version) as editor:
        await editor.type("x", 0, 0)
        await editor.nes.move(URI, Spot(0, 1), Span(Spot(0, 1), Spot(0, 1)))
        assert "selection" not in (await editor.question())["params"]
        await editor.nes.move(URI, Spot(0, 2), Span(Spot(0, 1), Spot(0, 2)))
        asking = asyncio.create_task(editor.nes.ask())
        question = await editor.agent.asked()
        assert question["params"]["selection"] == range_(0, 1, 0, 2)
        editor.agent.suggest(question)
        await asking


# Events


@requirement("V1-DOC-01", "V2-NES-03")
@in_both_versions
@pytest.mark.parametrize("name", [None, *EVERY_EVENT])
async def test_only_declared_events_are_sent(version: int, name: str | None) -> None:
    events = None if name is None else {**dict.fromkeys(EVERY_EVENT), name: EVERY_EVENT[name]}
    async with open_editor("a", agent=NesAgent(version, events)) as editor:
        await busy(editor)
        assert set(told(editor)) == ({f"document/{name}"} if name else set())


@requirement("V1-DOC-04", "V1-DOC-05")
@in_both_versions
async def test_a_document_is_opened_once_and_comes_to_the_front_each_time(version: int) -> None:
    async with open_editor("a\r\nb", version=version) as editor:
        await editor.nes.open(OTHER, "rust", "")
        for uri in (URI, OTHER, URI):
            await editor.nes.focus(uri, Spot(0, 0))
        await editor.settle()
        assert editor.agent.got("document/didOpen") == [
            {**head("n", URI), "languageId": "python", "version": 1, "text": "a\r\nb"},
            {**head("n", OTHER), "languageId": "rust", "version": 1, "text": ""},
        ]
        mine = {**head("n", URI), "version": 1, "position": position(0, 0)}
        assert editor.agent.got("document/didFocus") == [
            {**mine, "visibleRange": range_(0, 0, 1, 1)},
            {**mine, "uri": OTHER, "visibleRange": range_(0, 0, 0, 0)},
            {**mine, "visibleRange": range_(0, 0, 1, 1)},
        ]


@requirement("V1-DOC-05")
@in_both_versions
async def test_a_document_comes_to_the_front_also_by_what_is_done_in_it(version: int) -> None:
    async with open_editor("a\nb", version=version) as editor:
        await editor.nes.open(OTHER, "rust", "c")
        await editor.nes.change(OTHER, TextEdit(span(0, 1), "d"))
        await editor.nes.change(OTHER, TextEdit(span(0, 2), "e"))
        await editor.nes.move(URI, Spot(1, 1))
        await editor.nes.move(URI, Spot(1, 0))
        await editor.shown(editor.agent.edit("s", ((0, 0, 0, 0), "#"), uri=OTHER))
        await editor.nes.accept()
        await editor.settle()
        other = {**head("n", OTHER), "visibleRange": range_(0, 0, 0, 2)}
        own = {**head("n", URI), "visibleRange": range_(0, 0, 1, 1)}
        assert editor.agent.got("document/didFocus") == [
            {**other, "version": 2, "position": position(0, 2)},
            {**own, "version": 1, "position": position(1, 1)},
            {**other, "version": 4, "position": position(0, 1), "visibleRange": range_(0, 0, 0, 4)},
        ]
        kinds = [each.removeprefix("document/did") for each in told(editor)]
        assert kinds[2:6] == ["Change", "Focus", "Change", "Focus"]


def head(session: str, uri: str) -> dict[str, str]:
    return {"sessionId": session, "uri": uri}


@requirement("V1-DOC-06", "V1-DOC-10")
@in_both_versions
async def test_full_sync_sends_the_whole_text(version: int) -> None:
    agent = NesAgent(version, {"didChange": {"syncKind": "full"}})
    async with open_editor("ab", agent=agent) as editor:
        await editor.nes.change(URI, TextEdit(span(0, 1), "x"), TextEdit(span(0, 0), "y"))
        await editor.type("z", 0, 0)
        await editor.settle()
        assert agent.got("document/didChange") == [
            {**head("n", URI), "version": 2, "contentChanges": [{"text": "yaxb"}]},
            {**head("n", URI), "version": 3, "contentChanges": [{"text": "zyaxb"}]},
        ]


@requirement("V1-DOC-07", "V1-DOC-10")
@in_both_versions
async def test_incremental_sync_sends_ranges_one_after_the_other(version: int) -> None:
    async with open_editor("ab\ncd", version=version) as editor:
        await editor.nes.change(URI, TextEdit(span(0, 1, 1, 1), ""), TextEdit(span(0, 2), "e"))
        await editor.type("z", 0, 0)
        await editor.settle()
        first, second = editor.agent.got("document/didChange")
        assert (first["version"], second["version"]) == (2, 3)
        assert first["contentChanges"] == [
            {"range": range_(0, 1, 1, 1), "text": ""},
            {"range": range_(0, 2, 0, 2), "text": "e"},
        ]
        assert second["contentChanges"] == [{"range": range_(0, 0, 0, 0), "text": "z"}]


@requirement("V1-DOC-11")
@in_both_versions
@pytest.mark.parametrize("broken", [{}, {"syncKind": "sometimes"}])
async def test_changes_are_not_told_without_a_kind_of_sync(version: int, broken: Any) -> None:
    async with open_editor("a", agent=NesAgent(version, {"didChange": broken})) as editor:
        await busy(editor)
        assert told(editor) == []


@requirement("V1-DOC-12")
@in_both_versions
async def test_closing_and_saving_have_session_and_uri_alone(version: int) -> None:
    async with open_editor("a", version=version) as editor:
        await editor.nes.save(URI)
        await editor.nes.close(URI)
        await editor.settle()
        assert editor.agent.got("document/didSave", "document/didClose") == [head("n", URI)] * 2


@in_both_versions
async def test_options_are_set_in_the_session_of_suggestions(version: int) -> None:
    agent = NesAgent(version, EVERY_EVENT)
    key = "id" if version == 1 else "configId"

    def options(value: str) -> dict[str, Any]:
        choices = [{"value": each, "name": each} for each in ("quiet", "eager")]
        option = {key: "mood", "name": "Mood", "type": "select", "currentValue": value}
        return {"configOptions": [{**option, "options": choices}]}

    agent.answers["nes/start"] = lambda params: {"sessionId": "n", **options("quiet")}
    agent.answers["session/set_config_option"] = lambda params: options(params["value"])
    async with open_editor(None, agent=agent) as editor:
        session = editor.nes.session
        (option,) = session.config_options
        assert isinstance(option, v2.SessionConfigSelect)
        assert option.current_value == "quiet"
        await session.set_config_option("mood", "eager")
        (option,) = session.config_options
        assert isinstance(option, v2.SessionConfigSelect)
        assert option.current_value == "eager"
        assert agent.got("session/set_config_option")[0]["sessionId"] == "n"
