"""Downgrades a session's updates and responses from version 2 to version 1 types.

A `SessionDowngrader` belongs to one session and tracks what the client has received, because
version 1 is less expressive: a message can only grow, a tool call is announced once, the content of
a call is always sent whole, and there is only one plan. Updates that the client does not support
are dropped. The end of a turn is not an update in version 1 but the response to the prompt:
`downgrade_turn_end`.

A permission request in version 1 is always about a tool call. The text of the request is part of
that call's content until the user decides. For a request about anything else, a tool call is
invented, which ends with the user's decision.

A client that supports several plans gets each by its id. For any other client, the plans are
joined into one list.

`_v1_method_translations.py` says which method each conversion belongs to.
`docs/reference/versions.md` lists what is lost.

Spec: https://agentclientprotocol.com/protocol/v2/migration,
https://agentclientprotocol.com/protocol/v1/tool-calls#requesting-permission and
https://agentclientprotocol.com/protocol/v1/agent-plan
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias, cast, get_args

from msgspec import UNSET, Struct, structs

from parley.errors import InternalError, Unsupported, request_error
from parley.schema import v1, v2
from parley.schema._codec import decode
from parley.schema.base import BaseStruct, JsonObject, Unknown

from ._capabilities import ClientFeatures
from ._config_options import OptionDowngrader
from ._content_blocks import added_blocks, downgrade_block, downgrade_blocks
from ._reencode import reencode
from ._v1_tool_call_downgrader import ToolCallDowngrader, fenced

_Updates: TypeAlias = list[v1.SessionUpdate]


_SentMessages: TypeAlias = dict[str, list[v2.ContentBlock]]


_Chunk: TypeAlias = v2.UserMessageChunk | v2.AgentMessageChunk | v2.AgentThoughtChunk


_Message: TypeAlias = v2.UserMessage | v2.AgentMessage | v2.AgentThought


_STOP_REASONS = frozenset(get_args(get_args(v1.StopReason)[0]))


class _UpdateHead(BaseStruct):
    session_update: str = ""


class SessionDowngrader:
    """Downgrades the updates and responses of one session, whose client speaks version 1."""

    def __init__(self, features: ClientFeatures) -> None:
        """Create the translation state of a session of which the client has received nothing.

        Args:
            features: What the client offers.
        """
        self.features = features
        """The client's features."""
        self.client_terminals: set[str] = set()
        """Ids of the client's own terminals; any other terminal is the agent's."""
        self._pending_prompts = 0
        self._options = OptionDowngrader(features)
        self._reset()

    def _reset(self) -> None:
        """Forget which updates the client has received."""
        self._user_messages: _SentMessages = {}
        self._agent_messages: _SentMessages = {}
        self._thoughts: _SentMessages = {}
        self._earlier_messages: set[str] = set()
        self._renamed_ids: dict[str, str] = {}
        self._next_rename = 1
        self._echo_ids: set[str] = set()
        self._cost: v2.Cost | None = None
        self._tools = ToolCallDowngrader(self.client_terminals)
        self._plans = PlanDowngrader(self.features)

    def downgrade(self, update: v2.SessionUpdate) -> list[v1.SessionUpdate]:
        """Return the equivalent version 1 updates; none if version 1 cannot express the update."""
        return self._DOWNGRADES[type(update)](self, update)

    def take_text(self, update: v2.AgentMessageChunk) -> bool:
        """Return whether a chunk continues a message and has the same JSON in both versions.

        If so, it counts as downgraded: send it as it is.
        """
        content = update.content
        sent = self._agent_messages.get(update.message_id)
        if (
            sent is None
            or self._renamed_ids
            or type(content) is not v2.TextContent
            or content.annotations is not None
        ):
            return False
        sent.append(content)
        return True

    def flush(self) -> list[v1.SessionUpdate]:
        """Return the updates that were held back; call this before the agent waits for anything."""
        return self._tools.flush()

    # Turns and replay

    def await_prompt(self) -> None:
        """Record that a prompt arrived.

        A user message that begins before the prompt is accepted is taken for its echo.
        """
        self._pending_prompts += 1

    def accept_prompt(self, message_id: str | None) -> None:
        """Record that the program accepted a prompt with this id, or rejected it (None).

        The client knows the message, so it is not sent back.
        """
        self._pending_prompts -= 1
        if message_id is not None:
            self._echo_ids.add(message_id)

    def end_turn(self) -> list[v1.SessionUpdate]:
        """Return the updates to send before a turn ends, and close the messages of the turn.

        A later replacement of one of them is sent as a new message.
        """
        for sent in (self._user_messages, self._agent_messages, self._thoughts):
            self._earlier_messages.update(sent)
            sent.clear()
        return self.flush()

    def begin_replay(self) -> None:
        """Treat the following updates as a replay: the client gets everything again."""
        self._reset()

    # Responses that open a session, and its options

    def new_session(self, result: v2.NewSessionResponse) -> v1.NewSessionResponse:
        """Downgrade the response to `session/new`; in version 1 its commands are a later update."""
        modes, options = self._options.open(result.config_options)
        return v1.NewSessionResponse(
            session_id=result.session_id, modes=modes, config_options=options, meta=result.meta
        )

    def fork_session(self, result: v2.ForkSessionResponse) -> v1.ForkSessionResponse:
        """Downgrade the response to `session/fork`; call this for the new session."""
        modes, options = self._options.open(result.config_options)
        return v1.ForkSessionResponse(
            session_id=result.session_id, modes=modes, config_options=options, meta=result.meta
        )

    def load_session(self, result: v2.ResumeSessionResponse) -> v1.LoadSessionResponse:
        """Downgrade the response to a resume with replay, which is `session/load` in version 1."""
        modes, options = self._options.open(result.config_options)
        return v1.LoadSessionResponse(modes=modes, config_options=options, meta=result.meta)

    def resume_session(self, result: v2.ResumeSessionResponse) -> v1.ResumeSessionResponse:
        """Downgrade the response to a resume without replay."""
        modes, options = self._options.open(result.config_options)
        return v1.ResumeSessionResponse(modes=modes, config_options=options, meta=result.meta)

    def start_nes(self, result: v2.StartNesResponse) -> v1.StartNesResponse:
        """Downgrade the response to `nes/start`; such a session has no modes."""
        options = self._options.update(result.config_options) or None
        return v1.StartNesResponse(
            session_id=result.session_id, config_options=options, meta=result.meta
        )

    def set_mode(self, request: v1.SetSessionModeRequest) -> v2.SetSessionConfigValueRequest:
        """Upgrade a request to set the mode, which is an option in version 2.

        The version 1 response has no options, so the caller sends the changed ones in an update.

        Raises:
            InvalidParams: The session has no modes.
        """
        return self._options.upgrade_mode(request)

    def set_option(
        self, request: v1.SetSessionConfigOptionRequest
    ) -> v2.SetSessionConfigValueRequest | v2.SetSessionConfigBooleanRequest:
        """Upgrade a request to set an option."""
        return self._options.upgrade_set(request)

    def option_set(
        self, result: v2.SetSessionConfigOptionResponse
    ) -> v1.SetSessionConfigOptionResponse:
        """Downgrade the response to a set option; `mode_updates` then reports a changed mode."""
        options = self._options.update(result.config_options)
        return v1.SetSessionConfigOptionResponse(config_options=options, meta=result.meta)

    def mode_updates(self) -> list[v1.SessionUpdate]:
        """Return the update for the mode if it changed since it was last sent."""
        return self._options.mode_updates()

    # Permission

    def permission(self, request: v2.RequestPermissionRequest) -> DowngradedPermission:
        """Downgrade a permission request; version 1 has only those about tool calls."""
        return downgrade_permission(self._tools, request)

    # Messages

    def _chunk(self, update: _Chunk, sent: _SentMessages) -> _Updates:
        content, id = update.content, update.message_id
        try:
            sent[id].append(content)
        except KeyError:
            sent[id] = [content]
        if self._renamed_ids and id in self._renamed_ids:
            update = structs.replace(update, message_id=self._renamed_ids[id])
        if type(content) is v2.TextContent and content.annotations is None:
            same: Any = update  # its JSON is the same in both versions
            return [same]
        block = cast("v2.ContentBlock | None", downgrade_block(content))
        if block is None:
            return []
        return [cast("v1.SessionUpdate", structs.replace(update, content=block))]

    def _agent_chunk(self, update: v2.AgentMessageChunk) -> _Updates:
        return self._chunk(update, self._agent_messages)

    def _thought_chunk(self, update: v2.AgentThoughtChunk) -> _Updates:
        return self._chunk(update, self._thoughts)

    def _user_chunk(self, update: v2.UserMessageChunk) -> _Updates:
        return [] if self._is_echo(update.message_id) else self._chunk(update, self._user_messages)

    def _is_echo(self, message_id: str) -> bool:
        """Return whether a user message is a prompt, which the client has already shown."""
        if (
            self._pending_prompts
            and message_id not in self._user_messages
            and message_id not in self._earlier_messages
        ):
            self._echo_ids.add(message_id)
        return message_id in self._echo_ids

    def _message(
        self, update: _Message, sent: _SentMessages, chunk: type[v1.ContentChunk]
    ) -> _Updates:
        """Return the chunks for what was added to a message.

        A version 1 message can only grow. If the new content does not extend the old one, or the
        message belongs to an earlier turn, all of it is sent as a new message with another id.
        """
        if update.content is UNSET:
            return []
        content, id = update.content or [], update.message_id
        added = None if id in self._earlier_messages else added_blocks(sent.get(id, ()), content)
        if added is None:
            added = content
            self._earlier_messages.discard(id)
            self._renamed_ids[id] = f"{id}~{self._next_rename}"
            self._next_rename += 1
        sent[id] = list(content)
        meta = None if update.meta is UNSET else update.meta
        sent_id = self._renamed_ids.get(id, id)
        return [
            cast("v1.SessionUpdate", chunk(message_id=sent_id, content=block, meta=meta))
            for block in downgrade_blocks(added)
        ]

    def _agent_message(self, update: v2.AgentMessage) -> _Updates:
        return self._message(update, self._agent_messages, v1.AgentMessageChunk)

    def _agent_thought(self, update: v2.AgentThought) -> _Updates:
        return self._message(update, self._thoughts, v1.AgentThoughtChunk)

    def _user_message(self, update: v2.UserMessage) -> _Updates:
        if self._is_echo(update.message_id):
            return []
        return self._message(update, self._user_messages, v1.UserMessageChunk)

    # Everything else

    def _state(self, update: v2.StateUpdated) -> _Updates:
        return [] if update.state == "running" else self.flush()

    def _tool(self, update: v2.ToolCallUpdated) -> _Updates:
        return self._tools.update(update)

    def _tool_chunk(self, update: v2.ToolCallContentChunk) -> _Updates:
        return self._tools.chunk(update)

    def _terminal(self, update: v2.TerminalUpdate) -> _Updates:
        return self._tools.terminal(update)

    def _terminal_chunk(self, update: v2.TerminalOutputChunk) -> _Updates:
        return self._tools.terminal_chunk(update)

    def _plan(self, update: v2.PlanUpdate) -> _Updates:
        return self._plans.update(update)

    def _plan_removed(self, update: v2.PlanRemoved) -> _Updates:
        return self._plans.remove(update)

    def _commands(self, update: v2.AvailableCommandsUpdate) -> _Updates:
        return [downgrade_commands(update.available_commands, meta=update.meta)]

    def _config(self, update: v2.ConfigOptionUpdate) -> _Updates:
        options = self._options.update(update.config_options)
        changed = v1.ConfigOptionUpdate(config_options=options, meta=update.meta)
        return [changed, *self._options.mode_updates()]

    def _usage(self, update: v2.UsageUpdate) -> _Updates:
        if update.cost is not UNSET:
            self._cost = update.cost
        cost = None if self._cost is None else v1.Cost(**structs.asdict(self._cost))
        usage = v1.UsageUpdate(used=update.used, size=update.size, cost=cost, meta=update.meta)
        return [usage]

    def _notice(self, update: v2.Notice) -> _Updates:
        return [cast("v1.SessionUpdate", update)] if self.features.notices else []

    def _compaction(self, update: Struct) -> _Updates:
        return _same_json(update) if self.features.compaction else []

    def _subagent(self, update: Struct) -> _Updates:
        return _same_json(update) if self.features.subagents else []

    def _info(self, update: v2.SessionInfoUpdate) -> _Updates:
        return [cast("v1.SessionUpdate", update)]

    def _unknown(self, update: Unknown) -> _Updates:
        """Pass on an unknown update, except a state, which version 1 does not have."""
        is_state = decode(_UpdateHead, update.raw).session_update == "state_update"
        return [] if is_state else [update]

    _DOWNGRADES: ClassVar[dict[type, Callable[..., _Updates]]] = {
        v2.UserMessageChunk: _user_chunk,
        v2.UserMessage: _user_message,
        v2.AgentMessageChunk: _agent_chunk,
        v2.AgentMessage: _agent_message,
        v2.AgentThoughtChunk: _thought_chunk,
        v2.AgentThought: _agent_thought,
        v2.StateUpdated: _state,
        v2.ToolCallUpdated: _tool,
        v2.ToolCallContentChunk: _tool_chunk,
        v2.TerminalUpdate: _terminal,
        v2.TerminalOutputChunk: _terminal_chunk,
        v2.PlanUpdate: _plan,
        v2.PlanRemoved: _plan_removed,
        v2.AvailableCommandsUpdate: _commands,
        v2.ConfigOptionUpdate: _config,
        v2.SessionInfoUpdate: _info,
        v2.UsageUpdate: _usage,
        v2.Notice: _notice,
        v2.CompactionUpdate: _compaction,
        v2.CompactionSummaryChunk: _compaction,
        v2.SubagentUpdate: _subagent,
        v2.SessionMessage: _subagent,
        v2.SessionMessageChunk: _subagent,
        Unknown: _unknown,
    }


