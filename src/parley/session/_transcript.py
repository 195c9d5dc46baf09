"""The state of a conversation: session updates folded into messages, tool calls, plans and state.

`Transcript.fold` takes the updates of one session in the order they arrived and never looks back: a
chunk costs the same whether it is the first of its message or the millionth. Nothing is copied per
chunk, and text is joined only when it is read. An update that cannot be folded raises an exception
and changes nothing. The parts are described in `_transcript_entries.py`.

A transcript keeps the content of the conversation and nothing else, so it grows with it: a chunk
adds its block, which is about 120 bytes plus its characters. Only terminals are bounded
(`terminal_limit_bytes`). The connection's `Limits` bound what has been read but not yet folded.

Both sides need this. A client shows the transcript. An agent keeps one per session and sends
`replay()` to a client that resumes it; folding those updates gives the same conversation again. All
types are version 2 types; version 1 updates are upgraded first.

Spec: https://agentclientprotocol.com/protocol/v2/prompt-lifecycle
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast

from msgspec import UNSET

from parley.errors import MalformedValue
from parley.schema import v2
from parley.schema._codec import decode
from parley.schema.base import AllOrDefault, BaseStruct, JsonObject, Unknown

from ._transcript_entries import (
    MESSAGE_UPDATES,
    CompactionEntry,
    MessageEntry,
    MessageRole,
    SessionMessageEntry,
    SubagentEntry,
    TerminalEntry,
    ToolCallEntry,
    patched,
    read_base64,
)

Entry: TypeAlias = MessageEntry | ToolCallEntry | CompactionEntry | SessionMessageEntry | Unknown
"""An item with a place in the conversation; `Unknown` is an update of an unrecognized kind."""

OpeningResponse: TypeAlias = (
    v2.NewSessionResponse | v2.ForkSessionResponse | v2.ResumeSessionResponse
)
"""A response that opens a session."""

E = TypeVar("E", ToolCallEntry, CompactionEntry, SessionMessageEntry)

_ROLES: dict[type[Any], MessageRole] = {
    kind: role for role, kinds in MESSAGE_UPDATES.items() for kind in kinds
}
_NO_MESSAGES: dict[str, MessageEntry] = {}
_UNFINISHED = frozenset({"pending", "in_progress", "paused"})
INTERRUPTED = "interrupted"
"""The stop reason of a turn without an end in a recording, because a connection was lost. It never
occurs on the wire."""


class _AnyPlan(BaseStruct):
    plan_id: str


class _AnyUpdate(BaseStruct):
    session_update: str
    background: AllOrDefault[list[v2.BackgroundWork] | None] = None


class Transcript:
    """The state of a conversation, folded from the updates of its session.

    Sessions keep one for you. To build your own, pass each update to `fold` in the order received.
    Then read `entries` for the whole conversation in order, `text` for the agent's latest reply,
    or `tool_calls`, `plans`, `terminals` and the other attributes. `replay` yields updates that
    rebuild the same conversation.

    All attributes are read-only. They change only in `fold` and `cancel_unfinished`.

    Args:
        terminal_limit_bytes: The maximum output to keep per terminal; the oldest is dropped first.
            None keeps everything.
        drops_refused: Whether to remove the entries of a turn that ends with the stop reason
            `refusal`. The protocol requires agents to forget them: they are not part of the next
            context. A client has already shown them to the user, and keeps them.
    """

    def __init__(
        self, *, terminal_limit_bytes: int | None = None, drops_refused: bool = False
    ) -> None:
        self._terminal_limit_bytes = terminal_limit_bytes
        self._drops_refused = drops_refused
        self._prompt_place: int | None = None  # of the current turn's message in `entries`
        self._streams: dict[type[Any], dict[str, MessageEntry]] = {}  # by chunk type, then by id
        self.entries: list[Entry] = []
        """The conversation in order. Its length marks a point in time: `entries[mark:]` holds the
        entries added since then. Only `drops_refused` ever removes entries."""
        self.refused: list[Entry] = []
        """Refused prompts and the entries that followed them; not part of the next context."""
        self.messages: list[MessageEntry] = []
        """The messages among the entries."""
        self.tool_calls: dict[str, ToolCallEntry] = {}
        self.terminals: dict[str, TerminalEntry] = {}
        self._plan_places: dict[str, int] = {}
        self.plans: dict[str, v2.PlanUpdateContent] = {}
        self.compactions: dict[str, CompactionEntry] = {}
        self.session_messages: dict[str, SessionMessageEntry] = {}
        """Unstable: messages between this session and others."""
        self.subagents: dict[str, SubagentEntry] = {}
        """Unstable: the child sessions of this one, by session id."""
        self.commands: list[v2.AvailableCommand] = []
        self.config_options: list[v2.SessionConfigOption] = []
        self.title: str | None = None
        self.updated_at: str | None = None  # in RFC 3339
        self.meta: JsonObject | None = None
        """The `_meta` that implementations attached to the session."""
        self.usage: v2.UsageUpdate | None = None
        """The latest report of context usage. It may omit the cost: read `cost` instead."""
        self.cost: v2.Cost | None = None
        """The total cost of the session so far."""
        self.state: Literal["running", "idle", "requires_action", "unknown"] | str = "idle"
        """The state of the foreground work; an unrecognized value does not mean idle."""
        self.stop_reason: v2.StopReason | None = None
        """The reason why the last work ended; None while work is in progress."""
        self.interruptions: list[int] = []  # in a recording: marks in `entries`
        self.error: v2.Error | None = None
        """The failure that ended the last work, with the stop reason `error`."""
        self.tokens: v2.Usage | None = None  # unstable: of the last work
        self.background: list[v2.BackgroundWork] | None = None
        """The work that runs in the background; None if the agent does not report it."""

    def fold(self, update: v2.SessionUpdate | v2.ToolCallUpdate) -> None:
        """Apply one update to the transcript.

        Notices change nothing: they are events, not history. A bare `ToolCallUpdate`, the subject
        of a permission request, is folded like a `ToolCallUpdated`.

        Raises:
            MalformedValue: A terminal's output is not base64.
            TypeError: The argument is not a session update.
        """
        chunk: Any = update
        try:  # the fast path: nearly always it is one more chunk of a known message
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
        """The agent's messages since the last user message, without thoughts.

        Messages are separated by an empty line.
        """
        turn = takewhile(lambda message: message.role != "user", reversed(self.messages))
        texts = [message.text for message in turn if message.role == "agent"]
        return "\n\n".join(text for text in reversed(texts) if text)

    def last_message(self, role: MessageRole = "agent") -> MessageEntry | None:
        """Return the message of this role that began last, or None."""
        return next((each for each in reversed(self.messages) if each.role == role), None)

    def cancel_unfinished(self) -> list[ToolCallEntry]:
        """Mark the foreground's unfinished tool calls as cancelled and return them.

        Called by a client that has just cancelled a turn. The status anticipates the agent's own
        updates, which override it when they arrive. Background work is not touched.
        """
        cancelled = [
            call
            for call in self.tool_calls.values()
            if call.status in _UNFINISHED and not self._is_in_background(call)
        ]
        for call in cancelled:
            call.status = "cancelled"
        return cancelled

    def _is_in_background(self, call: ToolCallEntry) -> bool:
        """Return whether the call, or a terminal that it shows, is listed as background work."""
        terminals = {each.terminal_id for each in call.content if isinstance(each, v2.Terminal)}
        return any(
            (isinstance(each, v2.BackgroundToolCall) and each.tool_call_id == call.id)
            or (isinstance(each, v2.BackgroundTerminal) and each.terminal_id in terminals)
            for each in self.background or ()
        )

    def replay(self) -> Iterator[v2.SessionUpdate]:
        """Yield updates that rebuild the conversation from nothing.

        Subagents and terminals come first, because entries may refer to them. Then come the entries
        in order, with each plan at the place of its last change, then title and usage, and finally
        the idle state. A message that arrived whole is replayed whole; a streamed one starts with
        an empty message and continues with larger chunks than it arrived in. Commands and config
        options are left out, because the response to `session/resume` has them. So are notices,
        stop reasons and background work.

        The iterator is lazy: fold nothing while you consume it, or make a list first.
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
        changed: dict[str, Any] = {name: value for name, value in info.items() if value is not None}
        if changed:
            yield v2.SessionInfoUpdate(**changed)
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
        message = self._streams.get(chunk, _NO_MESSAGES).get(update.message_id)
        (message or self._begin(type(update), update.message_id)).apply(update)

    def _begin(self, kind: type, id: str) -> MessageEntry:
        role = _ROLES[kind]
        known = self._streams.setdefault(MESSAGE_UPDATES[role][1], {})
        message = known[id] = MessageEntry(id, role)
        if role == "user":
            self._prompt_place = len(self.entries)
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
        self._entry(ToolCallEntry, self.tool_calls, update.tool_call_id).apply(update)

    def _fold_tool_call_chunk(self, update: v2.ToolCallContentChunk) -> None:
        call = self._entry(ToolCallEntry, self.tool_calls, update.tool_call_id)
        call.content.append(update.content)

    def _fold_compaction(self, update: v2.CompactionUpdate) -> None:
        self._entry(CompactionEntry, self.compactions, update.compaction_id).apply(update)

    def _fold_compaction_chunk(self, update: v2.CompactionSummaryChunk) -> None:
        compaction = self._entry(CompactionEntry, self.compactions, update.compaction_id)
        compaction.content.append(update.content)

    def _fold_session_message(self, update: v2.SessionMessage) -> None:
        self._entry(SessionMessageEntry, self.session_messages, update.message_id).apply(update)

    def _fold_session_message_chunk(self, update: v2.SessionMessageChunk) -> None:
        message = self._entry(SessionMessageEntry, self.session_messages, update.message_id)
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

    def _terminal(self, id: str) -> TerminalEntry:
        return self.terminals.get(id) or TerminalEntry(id, self._terminal_limit_bytes)

    def _fold_subagent(self, update: v2.SubagentUpdate) -> None:
        if update.session_id not in self.subagents:
            self.subagents[update.session_id] = SubagentEntry(update.session_id)
        self.subagents[update.session_id].apply(update)

    def _fold_plan(self, update: v2.PlanUpdate) -> None:
        plan = update.plan
        if isinstance(plan, Unknown):
            try:
                plan_id = decode(_AnyPlan, plan.raw).plan_id
            except MalformedValue:
                return  # without an id there is no key to store it under
        else:
            plan_id = plan.plan_id
        self.plans[plan_id] = plan
        self._plan_places[plan_id] = len(self.entries)

    def _fold_plan_removed(self, update: v2.PlanRemoved) -> None:
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
        # The state is a known value: with any other, the whole update decodes as `Unknown`.
        self._enter(cast(str, update.state), update.background)
        if self.state == "idle":
            self.tokens = update.usage or self.tokens
            if update.stop_reason is not None:
                self.stop_reason, self.error = update.stop_reason, update.error
            if update.stop_reason == INTERRUPTED:
                self.interruptions.append(len(self.entries))
            if update.stop_reason == "refusal" and self._prompt_place is not None:
                self._refuse(self._prompt_place)
            self._prompt_place = None

    def _refuse(self, place: int) -> None:
        """Record a refused prompt and the entries after it; with `drops_refused`, remove them."""
        refused = self.entries[place:]
        self.refused += refused
        if not self._drops_refused:
            return
        del self.entries[place:]
        removed_ids = {id(each) for each in refused}
        self.messages = [each for each in self.messages if id(each) not in removed_ids]
        for plan_id, plan_place in list(self._plan_places.items()):
            self._plan_places[plan_id] = min(plan_place, place)

    def _enter(self, state: str, background: list[v2.BackgroundWork] | None) -> None:
        """Enter or repeat a state; a repeated idle may omit the stop reason, which is kept."""
        if state != "idle":
            self.stop_reason = self.error = self.tokens = None
        self.state = state
        self.background = None if background is None else list(background)

    def _fold_notice(self, update: v2.Notice) -> None:
        pass

    def _fold_unknown(self, update: Unknown) -> None:
        try:
            head = decode(_AnyUpdate, update.raw)
        except MalformedValue:  # not decoded from a peer: a program built it by hand
            self.entries.append(update)
            return
        if head.session_update == "state_update":
            self._enter(update.tag, head.background)  # the tag is the unrecognized state
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
        v2.PlanRemoved: _fold_plan_removed,
        v2.AvailableCommandsUpdate: _fold_commands,
        v2.ConfigOptionUpdate: _fold_config_options,
        v2.SessionInfoUpdate: _fold_info,
        v2.UsageUpdate: _fold_usage,
        v2.StateUpdated: _fold_state,
        v2.Notice: _fold_notice,
        v2.CompactionUpdate: _fold_compaction,
        v2.CompactionSummaryChunk: _fold_compaction_chunk,
        v2.SubagentUpdate: _fold_subagent,
        v2.SessionMessage: _fold_session_message,
        v2.SessionMessageChunk: _fold_session_message_chunk,
        Unknown: _fold_unknown,
    }


def first_updates(response: OpeningResponse) -> Iterator[v2.SessionUpdate]:
    """Yield the config options and commands of a response that opens a session, as updates."""
    if response.config_options:
        yield v2.ConfigOptionUpdate(config_options=response.config_options)
    if response.available_commands:
        yield v2.AvailableCommandsUpdate(available_commands=response.available_commands)
