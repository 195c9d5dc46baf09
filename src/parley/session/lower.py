"""What a version 2 agent says about a session, in version 1's words.

A `Lowering` belongs to one session and remembers what the client has been told, because version 1
says less at a time: a message can only grow, a tool call is announced once, the content of a call
is sent whole, the one plan is all plans. What the client does not offer to take is left out. The
end of a turn is no update in version 1 but the answer to the prompt, see `lower_end`. The requests
that need no memory are in `pairs.py`; what is lost is in `docs/versions.md`.

Spec: https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias, cast, get_args

from msgspec import UNSET, Struct, structs

from parley.errors import InternalError, Unsupported, request_error
from parley.schema import v1, v2
from parley.schema.base import Bare, JsonObject, Unknown
from parley.schema.codec import decode
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import unstable as draft2

from .blocks import added_blocks, lower_block, lower_blocks
from .features import ClientFeatures
from .lower_permission import LoweredPermission, lower_permission
from .lower_plans import LoweredPlans
from .lower_tools import LoweredTools
from .options import LoweredOptions
from .recode import recode

__all__ = ["Lowering", "lower_commands", "lower_end"]

_Updates: TypeAlias = list[v1.SessionUpdate]
_Said: TypeAlias = dict[str, list[v2.ContentBlock]]
_Chunk: TypeAlias = v2.UserMessageChunk | v2.AgentMessageChunk | v2.AgentThoughtChunk
_Message: TypeAlias = v2.UserMessage | v2.AgentMessage | v2.AgentThought
_STOP_REASONS = frozenset(get_args(v1.StopReason))


class _Kind(Bare):
    session_update: str = ""


class Lowering:
    """One session whose client speaks version 1."""

    def __init__(self, features: ClientFeatures) -> None:
        """Begin with nothing told.

        Args:
            features: What the client offers.
        """
        self._features = features
        self.client_terminals: set[str] = set()
        """The terminals of the client; any other is the agent's."""
        self._awaited = 0
        self._options = LoweredOptions(features)
        self._begin()

    def _begin(self) -> None:
        self._user: _Said = {}
        self._agent: _Said = {}
        self._thought: _Said = {}
        self._old: set[str] = set()
        self._renamed: dict[str, str] = {}
        self._renames = 1
        self._echoes: set[str] = set()
        self._cost: v2.Cost | None = None
        self._tools = LoweredTools(self.client_terminals)
        self._plans = LoweredPlans(self._features)

    def lower(self, update: v2.SessionUpdate) -> list[v1.SessionUpdate]:
        """Return the updates of version 1 that say the same; none where it cannot say it."""
        return self._LOWER[type(update)](self, update)

    def flush(self) -> list[v1.SessionUpdate]:
        """Return the updates that have waited for more; before the agent waits for anybody."""
        return self._tools.flush()

    # Turns and replay

    def await_prompt(self) -> None:
        """A prompt came. A user's message that begins before it is accepted is the prompt."""
        self._awaited += 1

    def accept_prompt(self, message_id: str | None) -> None:
        """The prompt is accepted with this id, or refused: its message is not told again."""
        self._awaited -= 1
        if message_id is not None:
            self._echoes.add(message_id)

    def end_turn(self) -> list[v1.SessionUpdate]:
        """Return what is to be sent before a turn ends; what was said in it stays as it is."""
        for said in (self._user, self._agent, self._thought):
            self._old.update(said)
            said.clear()
        return self.flush()

    def begin_replay(self) -> None:
        """From here on the agent replays: the client is told everything anew."""
        self._begin()

    # Answers that open a session, and its options

    def new_session(self, result: v2.NewSessionResponse) -> v1.NewSessionResponse:
        """Lower the answer to `session/new`; its commands are an update in version 1."""
        modes, options = self._options.open(result.config_options)
        return v1.NewSessionResponse(
            session_id=result.session_id, modes=modes, config_options=options, meta=result.meta
        )

    def fork_session(self, result: draft2.ForkSessionResponse) -> draft1.ForkSessionResponse:
        """Lower the answer to `session/fork`; this is the `Lowering` of the new session."""
        modes, options = self._options.open(result.config_options)
        return draft1.ForkSessionResponse(
            session_id=result.session_id, modes=modes, config_options=options, meta=result.meta
        )

    def load_session(self, result: v2.ResumeSessionResponse) -> v1.LoadSessionResponse:
        """Lower the answer to a resume that replays."""
        modes, options = self._options.open(result.config_options)
        return v1.LoadSessionResponse(modes=modes, config_options=options, meta=result.meta)

    def resume_session(self, result: v2.ResumeSessionResponse) -> v1.ResumeSessionResponse:
        """Lower the answer to a resume that replays nothing."""
        modes, options = self._options.open(result.config_options)
        return v1.ResumeSessionResponse(modes=modes, config_options=options, meta=result.meta)

    def start_nes(self, result: draft2.StartNesResponse) -> draft1.StartNesResponse:
        """Lower the answer to `nes/start`; such a session has no modes."""
        options = self._options.update(result.config_options) or None
        return draft1.StartNesResponse(
            session_id=result.session_id, config_options=options, meta=result.meta
        )

    def set_mode(self, request: v1.SetSessionModeRequest) -> v2.SetSessionConfigValueRequest:
        """Lift a request to set the mode, which is an option in version 2.

        What it has changed is told as the update of version 2 that has all options.

        Raises:
            InvalidParams: The session has no modes.
        """
        return self._options.lift_mode(request)

    def set_option(
        self, request: v1.SetSessionConfigOptionRequest
    ) -> v2.SetSessionConfigValueRequest | v2.SetSessionConfigBooleanRequest:
        """Lift a request to set an option."""
        return self._options.lift_set(request)

    def option_set(
        self, result: v2.SetSessionConfigOptionResponse
    ) -> v1.SetSessionConfigOptionResponse:
        """Lower the answer to that; if the mode has changed too, `mode_updates` tells it."""
        options = self._options.update(result.config_options)
        return v1.SetSessionConfigOptionResponse(config_options=options, meta=result.meta)

    def mode_updates(self) -> list[v1.SessionUpdate]:
        """Return what tells the client the mode, if it has changed since the client was told."""
        return self._options.mode_updates()

    # Permission

    def permission(self, request: v2.RequestPermissionRequest) -> LoweredPermission:
        """Lower a question to the user; version 1 asks about tool calls only."""
        return lower_permission(self._tools, request)

    # Messages

    def _chunk(self, update: _Chunk, said: _Said) -> _Updates:
        content, id = update.content, update.message_id
        try:
            said[id].append(content)
        except KeyError:
            said[id] = [content]
        if self._renamed and id in self._renamed:
            update = structs.replace(update, message_id=self._renamed[id])
        if type(content) is v2.TextContent and content.annotations is None:
            same: Any = update  # the JSON is the same
            return [same]
        block = cast("v2.ContentBlock | None", lower_block(content))
        if block is None:
            return []
        return [cast("v1.SessionUpdate", structs.replace(update, content=block))]

    def _agent_chunk(self, update: v2.AgentMessageChunk) -> _Updates:
        return self._chunk(update, self._agent)

    def _thought_chunk(self, update: v2.AgentThoughtChunk) -> _Updates:
        return self._chunk(update, self._thought)

    def _user_chunk(self, update: v2.UserMessageChunk) -> _Updates:
        return [] if self._is_echo(update.message_id) else self._chunk(update, self._user)

    def _is_echo(self, message_id: str) -> bool:
        """Tell whether a user's message is a prompt, which the client has shown already."""
        if self._awaited and message_id not in self._user and message_id not in self._old:
            self._echoes.add(message_id)
        return message_id in self._echoes

    def _message(self, update: _Message, said: _Said, chunk: type[v1.ContentChunk]) -> _Updates:
        """Send what is new of a message; one that is not the old one and more begins again."""
        if update.content is UNSET:
            return []
        content, id = update.content or [], update.message_id
        rest = None if id in self._old else added_blocks(said.get(id, ()), content)
        if rest is None:
            rest = content
            self._old.discard(id)
            self._renamed[id] = f"{id}~{self._renames}"
            self._renames += 1
        said[id] = list(content)
        meta = None if update.meta is UNSET else update.meta
        wire_id = self._renamed.get(id, id)
        return [
            cast("v1.SessionUpdate", chunk(message_id=wire_id, content=block, meta=meta))
            for block in lower_blocks(rest)
        ]

    def _agent_message(self, update: v2.AgentMessage) -> _Updates:
        return self._message(update, self._agent, v1.AgentMessageChunk)

    def _agent_thought(self, update: v2.AgentThought) -> _Updates:
        return self._message(update, self._thought, v1.AgentThoughtChunk)

    def _user_message(self, update: v2.UserMessage) -> _Updates:
        if self._is_echo(update.message_id):
            return []
        return self._message(update, self._user, v1.UserMessageChunk)

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

    def _plan_removed(self, update: draft2.PlanRemoved) -> _Updates:
        return self._plans.remove(update)

    def _commands(self, update: v2.AvailableCommandsUpdate) -> _Updates:
        return [lower_commands(update.available_commands, meta=update.meta)]

    def _config(self, update: v2.ConfigOptionUpdate) -> _Updates:
        options = self._options.update(update.config_options)
        told = v1.ConfigOptionUpdate(config_options=options, meta=update.meta)
        return [told, *self._options.mode_updates()]

    def _usage(self, update: v2.UsageUpdate) -> _Updates:
        if update.cost is not UNSET:
            self._cost = update.cost
        cost = None if self._cost is None else v1.Cost(**structs.asdict(self._cost))
        usage = v1.UsageUpdate(used=update.used, size=update.size, cost=cost, meta=update.meta)
        return [usage]

    def _notice(self, update: v2.Notice) -> _Updates:
        return [cast("v1.SessionUpdate", update)] if self._features.notices else []

    def _compaction(self, update: Struct) -> _Updates:
        return _recoded(update) if self._features.compaction else []

    def _subagent(self, update: Struct) -> _Updates:
        return _recoded(update) if self._features.subagents else []

    def _info(self, update: v2.SessionInfoUpdate) -> _Updates:
        return [cast("v1.SessionUpdate", update)]

    def _unknown(self, update: Unknown) -> _Updates:
        """Pass on what nobody knows; an unknown state is one that version 1 does not have."""
        is_state = decode(_Kind, update.raw).session_update == "state_update"
        return [] if is_state else [update]

    _LOWER: ClassVar[dict[type, Callable[..., _Updates]]] = {
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
        draft2.PlanRemoved: _plan_removed,
        v2.AvailableCommandsUpdate: _commands,
        v2.ConfigOptionUpdate: _config,
        v2.SessionInfoUpdate: _info,
        v2.UsageUpdate: _usage,
        v2.Notice: _notice,
        v2.CompactionUpdate: _compaction,
        v2.CompactionSummaryChunk: _compaction,
        draft2.SubagentUpdate: _subagent,
        draft2.SessionMessage: _subagent,
        draft2.SessionMessageChunk: _subagent,
        Unknown: _unknown,
    }