def downgrade_commands(
    commands: Sequence[v2.AvailableCommand], meta: JsonObject | None = None
) -> v1.AvailableCommandsUpdate:
    """Return the update that lists all commands, without those of an unknown type."""
    downgraded = [_downgrade_command(each) for each in commands if not isinstance(each, Unknown)]
    return v1.AvailableCommandsUpdate(available_commands=downgraded, meta=meta)


def _downgrade_command(command: v2.Command) -> v1.AvailableCommand:
    input = command.input
    return v1.AvailableCommand(
        name=command.name,
        description=command.description,
        input=(
            v1.UnstructuredCommandInput(hint=input.hint, meta=input.meta)
            if isinstance(input, v2.TextCommandInput)
            else None
        ),
        meta=command.meta,
    )


def downgrade_turn_end(end: v2.StateUpdated) -> v1.PromptResponse:
    """Return the response to a prompt, which ends its turn in version 1.

    A stop reason that version 1 does not have becomes `end_turn`.

    Raises:
        RequestError: The turn failed; this is the error response to the prompt.
    """
    if end.stop_reason == "error":
        error = end.error or v2.Error(code=InternalError.code, message=InternalError.text)
        data = UNSET if error.data is None else error.data
        raise request_error(error.code, error.message, data)
    reason: v1.StopReason = end.stop_reason or ""
    if reason not in _STOP_REASONS:
        reason = "end_turn"
    usage = None if end.usage is None else v1.Usage(**structs.asdict(end.usage))
    return v1.PromptResponse(stop_reason=reason, usage=usage, meta=end.meta)


