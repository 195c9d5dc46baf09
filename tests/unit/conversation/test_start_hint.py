"""Hints about an agent that does not start."""

from __future__ import annotations

import pytest

from parley.client._resolve import Resolved
from parley.conversation.start_hint import WRONG_COMMAND, start_hint
from parley.testing.scripted import Expect, ScriptedPeer

from .recording_view import conversing


@pytest.mark.parametrize(
    ("agent", "hint"),
    [
        (Resolved(target="opencode"), WRONG_COMMAND),
        (Resolved(target=["opencode", "acp"]), WRONG_COMMAND),
        (Resolved(target="x", name="claude\x1b"), "claude␛ is slow to start: nothing for 10 sec"),
        (Resolved(target="x", is_demo=True), "the demo agent is slow to start: nothing for 10 sec"),
        (Resolved(target="https://example.org/"), "https://example.org/ is slow to respond: noth"),
        (Resolved(target="wss://example.org", name="far"), "far is slow to respond: nothing for"),
    ],
)
def test_only_a_command_of_the_command_line_may_be_the_wrong_one(
    agent: Resolved, hint: str
) -> None:
    assert start_hint(agent, 10.0).startswith(hint)


async def test_an_agent_that_does_not_respond_is_noticed_while_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("parley.conversation.conversation.SLOW_AFTER", 0.0)
    silent = ScriptedPeer(Expect({"method": "_never"}, skips=True))
    agent = Resolved(target=silent, name="mine")
    async with conversing(agent, give_up_after=None) as (conversation, view):
        await view.until(lambda: view.notes)
        assert view.notes == ["mine is slow to start: nothing for 0 seconds"]
        assert conversation.state == "starting"
