"""Upgrades a session's updates and responses from version 1 to version 2 types.

A `SessionUpgrader` belongs to one session. It tracks what version 2 needs and version 1 does not
send: which chunks form one message, which tool calls are known, and what the options are. It also
creates the updates that a version 1 turn does not have: the user's message, and the session states.

Version 1 announces a tool call with `tool_call` and changes it with `tool_call_update`, where null
means "unchanged"; in version 2 both are patches. A diff of two texts becomes a list of changes with
a patch.

`_v1_method_translations.py` says which method each conversion belongs to.
`docs/reference/versions.md` lists what is lost.

Spec: https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from msgspec import UNSET, Struct, UnsetType, structs
from msgspec.structs import replace

from parley.errors import (
    AcpError,
    InternalError,
    ProtocolError,
    RequestCancelled,
    RequestError,
)
from parley.schema import v1, v2
from parley.schema.base import Unknown

from ._adapter import MalformedResponse
from ._config_options import OptionUpgrader
from ._content_blocks import upgrade_block
from ._diffs import make_diff
from ._reencode import reencode

MAIN_PLAN = "main"
"""The version 2 id of a version 1 session's only plan."""


_Updates = list[v2.SessionUpdate]


_EMPTY_TEXT = v2.TextContent(text="")


_MESSAGE_TYPES: dict[type[v1.ContentChunk], tuple[type[Any], type[Any]]] = {
    v1.UserMessageChunk: (v2.UserMessage, v2.UserMessageChunk),
    v1.AgentMessageChunk: (v2.AgentMessage, v2.AgentMessageChunk),
    v1.AgentThoughtChunk: (v2.AgentThought, v2.AgentThoughtChunk),
}


class _Turn:
    """A prompt that was sent, and the outcome of its turn once known."""

    def __init__(self, message_id: str, prompt: list[v2.ContentBlock]) -> None:
        self.message_id = message_id
        self.prompt = prompt
        self.outcome: v1.PromptResponse | AcpError | None = None