def _same_json(update: Struct) -> _Updates:
    try:
        downgraded: v1.SessionUpdate = reencode(update, v1.SessionUpdate)
    except Unsupported:  # it has a block of an unknown type
        return []
    return [downgraded]


_KINDS = frozenset(get_args(v1.PermissionOptionKind))


class DowngradedPermission(Struct, frozen=True, kw_only=True):
    """A version 1 permission request, and the updates to send once the user has decided."""

    request: v1.RequestPermissionRequest
    if_allowed: list[v1.SessionUpdate] = []
    if_rejected: list[v1.SessionUpdate] = []

    def updates_after(
        self, response: v2.RequestPermissionResponse | None
    ) -> list[v1.SessionUpdate]:
        """Return the updates for the user's decision; without a response nothing was allowed."""
        outcome = None if response is None else response.outcome
        if isinstance(outcome, v2.SelectedPermissionOutcome):
            for option in self.request.options:
                if option.option_id == outcome.option_id and option.kind.startswith("allow"):
                    return self.if_allowed
        return self.if_rejected


def downgrade_permission(
    tools: ToolCallDowngrader, request: v2.RequestPermissionRequest
) -> DowngradedPermission:
    """Downgrade a permission request, given the tool calls that the client knows."""
    subject = request.subject
    if isinstance(subject, v2.ToolCallPermissionSubject):
        patch = subject.tool_call
    elif isinstance(subject, v2.CommandPermissionSubject) and subject.tool_call_id is not None:
        patch = v2.ToolCallUpdate(tool_call_id=subject.tool_call_id)
        if not tools.has_call(subject.tool_call_id):
            patch = structs.replace(patch, kind="execute", raw_input=_raw_input(subject))
    else:
        return _with_invented_call(request)
    if not tools.has_call(patch.tool_call_id) and not patch.title:
        patch = structs.replace(patch, title=request.title)
    call = tools.subject(patch)
    question = _question(request, tools.title(patch.tool_call_id))
    if not question:
        return DowngradedPermission(request=_with_tool_call(request, call))
    # The client has nowhere else to show the question: it precedes the content of the call, and
    # an update removes it once the user has decided.
    content = tools.content(patch.tool_call_id)
    call = structs.replace(call, content=[*question, *content])
    after: list[v1.SessionUpdate] = [
        v1.ToolCallUpdated(tool_call_id=patch.tool_call_id, content=content)
    ]
    return DowngradedPermission(
        request=_with_tool_call(request, call), if_allowed=after, if_rejected=after
    )


