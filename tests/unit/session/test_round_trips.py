"""An upgrade followed by a downgrade, or the reverse, changes nothing if nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from parley.errors import InternalError, RequestError, Unsupported, request_error
from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.schema.base import BaseStruct, Unknown
from parley.session._capabilities import ClientFeatures
from parley.session._v1_method_translations import (
    downgrade_auth_methods,
    downgrade_fork,
    downgrade_info,
    downgrade_load,
    downgrade_new,
    downgrade_prompt_request,
    downgrade_resume,
    upgrade_auth_method,
    upgrade_fork,
    upgrade_info,
    upgrade_load,
    upgrade_new,
    upgrade_prompt,
    upgrade_resume,
)
from parley.session._v1_session_downgrader import SessionDowngrader, downgrade_turn_end
from parley.session._v1_session_upgrader import SessionUpgrader, upgrade_turn_end

ALL = ClientFeatures(
    compaction=True, notices=True, plans=True, subagents=True, boolean_options=True
)

WORDS = st.text(alphabet="ab é\n`", max_size=8)
NAMES = st.text(alphabet="abc", min_size=1, max_size=3)
METAS = st.none() | st.just({"k": [1, None]})
JSON = st.recursive(st.booleans() | st.integers(0, 9) | WORDS, st.lists, max_leaves=3)
ANNOTATIONS = st.none() | st.builds(
    v1.Annotations,
    audience=st.none() | st.lists(st.sampled_from(["user", "assistant"])),
    priority=st.none() | st.floats(0, 1),
    last_modified=st.none() | st.just("2026-01-01T00:00:00Z"),
)
TEXT = st.builds(v1.TextContent, text=WORDS, annotations=ANNOTATIONS, meta=METAS)
BLOCKS = st.one_of(
    TEXT,
    st.builds(
        v1.ImageContent,
        data=NAMES,
        mime_type=NAMES,
        uri=st.none() | NAMES,
        annotations=ANNOTATIONS,
        meta=METAS,
    ),
    st.builds(v1.AudioContent, data=NAMES, mime_type=NAMES, annotations=ANNOTATIONS, meta=METAS),
    st.builds(
        v1.ResourceLink,
        name=NAMES,
        uri=NAMES,
        title=st.none() | WORDS,
        size=st.none() | st.integers(0, 9),
        annotations=ANNOTATIONS,
        meta=METAS,
    ),
    st.builds(
        v1.EmbeddedResource,
        resource=st.builds(v1.TextResourceContents, text=WORDS, uri=NAMES, meta=METAS)
        | st.builds(v1.BlobResourceContents, blob=NAMES, uri=NAMES, mime_type=NAMES),
        annotations=ANNOTATIONS,
        meta=METAS,
    ),
)
DIFFS = st.builds(
    v1.Diff,
    path=NAMES.map(lambda name: f"/{name}"),
    old_text=st.none() | WORDS,
    new_text=WORDS,
    meta=METAS,
).filter(lambda diff: diff.old_text != diff.new_text)
CONTENT = st.lists(st.builds(v1.Content, content=BLOCKS, meta=METAS) | DIFFS, max_size=3)
LOCATIONS = st.lists(
    st.builds(v1.ToolCallLocation, path=NAMES, line=st.none() | st.integers(1, 9), meta=METAS),
    max_size=2,
)
KINDS = st.sampled_from(["read", "edit", "switch_mode", "other"])
STATUSES = st.sampled_from(["pending", "in_progress", "completed", "failed"])
CALLS = st.builds(
    v1.ToolCall,
    tool_call_id=NAMES,
    title=WORDS.filter(bool),
    name=st.none() | NAMES,
    kind=KINDS,
    status=STATUSES,
    content=CONTENT,
    locations=LOCATIONS,
    raw_input=st.none() | JSON,
    raw_output=st.none() | JSON,
    meta=METAS,
)
CHANGES = st.builds(
    v1.ToolCallUpdated,
    tool_call_id=st.just("t"),
    title=WORDS.filter(bool),
    name=st.none() | NAMES,
    kind=st.none() | KINDS,
    status=st.none() | STATUSES,
    content=st.none() | CONTENT,
    locations=st.none() | LOCATIONS,
    raw_input=st.none() | JSON,
    raw_output=st.none() | JSON,
    meta=METAS,
)
ENTRIES = st.lists(
    st.builds(
        v1.PlanEntry,
        content=WORDS,
        priority=st.sampled_from(["high", "medium", "low"]),
        status=st.sampled_from(["pending", "in_progress", "completed"]),
        meta=METAS,
    ),
    max_size=3,
)
COMMANDS = st.lists(
    st.builds(
        v1.AvailableCommand,
        name=NAMES,
        description=WORDS,
        input=st.none() | st.builds(v1.UnstructuredCommandInput, hint=WORDS, meta=METAS),
        meta=METAS,
    ),
    max_size=3,
)
OTHERS = st.one_of(
    st.builds(v1.AvailableCommandsUpdate, available_commands=COMMANDS, meta=METAS),
    st.builds(
        v1.PlanUpdate,
        plan=st.builds(v1.PlanItems, plan_id=NAMES, entries=ENTRIES, meta=METAS)
        | st.builds(v1.PlanFile, plan_id=NAMES, uri=NAMES, meta=METAS)
        | st.builds(v1.PlanMarkdown, plan_id=NAMES, content=WORDS, meta=METAS),
        meta=METAS,
    ),
    st.builds(v1.PlanRemoved, plan_id=NAMES, meta=METAS),
    st.builds(
        v1.SessionInfoUpdate,
        title=st.none() | WORDS | st.just(UNSET),
        updated_at=st.none() | st.just(UNSET),
    ),
    st.builds(
        v1.UsageUpdate,
        used=st.integers(0, 9),
        size=st.integers(0, 9),
        cost=st.none() | st.builds(v1.Cost, amount=st.floats(0, 9), currency=st.just("EUR")),
        meta=METAS,
    ),
    st.builds(v1.Notice, severity=NAMES, title=NAMES, description=st.none() | WORDS, meta=METAS),
    st.builds(
        v1.CompactionUpdate,
        compaction_id=NAMES,
        status=NAMES,
        summary=st.none() | st.lists(BLOCKS, max_size=2) | st.just(UNSET),
        error=st.none() | WORDS | st.just(UNSET),
    ),
    st.builds(v1.CompactionSummaryChunk, compaction_id=NAMES, content=BLOCKS, meta=METAS),
    st.builds(
        v1.SessionMessage,
        message_id=NAMES,
        sender_session_id=st.none() | NAMES | st.just(UNSET),
        content=st.none() | st.lists(BLOCKS, max_size=2) | st.just(UNSET),
    ),
    st.builds(v1.SessionMessageChunk, message_id=NAMES, content=BLOCKS, meta=METAS),
    st.builds(
        v1.SubagentUpdate,
        session_id=NAMES,
        title=st.none() | WORDS | st.just(UNSET),
        state=st.none() | st.builds(v1.RunningStateUpdate) | st.just(UNSET),
    ),
    st.just(Unknown("_x", b'{"sessionUpdate":"_x","y":1}')),
)
PIECES = st.sampled_from([v1.UserMessageChunk, v1.AgentMessageChunk, v1.AgentThoughtChunk])


def back(update: Any, *, before: Any = None) -> Any:
    """Lift an update and lower what that gives; return what a client then reads."""
    upgrader, downgrader = SessionUpgrader(), SessionDowngrader(ALL)
    for each in () if before is None else upgrader.upgrade(before):
        downgrader.downgrade(each)
    (sent,) = [low for each in upgrader.upgrade(update) for low in downgrader.downgrade(each)]
    return decode(v1.SessionUpdate, encode(sent))


@given(OTHERS | CALLS)
def test_an_update_of_version_1_comes_back_as_it_was(update: Any) -> None:
    assert back(update) == update


@given(CHANGES)
def test_a_change_of_a_tool_call_comes_back_as_it_was(update: v1.ToolCallUpdated) -> None:
    assert back(update, before=v1.ToolCall(tool_call_id="t", title="T")) == update


@given(PIECES, BLOCKS, NAMES, METAS)
def test_a_piece_of_a_message_comes_back_as_it_was(
    kind: Any, content: Any, id: str, meta: Any
) -> None:
    update = kind(content=content, message_id=id, meta=meta)
    assert back(update) == update


@given(ENTRIES, METAS)
def test_the_one_plan_comes_back_for_a_client_that_takes_one(entries: Any, meta: Any) -> None:
    plan = v1.Plan(entries=entries, meta=meta)
    (upgraded,) = SessionUpgrader().upgrade(plan)
    assert SessionDowngrader(ClientFeatures()).downgrade(upgraded) == [plan]


ENDS = st.builds(
    v1.PromptResponse,
    stop_reason=st.sampled_from(["end_turn", "max_tokens", "refusal", "cancelled"]),
    usage=st.none()
    | st.builds(
        v1.Usage, total_tokens=st.just(3), input_tokens=st.just(1), output_tokens=st.just(2)
    ),
    meta=METAS,
)


@given(ENDS)
def test_the_end_of_a_turn_comes_back_as_it_was(end: v1.PromptResponse) -> None:
    assert downgrade_turn_end(upgrade_turn_end(end)) == end


@given(st.sampled_from([-32603, -32000, -32002, 7]), NAMES, JSON | st.just(UNSET))
def test_an_error_that_ends_a_turn_comes_back_as_it_was(code: int, text: str, data: Any) -> None:
    with pytest.raises(RequestError) as caught:
        downgrade_turn_end(upgrade_turn_end(request_error(code, text, data)))
    assert (caught.value.code, caught.value.message, caught.value.data) == (code, text, data)
    assert isinstance(caught.value, InternalError) == (code == -32603)


SERVERS = st.lists(
    st.builds(
        v1.McpServerStdio,
        name=NAMES,
        command=NAMES,
        args=st.lists(NAMES, max_size=2),
        env=st.lists(st.builds(v1.EnvVariable, name=NAMES, value=NAMES, meta=METAS), max_size=2),
        meta=METAS,
    )
    | st.builds(
        v1.McpServerHttp,
        name=NAMES,
        url=NAMES,
        headers=st.lists(st.builds(v1.HttpHeader, name=NAMES, value=NAMES), max_size=2),
        meta=METAS,
    )
    | st.builds(v1.McpServerSse, name=NAMES, url=NAMES, headers=st.just([]), meta=METAS)
    | st.builds(v1.McpServerAcp, name=NAMES, server_id=NAMES, meta=METAS),
    max_size=3,
)
SYSTEM = st.none() | st.builds(
    v1.SystemPrompt, mode=NAMES, content=st.lists(BLOCKS, max_size=2), meta=METAS
)
SETUP = st.fixed_dictionaries(
    {
        "cwd": NAMES,
        "mcp_servers": SERVERS,
        "additional_directories": st.lists(NAMES, max_size=2),
        "system_prompt": SYSTEM,
        "meta": METAS,
    }
)


@given(SETUP)
def test_requests_that_open_a_session_come_back_as_they_were(setup: dict[str, Any]) -> None:
    new = v1.NewSessionRequest(**setup)
    assert as_read(downgrade_new(upgrade_new(new))) == new
    fork = v1.ForkSessionRequest(session_id="s", **setup)
    assert as_read(downgrade_fork(upgrade_fork(fork))) == fork
    load = v1.LoadSessionRequest(session_id="s", **setup)
    assert as_read(downgrade_load(upgrade_load(load))) == load
    resume = v1.ResumeSessionRequest(session_id="s", **setup)
    assert as_read(downgrade_resume(upgrade_resume(resume))) == resume


def as_read(value: BaseStruct) -> Any:
    """Return a value as the other side reads it: some blocks are version 2's objects."""
    return decode(type(value), encode(value))