def lower_commands(
    commands: Sequence[v2.AvailableCommand], meta: JsonObject | None = None
) -> v1.AvailableCommandsUpdate:
    """Return what tells the client all commands, without those of an unknown type."""
    lowered = [_lower_command(each) for each in commands if not isinstance(each, Unknown)]
    return v1.AvailableCommandsUpdate(available_commands=lowered, meta=meta)


def _lower_command(command: v2.Command) -> v1.AvailableCommand:
    taken = command.input
    return v1.AvailableCommand(
        name=command.name,
        description=command.description,
        input=(
            v1.UnstructuredCommandInput(hint=taken.hint, meta=taken.meta)
            if isinstance(taken, v2.TextCommandInput)
            else None
        ),
        meta=command.meta,
    )


def lower_end(end: v2.StateUpdated) -> v1.PromptResponse:
    """Return the answer to a prompt, which is the end of its turn in version 1.

    A stop reason that version 1 does not have reads as `end_turn`.

    Raises:
        RequestError: The turn has failed; this is what the prompt is answered with.
    """
    if end.stop_reason == "error":
        error = end.error or v2.Error(code=InternalError.code, message=InternalError.text)
        data = UNSET if error.data is None else error.data
        raise request_error(error.code, error.message, data)
    reason = end.stop_reason if end.stop_reason in _STOP_REASONS else "end_turn"
    usage = None if end.usage is None else draft1.Usage(**structs.asdict(end.usage))
    return v1.PromptResponse(stop_reason=cast("v1.StopReason", reason), usage=usage, meta=end.meta)


def _recoded(update: Struct) -> _Updates:
    try:
        lowered: v1.SessionUpdate = recode(update, v1.SessionUpdate)
    except Unsupported:  # a block of an unknown kind
        return []
    return [lowered]