def _with_invented_call(request: v2.RequestPermissionRequest) -> DowngradedPermission:
    """Downgrade a request that is not about a tool call, with an invented one."""
    subject = request.subject
    is_command = isinstance(subject, v2.CommandPermissionSubject)
    id = f"permission-{secrets.token_hex(8)}"
    call = v1.ToolCallUpdate(
        tool_call_id=id,
        title=request.title,
        kind="execute" if is_command else "other",
        status="pending",
        content=_question(request, request.title) or None,
        raw_input=_raw_input(subject) if isinstance(subject, v2.CommandPermissionSubject) else None,
    )
    return DowngradedPermission(
        request=_with_tool_call(request, call),
        if_allowed=[v1.ToolCallUpdated(tool_call_id=id, status="completed")],
        if_rejected=[v1.ToolCallUpdated(tool_call_id=id, status="failed")],
    )


def _with_tool_call(
    request: v2.RequestPermissionRequest, call: v1.ToolCallUpdate
) -> v1.RequestPermissionRequest:
    return v1.RequestPermissionRequest(
        session_id=request.session_id,
        tool_call=call,
        options=[_downgrade_option(option) for option in request.options],
        meta=request.meta,
    )


def _downgrade_option(option: v2.PermissionOption) -> v1.PermissionOption:
    """Downgrade an option; one of an unknown kind must not be mistaken for one that allows."""
    kind = option.kind if option.kind in _KINDS else "reject_once"
    return v1.PermissionOption(
        option_id=option.option_id,
        name=option.name,
        kind=cast("v1.PermissionOptionKind", kind),
        meta=option.meta,
    )