@given(st.lists(BLOCKS, max_size=3), METAS)
def test_a_prompt_comes_back_as_it_was(prompt: list[v1.ContentBlock], meta: Any) -> None:
    request = v1.PromptRequest(session_id="s", prompt=prompt, meta=meta)
    assert as_read(downgrade_prompt_request(upgrade_prompt(request))) == request


def test_who_speaks_and_how_to_log_in_come_back_as_they_were() -> None:
    info = v1.Implementation(name="n", version="1", title="T", meta={"k": 1})
    assert downgrade_info(upgrade_info(info)) == info
    methods: list[v1.AuthMethod] = [
        v1.AuthMethodAgent(id="a", name="A", description="D", meta={"k": 1}),
        v1.AuthMethodTerminal(id="t", name="T", args=["-x"], env={"K": "V"}),
    ]
    assert downgrade_auth_methods(map(upgrade_auth_method, methods)) == methods


def test_an_unknown_block_of_a_system_prompt_is_not_left_out_silently() -> None:
    video = Unknown("_video", b'{"type":"_video"}')
    prompt = v2.SystemPrompt(mode="append", content=[video])
    with pytest.raises(Unsupported, match="_video"):
        downgrade_new(v2.NewSessionRequest(cwd="/w", system_prompt=prompt))
