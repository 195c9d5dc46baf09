"""Updates and responses of a version 2 agent, downgraded to version 1."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from parley.errors import InternalError, RequestError
from parley.schema import v2
from parley.schema._codec import decode, encode
from parley.schema.base import Unknown
from parley.session._capabilities import ClientFeatures
from parley.session._v1_session_downgrader import SessionDowngrader, downgrade_turn_end

ALL = ClientFeatures(
    compaction=True, notices=True, plans=True, subagents=True, boolean_options=True
)
VIDEO = Unknown("_video", b'{"type":"_video"}')


def downgrader(features: ClientFeatures | None = None) -> SessionDowngrader:
    return SessionDowngrader(features or ClientFeatures())


def downgraded(to: SessionDowngrader, *updates: v2.SessionUpdate) -> list[Any]:
    """Return what is sent for updates, parsed."""
    sent = [each for update in updates for each in to.downgrade(update)]
    return [msgspec.json.decode(encode(each)) for each in sent]


def agent_chunk(text: str, id: str = "m") -> v2.AgentMessageChunk:
    return v2.AgentMessageChunk(message_id=id, content=v2.TextContent(text=text))


def message(*texts: str, id: str = "m") -> v2.AgentMessage:
    return v2.AgentMessage(message_id=id, content=[v2.TextContent(text=text) for text in texts])


def texts(sent: list[Any]) -> list[tuple[str, str]]:
    """Return the ids and texts of pieces of the agent's messages."""
    assert all(each["sessionUpdate"] == "agent_message_chunk" for each in sent)
    return [(each["messageId"], each["content"]["text"]) for each in sent]


def test_a_piece_of_a_message_is_sent_as_it_is() -> None:
    chunk = v2.AgentThoughtChunk(message_id="m", content=v2.TextContent(text="Hm"), meta={"k": 1})
    assert downgraded(downgrader(), chunk) == [
        {
            "sessionUpdate": "agent_thought_chunk",
            "messageId": "m",
            "content": {"type": "text", "text": "Hm"},
            "_meta": {"k": 1},
        }
    ]


def test_a_whole_message_is_sent_in_pieces() -> None:
    image = v2.ImageContent(data="", mime_type="image/png")
    content: list[v2.ContentBlock] = [v2.TextContent(text="a"), image, v2.TextContent(text="b")]
    sent = downgraded(downgrader(), v2.AgentMessage(message_id="m", content=content))
    assert [each["content"]["type"] for each in sent] == ["text", "image", "text"]
    assert {each["messageId"] for each in sent} == {"m"}


def test_a_message_that_sums_up_its_pieces_adds_only_what_is_new() -> None:
    to = downgrader()
    downgraded(to, agent_chunk("Hel"), agent_chunk("lo"))
    assert downgraded(to, message("Hello")) == []
    assert texts(downgraded(to, message("Hello", " you"))) == [("m", " you")]
    assert texts(downgraded(to, agent_chunk("!"))) == [("m", "!")]


def test_a_message_that_is_rewritten_begins_again() -> None:
    to = downgrader()
    downgraded(to, agent_chunk("Helo"))
    ((id, text),) = texts(downgraded(to, message("Hello")))
    assert (id != "m", text) == (True, "Hello")
    assert texts(downgraded(to, agent_chunk("!"))) == [(id, "!")]
    assert downgraded(to, v2.AgentMessage(message_id="m", content=None)) == []
    ((other, _),) = texts(downgraded(to, agent_chunk("Anew")))
    assert other not in ("m", id)


def test_a_message_of_an_earlier_turn_is_not_added_to() -> None:
    to = downgrader()
    downgraded(to, agent_chunk("Hello"))
    assert to.end_turn() == []
    assert texts(downgraded(to, agent_chunk("!"))) == [("m", "!")]
    (id, text), (same, more) = texts(downgraded(to, message("!", "?")))
    assert (id != "m", id == same, text, more) == (True, True, "!", "?")
    assert texts(downgraded(to, message("!?", "?"))) == [(id, "?")]


def test_a_message_without_content_says_nothing() -> None:
    to = downgrader()
    assert downgraded(to, v2.AgentMessage(message_id="m", meta={"k": 1})) == []
    assert downgraded(to, v2.AgentThought(message_id="m", content=[])) == []
    assert texts(downgraded(to, agent_chunk("a"))) == [("m", "a")]