def _question(request: v2.RequestPermissionRequest, title: str) -> list[v1.ToolCallContent]:
    """Return the parts of the question that the title of the tool call does not show."""
    parts = [request.title if request.title != title else None, request.description]
    if isinstance(request.subject, v2.CommandPermissionSubject):
        parts.append(fenced(f"{request.subject.cwd}$ {request.subject.command}"))
    text = "\n\n".join(part for part in parts if part)
    return [v1.Content(content=v1.TextContent(text=text))] if text else []


def _raw_input(subject: v2.CommandPermissionSubject) -> dict[str, str]:
    return {"command": subject.command, "cwd": subject.cwd}


_PRIORITIES = frozenset(get_args(v1.PlanEntryPriority))


_STATUSES = frozenset(get_args(v1.PlanEntryStatus))


class PlanDowngrader:
    """The plans of one session, for a version 1 client."""

    def __init__(self, features: ClientFeatures) -> None:
        self._has_ids = features.plans
        self._entries: dict[str, list[v1.PlanEntry]] = {}

    def update(self, update: v2.PlanUpdate) -> list[v1.SessionUpdate]:
        """Return the updates for a plan; none for a plan of an unknown type."""
        plan = update.plan
        if isinstance(plan, Unknown):
            return []
        if self._has_ids:
            return [v1.PlanUpdate(plan=_downgrade_plan(plan), meta=update.meta)]
        self._entries[plan.plan_id] = _entries(plan)
        return [self._joined_plan(update.meta)]

    def remove(self, update: v2.PlanRemoved) -> list[v1.SessionUpdate]:
        """Return the updates for a removed plan."""
        if self._has_ids:
            return [v1.PlanRemoved(plan_id=update.plan_id, meta=update.meta)]
        is_known = self._entries.pop(update.plan_id, None) is not None
        return [self._joined_plan(update.meta)] if is_known else []

    def _joined_plan(self, meta: dict[str, object] | None) -> v1.Plan:
        entries = [entry for each in self._entries.values() for entry in each]
        return v1.Plan(entries=entries, meta=meta)


