"""What a version 1 agent says about a session, in version 2's words.

A `Lifting` belongs to one session and remembers what version 2 wants to know and version 1 does not
say: which chunks make one message, which tool calls are known, and what the options are. It also
makes the updates that a turn of version 1 does not have: the user's message, and the states. The
requests that need no memory are in `pairs.py`; what is lost is in `docs/versions.md`.

Spec: https://agentclientprotocol.com/protocol/v2/migration
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from msgspec import UNSET, Struct, structs

from parley.errors import AcpError, InternalError, RequestCancelled, RequestError
from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import unstable as draft2

from .blocks import lift_block
from .lift_tools import lift_tool_call, lift_tool_update
from .options import LiftedOptions
from .recode import recode

__all__ = ["MAIN_PLAN", "Lifting", "lift_end"]

MAIN_PLAN = "main"
"""The id that the one plan of a version 1 session has in version 2."""

_Updates = list[v2.SessionUpdate]
_NO_TEXT = v2.TextContent(text="")
_MESSAGES: dict[type[v1.ContentChunk], tuple[type[Any], type[Any]]] = {
    v1.UserMessageChunk: (v2.UserMessage, v2.UserMessageChunk),
    v1.AgentMessageChunk: (v2.AgentMessage, v2.AgentMessageChunk),
    v1.AgentThoughtChunk: (v2.AgentThought, v2.AgentThoughtChunk),
}


class _Turn:
    """A prompt that was sent."""

    def __init__(self, message_id: str, prompt: list[v2.ContentBlock]) -> None:
        self.message_id = message_id
        self.prompt = prompt
        self.outcome: v1.PromptResponse | AcpError | None = None


class Lifting:
    """One session whose agent speaks version 1."""

    def __init__(self, *, prefix: str | None = None) -> None:
        """Begin with nothing known.

        Args:
            prefix: What made-up message ids begin with; by default something that no other
                session and no agent has.
        """
        self._prefix = secrets.token_hex(8) + "-" if prefix is None else prefix
        self._count = 0
        self._role: type[v1.ContentChunk] | None = None
        self._given: str | None = None
        self._message_id = ""
        self._piece: Any = None
        self._turns: list[_Turn] = []
        self._waits = 0
        self._replayed: set[tuple[type[v1.ContentChunk], str]] | None = None
        self._echo: list[v2.ContentBlock] = []
        self._titles: dict[str, str | None] = {}
        self._compactions: set[str] = set()
        self._options = LiftedOptions()

    def lift(self, update: v1.SessionUpdate) -> list[v2.SessionUpdate]:
        """Return the updates of version 2 that say the same; none where there is nothing to say."""
        return self._LIFT[type(update)](self, update)

    # Turns and replay

    def new_message_id(self) -> str:
        """Make up the id of a message."""
        self._count += 1
        return f"{self._prefix}{self._count}"

    def begin_turn(
        self, message_id: str, prompt: Sequence[v2.ContentBlock]
    ) -> list[v2.SessionUpdate]:
        """Begin a turn with a message of the user's: return the updates that version 2 sends.

        While another turn runs there are none: they come when that one ends.
        """
        self._turns.append(_Turn(message_id, list(prompt)))
        return self._open_turn() if len(self._turns) == 1 else []

    def _open_turn(self) -> list[v2.SessionUpdate]:
        """Begin the first turn; should the agent repeat the prompt, that is no second message."""
        turn = self._turns[0]
        self._end_message()
        self._echo = list(turn.prompt)
        return [
            v2.UserMessage(message_id=turn.message_id, content=turn.prompt),
            v2.StateUpdated(state="running"),
        ]

    def end_turn(
        self, message_id: str, outcome: v1.PromptResponse | AcpError
    ) -> list[v2.SessionUpdate]:
        """End the turn of this message: return the updates that version 2 sends.

        If an earlier turn still runs, they come when that one has ended.
        """
        for turn in self._turns:
            if turn.message_id == message_id:
                turn.outcome = outcome
        updates: _Updates = []
        while self._turns and self._turns[0].outcome is not None:
            updates.append(lift_end(self._turns[0].outcome))
            del self._turns[0]
            self._end_message()
            self._echo = []
            if self._turns:
                updates += self._open_turn()
        return updates

    def begin_wait(self) -> list[v2.SessionUpdate]:
        """The agent asks the user something: return the updates that version 2 sends."""
        self._waits += 1
        is_first = self._waits == 1 and self._turns
        return [v2.StateUpdated(state="requires_action")] if is_first else []

    def end_wait(self) -> list[v2.SessionUpdate]:
        """The user has answered, or nobody waits for it any more."""
        self._waits -= 1
        is_last = self._waits == 0 and self._turns
        return [v2.StateUpdated(state="running")] if is_last else []

    def begin_replay(self) -> None:
        """From here on the agent replays.

        As in version 2, each message is then opened by an empty one, so that a client that knows
        it already does not get its content twice.
        """
        self._end_message()
        self._replayed = set()

    def end_replay(self) -> None:
        """The replay is over."""
        self._end_message()
        self._replayed = None

    # Answers that open a session, and its options

    def new_session(self, result: v1.NewSessionResponse) -> v2.NewSessionResponse:
        """Lift the answer to `session/new`."""
        options = self._options.open(result.modes, result.config_options)
        return v2.NewSessionResponse(
            session_id=result.session_id, config_options=options, meta=result.meta
        )

    def fork_session(self, result: draft1.ForkSessionResponse) -> draft2.ForkSessionResponse:
        """Lift the answer to `session/fork`; this is the `Lifting` of the new session."""
        options = self._options.open(result.modes, result.config_options)
        return draft2.ForkSessionResponse(
            session_id=result.session_id, config_options=options, meta=result.meta
        )

    def resume_session(
        self, result: v1.ResumeSessionResponse | v1.LoadSessionResponse
    ) -> v2.ResumeSessionResponse:
        """Lift the answer to `session/resume` or `session/load`."""
        options = self._options.open(result.modes, result.config_options)
        return v2.ResumeSessionResponse(config_options=options, meta=result.meta)

    def set_option(
        self, request: v2.SetSessionConfigOptionRequest
    ) -> v1.SetSessionModeRequest | v1.SetSessionConfigOptionRequest:
        """Lower a request to set an option; which method it is depends on what the agent has.

        Raises:
            Unsupported: Version 1 has no value of this type.
            InvalidParams: A mode is not on or off.
        """
        return self._options.lower_set(request)

    def option_set(
        self, result: v1.SetSessionConfigOptionResponse
    ) -> v2.SetSessionConfigOptionResponse:
        """Lift the answer to `session/set_config_option`."""
        options = self._options.update(result.config_options)
        return v2.SetSessionConfigOptionResponse(config_options=options, meta=result.meta)

    def mode_set(
        self, request: v1.SetSessionModeRequest, result: v1.SetSessionModeResponse
    ) -> v2.SetSessionConfigOptionResponse:
        """Lift the answer to `session/set_mode`."""
        options = self._options.change_mode(request.mode_id)
        return v2.SetSessionConfigOptionResponse(config_options=options, meta=result.meta)

    # Permission

    def permission(self, request: v1.RequestPermissionRequest) -> v2.RequestPermissionRequest:
        """Lift a question about a tool call."""
        self._know_tool(request.tool_call.tool_call_id, request.tool_call.title)
        title = self._titles[request.tool_call.tool_call_id] or request.tool_call.name
        subject = lift_tool_update(v2.ToolCallUpdate, request.tool_call)
        return v2.RequestPermissionRequest(
            session_id=request.session_id,
            title=title or "Allow this tool call?",
            subject=v2.ToolCallPermissionSubject(tool_call=subject),
            options=[v2.PermissionOption(**structs.asdict(option)) for option in request.options],
            meta=request.meta,
        )

    # Messages

    def _end_message(self) -> None:
        """Make the next chunk without an id begin a message."""
        self._role = None

    def _chunk(self, update: v1.ContentChunk) -> _Updates:
        """Consecutive chunks of one role are one message, unless their ids say otherwise."""
        content = update.content
        given = update.message_id
        opening: _Updates = []
        if type(update) is not self._role or (given is not None and given != self._given):
            opening = self._begin_message(type(update), given)
        if type(content) is v1.TextContent and content.annotations is None:
            block: v2.ContentBlock = structs.replace(_NO_TEXT, text=content.text, meta=content.meta)
        else:
            block = lift_block(content)
        lifted = structs.replace(self._piece, content=block, meta=update.meta)
        return [*opening, lifted] if opening else [lifted]

    def _begin_message(self, role: type[v1.ContentChunk], given: str | None) -> _Updates:
        self._role = role
        self._given = given
        self._message_id = self.new_message_id() if given is None else given
        whole, chunk = _MESSAGES[role]
        # Its chunks are copies of an empty one, because that takes half the time of a new object.
        self._piece = chunk(message_id=self._message_id, content=_NO_TEXT)
        key = (role, self._message_id)
        if self._replayed is None or key in self._replayed:
            return []
        self._replayed.add(key)
        return [whole(message_id=self._message_id, content=[])]

    def _user_chunk(self, update: v1.UserMessageChunk) -> _Updates:
        if self._echo and lift_block(update.content) == self._echo[0]:
            del self._echo[0]
            return []
        return self._chunk(update)

    # Tool calls

    def _know_tool(self, tool_call_id: str, title: str | None) -> bool:
        """Remember a tool call and its title; return whether it is new.

        A new one has its place in the conversation, so a message before it is over.
        """
        is_new = tool_call_id not in self._titles
        if is_new:
            self._end_message()
        if is_new or title is not None:
            self._titles[tool_call_id] = title
        return is_new

    def _tool_call(self, update: v1.ToolCall) -> _Updates:
        is_new = self._know_tool(update.tool_call_id, update.title)
        return [lift_tool_call(update, is_new=is_new)]

    def _tool_update(self, update: v1.ToolCallUpdated) -> _Updates:
        self._know_tool(update.tool_call_id, update.title)
        return [lift_tool_update(v2.ToolCallUpdated, update)]

    # Everything else

    def _plan(self, update: v1.Plan) -> _Updates:
        entries = [v2.PlanEntry(**structs.asdict(entry)) for entry in update.entries]
        plan = v2.PlanItems(plan_id=MAIN_PLAN, entries=entries)
        return [v2.PlanUpdate(plan=plan, meta=update.meta)]

    def _commands(self, update: v1.AvailableCommandsUpdate) -> _Updates:
        commands = [_lift_command(command) for command in update.available_commands]
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
        return self._same(update)

    def _unknown(self, update: Unknown) -> _Updates:
        """Keep what nobody knows; the state of a session is told by its prompts alone."""
        return [] if update.tag == "state_update" else [update]

    def _same(self, update: Struct) -> _Updates:
        lifted: v2.SessionUpdate = recode(update, v2.SessionUpdate)
        return [lifted]

    _LIFT: ClassVar[dict[type, Callable[..., _Updates]]] = {
        v1.UserMessageChunk: _user_chunk,
        v1.AgentMessageChunk: _chunk,
        v1.AgentThoughtChunk: _chunk,
        v1.ToolCall: _tool_call,
        v1.ToolCallUpdated: _tool_update,
        v1.Plan: _plan,
        draft1.PlanUpdate: _same,
        draft1.PlanRemoved: _same,
        v1.AvailableCommandsUpdate: _commands,
        v1.CurrentModeUpdate: _mode,
        v1.ConfigOptionUpdate: _config,
        v1.SessionInfoUpdate: _same,
        v1.UsageUpdate: _usage,
        v1.Notice: _same,
        v1.CompactionUpdate: _compaction,
        v1.CompactionSummaryChunk: _same,
        draft1.SubagentUpdate: _same,
        draft1.SessionMessage: _same,
        draft1.SessionMessageChunk: _same,
        Unknown: _unknown,
    }


def lift_end(outcome: v1.PromptResponse | AcpError) -> v2.StateUpdated:
    """Return the end of a turn, which is the answer to its prompt, in version 2's words."""
    if isinstance(outcome, v1.PromptResponse):
        usage = None if outcome.usage is None else draft2.Usage(**structs.asdict(outcome.usage))
        stop = outcome.stop_reason
        return v2.StateUpdated(state="idle", stop_reason=stop, usage=usage, meta=outcome.meta)
    if isinstance(outcome, RequestCancelled):
        return v2.StateUpdated(state="idle", stop_reason="cancelled")
    if not isinstance(outcome, RequestError):
        outcome = InternalError(str(outcome))
    data = None if outcome.data is UNSET else outcome.data
    error = v2.Error(code=outcome.code, message=outcome.message, data=data)
    return v2.StateUpdated(state="idle", stop_reason="error", error=error)


def _lift_command(command: v1.AvailableCommand) -> v2.Command:
    taken = None if command.input is None else v2.TextCommandInput(**structs.asdict(command.input))
    return v2.Command(
        name=command.name, description=command.description, input=taken, meta=command.meta
    )