def test_the_prompt_is_not_sent_to_the_client_but_other_user_messages_are() -> None:
    to = downgrader()
    text: list[v2.ContentBlock] = [v2.TextContent(text="Hi")]
    to.await_prompt()
    assert downgraded(to, v2.UserMessage(message_id="race", content=text)) == []
    to.accept_prompt("race")
    to.await_prompt()
    to.accept_prompt("p")
    assert downgraded(to, v2.UserMessage(message_id="p", content=text)) == []
    assert downgraded(to, v2.UserMessageChunk(message_id="p", content=text[0])) == []
    (other,) = downgraded(to, v2.UserMessage(message_id="q", content=text))
    assert (other["sessionUpdate"], other["messageId"]) == ("user_message_chunk", "q")
    to.await_prompt()
    (more,) = downgraded(to, v2.UserMessageChunk(message_id="q", content=text[0]))
    assert more["messageId"] == "q"
    to.accept_prompt(None)


def test_a_replay_tells_everything_again() -> None:
    to = downgrader()
    to.await_prompt()
    to.accept_prompt("p")
    text: list[v2.ContentBlock] = [v2.TextContent(text="Hi")]
    received: list[v2.SessionUpdate] = [
        v2.UserMessage(message_id="p", content=text),
        v2.AgentMessage(message_id="m", content=[]),
        agent_chunk("Hello"),
        v2.ToolCallUpdated(tool_call_id="t", title="T"),
    ]
    downgraded(to, *received)
    to.begin_replay()
    assert [each["sessionUpdate"] for each in downgraded(to, *received)] == [
        "user_message_chunk",
        "agent_message_chunk",
        "tool_call",
    ]


def test_blocks_that_version_1_does_not_have_are_left_out() -> None:
    to = downgrader()
    assert downgraded(to, v2.AgentMessageChunk(message_id="m", content=VIDEO)) == []
    mixed = v2.AgentMessage(message_id="n", content=[VIDEO, v2.TextContent(text="a")])
    assert texts(downgraded(to, mixed)) == [("n", "a")]
    icon = v2.Icon(src="i")
    link = v2.ResourceLink(uri="u", name="n", icons=[icon], size=2**70)
    (sent,) = downgraded(to, v2.AgentMessageChunk(message_id="o", content=link))
    assert sent["content"] == {"type": "resource_link", "uri": "u", "name": "n"}


def test_states_are_no_updates_in_version_1() -> None:
    for state in ("running", "requires_action", "idle", "unknown"):
        assert downgraded(downgrader(), decode(v2.SessionUpdate, _state(state))) == []
    assert downgraded(downgrader(), decode(v2.SessionUpdate, _state("_asleep"))) == []


def _state(state: str) -> bytes:
    return msgspec.json.encode({"sessionUpdate": "state_update", "state": state})


def test_an_unknown_update_is_passed_on() -> None:
    assert downgraded(downgrader(), Unknown("_news", b'{"sessionUpdate":"_news"}')) == [
        {"sessionUpdate": "_news"}
    ]


SUBAGENT = v2.SubagentUpdate(
    session_id="c", state=v2.RunningStateUpdate(background=[v2.BackgroundTerminal(terminal_id="t")])
)


@pytest.mark.parametrize(
    ("update", "sent"),
    [
        (v2.Notice(severity="info", title="T"), {"severity": "info", "title": "T"}),
        (
            v2.CompactionUpdate(compaction_id="c", status="completed", summary=[VIDEO]),
            {"compactionId": "c", "status": "completed", "summary": []},
        ),
        (
            v2.CompactionSummaryChunk(compaction_id="c", content=v2.TextContent(text="s")),
            {"compactionId": "c", "content": {"type": "text", "text": "s"}},
        ),
        (SUBAGENT, {"sessionId": "c", "state": {"state": "running"}}),
        (
            v2.SessionMessage(message_id="m", content=None),
            {"messageId": "m", "content": None},
        ),
        (
            v2.SessionMessageChunk(message_id="m", content=v2.TextContent(text="s")),
            {"messageId": "m", "content": {"type": "text", "text": "s"}},
        ),
    ],
)
def test_what_the_client_does_not_take_is_left_out(update: Any, sent: Any) -> None:
    (downgraded_update,) = downgraded(downgrader(ALL), update)
    del downgraded_update["sessionUpdate"]
    assert downgraded_update == sent
    assert downgraded(downgrader(), update) == []


def test_an_update_with_an_unknown_block_as_its_only_content_is_left_out() -> None:
    chunk = v2.CompactionSummaryChunk(compaction_id="c", content=VIDEO)
    assert downgraded(downgrader(ALL), chunk) == []


def test_a_title_can_be_cleared() -> None:
    info = v2.SessionInfoUpdate(title=None, meta={"k": 1})
    assert downgraded(downgrader(), info) == [
        {"sessionUpdate": "session_info_update", "title": None, "_meta": {"k": 1}}
    ]