class SessionUpgrader:
    """Upgrades the updates and responses of one session, whose agent speaks version 1."""

    def __init__(self, *, prefix: str | None = None) -> None:
        """Create the translation state of a session that has not sent anything yet.

        Args:
            prefix: Start of generated message ids. The default is random, so that ids do not
                collide with those of other sessions or of the agent.
        """
        self._id_prefix = secrets.token_hex(8) + "-" if prefix is None else prefix
        self._message_count = 0
        self._role: type[v1.ContentChunk] | None = None
        self._agent_message_id: str | None = None
        self._message_id = ""
        self._empty_chunk: Any = None
        self._turns: list[_Turn] = []
        self._pending_decisions = 0
        self._replayed: set[tuple[type[v1.ContentChunk], str]] | None = None
        self._prompt_echo: list[v2.ContentBlock] = []
        self._tool_titles: dict[str, str | None] = {}
        self._compactions: set[str] = set()
        self._options = OptionUpgrader()

    def upgrade(self, update: v1.SessionUpdate) -> list[v2.SessionUpdate]:
        """Return the equivalent version 2 updates, possibly none."""
        return self._UPGRADES[type(update)](self, update)

    def upgrade_next_text(self, update: v1.SessionUpdate) -> v2.SessionUpdate | None:
        """Return the same as `upgrade` for one more text of the current message; None otherwise."""
        if type(update) is not self._role or self._role is v1.UserMessageChunk:
            return None
        chunk: Any = update
        content, message_id = chunk.content, chunk.message_id
        if (
            (message_id != self._agent_message_id and message_id is not None)
            or type(content) is not v1.TextContent
            or content.annotations is not None
        ):
            return None
        text = replace(_EMPTY_TEXT, text=content.text, meta=content.meta)
        upgraded: v2.SessionUpdate = replace(self._empty_chunk, content=text, meta=chunk.meta)
        return upgraded

    # Turns and replay

    def new_message_id(self) -> str:
        """Generate a message id."""
        self._message_count += 1
        return f"{self._id_prefix}{self._message_count}"

    def begin_turn(
        self, message_id: str, prompt: Sequence[v2.ContentBlock]
    ) -> list[v2.SessionUpdate]:
        """Begin a turn with a user message and return the updates that version 2 sends for it.

        Returns no updates while another turn runs; `end_turn` returns them when that turn ends.
        """
        self._turns.append(_Turn(message_id, list(prompt)))
        return self._start_turn() if len(self._turns) == 1 else []

    def _start_turn(self) -> list[v2.SessionUpdate]:
        """Begin the first turn.

        The prompt is kept in `_prompt_echo`: if the agent repeats it, that is not a second message.
        """
        turn = self._turns[0]
        self._end_message()
        self._prompt_echo = list(turn.prompt)
        return [
            v2.UserMessage(message_id=turn.message_id, content=turn.prompt),
            v2.StateUpdated(state="running"),
        ]

    def end_turn(
        self, message_id: str, outcome: v1.PromptResponse | AcpError
    ) -> list[v2.SessionUpdate]:
        """End the turn of this message and return the updates that version 2 sends for it.

        If an earlier turn still runs, the updates are returned when that turn ends.
        """
        # Responses may arrive out of order, but the turns are reported one after the other.
        for turn in self._turns:
            if turn.message_id == message_id:
                turn.outcome = outcome
        updates: _Updates = []
        while self._turns and self._turns[0].outcome is not None:
            updates.append(upgrade_turn_end(self._turns[0].outcome))
            del self._turns[0]
            self._end_message()
            self._prompt_echo = []
            if self._turns:
                updates += self._start_turn()
        return updates

    def begin_decision(self) -> list[v2.SessionUpdate]:
        """Return the updates that version 2 sends when the agent waits for the user's decision."""
        self._pending_decisions += 1
        # Several requests may wait at once; only the first and the last change the state.
        is_first = self._pending_decisions == 1 and self._turns
        return [v2.StateUpdated(state="requires_action")] if is_first else []

    def end_decision(self) -> list[v2.SessionUpdate]:
        """Return the updates that version 2 sends when the wait ends, decided or not."""
        self._pending_decisions -= 1
        is_last = self._pending_decisions == 0 and self._turns
        return [v2.StateUpdated(state="running")] if is_last else []

    def begin_replay(self) -> None:
        """Treat the following updates as a replay.

        As in version 2, an empty message then precedes the chunks of each message, so that a
        client that already has the message does not show its content twice.
        """
        self._end_message()
        self._replayed = set()

    def end_replay(self) -> None:
        """Treat the following updates as new again."""
        self._end_message()
        self._replayed = None

    # Responses that open a session, and its options

    def new_session(self, result: v1.NewSessionResponse) -> v2.NewSessionResponse:
        """Upgrade the response to `session/new`."""
        options = self._options.open(result.modes, result.config_options)
        return v2.NewSessionResponse(
            session_id=result.session_id, config_options=options, meta=result.meta
        )

    def fork_session(self, result: v1.ForkSessionResponse) -> v2.ForkSessionResponse:
        """Upgrade the response to `session/fork`; call this for the new session."""
        options = self._options.open(result.modes, result.config_options)
        return v2.ForkSessionResponse(
            session_id=result.session_id, config_options=options, meta=result.meta
        )

    def resume_session(
        self, result: v1.ResumeSessionResponse | v1.LoadSessionResponse
    ) -> v2.ResumeSessionResponse:
        """Upgrade the response to `session/resume` or `session/load`."""
        options = self._options.open(result.modes, result.config_options)
        return v2.ResumeSessionResponse(config_options=options, meta=result.meta)

    def sets_mode(self, request: v2.SetSessionConfigOptionRequest) -> bool:
        """Return whether a request sets the option that stands for the agent's modes."""
        return self._options.sets_mode(request)

    def set_option(
        self, request: v2.SetSessionConfigOptionRequest
    ) -> v1.SetSessionModeRequest | v1.SetSessionConfigOptionRequest:
        """Downgrade a request to set an option.

        The result is a `session/set_mode` request if the option stands for a version 1 mode.

        Raises:
            Unsupported: Version 1 has no value of this type.
            InvalidParams: The value for a mode is a boolean.
        """
        return self._options.downgrade_set(request)

    def option_set(
        self, result: v1.SetSessionConfigOptionResponse
    ) -> v2.SetSessionConfigOptionResponse:
        """Upgrade the response to `session/set_config_option`."""
        options = self._options.update(result.config_options)
        return v2.SetSessionConfigOptionResponse(config_options=options, meta=result.meta)

    def mode_set(
        self, request: v1.SetSessionModeRequest, result: v1.SetSessionModeResponse
    ) -> v2.SetSessionConfigOptionResponse:
        """Upgrade the response to `session/set_mode`."""
        options = self._options.change_mode(request.mode_id)
        return v2.SetSessionConfigOptionResponse(config_options=options, meta=result.meta)

    # Permission

    def permission(self, request: v1.RequestPermissionRequest) -> v2.RequestPermissionRequest:
        """Upgrade a permission request, which version 1 always makes about a tool call."""
        self._remember_tool_call(request.tool_call.tool_call_id, request.tool_call.title)
        title = self._tool_titles[request.tool_call.tool_call_id] or request.tool_call.name
        subject = upgrade_tool_update(v2.ToolCallUpdate, request.tool_call)
        return v2.RequestPermissionRequest(
            session_id=request.session_id,
            title=title or "Allow this tool call?",
            subject=v2.ToolCallPermissionSubject(tool_call=subject),
            options=[v2.PermissionOption(**structs.asdict(option)) for option in request.options],
            meta=request.meta,
        )

    # Messages

    def _end_message(self) -> None:
        """Make the next chunk without an id begin a new message."""
        self._role = None

    def _chunk(self, update: v1.ContentChunk) -> _Updates:
        """Upgrade a chunk; consecutive chunks of a role are one message unless their ids differ."""
        content = update.content
        agent_message_id = update.message_id
        opening: _Updates = []
        if type(update) is not self._role or (
            agent_message_id is not None and agent_message_id != self._agent_message_id
        ):
            opening = self._begin_message(type(update), agent_message_id)
        if type(content) is v1.TextContent and content.annotations is None:
            block: v2.ContentBlock = replace(_EMPTY_TEXT, text=content.text, meta=content.meta)
        else:
            block = upgrade_block(content)
        upgraded = replace(self._empty_chunk, content=block, meta=update.meta)
        return [*opening, upgraded] if opening else [upgraded]

    def _begin_message(self, role: type[v1.ContentChunk], agent_message_id: str | None) -> _Updates:
        self._role = role
        self._agent_message_id = agent_message_id
        self._message_id = self.new_message_id() if agent_message_id is None else agent_message_id
        whole, chunk = _MESSAGE_TYPES[role]
        # Chunks are copied from this empty one: that takes half the time of building a new object.
        self._empty_chunk = chunk(message_id=self._message_id, content=_EMPTY_TEXT)
        key = (role, self._message_id)
        if self._replayed is None or key in self._replayed:
            return []
        self._replayed.add(key)
        return [whole(message_id=self._message_id, content=[])]

    def _user_chunk(self, update: v1.UserMessageChunk) -> _Updates:
        # An agent may repeat the prompt, block by block; the client already has that message.
        if self._prompt_echo and upgrade_block(update.content) == self._prompt_echo[0]:
            del self._prompt_echo[0]
            return []
        return self._chunk(update)

    # Tool calls

    def _remember_tool_call(self, tool_call_id: str, title: str | None) -> bool:
        """Store the title of a tool call; return whether the call is new.

        A new call has its own place in the conversation, so it ends the message before it.
        """
        is_new = tool_call_id not in self._tool_titles
        if is_new:
            self._end_message()
        if is_new or title is not None:
            self._tool_titles[tool_call_id] = title
        return is_new

    def _tool_call(self, update: v1.ToolCall) -> _Updates:
        is_new = self._remember_tool_call(update.tool_call_id, update.title)
        return [upgrade_tool_call(update, is_new=is_new)]

    def _tool_update(self, update: v1.ToolCallUpdated) -> _Updates:
        self._remember_tool_call(update.tool_call_id, update.title)
        return [upgrade_tool_update(v2.ToolCallUpdated, update)]

    # Everything else

    def _plan(self, update: v1.Plan) -> _Updates:
        entries = [v2.PlanEntry(**structs.asdict(entry)) for entry in update.entries]
        plan = v2.PlanItems(plan_id=MAIN_PLAN, entries=entries)
        return [v2.PlanUpdate(plan=plan, meta=update.meta)]

    def _commands(self, update: v1.AvailableCommandsUpdate) -> _Updates:
        commands = [_upgrade_command(command) for command in update.available_commands]
        return [v2.AvailableCommandsUpdate(available_commands=[*commands], meta=update.meta)]

    def _mode(self, update: v1.CurrentModeUpdate) -> _Updates:
        options = self._options.change_mode(update.current_mode_id)
        return [v2.ConfigOptionUpdate(config_options=options, meta=update.meta)] if options else []

    def _config(self, update: v1.ConfigOptionUpdate) -> _Updates:
        options = self._options.update(update.config_options)
        return [v2.ConfigOptionUpdate(config_options=options, meta=update.meta)]

    def _usage(self, update: v1.UsageUpdate) -> _Updates:
        cost = UNSET if update.cost is None else v2.Cost(**structs.asdict(update.cost))
        usage = v2.UsageUpdate(used=update.used, size=update.size, cost=cost, meta=update.meta)
        return [usage]

    def _compaction(self, update: v1.CompactionUpdate) -> _Updates:
        if update.compaction_id not in self._compactions:
            self._compactions.add(update.compaction_id)
            self._end_message()
        return self._reencode_update(update)

    def _unknown(self, update: Unknown) -> _Updates:
        """Pass on an unknown update, except a state: in version 1 only prompts determine it."""
        return [] if update.tag == "state_update" else [update]

    def _reencode_update(self, update: Struct) -> _Updates:
        upgraded: v2.SessionUpdate = reencode(update, v2.SessionUpdate)
        return [upgraded]

    _UPGRADES: ClassVar[dict[type, Callable[..., _Updates]]] = {
        v1.UserMessageChunk: _user_chunk,
        v1.AgentMessageChunk: _chunk,
        v1.AgentThoughtChunk: _chunk,
        v1.ToolCall: _tool_call,
        v1.ToolCallUpdated: _tool_update,
        v1.Plan: _plan,
        v1.PlanUpdate: _reencode_update,
        v1.PlanRemoved: _reencode_update,
        v1.AvailableCommandsUpdate: _commands,
        v1.CurrentModeUpdate: _mode,
        v1.ConfigOptionUpdate: _config,
        v1.SessionInfoUpdate: _reencode_update,
        v1.UsageUpdate: _usage,
        v1.Notice: _reencode_update,
        v1.CompactionUpdate: _compaction,
        v1.CompactionSummaryChunk: _reencode_update,
        v1.SubagentUpdate: _reencode_update,
        v1.SessionMessage: _reencode_update,
        v1.SessionMessageChunk: _reencode_update,
        Unknown: _unknown,
    }


