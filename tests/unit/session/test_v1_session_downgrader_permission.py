"""Permission requests, downgraded to version 1."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown
from parley.session._capabilities import ClientFeatures
from parley.session._v1_session_downgrader import DowngradedPermission, SessionDowngrader

OPTIONS = [
    v2.PermissionOption(option_id="yes", name="Yes", kind="allow_once", meta={"k": 1}),
    v2.PermissionOption(option_id="no", name="No", kind="reject_once"),
    v2.PermissionOption(option_id="odd", name="Odd", kind="_allow_here"),
]
YES = v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id="yes"))
NO = v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id="no"))
ELSE = v2.RequestPermissionResponse(outcome=v2.SelectedPermissionOutcome(option_id="else"))
CANCELLED = v2.RequestPermissionResponse(outcome=v2.CancelledPermissionOutcome())
LATER = v2.RequestPermissionResponse(outcome=Unknown("_later", b'{"outcome":"_later"}'))


@pytest.fixture
def to() -> SessionDowngrader:
    return SessionDowngrader(ClientFeatures())


def downgraded_permission(to: SessionDowngrader, **fields: Any) -> DowngradedPermission:
    return to.permission(
        v2.RequestPermissionRequest(session_id="s", title="May I?", options=OPTIONS, **fields)
    )


def call(permission: DowngradedPermission) -> Any:
    return msgspec.json.decode(encode(permission.request))["toolCall"]


def about(**fields: Any) -> v2.ToolCallPermissionSubject:
    return v2.ToolCallPermissionSubject(tool_call=v2.ToolCallUpdate(tool_call_id="t", **fields))


def test_options_of_an_unknown_kind_do_not_look_as_if_they_allowed_something(
    to: SessionDowngrader,
) -> None:
    request = msgspec.json.decode(encode(downgraded_permission(to, meta={"m": 1}).request))
    assert request["sessionId"] == "s"
    assert request["_meta"] == {"m": 1}
    assert request["options"] == [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once", "_meta": {"k": 1}},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
        {"optionId": "odd", "name": "Odd", "kind": "reject_once"},
    ]


def test_a_question_about_a_new_call_tells_the_whole_call(to: SessionDowngrader) -> None:
    permission = downgraded_permission(
        to, subject=about(title="Edit a.py", kind="edit"), description="Why not"
    )
    assert call(permission) == {
        "toolCallId": "t",
        "title": "Edit a.py",
        "kind": "edit",
        "status": "pending",
        "content": [{"type": "content", "content": {"type": "text", "text": "May I?\n\nWhy not"}}],
    }
    # The call is known now; once the user has answered, the question is no longer pending.
    for response in (YES, NO, None):
        (after,) = permission.updates_after(response)
        assert msgspec.json.decode(encode(after)) == {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "content": [],
        }
    (change,) = to.downgrade(v2.ToolCallUpdated(tool_call_id="t", status="completed"))
    assert msgspec.json.decode(encode(change))["sessionUpdate"] == "tool_call_update"


def test_a_question_that_is_the_title_of_its_call_is_not_repeated(to: SessionDowngrader) -> None:
    permission = downgraded_permission(to, subject=about(kind="edit"))
    assert call(permission) == {
        "toolCallId": "t",
        "title": "May I?",
        "kind": "edit",
        "status": "pending",
    }
    assert permission.updates_after(YES) == []
    assert call(downgraded_permission(to, subject=about())) == {"toolCallId": "t"}


def test_the_content_of_a_known_call_stays_below_the_question(to: SessionDowngrader) -> None:
    content: list[v2.ToolCallContent] = [v2.Content(content=v2.TextContent(text="a"))]
    to.downgrade(v2.ToolCallUpdated(tool_call_id="t", title="Edit", content=content))
    permission = downgraded_permission(to, subject=about(status="paused"))
    update = call(permission)
    assert update["status"] == "in_progress"
    assert [each["content"]["text"] for each in update["content"]] == ["May I?", "a"]
    (after,) = permission.updates_after(CANCELLED)
    assert [each["content"]["text"] for each in msgspec.json.decode(encode(after))["content"]] == [
        "a"
    ]


def test_a_command_is_shown_in_the_call_that_it_belongs_to(to: SessionDowngrader) -> None:
    command = v2.CommandPermissionSubject(command="rm -r x", cwd="/w", tool_call_id="t")
    update = call(downgraded_permission(to, subject=command))
    assert update == {
        "toolCallId": "t",
        "title": "May I?",
        "kind": "execute",
        "status": "pending",
        "rawInput": {"command": "rm -r x", "cwd": "/w"},
        "content": [
            {"type": "content", "content": {"type": "text", "text": "```\n/w$ rm -r x\n```"}}
        ],
    }
    again = call(downgraded_permission(to, subject=command))
    assert sorted(again) == ["content", "toolCallId"]


@pytest.mark.parametrize(
    ("response", "status"),
    [
        (YES, "completed"),
        (NO, "failed"),
        (ELSE, "failed"),
        (CANCELLED, "failed"),
        (LATER, "failed"),
        (None, "failed"),
    ],
)
def test_a_call_that_was_made_up_ends_with_the_question(
    to: SessionDowngrader, response: v2.RequestPermissionResponse | None, status: str
) -> None:
    command = v2.CommandPermissionSubject(command="ls", cwd="/w")
    permission = downgraded_permission(to, subject=command, description="Why not")
    update = call(permission)
    assert (update["title"], update["kind"], update["status"]) == ("May I?", "execute", "pending")
    assert update["rawInput"] == {"command": "ls", "cwd": "/w"}
    assert update["content"][0]["content"]["text"] == "Why not\n\n```\n/w$ ls\n```"
    (after,) = permission.updates_after(response)
    assert msgspec.json.decode(encode(after)) == {
        "sessionUpdate": "tool_call_update",
        "toolCallId": update["toolCallId"],
        "status": status,
    }


@pytest.mark.parametrize("subject", [None, Unknown("_order", b'{"type":"_order"}')])
def test_a_question_about_anything_else_has_just_a_title(
    to: SessionDowngrader, subject: Any
) -> None:
    update = call(downgraded_permission(to, subject=subject))
    other = call(downgraded_permission(to, subject=subject))
    assert update["toolCallId"] != other["toolCallId"]
    assert (update["title"], update["kind"]) == ("May I?", "other")
    assert "content" not in update