def test_the_cost_is_reported_each_time_until_it_is_not_known_any_more() -> None:
    to = downgrader()
    cost = v2.Cost(amount=1.5, currency="EUR")
    first, second, third = downgraded(
        to,
        v2.UsageUpdate(used=1, size=9, cost=cost),
        v2.UsageUpdate(used=2, size=9),
        v2.UsageUpdate(used=3, size=9, cost=None),
    )
    assert first["cost"] == second["cost"] == {"amount": 1.5, "currency": "EUR"}
    assert third == {"sessionUpdate": "usage_update", "used": 3, "size": 9}


def test_commands_of_an_unknown_type_are_left_out() -> None:
    commands: list[v2.AvailableCommand] = [
        v2.Command(name="a", description="A", input=v2.TextCommandInput(hint="h")),
        v2.Command(name="b", description="B", input=Unknown("_pick", b'{"type":"_pick"}')),
        Unknown("_macro", b'{"type":"_macro"}'),
    ]
    assert downgraded(downgrader(), v2.AvailableCommandsUpdate(available_commands=commands)) == [
        {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [
                {"name": "a", "description": "A", "input": {"hint": "h"}},
                {"name": "b", "description": "B"},
            ],
        }
    ]


def test_the_end_of_a_turn_is_a_response_or_an_error() -> None:
    usage = v2.Usage(total_tokens=3, input_tokens=1, output_tokens=2)
    end = downgrade_turn_end(v2.StateUpdated(state="idle", stop_reason="refusal", usage=usage))
    assert end.stop_reason == "refusal"
    assert end.usage is not None
    assert end.usage.total_tokens == 3
    failed = v2.Error(code=-32050, message="No", data=[1])
    with pytest.raises(RequestError, match="No") as caught:
        downgrade_turn_end(v2.StateUpdated(state="idle", stop_reason="error", error=failed))
    assert (caught.value.code, caught.value.data) == (-32050, [1])
    with pytest.raises(InternalError) as unexplained:
        downgrade_turn_end(v2.StateUpdated(state="idle", stop_reason="error"))
    assert unexplained.value.data is UNSET


def plan(id: str, *contents: str) -> v2.PlanUpdate:
    entries = [v2.PlanEntry(content=each, priority="low", status="pending") for each in contents]
    return v2.PlanUpdate(plan=v2.PlanItems(plan_id=id, entries=entries))


def test_all_plans_are_one_list_for_a_client_that_takes_one() -> None:
    to = downgrader()
    (first,) = downgraded(to, plan("a", "x"))
    assert first["sessionUpdate"] == "plan"
    downgraded(to, plan("b", "y"))
    markdown = v2.PlanUpdate(plan=v2.PlanMarkdown(plan_id="c", content="# P"))
    file = v2.PlanUpdate(plan=v2.PlanFile(plan_id="d", uri="file:///p"))
    whole = downgraded(to, markdown, file, plan("a", "z"))[-1]
    assert [each["content"] for each in whole["entries"]] == ["z", "y", "# P", "file:///p"]
    (rest,) = downgraded(to, v2.PlanRemoved(plan_id="b"))
    assert [each["content"] for each in rest["entries"]] == ["z", "# P", "file:///p"]
    assert downgraded(to, v2.PlanRemoved(plan_id="b")) == []
    assert downgraded(to, v2.PlanUpdate(plan=Unknown("_x", b'{"type":"_x"}'))) == []


def test_plans_keep_their_ids_for_a_client_that_takes_several() -> None:
    to = downgrader(ALL)
    sent = downgraded(
        to,
        plan("a", "x"),
        v2.PlanUpdate(plan=v2.PlanMarkdown(plan_id="b", content="# P")),
        v2.PlanUpdate(plan=v2.PlanFile(plan_id="c", uri="file:///p")),
        v2.PlanRemoved(plan_id="a"),
    )
    assert [each["sessionUpdate"] for each in sent] == [*["plan_update"] * 3, "plan_removed"]
    assert [each["plan"]["planId"] for each in sent[:3]] == ["a", "b", "c"]


def test_entries_of_a_plan_have_only_what_version_1_knows() -> None:
    entries = [
        v2.PlanEntry(content="a", priority="_urgent", status="_blocked", meta={"k": 1}),
        v2.PlanEntry(content="b", priority="high", status="cancelled"),
    ]
    update = v2.PlanUpdate(plan=v2.PlanItems(plan_id="p", entries=entries))
    (sent,) = downgraded(downgrader(), update)
    assert sent["entries"] == [
        {"content": "a", "priority": "medium", "status": "pending", "_meta": {"k": 1}}
    ]
