"""A conversation as it stands: session updates folded into messages, tool calls, plans and state.

`Transcript.fold` takes the updates of one session in the order they came and never looks back: a
chunk costs the same whether it is the first of its message or the millionth. Nothing is copied per
chunk, and text is joined when it is asked for. An update that cannot be folded raises and changes
nothing. The parts are described in `entries.py`.

It keeps what was said and nothing else, so it grows as the conversation does: a chunk leaves its
block, about 120 bytes and its characters. Only terminals are bounded (`terminal_limit_bytes`). How
much may be read and not yet folded is the connection's business (`Limits`).

Two programs need this. A client shows the transcript. An agent keeps one per session and sends
`replay()` to whoever resumes it; folding that gives the same conversation again. The words are
version 2's; what version 1 says is lifted first.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast

from msgspec import UNSET

from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema.base import Bare, JsonObject, Unknown, Whole
from parley.schema.codec import decode
from parley.schema.v2 import unstable

from .entries import (
    MESSAGE_UPDATES,
    Compaction,
    Message,
    MessageRole,
    SessionMessage,
    Subagent,
    Terminal,
    ToolCall,
    patched,
    read_base64,
)

__all__ = ["Entry", "Opened", "Transcript", "first_updates"]

Entry: TypeAlias = Message | ToolCall | Compaction | SessionMessage | Unknown
"""Something with a place in the conversation; `Unknown` is an update of a kind not known here."""

Opened: TypeAlias = v2.NewSessionResponse | unstable.ForkSessionResponse | v2.ResumeSessionResponse
"""An answer that opens a session."""

E = TypeVar("E", ToolCall, Compaction, SessionMessage)

_ROLES: dict[type[Any], MessageRole] = {
    kind: role for role, kinds in MESSAGE_UPDATES.items() for kind in kinds
}
_NOTHING: dict[str, Message] = {}
_UNFINISHED = frozenset({"pending", "in_progress", "paused"})


class _AnyPlan(Bare):
    plan_id: str


class _AnyUpdate(Bare):
    session_update: str
    background: Whole[list[v2.BackgroundWork] | None] = None


class Transcript:
    """Everything that a session's updates have said so far.

    All attributes are for reading. They change only in `fold` and `cancel_unfinished`.
    """

    def __init__(self, *, terminal_limit_bytes: int | None = None) -> None:
        """Begin with nothing said.

        Args:
            terminal_limit_bytes: How much output of each terminal to keep, the newest; None: all.
        """
        self._terminal_limit_bytes = terminal_limit_bytes
        self._streams: dict[type[Any], dict[str, Message]] = {}
        """The messages by the kind of their chunks, and by their ids."""
        self.entries: list[Entry] = []
        """The conversation in order. It only grows, so its length marks a point in time:
        `entries[mark:]` is what is new since then."""
        self.messages: list[Message] = []
        """The messages among the entries."""
        self.tool_calls: dict[str, ToolCall] = {}
        self.terminals: dict[str, Terminal] = {}
        self._plan_places: dict[str, int] = {}
        self.plans: dict[str, v2.PlanUpdateContent] = {}
        self.compactions: dict[str, Compaction] = {}
        self.session_messages: dict[str, SessionMessage] = {}
        """Unstable: messages between this session and others."""
        self.subagents: dict[str, Subagent] = {}
        """Unstable: the sessions below this one, by session id."""
        self.commands: list[v2.AvailableCommand] = []
        self.config_options: list[v2.SessionConfigOption] = []
        self.title: str | None = None
        self.updated_at: str | None = None
        """When something last happened, as RFC 3339."""
        self.meta: JsonObject | None = None
        """What implementations attached to the session."""
        self.usage: v2.UsageUpdate | None = None
        """How full the context is. For money look at `cost`: a report may leave it out."""
        self.cost: v2.Cost | None = None
        """What the session has cost so far."""
        self.state: Literal["running", "idle", "requires_action", "unknown"] | str = "idle"
        """What is going on in the foreground; a word not known here does not mean idle."""
        self.stop_reason: v2.StopReason | None = None
        """Why the last work ended; None while work goes on."""
        self.error: v2.Error | None = None
        """What failed, with the stop reason `error`."""
        self.tokens: unstable.Usage | None = None
        """Unstable: the tokens that the last work took."""
        self.background: list[v2.BackgroundWork] | None = None
        """What runs beside the foreground; None: the agent does not say."""

    def fold(self, update: v2.SessionUpdate | v2.ToolCallUpdate) -> None:
        """Take one update into account.

        Notices change nothing: they are events, not history. A bare `ToolCallUpdate`, the subject
        of a question for permission, counts like the session update of that name.

        Raises:
            MalformedValue: A terminal's output is not base64.
            TypeError: It is no session update.
        """
        chunk: Any = update
        try:  # nearly always it is one more chunk of a message
            message = self._streams[type(chunk)][chunk.message_id]
        except KeyError:
            pass
        else:
            message.content.append(chunk.content)
            return
        try:
            fold = self._folds[type(update)]
        except KeyError:
            raise TypeError(f"{type(update).__name__} is not a session update") from None
        fold(self, update)

    @property
    def text(self) -> str:
        """What the agent has said since the user last spoke, thoughts left out.

        Messages are parted by an empty line.
        """
        turn = takewhile(lambda message: message.role != "user", reversed(self.messages))
        texts = [message.text for message in turn if message.role == "agent"]
        return "\n\n".join(text for text in reversed(texts) if text)

    def last_message(self, role: MessageRole = "agent") -> Message | None:
        """Return the message of this role that began last."""
        return next((each for each in reversed(self.messages) if each.role == role), None)

    def cancel_unfinished(self) -> list[ToolCall]:
        """Mark the foreground's unfinished tool calls as cancelled and return them.

        For a client that has just cancelled. It is a guess ahead of the agent: what the agent says
        about them afterwards counts. What runs in the background is not touched.
        """
        cancelled = [
            call
            for call in self.tool_calls.values()
            if call.status in _UNFINISHED and not self._is_in_background(call)
        ]
        for call in cancelled:
            call.status = "cancelled"
        return cancelled

    def _is_in_background(self, call: ToolCall) -> bool:
        """Whether it is listed, itself or as a terminal that it shows."""
        terminals = {each.terminal_id for each in call.content if isinstance(each, v2.Terminal)}
        return any(
            (isinstance(each, v2.BackgroundToolCall) and each.tool_call_id == call.id)
            or (isinstance(each, v2.BackgroundTerminal) and each.terminal_id in terminals)
            for each in self.background or ()
        )

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Yield the updates that tell the conversation to somebody who knows nothing of it.

        First subagents and terminals, which entries may name, then the entries in order, with each
        plan where it was changed last, then title and usage; at last that the session is idle. A
        message that came whole comes whole; a streamed one is opened by an empty message and its
        text comes in larger pieces. Commands and config options are not among them, the answer to
        `session/resume` has those; nor are notices, stop reasons and background work.

        It reads as it goes: fold nothing while it runs, or make a list of it first.
        """
        for subagent in self.subagents.values():
            yield from subagent.replay()
        for terminal in self.terminals.values():
            yield from terminal.replay()
        plans = sorted(self.plans, key=self._plan_places.__getitem__)[::-1]
        for place, entry in enumerate((*self.entries, None)):
            while plans and self._plan_places[plans[-1]] <= place:
                yield v2.PlanUpdate(plan=self.plans[plans.pop()])
            if isinstance(entry, Unknown):
                yield entry
            elif entry is not None:
                yield from entry.replay()
        info = {"title": self.title, "updated_at": self.updated_at, "meta": self.meta}
        said: dict[str, Any] = {name: value for name, value in info.items() if value is not None}
        if said:
            yield v2.SessionInfoUpdate(**said)
        if self.usage is not None:
            used, size, meta = self.usage.used, self.usage.size, self.usage.meta
            yield v2.UsageUpdate(used=used, size=size, cost=self.cost or UNSET, meta=meta)
        yield v2.StateUpdated(state="idle")

    def __repr__(self) -> str:
        counts = f"{len(self.messages)} messages, {len(self.tool_calls)} tool calls"
        return f"Transcript({self.state}, {counts})"

    def _fold_first_chunk(self, update: v2.ContentChunk) -> None:
        self._begin(type(update), update.message_id).content.append(update.content)

    def _fold_message(self, update: v2.UserMessage | v2.AgentMessage | v2.AgentThought) -> None:
        _, chunk = MESSAGE_UPDATES[_ROLES[type(update)]]
        message = self._streams.get(chunk, _NOTHING).get(update.message_id)
        (message or self._begin(type(update), update.message_id)).apply(update)

    def _begin(self, kind: type, id: str) -> Message:
        role = _ROLES[kind]
        known = self._streams.setdefault(MESSAGE_UPDATES[role][1], {})
        message = known[id] = Message(id, role)
        self.messages.append(message)
        self.entries.append(message)
        return message

    def _entry(self, kind: Callable[[str], E], known: dict[str, E], id: str) -> E:
        entry = known.get(id)
        if entry is None:
            entry = known[id] = kind(id)
            self.entries.append(entry)
        return entry

    def _fold_tool_call(self, update: v2.ToolCallUpdate) -> None:
        self._entry(ToolCall, self.tool_calls, update.tool_call_id).apply(update)

    def _fold_tool_call_chunk(self, update: v2.ToolCallContentChunk) -> None:
        call = self._entry(ToolCall, self.tool_calls, update.tool_call_id)
        call.content.append(update.content)

    def _fold_compaction(self, update: v2.CompactionUpdate) -> None:
        self._entry(Compaction, self.compactions, update.compaction_id).apply(update)

    def _fold_compaction_chunk(self, update: v2.CompactionSummaryChunk) -> None:
        compaction = self._entry(Compaction, self.compactions, update.compaction_id)
        compaction.content.append(update.content)

    def _fold_session_message(self, update: unstable.SessionMessage) -> None:
        self._entry(SessionMessage, self.session_messages, update.message_id).apply(update)

    def _fold_session_message_chunk(self, update: unstable.SessionMessageChunk) -> None:
        message = self._entry(SessionMessage, self.session_messages, update.message_id)
        message.content.append(update.content)

    def _fold_terminal(self, update: v2.TerminalUpdate) -> None:
        terminal = self._terminal(update.terminal_id)
        terminal.apply(update)
        self.terminals[terminal.id] = terminal

    def _fold_terminal_chunk(self, update: v2.TerminalOutputChunk) -> None:
        output = read_base64(update.data, "update.data")
        terminal = self._terminal(update.terminal_id)
        terminal.add(output)
        self.terminals[terminal.id] = terminal

    def _terminal(self, id: str) -> Terminal:
        return self.terminals.get(id) or Terminal(id, self._terminal_limit_bytes)

    def _fold_subagent(self, update: unstable.SubagentUpdate) -> None:
        if update.session_id not in self.subagents:
            self.subagents[update.session_id] = Subagent(update.session_id)
        self.subagents[update.session_id].apply(update)

    def _fold_plan(self, update: v2.PlanUpdate) -> None:
        plan = update.plan
        if isinstance(plan, Unknown):
            try:
                plan_id = decode(_AnyPlan, plan.raw).plan_id
            except MalformedValue:
                return  # nothing to know it by
        else:
            plan_id = plan.plan_id
        self.plans[plan_id] = plan
        self._plan_places[plan_id] = len(self.entries)

    def _fold_plan_removed(self, update: unstable.PlanRemoved) -> None:
        self.plans.pop(update.plan_id, None)

    def _fold_commands(self, update: v2.AvailableCommandsUpdate) -> None:
        self.commands = list(update.available_commands)

    def _fold_config_options(self, update: v2.ConfigOptionUpdate) -> None:
        self.config_options = list(update.config_options)

    def _fold_info(self, update: v2.SessionInfoUpdate) -> None:
        if update.title is not UNSET:
            self.title = update.title
        if update.updated_at is not UNSET:
            self.updated_at = update.updated_at
        self.meta = patched(self.meta, update.meta)

    def _fold_usage(self, update: v2.UsageUpdate) -> None:
        self.usage = update
        if update.cost is not UNSET:
            self.cost = update.cost

    def _fold_state(self, update: v2.StateUpdated) -> None:
        # The state is a known word: with another one the whole update is `Unknown`.
        self._enter(cast(str, update.state), update.background)
        if self.state == "idle":
            self.tokens = update.usage or self.tokens
            if update.stop_reason is not None:
                self.stop_reason, self.error = update.stop_reason, update.error

    def _enter(self, state: str, background: list[v2.BackgroundWork] | None) -> None:
        """Begin or repeat a state; a repeated idle need not say again how the work ended."""
        if state != "idle":
            self.stop_reason = self.error = self.tokens = None
        self.state = state
        self.background = None if background is None else list(background)

    def _fold_notice(self, update: v2.Notice) -> None:
        pass

    def _fold_unknown(self, update: Unknown) -> None:
        try:
            head = decode(_AnyUpdate, update.raw)
        except MalformedValue:  # made by hand
            self.entries.append(update)
            return
        if head.session_update == "state_update":
            self._enter(update.tag, head.background)
        else:
            self.entries.append(update)

    _folds: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        v2.AgentMessageChunk: _fold_first_chunk,
        v2.AgentMessage: _fold_message,
        v2.AgentThoughtChunk: _fold_first_chunk,
        v2.AgentThought: _fold_message,
        v2.UserMessageChunk: _fold_first_chunk,
        v2.UserMessage: _fold_message,
        v2.ToolCallUpdate: _fold_tool_call,
        v2.ToolCallUpdated: _fold_tool_call,
        v2.ToolCallContentChunk: _fold_tool_call_chunk,
        v2.TerminalUpdate: _fold_terminal,
        v2.TerminalOutputChunk: _fold_terminal_chunk,
        v2.PlanUpdate: _fold_plan,
        unstable.PlanRemoved: _fold_plan_removed,
        v2.AvailableCommandsUpdate: _fold_commands,
        v2.ConfigOptionUpdate: _fold_config_options,
        v2.SessionInfoUpdate: _fold_info,
        v2.UsageUpdate: _fold_usage,
        v2.StateUpdated: _fold_state,
        v2.Notice: _fold_notice,
        v2.CompactionUpdate: _fold_compaction,
        v2.CompactionSummaryChunk: _fold_compaction_chunk,
        unstable.SubagentUpdate: _fold_subagent,
        unstable.SessionMessage: _fold_session_message,
        unstable.SessionMessageChunk: _fold_session_message_chunk,
        Unknown: _fold_unknown,
    }


def first_updates(answer: Opened) -> Iterator[v2.SessionUpdate]:
    """Yield what the answer that opens a session says about it, as updates."""
    if answer.config_options:
        yield v2.ConfigOptionUpdate(config_options=answer.config_options)
    if answer.available_commands:
        yield v2.AvailableCommandsUpdate(available_commands=answer.available_commands)
