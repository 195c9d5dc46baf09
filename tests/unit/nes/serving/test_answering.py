"""What becomes of an engine's proposals on their way to the client."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.nes_agent import ScriptedEngine

from parley.agent import Agent
from parley.errors import InternalError
from parley.nes import EditProposal, Proposal, Question, ReplaceProposal, Suggestions
from parley.nes.serving import ServedSession
from parley.schema import v2
from parley.schema.v2 import methods
from parley.session._capabilities import ClientFeatures

from .test_serving import URI, ask, edit, joined, open_text, proposing, start


async def test_edits_that_change_nothing_are_left_out() -> None:
    same, other = edit((0, 0), (0, 2), "te"), edit((0, 3), (0, 4), "T")
    agent, _ = proposing(same, other)
    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        (found,) = await ask(client, session)
        assert [each.new_text for each in found.edits] == ["T"]


async def test_a_proposal_that_changes_nothing_is_left_out() -> None:
    agent, _ = proposing(edit((0, 0), (0, 2), "te"), edit((0, 9), (3, 0), ""))
    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        assert await ask(client, session) == []


@pytest.mark.parametrize(
    ("search", "replace", "is_regex", "count"),
    [("a", "a", False, 0), ("a", "b", False, 1), ("a.", "a.", True, 1)],
)
async def test_a_replacement_by_the_same_is_left_out(
    search: str, replace: str, is_regex: bool, count: int
) -> None:
    agent = Agent("test")
    nes = Suggestions(agent)
    proposal = ReplaceProposal(
        uri=URI, search=search, replace=replace, is_regex=is_regex, score=1, rule="x"
    )

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
        return [proposal]

    shown = v2.ClientNesCapabilities(search_and_replace=v2.NesSearchAndReplaceCapabilities())
    async with joined(agent, features=ClientFeatures(nes=shown)) as client:
        session = await start(client)
        await open_text(client, session, "text")
        assert len(await ask(client, session)) == count


class Elsewhere:
    """An agent that suggests an edit of another document, after something has happened."""

    def __init__(self, uri: str) -> None:
        self.agent = Agent("test")
        self.meanwhile: list[str] = []
        self._uri = uri
        Suggestions(self.agent).suggest(self._guess)

    async def _guess(self, session: ServedSession, question: Question) -> Sequence[Proposal]:
        for each in self.meanwhile:
            if each == "close":
                session.close_document(self._uri)
            else:
                session.open(
                    v2.DidOpenDocumentNotification(
                        session_id=session.id,
                        uri=self._uri,
                        language_id="python",
                        version=1,
                        text=each,
                    )
                )
        edits = (edit((0, 2), (0, 3), "z"),)
        return [EditProposal(uri=self._uri, edits=edits, score=1, rule="x")]


@pytest.mark.parametrize(
    ("meanwhile", "count"), [([], 1), (["\U0001f600\U0001f600\U0001f600"], 0), (["close"], 0)]
)
async def test_an_edit_is_about_the_document_that_was_open(
    meanwhile: list[str], count: int, tmp_path: Path
) -> None:
    (tmp_path / "b.py").write_text("something else")
    other = (tmp_path / "b.py").as_uri()
    elsewhere = Elsewhere(other)
    async with joined(elsewhere.agent) as client:
        params = v2.StartNesRequest(workspace_uri=tmp_path.as_uri())
        session = (await client.request(methods.START_NES, params)).session_id
        await open_text(client, session, "text")
        await open_text(client, session, "abc", other)
        elsewhere.meanwhile = meanwhile
        assert len(await ask(client, session)) == count


async def test_what_is_suggested_for_a_document_that_was_closed_meanwhile_is_settled() -> None:
    engine = ScriptedEngine()
    sessions: list[ServedSession] = []
    agent = Agent("test")

    @Suggestions(agent, engine).started
    async def keep(session: ServedSession) -> None:
        sessions.append(session)

    async def answer(question: Question) -> Sequence[Proposal]:
        sessions[0].close_document(URI)
        return [proposal]

    proposal = EditProposal(uri=URI, edits=(edit((0, 0), (0, 1), "T"),))
    engine.answer = answer
    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        assert await ask(client, session) == []
        assert engine.predictor.outcomes == [(proposal, "cancelled")]
        assert sessions[0]._suggested == {}


def returning(answer: object) -> Agent:
    """An agent whose function returns this, whatever it is."""
    agent = Agent("test")
    nes = Suggestions(agent)

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> Any:
        return answer

    return agent


@pytest.mark.parametrize("answer", [None, [], ()])
async def test_a_function_that_has_nothing_to_say_may_return_none(answer: object) -> None:
    async with joined(returning(answer)) as client:
        session = await start(client)
        await open_text(client, session, "text")
        assert await ask(client, session) == []


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (EditProposal(uri=URI, edits=()), "EditProposal"),
        ("text", "str"),
        (["text"], "a list with str in it"),
        (7, "int"),
        (False, "bool"),
        (0, "int"),
        ("", "str"),
    ],
    ids=["one", "text", "texts", "number", "no", "zero", "empty"],
)
async def test_what_is_no_list_of_proposals_is_told_as_that(
    answer: object, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    told = f"What suggests edits returned {what}, and not a list of proposals"
    async with joined(returning(answer)) as client:
        session = await start(client)
        await open_text(client, session, "text")
        with pytest.raises(InternalError) as caught:
            await ask(client, session)
    assert caught.value.message == told
    assert [each.getMessage() for each in caplog.records] == [told]


async def test_a_function_that_fails_is_told_of_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = Agent("test")

    @Suggestions(agent).suggest
    async def guess(session: ServedSession, question: Question) -> list[Proposal]:
        raise ValueError("the reason")

    async with joined(agent) as client:
        session = await start(client)
        await open_text(client, session, "text")
        with pytest.raises(InternalError, match=r"^nes/suggest: Internal error \(-32603\)$"):
            await ask(client, session)
    assert "ValueError: the reason" in caplog.text


async def test_a_proposal_needs_neither_a_score_nor_a_rule() -> None:
    proposal = EditProposal(uri=URI, edits=(edit((0, 0), (0, 1), "T"),))
    async with joined(returning([proposal])) as client:
        session = await start(client)
        await open_text(client, session, "text")
        (found,) = await ask(client, session)
        assert found.meta == {"parley": {"score": 1.0}}
