"""Next edit suggestions, the agent's side: https://agentclientprotocol.com/rfds/next-edit-suggestions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, AgentConnection, Login, Turn
from parley.errors import AuthRequired
from parley.nes import (
    JumpProposal,
    Proposal,
    Question,
    RenameProposal,
    ReplaceProposal,
    Spot,
    Suggestions,
)
from parley.nes.engine import Workspace, WorkspaceFolder
from parley.nes.serving import ServedSession

from .nes_agent import (
    ALL_KINDS,
    URI,
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
NOT_FOUND, AUTH = -32002, -32000
JUMP = JumpProposal(uri=URI, spot=Spot(0, 1), score=0.5, rule="j")
RENAME = RenameProposal(uri=URI, spot=Spot(0, 1), new_name="n", score=0.5)
REPLACE = ReplaceProposal(uri=URI, search="a", replace="b", score=0.5, rule="r")


@requirement("V1-NES-01", "V1-DOC-11")
@in_both_versions
async def test_suggestions_are_offered_with_what_is_wanted_for_them(version: int) -> None:
    async with served(
        agent_of(ScriptedEngine(frozenset({"editHistory", "diagnostics"})))
    ) as client:
        offered = client.capabilities_of(await client.initialize(version))
        assert offered["nes"]["events"]["document"] == {
            "didOpen": {},
            "didChange": {"syncKind": "incremental"},
            "didClose": {},
            "didSave": {},
            "didFocus": {},
        }
        assert offered["nes"]["context"].keys() == {"editHistory", "diagnostics"}


@requirement("V1-NES-01")
@in_both_versions
async def test_an_agent_without_suggestions_offers_none(version: int) -> None:
    agent = Agent("mute")
    agent.prompt(reply)
    async with served(agent) as client:
        offered = client.capabilities_of(await client.initialize(version))
        assert not offered.keys() & {"nes", "positionEncoding"}
        assert await client.refusal("nes/start") == -32601


@requirement("V1-NES-01", "V1-NES-19")
@pytest.mark.parametrize(("files", "more"), [(True, {"openFiles": {}}), (False, {})])
@in_both_versions
async def test_an_agent_without_events_asks_for_the_document_with_each_question(
    version: int, files: bool, more: Any
) -> None:
    agent = Agent("context")
    nes = Suggestions(agent, events=(), files=files)
    nes.suggest(from_function)
    async with served(agent) as client:
        offered = client.capabilities_of(await client.initialize(version))["nes"]
        assert offered == {"context": {"recentFiles": {"maxCount": 16}, **more}}


@requirement("V1-DOC-01", "V1-DOC-06", "V1-DOC-11")
@in_both_versions
async def test_an_agent_chooses_its_events_and_whole_texts(version: int) -> None:
    agent = Agent("some")
    nes = Suggestions(agent, events=["didOpen", "didChange", "didClose"], sync="full")
    nes.suggest(from_function)
    async with served(agent) as client:
        offered = client.capabilities_of(await client.initialize(version))["nes"]
        assert offered == {
            "events": {
                "document": {"didOpen": {}, "didChange": {"syncKind": "full"}, "didClose": {}}
            }
        }


async def reply(turn: Turn) -> None:
    await turn.say("hi")


async def from_function(session: ServedSession, question: Question) -> Sequence[Proposal]:
    return [insert(question.document.text)]


@requirement("V1-NES-04")
@in_both_versions
async def test_sessions_of_both_kinds_know_nothing_of_each_other(version: int) -> None:
    agent = agent_of(ScriptedEngine())
    agent.prompt(reply)
    async with serve_engine(version, agent) as client:
        chat = await client.new_session()
        request = {**client.question(), "sessionId": chat}
        assert await client.refusal("nes/suggest", request) == NOT_FOUND
        assert await client.refusal("nes/close", {"sessionId": chat}) == NOT_FOUND
        prompt = {"sessionId": client.nes, "prompt": [{"type": "text", "text": "hi"}]}
        assert await client.refusal("session/prompt", prompt) == NOT_FOUND
        assert await client.refusal("session/close", {"sessionId": client.nes}) == NOT_FOUND
        client.open("text")
        assert await client.suggest() == []
        assert (await client.turn(chat, "hi")).text == "hi"
        first = client.nes
        await client.begin()
        assert len({chat, first, client.nes}) == 3
        await client.call("nes/close", {"sessionId": first})
        client.open("text")
        assert await client.suggest() == []


@in_both_versions
async def test_a_session_begins_without_params(version: int) -> None:
    engine = ScriptedEngine()
    async with serve_engine(version, engine):
        assert engine.predictor.workspace == Workspace()


@requirement("V1-NES-06")
@in_both_versions
async def test_what_is_said_of_the_workspace_holds_for_the_session(
    version: int, tmp_path: Path
) -> None:
    engine = ScriptedEngine()
    async with served(agent_of(engine)) as client:
        await client.initialize(version)
        (tmp_path / "a b").mkdir()
        await client.begin(
            {
                "workspaceUri": tmp_path.as_uri(),
                "workspaceFolders": [
                    {"uri": (tmp_path / "a b").as_uri(), "name": "a b"},
                    {"uri": (tmp_path / "gone").as_uri(), "name": "gone"},
                    {"uri": "vscode-remote://elsewhere/x", "name": "x"},
                    {"uri": tmp_path.as_uri(), "name": "again"},
                ],
                "repository": {"name": "r", "owner": "o", "remoteUrl": "https://example.com/o/r"},
            }
        )
        known = Workspace(
            folders=(str(tmp_path), str(tmp_path / "a b")),
            repository="o/r",
            remote_url="https://example.com/o/r",
            uri=tmp_path.as_uri(),
            named_folders=(
                WorkspaceFolder((tmp_path / "a b").as_uri(), "a b"),
                WorkspaceFolder((tmp_path / "gone").as_uri(), "gone"),
                WorkspaceFolder("vscode-remote://elsewhere/x", "x"),
                WorkspaceFolder(tmp_path.as_uri(), "again"),
            ),
        )
        assert engine.predictor.workspace == known
        (tmp_path / "a b" / "c.py").write_text("")
        uri = (tmp_path / "a b" / "c.py").as_uri()
        engine.says(insert("new", uri=uri))
        client.open("text")
        for version_of_text in (1, 2):
            # It is in a folder that was told once, and can be read.
            (found,) = await client.suggest(version_of_text)
            assert found["uri"] == uri
            client.change(version_of_text + 1, {"text": "other"})
        assert [each.workspace for each in engine.sessions] == [known]


@requirement("V1-NES-07")
@in_both_versions
async def test_a_session_may_need_a_login(version: int) -> None:
    agent = Agent("locked")
    nes = Suggestions(agent, ScriptedEngine())
    users: set[str] = set()

    @nes.started
    async def check(session: ServedSession) -> None:
        if not users:
            raise AuthRequired()

    @agent.login("key", name="Key")
    async def log_in(login: Login) -> None:
        users.add(login.method_id)

    @agent.logout
    async def log_out(connection: AgentConnection) -> None:
        users.clear()

    async with served(agent) as client:
        await client.initialize(version)
        assert await client.refusal("nes/start", {}) == AUTH
        method = "authenticate" if version == 1 else "auth/login"
        await client.call(method, {"methodId": "key"})
        await client.begin()


ENCODED = [("utf-16", 3), ("utf-32", 2), ("utf-8", 5)]


@requirement("V1-NES-13", "V1-NES-15", "V1-NES-16", "V1-NES-10", "V2-NES-05")
@pytest.mark.parametrize(("encoding", "character"), ENCODED)
@in_both_versions
async def test_the_client_s_first_encoding_counts_everywhere(
    version: int, encoding: str, character: int
) -> None:
    engine = ScriptedEngine()
    engine.says(insert("!", 0, 2), JUMP, RENAME)
    offered = {**ALL_KINDS, "positionEncodings": [encoding, "utf-16"]}
    async with served(agent_of(engine)) as client:
        response = await client.initialize(version, offered)
        assert client.capabilities_of(response)["positionEncoding"] == encoding
        await client.begin()
        client.open("a😀b\n")
        client.notify(
            "document/didFocus",
            uri=URI,
            version=1,
            position=position(0, character),
            visibleRange=range_at(0, 0, character),
        )
        client.change(2, {"range": range_at(0, character, character + 1), "text": "c"})
        place = position(0, character)
        edit, jump, rename = await client.suggest(
            2, position=place, selection=range_at(0, 0, character)
        )
        focus, change = engine.predictor.events[1:3]
        assert focus[2:] == (Spot(0, 2), (Spot(0, 0), Spot(0, 2)))
        assert change[2] == "a😀c\n"
        request = engine.predictor.questions[0]
        assert (request.spot, request.selection) == (Spot(0, 2), (Spot(0, 0), Spot(0, 2)))
        assert edit["edits"] == [{"range": range_at(0, character, character), "newText": "!"}]
        assert jump["position"] == rename["position"] == position(0, 1)


@requirement("V1-NES-11", "V1-NES-14", "V1-NES-17", "V1-NES-10")
@pytest.mark.parametrize("offered", [{}, {"positionEncodings": ["utf-7"]}])
@in_both_versions
async def test_without_a_known_encoding_it_is_utf_16(version: int, offered: Any) -> None:
    engine = ScriptedEngine()
    engine.says(insert("!", 0, 1))
    async with served(agent_of(engine)) as client:
        response = await client.initialize(version, offered)
        assert client.capabilities_of(response).get("positionEncoding", "utf-16") == "utf-16"
        await client.begin()
        client.open("😀")
        assert (await client.suggest())[0]["edits"][0]["range"] == range_at(0, 2, 2)
        assert (await client.suggest(position=position(0, 2))) != []
        assert [each.spot for each in engine.predictor.questions] == [Spot(0, 0), Spot(0, 1)]


@requirement("V1-NES-17")
@in_both_versions
async def test_an_unknown_encoding_is_passed_over(version: int) -> None:
    async with served(agent_of(ScriptedEngine())) as client:
        response = await client.initialize(version, {"positionEncodings": ["utf-7", "utf-8"]})
        assert client.capabilities_of(response)["positionEncoding"] == "utf-8"


@requirement("V1-NES-13")
@pytest.mark.parametrize("place", ["top", "capabilities"])
async def test_an_older_client_finds_the_encoding_where_it_looks(place: str) -> None:
    general = {"general": {"positionEncodings": ["utf-8"]}}
    body: dict[str, Any] = {"protocolVersion": 1, "clientCapabilities": {}}
    (body if place == "top" else body["clientCapabilities"]).update(general)
    async with served(agent_of(ScriptedEngine())) as client:
        response = await client.call("initialize", body)
        assert response["positionEncoding"] == "utf-8"
        assert response["agentCapabilities"]["positionEncoding"] == "utf-8"


@requirement("V1-NES-24", "V1-NES-27")
@in_both_versions
async def test_every_suggestion_has_an_id_of_its_own(version: int) -> None:
    engine = ScriptedEngine()
    engine.says(insert("a"), insert("b"))
    async with serve_engine(version, engine) as client:
        client.open("text")
        found = [*await client.suggest(), *await client.suggest()]
        await client.begin()
        client.open("text")
        found += await client.suggest()
        assert len({each[client.id_key] for each in found}) == 6
        for each in found:
            assert each["kind"] == "edit"
            assert each["uri"] == URI
            assert len(each["edits"]) == 1
            assert "cursorPosition" not in each
            assert each["_meta"] == {"parley": {"rule": "test", "score": 0.75}}


@requirement("V1-NES-25", "V2-NES-04")
@pytest.mark.parametrize("offered", [(), ("jump",), ("rename", "searchAndReplace")])
@in_both_versions
async def test_only_what_the_client_shows_is_suggested(
    version: int, offered: tuple[str, ...]
) -> None:
    engine = ScriptedEngine()
    engine.says(insert("a"), JUMP, RENAME, REPLACE)
    kinds: Any = {"nes": {each: dict[str, str]() for each in offered}} if offered else {}
    async with serve_engine(version, engine, kinds) as client:
        client.open("text")
        found = [each["kind"] for each in await client.suggest()]
        assert found == ["edit", *offered]
        assert engine.predictor.questions[0].kinds == {"edit", *offered}


@in_both_versions
async def test_each_kind_has_its_members(version: int) -> None:
    engine = ScriptedEngine()
    engine.says(JUMP, RENAME, REPLACE)
    async with serve_engine(version, engine, ALL_KINDS) as client:
        client.open("text")
        found = await client.suggest()
        for each in found:
            assert each.pop(client.id_key)
            assert each.pop("_meta")["parley"]["score"] == 0.5
        place = {"uri": URI, "position": position(0, 1)}
        assert found == [
            {"kind": "jump", **place},
            {"kind": "rename", **place, "newName": "n"},
            {"kind": "searchAndReplace", "uri": URI, "search": "a", "replace": "b"},
        ]


@requirement("V1-NES-39")
@pytest.mark.parametrize("actions", [["rename"], {"rename": {}, "own": {}}])
async def test_an_older_client_gets_the_actions_that_it_listed(actions: Any) -> None:
    engine = ScriptedEngine()
    engine.says(RENAME, REPLACE)
    async with serve_engine(1, engine, {"nes": {"ideActions": actions}}) as client:
        client.open("text")
        (found,) = await client.suggest()
        assert found.pop("_meta")
        id = found.pop("id")
        assert found == {
            "kind": "action",
            "actionId": "rename",
            "arguments": {"uri": URI, "position": position(0, 1), "newName": "n"},
        }
        client.outcome("accept", id)
        await client.suggest()
        assert engine.predictor.outcomes == [(RENAME, "accepted")]


@requirement("V1-NES-39")
async def test_a_client_that_offers_both_gets_the_present_form() -> None:
    engine = ScriptedEngine()
    engine.says(RENAME)
    both: Any = {"nes": {"ideActions": ["rename"], "rename": {}}}
    async with serve_engine(1, engine, both) as client:
        client.open("text")
        assert [each["kind"] for each in await client.suggest()] == ["rename"]