def upgrade_turn_end(outcome: v1.PromptResponse | AcpError) -> v2.StateUpdated:
    """Return the version 2 update that ends a turn, from the outcome of its prompt in version 1."""
    if isinstance(outcome, v1.PromptResponse):
        usage = None if outcome.usage is None else v2.Usage(**structs.asdict(outcome.usage))
        stop = outcome.stop_reason
        return v2.StateUpdated(state="idle", stop_reason=stop, usage=usage, meta=outcome.meta)
    if isinstance(outcome, RequestCancelled):
        return v2.StateUpdated(state="idle", stop_reason="cancelled")
    if isinstance(outcome, ProtocolError):
        malformed = MalformedResponse(code=InternalError.code, message=str(outcome))
        return v2.StateUpdated(state="idle", stop_reason="error", error=malformed)
    if not isinstance(outcome, RequestError):
        outcome = InternalError(str(outcome))
    data = None if outcome.data is UNSET else outcome.data
    error = v2.Error(code=outcome.code, message=outcome.message, data=data)
    return v2.StateUpdated(state="idle", stop_reason="error", error=error)


def _upgrade_command(command: v1.AvailableCommand) -> v2.Command:
    input = None if command.input is None else v2.TextCommandInput(**structs.asdict(command.input))
    return v2.Command(
        name=command.name, description=command.description, input=input, meta=command.meta
    )


