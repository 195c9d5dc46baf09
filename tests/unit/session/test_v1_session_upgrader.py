"""Updates and responses of a version 1 agent, upgraded to version 2."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from parley.errors import (
    InternalError,
    RemoteProtocolError,
    RequestCancelled,
    RequestError,
    Unsupported,
)
from parley.schema import v1, v2
from parley.schema._codec import decode
from parley.schema.base import Unknown
from parley.session._adapter import MalformedResponse
from parley.session._v1_session_upgrader import MAIN_PLAN, SessionUpgrader, upgrade_turn_end


def upgraded(upgrader: SessionUpgrader, kind: str, /, **fields: Any) -> list[Any]:
    """Lift an update as it comes over the wire."""
    raw = msgspec.json.encode({"sessionUpdate": kind, **fields})
    return [*upgrader.upgrade(decode(v1.SessionUpdate, raw))]


def chunk(
    upgrader: SessionUpgrader, text: str, kind: str = "agent_message_chunk", **more: Any
) -> Any:
    """Lift a piece of a message, which is one update."""
    (update,) = upgraded(upgrader, kind, content={"type": "text", "text": text}, **more)
    return update


def test_consecutive_pieces_of_one_role_are_one_message() -> None:
    upgrader = SessionUpgrader(prefix="x")
    first, second = chunk(upgrader, "Hel"), chunk(upgrader, "lo", _meta={"k": 1})
    assert first == v2.AgentMessageChunk(message_id="x1", content=v2.TextContent(text="Hel"))
    assert (second.message_id, second.meta) == ("x1", {"k": 1})
    thought = chunk(upgrader, "Hm", "agent_thought_chunk")
    assert (type(thought), thought.message_id) == (v2.AgentThoughtChunk, "x2")
    assert chunk(upgrader, "Well").message_id == "x3"


def test_ids_that_the_agent_gives_are_kept_and_hold_for_what_follows() -> None:
    upgrader = SessionUpgrader(prefix="x")
    assert chunk(upgrader, "a", messageId="m").message_id == "m"
    assert chunk(upgrader, "b").message_id == "m"
    assert chunk(upgrader, "c", messageId="n").message_id == "n"
    assert chunk(upgrader, "d", messageId="m").message_id == "m"


def test_ids_that_are_made_up_differ_between_sessions() -> None:
    assert chunk(SessionUpgrader(), "a").message_id != chunk(SessionUpgrader(), "a").message_id


def test_a_new_tool_call_ends_the_message_before_it_and_its_changes_do_not() -> None:
    upgrader = SessionUpgrader(prefix="x")
    chunk(upgrader, "Look")
    upgraded(upgrader, "tool_call", toolCallId="t", title="Read")
    assert chunk(upgrader, "at").message_id == "x2"
    upgraded(upgrader, "tool_call_update", toolCallId="t", status="completed")
    assert chunk(upgrader, "this").message_id == "x2"


def test_a_compaction_ends_the_message_before_it() -> None:
    upgrader = SessionUpgrader(prefix="x")
    chunk(upgrader, "a")
    assert upgraded(upgrader, "compaction_update", compactionId="c", status="in_progress") == [
        v2.CompactionUpdate(compaction_id="c", status="in_progress")
    ]
    assert chunk(upgrader, "b").message_id == "x2"
    upgraded(upgrader, "compaction_update", compactionId="c", status="completed", summary=None)
    assert chunk(upgrader, "c").message_id == "x2"


def test_a_turn_begins_with_the_users_message_which_the_agent_may_repeat() -> None:
    upgrader = SessionUpgrader(prefix="x")
    prompt: list[v2.ContentBlock] = [v2.TextContent(text="Hi"), v2.TextContent(text="there")]
    assert upgrader.begin_turn("u", prompt) == [
        v2.UserMessage(message_id="u", content=prompt),
        v2.StateUpdated(state="running"),
    ]
    assert upgraded(upgrader, "user_message_chunk", content={"type": "text", "text": "Hi"}) == []
    assert chunk(upgrader, "else", "user_message_chunk").message_id == "x1"
    assert upgraded(upgrader, "user_message_chunk", content={"type": "text", "text": "there"}) == []
    upgrader.end_turn("u", v1.PromptResponse(stop_reason="end_turn"))
    assert chunk(upgrader, "Hi", "user_message_chunk").message_id == "x2"


def test_the_end_of_a_turn_ends_its_message() -> None:
    upgrader = SessionUpgrader(prefix="x")
    upgrader.begin_turn("u", [])
    chunk(upgrader, "a")
    assert upgrader.end_turn("u", v1.PromptResponse(stop_reason="refusal", meta={"k": 1})) == [
        v2.StateUpdated(state="idle", stop_reason="refusal", meta={"k": 1})
    ]
    assert chunk(upgrader, "b").message_id == "x2"


def test_waiting_for_the_user_is_a_state_only_in_a_turn() -> None:
    upgrader = SessionUpgrader()
    assert upgrader.begin_decision() == upgrader.end_decision() == []
    upgrader.begin_turn("u", [])
    assert upgrader.begin_decision() == [v2.StateUpdated(state="requires_action")]
    assert upgrader.begin_decision() == upgrader.end_decision() == []
    assert upgrader.end_decision() == [v2.StateUpdated(state="running")]


@pytest.mark.parametrize(
    ("outcome", "code", "message"),
    [
        (RequestError("No", code=-32050), -32050, "No"),
        (InternalError(), -32603, "Internal error"),
        (Unsupported("odd"), -32603, "odd"),
    ],
)
def test_a_turn_that_fails_says_why(outcome: Any, code: int, message: str) -> None:
    end = upgrade_turn_end(outcome)
    assert (end.state, end.stop_reason) == ("idle", "error")
    assert end.error == v2.Error(code=code, message=message)


def test_a_turn_that_ends_with_a_malformed_response_is_distinguished_from_one_that_failed() -> None:
    end = upgrade_turn_end(RemoteProtocolError("odd"))
    assert (end.state, end.stop_reason) == ("idle", "error")
    assert end.error == MalformedResponse(code=-32603, message="odd")


def test_a_prompt_that_was_cancelled_as_a_request_is_a_cancelled_turn() -> None:
    assert upgrade_turn_end(RequestCancelled()) == v2.StateUpdated(
        state="idle", stop_reason="cancelled"
    )


def test_in_a_replay_each_message_is_opened_once() -> None:
    upgrader = SessionUpgrader(prefix="x")
    upgrader.begin_replay()
    text = {"type": "text", "text": "a"}
    kinds = ["user_message_chunk", "agent_message_chunk", "agent_message_chunk"]
    updates = [each for kind in kinds for each in upgraded(upgrader, kind, content=text)]
    updates += upgraded(upgrader, "agent_thought_chunk", content=text)
    updates += upgraded(upgrader, "agent_message_chunk", content=text, messageId="x2")
    upgrader.end_replay()
    updates += upgraded(upgrader, "agent_message_chunk", content=text)
    assert [(type(each).__name__, each.message_id) for each in updates] == [
        ("UserMessage", "x1"),
        ("UserMessageChunk", "x1"),
        ("AgentMessage", "x2"),
        ("AgentMessageChunk", "x2"),
        ("AgentMessageChunk", "x2"),
        ("AgentThought", "x3"),
        ("AgentThoughtChunk", "x3"),
        ("AgentMessageChunk", "x2"),
        ("AgentMessageChunk", "x4"),
    ]


def test_the_one_plan_is_a_plan_with_an_id() -> None:
    entry = {"content": "Do", "priority": "high", "status": "pending", "_meta": {"k": 1}}
    (update,) = upgraded(SessionUpgrader(), "plan", entries=[entry], _meta={"p": 2})
    assert update == v2.PlanUpdate(
        plan=v2.PlanItems(
            plan_id=MAIN_PLAN,
            entries=[v2.PlanEntry(content="Do", priority="high", status="pending", meta={"k": 1})],
        ),
        meta={"p": 2},
    )


@pytest.mark.parametrize(
    ("kind", "fields", "update"),
    [
        (
            "plan_update",
            {"plan": {"type": "markdown", "planId": "p", "content": "# P"}},
            v2.PlanUpdate(plan=v2.PlanMarkdown(plan_id="p", content="# P")),
        ),
        ("plan_removed", {"planId": "p"}, v2.PlanRemoved(plan_id="p")),
        ("session_info_update", {"title": None}, v2.SessionInfoUpdate(title=None)),
        (
            "notice",
            {"severity": "info", "title": "T"},
            v2.Notice(severity="info", title="T"),
        ),
        (
            "compaction_summary_chunk",
            {"compactionId": "c", "content": {"type": "text", "text": "s"}},
            v2.CompactionSummaryChunk(compaction_id="c", content=v2.TextContent(text="s")),
        ),
        (
            "subagent_update",
            {"sessionId": "c", "title": "T", "state": {"state": "running"}},
            v2.SubagentUpdate(session_id="c", title="T", state=v2.RunningStateUpdate()),
        ),
        (
            "session_message",
            {"messageId": "m", "senderSessionId": "s"},
            v2.SessionMessage(message_id="m", sender_session_id="s"),
        ),
        (
            "session_message_chunk",
            {"messageId": "m", "content": {"type": "text", "text": "s"}},
            v2.SessionMessageChunk(message_id="m", content=v2.TextContent(text="s")),
        ),
        ("usage_update", {"used": 1, "size": 2}, v2.UsageUpdate(used=1, size=2)),
        (
            "usage_update",
            {"used": 1, "size": 2, "cost": {"amount": 1.5, "currency": "EUR"}},
            v2.UsageUpdate(used=1, size=2, cost=v2.Cost(amount=1.5, currency="EUR")),
        ),
        (
            "available_commands_update",
            {"availableCommands": [{"name": "a", "description": "A"}]},
            v2.AvailableCommandsUpdate(available_commands=[v2.Command(name="a", description="A")]),
        ),
    ],
)
def test_other_updates_say_the_same(kind: str, fields: Any, update: Any) -> None:
    assert upgraded(SessionUpgrader(), kind, **fields) == [update]


def test_a_mode_is_reported_where_there_are_modes() -> None:
    upgrader = SessionUpgrader()
    assert upgraded(upgrader, "current_mode_update", currentModeId="a") == []
    modes = v1.SessionModeState(
        current_mode_id="a", available_modes=[v1.SessionMode(id="a", name="A")]
    )
    upgrader.new_session(v1.NewSessionResponse(session_id="s", modes=modes))
    (update,) = upgraded(upgrader, "current_mode_update", currentModeId="b")
    assert update.config_options[0].current_value == "b"


def test_an_unknown_update_is_kept_but_for_states() -> None:
    assert upgraded(SessionUpgrader(), "_news", x=1) == [
        Unknown("_news", b'{"sessionUpdate":"_news","x":1}')
    ]
    assert upgraded(SessionUpgrader(), "state_update", state="idle") == []


def test_content_of_all_kinds_is_lifted() -> None:
    note = {"audience": ["user"], "priority": 0.5}
    blocks: list[tuple[dict[str, Any], v2.ContentBlock]] = [
        (
            {"type": "image", "data": "", "mimeType": "image/png", "uri": "u"},
            v2.ImageContent(data="", mime_type="image/png", uri="u"),
        ),
        (
            {"type": "audio", "data": "", "mimeType": "audio/wav"},
            v2.AudioContent(data="", mime_type="audio/wav"),
        ),
        (
            {"type": "resource", "resource": {"uri": "u", "text": "t"}},
            v2.EmbeddedResource(resource=v2.TextResourceContents(uri="u", text="t")),
        ),
        (
            {"type": "resource", "resource": {"uri": "u", "blob": ""}},
            v2.EmbeddedResource(resource=v2.BlobResourceContents(uri="u", blob="")),
        ),
        (
            {"type": "resource_link", "uri": "u", "name": "n", "size": 3},
            v2.ResourceLink(uri="u", name="n", size=3),
        ),
        (
            {"type": "text", "text": "t", "annotations": note},
            v2.TextContent(text="t", annotations=v2.Annotations(audience=["user"], priority=0.5)),
        ),
    ]
    for content, block in blocks:
        (update,) = upgraded(SessionUpgrader(), "agent_message_chunk", content=content)
        assert update.content == block


def test_a_question_is_titled_by_what_is_known_of_its_tool_call() -> None:
    upgrader = SessionUpgrader()

    def request(**fields: Any) -> v2.RequestPermissionRequest:
        call = v1.ToolCallUpdate(tool_call_id="t", **fields)
        return upgrader.permission(
            v1.RequestPermissionRequest(session_id="s", tool_call=call, options=[], meta={"k": 1})
        )

    assert request().title == "Allow this tool call?"
    assert request(name="write").title == "write"
    first = request(title="Write a.py", status="pending")
    assert (first.title, first.meta) == ("Write a.py", {"k": 1})
    assert isinstance(first.subject, v2.ToolCallPermissionSubject)
    assert first.subject.tool_call == v2.ToolCallUpdate(
        tool_call_id="t", title="Write a.py", status="pending"
    )
    again = request()
    assert again.title == "Write a.py"
    assert isinstance(again.subject, v2.ToolCallPermissionSubject)
    assert again.subject.tool_call.title is UNSET
