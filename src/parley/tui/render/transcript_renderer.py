"""Renders the updates of a session as blocks; the one place that maps updates to blocks.

`TranscriptRenderer.update` only adds an update to a queue. `run` renders at most 20 times a second:
it processes the queue in order, yields to the event loop after each time slice, and lays out the
history once at the end. If the queue is full, `update` returns a future that callers wait for.

An update of an unknown kind becomes a card with its name and its JSON. Extension notifications
share one card.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from time import monotonic
from typing import Any, ClassVar, NamedTuple, cast

from msgspec import UNSET

from parley.conversation.config_options import Values, changed_options
from parley.errors import request_error
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._transcript import Transcript
from parley.session._transcript_entries import MESSAGE_UPDATES, MessageRole

from .blocks import Block, Kind, Note
from .cards import (
    Card,
    CompactionCard,
    ExtensionCard,
    MessageCard,
    PlanCard,
    SubagentCard,
    UnknownCard,
)
from .history import History
from .message_stream import MessageStream, blocks_of, text_digest
from .terminal_outputs import TerminalOutputs
from .tool_card import ToolCard

__all__ = ["TranscriptRenderer"]

PAINT_INTERVAL = 0.05
TIME_SLICE = 0.008
"""Seconds of work before other tasks get a turn."""
_LOOP_TURNS = 12
"""The number of event loop iterations between a key press and its repaint."""
_MAX_PAUSE = 0.25
"""The maximum pause in seconds; the task pauses as long as it has worked."""
_MAX_QUEUE_LENGTH = 4_096
_REASONS: dict[str, tuple[str, Kind]] = {
    "cancelled": ("cancelled", "warning"),
    "max_tokens": ("stopped: the answer is too long for the model", "warning"),
    "max_turn_requests": ("stopped: too many requests in one turn", "warning"),
    "refusal": ("the agent refused: it will not remember this prompt or its response", "warning"),
    "error": ("the turn failed", "error"),
    "interrupted": ("the turn was interrupted: the connection or the agent ended", "warning"),
}
_ROLES: dict[type, MessageRole] = {
    kind: role for role, kinds in MESSAGE_UPDATES.items() for kind in kinds
}


class _NewBlock(NamedTuple):
    """A block in the queue of updates."""

    block: Block


class TranscriptRenderer:
    """Renders the updates of a session as blocks of a history."""

    def __init__(self, history: History, transcript: Transcript) -> None:
        self.transcript = transcript
        """The transcript of the session; a restart replaces it."""
        self._history = history
        self._queue: deque[Any] = deque()
        self._woken = asyncio.Event()
        self._queue_has_room: asyncio.Future[None] | None = (
            None  # callers wait for it while the queue is full
        )
        self._stream: MessageStream | None = None
        self._messages: dict[tuple[MessageRole, str], tuple[list[Block], int]] = {}
        self._cards: dict[tuple[str, str], Card] = {}
        self._touched: dict[Card, None] = {}
        self._extensions: ExtensionCard | None = None
        self._terminal_outputs = TerminalOutputs()
        self._options: Values | None = None

    def update(self, update: v2.SessionUpdate) -> Awaitable[object] | None:
        """Queue an update that the transcript has folded; return a future if the queue is full."""
        return self._put(update)

    def add(self, block: Block) -> None:
        """Add a block after the queued updates."""
        self._put(_NewBlock(block))

    def _put(self, item: object) -> Awaitable[object] | None:
        self._queue.append(item)
        self._woken.set()
        if len(self._queue) < _MAX_QUEUE_LENGTH:
            return None
        if self._queue_has_room is None:
            self._queue_has_room = asyncio.get_running_loop().create_future()
        return asyncio.shield(self._queue_has_room)  # a cancelled caller must not cancel the others

    async def run(self) -> None:
        """Render queued updates until cancelled; run it as a worker of the history."""
        while True:
            await self._woken.wait()
            started = monotonic()
            await self.paint()
            await asyncio.sleep(min(max(PAINT_INTERVAL, monotonic() - started), _MAX_PAUSE))

    async def paint(self) -> None:
        """Render all queued updates."""
        self._woken.clear()
        self._history.hold()
        started = monotonic()
        try:
            while self._queue or (self._stream is not None and self._stream.has_pending_text):
                if self._stream is not None and self._stream.has_pending_text and self._is_full():
                    self._stream.step()
                else:
                    started = await self._run_steps(self._take(self._queue.popleft()), started)
                if monotonic() - started > TIME_SLICE:
                    await _yield_to_loop()
                    started = monotonic()
        finally:
            if self._queue_has_room is not None:
                self._queue_has_room.set_result(None)
                self._queue_has_room = None
            for card in self._touched:
                card.touch()
            self._touched.clear()
            self._history.release()

    async def _run_steps(self, steps: Iterator[None], started: float) -> float:
        """Run steps and yield between them; return the start of the current time slice."""
        for _ in steps:
            if monotonic() - started > TIME_SLICE:
                await _yield_to_loop()
                started = monotonic()
        return started

    def _is_full(self) -> bool:
        """Return whether text must be processed before the next update."""
        return not self._queue or (self._stream is not None and self._stream.is_full)

    def _take(self, item: Any) -> Iterator[None]:
        """Render an item of the queue, in steps if it takes long."""
        kind = cast("type[object]", type(item))
        handler = self._handlers.get(kind)
        if handler is not None:
            yield from handler(self, item) or ()
        elif isinstance(item, Unknown) and item.tag.startswith("_"):
            self._extension(item)
        elif isinstance(item, Unknown):
            self._show_new(UnknownCard(item.tag, item))
        else:
            self._show_new(UnknownCard(kind.__name__, item))

    def _extension(self, item: Unknown) -> None:
        """Add an extension notification to the card of those since the last prompt."""
        if self._extensions is None:
            self._extensions = ExtensionCard()
            self._extensions.append(item)
            self._show_new(self._extensions)
        else:
            self._extensions.append(item)

    def _show_new(self, *blocks: Block) -> None:
        self._finish_stream()
        self._history.add(*blocks)

    def _finish_stream(self) -> None:
        stream = self._stream
        if stream is None:
            return
        stream.finish()
        self._remember(stream)
        self._stream = None

    def _remember(self, stream: MessageStream) -> None:
        key = (stream.role, stream.id)
        self._messages[key] = (stream.blocks, stream.digest)

    def _card(self, kind: str, id: str, make: Callable[[], Card]) -> None:
        """Add a card, or update it."""
        card = self._cards.get((kind, id))
        if card is None:
            card = self._cards[kind, id] = make()
            self._show_new(card)
        else:
            self._touched[card] = None

    # Messages

    def _chunk(self, update: v2.ContentChunk) -> None:
        role, id = _ROLES[type(update)], update.message_id
        if role == "user":
            self._extensions = None
        stream = self._stream
        if stream is None or stream.id != id or stream.role != role:
            self._finish_stream()
            stream = self._stream = MessageStream(self._history, role, id)
            blocks, digest = self._messages.get((role, id), ([], 0))
            stream.continue_from(blocks, digest)
        stream.feed(update.content)

    def _message(
        self, update: v2.UserMessage | v2.AgentMessage | v2.AgentThought
    ) -> Iterator[None]:
        if update.content is UNSET:
            return
        self._finish_stream()
        role, id = _ROLES[type(update)], update.message_id
        if role == "user":
            self._extensions = None
        content = update.content or []
        digest = text_digest(content)
        old, old_digest = self._messages.get((role, id), ([], 0))
        if old and digest == old_digest:
            return
        new = yield from blocks_of(role, content)
        if old:
            self._history.drop(*old[1:])
            self._history.replace(old[:1], *new)
        elif new:
            self._history.add(*new)
        self._messages[role, id] = (new, digest)

    # Cards

    def _tool_call(self, update: v2.ToolCallUpdate | v2.ToolCallContentChunk) -> None:
        call = self.transcript.tool_calls.get(update.tool_call_id)
        if call is None:
            self._show_new(UnknownCard("tool_call", update))
            return
        is_known = ("tool_call", call.id) in self._cards
        self._card("tool_call", call.id, lambda: ToolCard(call, self._terminal_outputs.by_id))
        card = self._cards["tool_call", call.id]
        new = _new_content(update) if is_known else call.content
        if isinstance(card, ToolCard) and any(isinstance(each, v2.Diff) for each in new):
            card.keep_diffs(update.content if isinstance(update.content, list) else call.content)
        for item in new:
            if isinstance(item, v2.Terminal):
                lone = self._terminal_outputs.shown_by(item.terminal_id, card)
                if lone is not None:
                    self._history.drop(lone)

    def _terminal(self, update: v2.TerminalUpdate | v2.TerminalOutputChunk) -> Iterator[None]:
        known = self.transcript.terminals.get(update.terminal_id)
        card, is_new = self._terminal_outputs.take(update, known)
        yield from self._terminal_outputs.work()
        if is_new:
            self._show_new(card)
        else:
            self._touched[card] = None

    def _plan(self, update: v2.PlanUpdate) -> None:
        plan = update.plan
        id = "" if isinstance(plan, Unknown) else plan.plan_id
        card = self._cards.get(("plan", id))
        if isinstance(card, PlanCard):
            card.show(plan)
        else:
            self._card("plan", id, lambda: PlanCard(plan))

    def _plan_removed(self, update: v2.PlanRemoved) -> None:
        card = self._cards.pop(("plan", update.plan_id), None)
        if isinstance(card, PlanCard):
            card.show(None)

    def _compaction(self, update: v2.CompactionUpdate | v2.CompactionSummaryChunk) -> None:
        compaction = self.transcript.compactions[update.compaction_id]
        self._card("compaction", compaction.id, lambda: CompactionCard(compaction))

    def _subagent(self, update: v2.SubagentUpdate) -> None:
        subagent = self.transcript.subagents[update.session_id]
        self._card("subagent", subagent.id, lambda: SubagentCard(subagent))

    def _session_message(self, update: v2.SessionMessage | v2.SessionMessageChunk) -> None:
        message = self.transcript.session_messages[update.message_id]
        self._card("message", message.id, lambda: MessageCard(message))

    # Notes

    def _notice(self, update: v2.Notice) -> None:
        more = update.description or ""
        self._show_new(Note(update.title, update.severity, more=more))

    def _config(self, update: v2.ConfigOptionUpdate) -> None:
        self._options, changes = changed_options(self._options, update.config_options)
        for change in changes:
            self._show_new(Note(change))

    def _state(self, update: v2.StateUpdated) -> None:
        if update.state != "idle":
            return
        self._finish_stream()
        for key in [key for key in self._cards if key[0] == "plan"]:
            del self._cards[key]  # the plan of the next turn gets a card of its own
        reason = update.stop_reason
        if reason is None or reason == "end_turn":
            return
        text, kind = _REASONS.get(reason, (f"stopped: {reason}", "warning"))
        error, more = update.error, ""
        if error is not None:
            more = request_error(error.code, error.message, error.data).description
        self._show_new(Note(text, kind, more=more))

    def _new_block(self, new: _NewBlock) -> None:
        self._show_new(new.block)

    def _ignore(self, update: object) -> None:
        """Ignore an update that the status line shows."""

    _handlers: ClassVar[dict[type, Callable[[Any, Any], Iterator[None] | None]]] = {
        **dict.fromkeys((chunk for _, chunk in MESSAGE_UPDATES.values()), _chunk),
        **dict.fromkeys((whole for whole, _ in MESSAGE_UPDATES.values()), _message),
        _NewBlock: _new_block,
        v2.ToolCallUpdate: _tool_call,
        v2.ToolCallUpdated: _tool_call,
        v2.ToolCallContentChunk: _tool_call,
        v2.TerminalUpdate: _terminal,
        v2.TerminalOutputChunk: _terminal,
        v2.PlanUpdate: _plan,
        v2.PlanRemoved: _plan_removed,
        v2.CompactionUpdate: _compaction,
        v2.CompactionSummaryChunk: _compaction,
        v2.SubagentUpdate: _subagent,
        v2.SessionMessage: _session_message,
        v2.SessionMessageChunk: _session_message,
        v2.Notice: _notice,
        v2.ConfigOptionUpdate: _config,
        v2.StateUpdated: _state,
        v2.AvailableCommandsUpdate: _ignore,
        v2.SessionInfoUpdate: _ignore,
        v2.UsageUpdate: _ignore,
    }


def _new_content(
    update: v2.ToolCallUpdate | v2.ToolCallContentChunk,
) -> Sequence[v2.ToolCallContent]:
    """Return the content that an update adds; the whole tool call would take longer each time."""
    if isinstance(update, v2.ToolCallContentChunk):
        return [update.content]
    return update.content if isinstance(update.content, list) else ()


async def _yield_to_loop() -> None:
    """Yield to the tasks that are waiting, and to those that they wake."""
    for _ in range(_LOOP_TURNS):
        await asyncio.sleep(0)  # fairness