T = TypeVar("T")


U = TypeVar("U", bound=v2.ToolCallUpdate)


def upgrade_tool_call(call: v1.ToolCall, *, is_new: bool) -> v2.ToolCallUpdated:
    """Return the announcement of a call as a patch.

    Args:
        call: The announcement.
        is_new: Whether the call was unknown until now. An announcement of a known call replaces
            it, so absent fields are cleared.
    """
    # The announcement of a known call replaces it: null then clears a field.
    optional = _or_unset if is_new else _reencode_update
    return v2.ToolCallUpdated(
        tool_call_id=call.tool_call_id,
        title=call.title,
        name=optional(call.name),
        kind=call.kind,
        status=call.status,
        content=upgrade_tool_content(call.content) if call.content or not is_new else UNSET,
        locations=_upgrade_locations(call.locations) if call.locations or not is_new else UNSET,
        raw_input=optional(call.raw_input),
        raw_output=optional(call.raw_output),
        meta=optional(call.meta),
    )


def upgrade_tool_update(cls: type[U], update: v1.ToolCallUpdate) -> U:
    """Return a change of a call as a patch: a session update, or a permission request's subject."""
    return cls(
        tool_call_id=update.tool_call_id,
        title=_or_unset(update.title),
        name=_or_unset(update.name),
        kind=_or_unset(update.kind),
        status=_or_unset(update.status),
        content=UNSET if update.content is None else upgrade_tool_content(update.content),
        locations=UNSET if update.locations is None else _upgrade_locations(update.locations),
        raw_input=_or_unset(update.raw_input),
        raw_output=_or_unset(update.raw_output),
        meta=_or_unset(update.meta),
    )


def _or_unset(value: T | None) -> T | UnsetType:
    """Return the value, or UNSET for null, which means "unchanged" in version 1."""
    return UNSET if value is None else value


def _reencode_update(value: T) -> T:
    return value


def upgrade_tool_content(content: Iterable[v1.ToolCallContent]) -> list[v2.ToolCallContent]:
    """Return the content of a call as version 2 types."""
    return [_upgrade_item(item) for item in content]


def _upgrade_item(item: v1.ToolCallContent) -> v2.ToolCallContent:
    match item:
        case v1.Content():
            return v2.Content(content=upgrade_block(item.content), meta=item.meta)
        case v1.Diff():
            return replace(make_diff(item.path, item.old_text, item.new_text), meta=item.meta)
        case _:
            return v2.Terminal(terminal_id=item.terminal_id, meta=item.meta)


def _upgrade_locations(locations: Iterable[v1.ToolCallLocation]) -> list[v2.ToolCallLocation]:
    # Version 2 counts lines from 1 and rejects 0.
    return [
        v2.ToolCallLocation(path=each.path, line=each.line or None, meta=each.meta)
        for each in locations
    ]