def _downgrade_plan(
    plan: v2.PlanItems | v2.PlanFile | v2.PlanMarkdown,
) -> v1.PlanUpdateContent:
    match plan:
        case v2.PlanItems():
            entries = _downgrade_entries(plan.entries)
            return v1.PlanItems(plan_id=plan.plan_id, entries=entries, meta=plan.meta)
        case v2.PlanFile():
            return v1.PlanFile(plan_id=plan.plan_id, uri=plan.uri, meta=plan.meta)
        case _:
            return v1.PlanMarkdown(plan_id=plan.plan_id, content=plan.content, meta=plan.meta)


def _entries(plan: v2.PlanItems | v2.PlanFile | v2.PlanMarkdown) -> list[v1.PlanEntry]:
    """Return a plan as entries; a text or a file becomes a single entry."""
    if isinstance(plan, v2.PlanItems):
        return _downgrade_entries(plan.entries)
    content = plan.uri if isinstance(plan, v2.PlanFile) else plan.content
    return [v1.PlanEntry(content=content, priority="medium", status="in_progress")]


def _downgrade_entries(entries: Iterable[v2.PlanEntry]) -> list[v1.PlanEntry]:
    """Downgrade entries, without cancelled ones: no version 1 status would be true of them."""
    return [
        v1.PlanEntry(
            content=entry.content,
            priority=cast(
                "v1.PlanEntryPriority",
                entry.priority if entry.priority in _PRIORITIES else "medium",
            ),
            status=cast(
                "v1.PlanEntryStatus", entry.status if entry.status in _STATUSES else "pending"
            ),
            meta=entry.meta,
        )
        for entry in entries
        if entry.status != "cancelled"
    ]
