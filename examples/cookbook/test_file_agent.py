"""Tests of an agent with pytest: no model, no process, both versions of the protocol."""

import asyncio

import pytest
from examples.cookbook.file_agent import agent

from parley import Session
from parley.schema import v2
from parley.testing import pair


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("option", "answer", "status"),
    [
        ("allow", "done", "completed"),
        ("reject", "not allowed", "failed"),
        (None, "not allowed", "failed"),
    ],
)
def test_it_edits_only_with_permission(
    version: int, option: str | None, answer: str, status: str
) -> None:
    def decide(request: v2.RequestPermissionRequest, session: Session) -> str | None:
        return option

    async def talk() -> None:
        async with pair(agent, versions=(version,), permission=decide) as client:
            session = await client.new_session("/project")
            assert await session.ask("edit notes.txt") == f"edit notes.txt: {answer}"
            [call] = session.transcript.tool_calls.values()
            assert (call.kind, call.status) == ("edit", status)
            assert [each.path for each in call.locations] == ["/project/notes.txt"]

    asyncio.run(talk())


def test_it_can_refuse() -> None:
    async def talk() -> str | None:
        async with pair(agent) as client:
            session = await client.new_session()
            return (await session.prompt("refuse")).stop_reason

    assert asyncio.run(talk()) == "refusal"
