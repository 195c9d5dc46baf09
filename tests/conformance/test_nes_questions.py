"""Requests for next edit suggestions and their responses: https://agentclientprotocol.com/rfds/next-edit-suggestions."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parley.agent import Agent, Turn
from parley.nes import (
    Proposal,
    Question,
    Suggestions,
)
from parley.nes.serving import ServedSession
from parley.transport import ProcessTransport

from .nes_agent import (
    URI,
    RawNesClient,
    ScriptedEngine,
    agent_of,
    insert,
    range_at,
    serve_engine,
    served,
)
from .raw_client import in_both_versions

requirement = pytest.mark.requirement
NOT_FOUND, INVALID, INTERNAL, CANCELLED = -32002, -32602, -32603, -32800


async def reply(turn: Turn) -> None:
    await turn.say("hi")


async def from_function(session: ServedSession, question: Question) -> Sequence[Proposal]:
    return [insert(question.document.text)]


@requirement("V1-NES-28")
@in_both_versions
async def test_nothing_to_suggest_is_an_empty_list(version: int) -> None:
    async with serve_engine(version, ScriptedEngine()) as client:
        client.open("text")
        assert await client.suggest() == []


@requirement("V1-NES-33")
@in_both_versions
async def test_the_fate_of_a_suggestion_is_not_answered_and_told_once(version: int) -> None:
    engine = ScriptedEngine()
    first, second = insert("a"), insert("b")
    engine.says(first, second)
    async with serve_engine(version, engine) as client:
        client.open("text")
        ids = [each[client.id_key] for each in await client.suggest()]
        client.outcome("accept", "zzz")
        client.outcome("reject", "zzz", reason="rejected")
        client.outcome("accept", ids[0])
        client.outcome("accept", ids[0])
        client.outcome("reject", ids[1])
        client.send(method="nes/accept", params={"sessionId": "zzz", client.id_key: ids[0]})
        seen = len(client.log)
        await client.suggest()
        assert len(client.log) == seen + 1
        assert engine.predictor.outcomes == [(first, "accepted"), (second, "rejected")]


@pytest.mark.parametrize("reason", ["rejected", "ignored", "replaced", "cancelled"])
@in_both_versions
async def test_each_reason_reaches_the_engine(version: int, reason: str) -> None:
    engine = ScriptedEngine()
    engine.says(insert("a"))
    async with serve_engine(version, engine) as client:
        client.open("text")
        (found,) = await client.suggest()
        client.outcome("reject", found[client.id_key], reason=reason)
        await client.suggest()
        assert [outcome for _, outcome in engine.predictor.outcomes] == [reason]


@in_both_versions
async def test_each_trigger_reaches_the_engine(version: int) -> None:
    engine = ScriptedEngine()
    triggers = ["automatic", "diagnostic", "manual"]
    async with serve_engine(version, engine) as client:
        client.open("text")
        for each in triggers:
            await client.suggest(triggerKind=each)
        assert [each.trigger for each in engine.predictor.questions] == triggers


@requirement("V1-NES-34", "V2-NES-07")
@in_both_versions
async def test_closing_ends_what_runs_and_is_answered_behind_it(version: int) -> None:
    engine = ScriptedEngine()
    engine.hangs()
    async with serve_engine(version, engine) as client:
        client.open("text")
        request_id = client.request("nes/suggest", client.question())
        await engine.asked.wait()
        closed = client.request("nes/close", {"sessionId": client.nes})
        response = await client.reply(closed)
        assert response["result"] == {}
        assert engine.predictor.is_closed
        assert [each["id"] for each in client.log[-2:]] == [request_id, closed]
        assert client.log[-2]["error"]["code"] == CANCELLED


@requirement("V1-NES-35")
@in_both_versions
async def test_behind_the_end_of_a_session_there_are_only_errors(version: int) -> None:
    async with serve_engine(version, ScriptedEngine()) as client:
        await client.call("nes/close", {"sessionId": client.nes})
        assert await client.refusal("nes/suggest", client.question()) == NOT_FOUND
        assert await client.refusal("nes/close", {"sessionId": client.nes}) == NOT_FOUND
        client.open("text")
        client.outcome("accept", "x")
        assert await client.refusal("nes/suggest", client.question()) == NOT_FOUND


@requirement("V1-NES-36")
@in_both_versions
async def test_a_question_can_be_cancelled_and_is_answered_once(version: int) -> None:
    engine = ScriptedEngine()
    is_cancelled = asyncio.Event()

    async def suggest(question: Question) -> Sequence[Proposal]:
        try:
            await asyncio.Event().wait()
        finally:
            is_cancelled.set()
        return []

    engine.answer = suggest
    async with serve_engine(version, engine) as client:
        client.open("text")
        request_id = client.request("nes/suggest", client.question())
        await engine.asked.wait()
        client.send(method="$/cancel_request", params={"requestId": request_id})
        assert (await client.reply(request_id))["error"]["code"] == CANCELLED
        await is_cancelled.wait()
        engine.says(insert("a"))
        assert len(await client.suggest()) == 1
        assert len([each for each in client.log if each.get("id") == request_id]) == 1


@requirement("V1-NES-37")
@in_both_versions
async def test_a_question_about_an_older_version_has_no_answer(version: int) -> None:
    engine = ScriptedEngine()
    engine.says(insert("a"))
    async with serve_engine(version, engine) as client:
        client.open("text", version=1)
        client.change(2, {"text": "new"})
        assert await client.suggest(1) == []
        assert engine.predictor.questions == []
        assert len(await client.suggest(2)) == 1


@requirement("V1-NES-37")
@in_both_versions
async def test_a_question_about_a_later_version_waits_for_it(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley.nes.serving._session.WAIT_AFTER", 20)
    engine = ScriptedEngine()
    engine.says(insert("a"))
    async with serve_engine(version, engine) as client:
        client.open("text", version=1)
        request_id = client.request("nes/suggest", client.question(3))
        unknown = client.question(uri="file:///unknown")
        assert await client.refusal("nes/suggest", unknown) == -32602  # so the other one waits now
        client.change(2, {"text": "new"})
        client.change(3, {"text": "newer"})
        assert len((await client.reply(request_id))["result"]["suggestions"]) == 1
        assert engine.predictor.questions[0].document.text == "newer"


@requirement("V1-NES-37")
@in_both_versions
async def test_a_version_that_does_not_come_has_no_answer(version: int) -> None:
    engine = ScriptedEngine()
    engine.says(insert("a"))
    async with serve_engine(version, engine) as client:
        client.open("text", version=1)
        assert await client.suggest(2) == []
        assert engine.predictor.questions == []


@requirement("V1-NES-37")
@in_both_versions
async def test_an_answer_is_about_the_version_that_was_asked_about(version: int) -> None:
    engine = ScriptedEngine()
    go_on = asyncio.Event()
    other = "file:///project/b.py"

    async def suggest(question: Question) -> Sequence[Proposal]:
        await go_on.wait()
        assert question.document.text == "\U0001f600x"
        return [insert("a", column=2), insert("b", uri=other)]

    engine.answer = suggest
    async with serve_engine(version, engine) as client:
        client.open("\U0001f600x")
        client.open("other", uri=other)
        request_id = client.request("nes/suggest", client.question())
        await engine.asked.wait()
        client.change(2, {"text": "\U0001f600\U0001f600"}, uri=other)  # nobody was asked about it
        client.change(2, {"text": "new"})
        assert await client.suggest(1) == []
        go_on.set()
        [found] = (await client.reply(request_id))["result"]["suggestions"]
        assert found["uri"] == URI
        assert found["edits"] == [{"range": range_at(0, 3, 3), "newText": "a"}]


@requirement("V1-NES-37")
@in_both_versions
async def test_about_a_document_that_was_closed_meanwhile_nothing_is_suggested(
    version: int,
) -> None:
    engine = ScriptedEngine()
    go_on = asyncio.Event()

    async def suggest(question: Question) -> Sequence[Proposal]:
        await go_on.wait()
        return [insert("a")]

    engine.answer = suggest
    async with serve_engine(version, engine) as client:
        client.open("text")
        request_id = client.request("nes/suggest", client.question())
        await engine.asked.wait()
        client.open("text")  # once more: it is another document of this name
        assert await client.suggest(0) == []
        go_on.set()
        assert (await client.reply(request_id))["result"] == {"suggestions": []}


@requirement("V1-NES-38")
@in_both_versions
async def test_settings_are_config_options(version: int) -> None:
    engine = ScriptedEngine()
    key = "id" if version == 1 else "configId"
    boolean: Any = {"session": {"configOptions": {"boolean": {}}}}
    async with served(agent_of(engine)) as client:
        await client.initialize(version, boolean)
        begun = await client.begin()
        assert [each[key] for each in begun["configOptions"]] == ["pace", "jumps"]
        setting = {"sessionId": client.nes, "configId": "pace", "value": "eager", "type": "id"}
        response = await client.call("session/set_config_option", setting)
        assert [each["currentValue"] for each in response["configOptions"]] == ["eager", True]
        switch = {"sessionId": client.nes, "configId": "jumps", "value": False, "type": "boolean"}
        response = await client.call("session/set_config_option", switch)
        assert [each["currentValue"] for each in response["configOptions"]] == ["eager", False]
        assert engine.predictor.options == {"pace": "eager", "jumps": False}
        for wrong in ({"configId": "none"}, {"value": "none"}):
            refused = {**setting, **wrong}
            assert await client.refusal("session/set_config_option", refused) == INVALID
        assert engine.predictor.options == {"pace": "eager", "jumps": False}


@requirement("V1-NES-38")
async def test_a_switch_is_a_choice_for_a_client_without_switches() -> None:
    engine = ScriptedEngine()
    async with served(agent_of(engine)) as client:
        await client.initialize(1)
        begun = await client.begin()
        assert begun["configOptions"][1]["type"] == "select"
        setting = {"sessionId": client.nes, "configId": "jumps", "value": "false"}
        response = await client.call("session/set_config_option", setting)
        assert response["configOptions"][1]["currentValue"] == "false"
        assert engine.predictor.options == {"jumps": False}


@requirement("V1-NES-04", "V1-NES-38")
@in_both_versions
async def test_options_of_conversations_and_of_suggestions_stay_apart(version: int) -> None:
    engine = ScriptedEngine()
    agent = agent_of(engine)
    agent.prompt(reply)
    async with serve_engine(version, agent) as client:
        chat = await client.new_session()
        setting = {"configId": "pace", "value": "eager", "type": "id"}
        refused = {**setting, "sessionId": chat}
        assert await client.refusal("session/set_config_option", refused) == INVALID
        unknown = {**setting, "sessionId": "zzz"}
        assert await client.refusal("session/set_config_option", unknown) == NOT_FOUND
        await client.call("session/set_config_option", {**setting, "sessionId": client.nes})
        assert engine.predictor.options == {"pace": "eager"}


@in_both_versions
async def test_an_engine_that_fails_is_an_internal_error(version: int) -> None:
    engine = ScriptedEngine()

    async def suggest(question: Question) -> Sequence[Proposal]:
        raise RuntimeError("a secret of ours")

    engine.answer = suggest
    async with serve_engine(version, engine) as client:
        client.open("text")
        refused = await client.ask("nes/suggest", client.question())
        assert refused["error"]["code"] == INTERNAL
        assert "secret" not in str(refused)
        engine.says(insert("a"))
        assert len(await client.suggest()) == 1


@in_both_versions
async def test_functions_suggest_without_an_engine(version: int) -> None:
    agent = Agent("functions")
    nes = Suggestions(agent)
    nes.suggest(from_function)
    outcomes: list[Any] = []

    @nes.accepted
    async def took(session: ServedSession, proposal: Proposal) -> None:
        outcomes.append((session.id, proposal.rule))

    @nes.rejected
    async def passed(session: ServedSession, proposal: Proposal, reason: str) -> None:
        outcomes.append((session.id, reason))

    @nes.closed
    async def ended(session: ServedSession) -> None:
        outcomes.append(session.id)

    async with serve_engine(version, agent) as client:
        client.open("text")
        for what in ("accept", "reject"):
            (found,) = await client.suggest()
            assert found["edits"][0]["newText"] == "text"
            client.outcome(what, found[client.id_key])
        await client.call("nes/close", {"sessionId": client.nes})
        assert outcomes == [(client.nes, "test"), (client.nes, "rejected"), client.nes]


EXAMPLE = Path(__file__).parents[2] / "examples" / "nes_agent.py"


@in_both_versions
async def test_the_example_suggests_over_stdin_and_stdout(version: int) -> None:
    process = await ProcessTransport.spawn([sys.executable, str(EXAMPLE)])
    try:
        client = RawNesClient(process)
        await client.initialize(version)
        await client.begin()
        client.open("x = 1\ny = 2  #why\n")
        (found,) = await client.suggest()
        assert found["edits"] == [{"range": range_at(1, 8, 8), "newText": " "}]
        client.change(2, {"range": range_at(1, 8, 8), "text": " "})
        assert await client.suggest(2) == []
    finally:
        await process.aclose()
