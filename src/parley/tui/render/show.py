"""From the updates of a session to blocks: the one place that knows which update is which block.

`Show.update` only puts an update into a queue. `run` paints at most 20 times a second: it works off
the queue in order, gives way to the loop when a slice took long, and lets the history settle once.
Whoever is faster than the screen is told to wait: `update` returns what to wait for.

An update that nobody here has a name for becomes a card with its name and its JSON.
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
from .screens import Screens
from .speech import Speech, blocks_of, digest_of
from .tool_card import ToolCard

__all__ = ["Show"]

PERIOD = 0.05
SLICE = 0.008
"""How long to work before others have their turn."""
_HANDS = 12
"""A key goes through so many hands until it is painted."""
_LONGEST = 0.25
"""The task rests as long as it worked, up to this."""
_MOST_WAITING = 4_096
_REASONS: dict[str, tuple[str, Kind]] = {
    "cancelled": ("cancelled", "warning"),
    "max_tokens": ("stopped: the answer is too long for the model", "warning"),
    "max_turn_requests": ("stopped: too many requests in one turn", "warning"),
    "refusal": ("the agent refused: it will not remember this prompt or its response", "warning"),
    "error": ("the turn failed", "error"),
}
_ROLES: dict[type, MessageRole] = {
    kind: role for role, kinds in MESSAGE_UPDATES.items() for kind in kinds
}


class _Added(NamedTuple):
    """A block among the updates."""

    block: Block


class Show:
    """Shows a session in a history."""

    def __init__(self, history: History, transcript: Transcript) -> None:
        self.transcript = transcript
        """What the updates are folded into; another one after a restart."""
        self._history = history
        self._queue: deque[Any] = deque()
        self._woken = asyncio.Event()
        self._room: asyncio.Future[None] | None = None  # what those wait for who are too fast
        self._speech: Speech | None = None
        self._messages: dict[tuple[MessageRole, str], tuple[list[Block], int]] = {}
        self._cards: dict[tuple[str, str], Card] = {}
        self._touched: dict[Card, None] = {}
        self._extensions: ExtensionCard | None = None
        self._screens = Screens()
        self._options: Values | None = None

    def update(self, update: v2.SessionUpdate) -> Awaitable[object] | None:
        """Show an update that the transcript has folded; returns what to wait for, if anything."""
        return self._put(update)

    def add(self, block: Block) -> None:
        """Show a block below what has come so far."""
        self._put(_Added(block))

    def _put(self, item: object) -> Awaitable[object] | None:
        self._queue.append(item)
        self._woken.set()
        if len(self._queue) < _MOST_WAITING:
            return None
        if self._room is None:
            self._room = asyncio.get_running_loop().create_future()
        return asyncio.shield(self._room)  # one who gives up must not take the others along

    async def run(self) -> None:
        """Paint what comes, for ever; run it as a worker of the history."""
        while True:
            await self._woken.wait()
            started = monotonic()
            await self.paint()
            await asyncio.sleep(min(max(PERIOD, monotonic() - started), _LONGEST))

    async def paint(self) -> None:
        """Show everything that has come."""
        self._woken.clear()
        self._history.hold()
        started = monotonic()
        try:
            while self._queue or (self._speech is not None and self._speech.is_behind):
                if self._speech is not None and self._speech.is_behind and self._is_full():
                    self._speech.step()
                else:
                    started = await self._work(self._take(self._queue.popleft()), started)
                if monotonic() - started > SLICE:
                    await _give_way()
                    started = monotonic()
        finally:
            if self._room is not None:
                self._room.set_result(None)
                self._room = None
            for card in self._touched:
                card.touch()
            self._touched.clear()
            self._history.release()

    async def _work(self, steps: Iterator[None], started: float) -> float:
        """Take steps and give way between them; return when this slice has begun."""
        for _ in steps:
            if monotonic() - started > SLICE:
                await _give_way()
                started = monotonic()
        return started

    def _is_full(self) -> bool:
        """Whether text must be worked off before more is taken."""
        return not self._queue or (self._speech is not None and self._speech.is_full)

    def _take(self, item: Any) -> Iterator[None]:
        """Show something; what takes long is done in steps."""
        kind = cast("type[object]", type(item))
        shows = self._shows.get(kind)
        if shows is not None:
            yield from shows(self, item) or ()
        elif isinstance(item, Unknown) and item.tag.startswith("_"):
            self._extension(item)
        elif isinstance(item, Unknown):
            self._show_new(UnknownCard(item.tag, item))
        else:
            self._show_new(UnknownCard(kind.__name__, item))

    def _extension(self, item: Unknown) -> None:
        """Show an extension of the protocol, in one card with the others since the last prompt."""
        if self._extensions is None:
            self._extensions = ExtensionCard()
            self._extensions.append(item)
            self._show_new(self._extensions)
        else:
            self._extensions.append(item)

    def _show_new(self, *blocks: Block) -> None:
        self._end_speech()
        self._history.add(*blocks)

    def _end_speech(self) -> None:
        speech = self._speech
        if speech is None:
            return
        speech.finish()
        self._remember(speech)
        self._speech = None

    def _remember(self, speech: Speech) -> None:
        key = (speech.role, speech.id)
        self._messages[key] = (speech.blocks, speech.digest)

    def _card(self, kind: str, id: str, make: Callable[[], Card]) -> None:
        """Show a card, or show it as it is now."""
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
        speech = self._speech
        if speech is None or speech.id != id or speech.role != role:
            self._end_speech()
            speech = self._speech = Speech(self._history, role, id)
            blocks, digest = self._messages.get((role, id), ([], 0))
            speech.continue_from(blocks, digest)
        speech.feed(update.content)

    def _message(
        self, update: v2.UserMessage | v2.AgentMessage | v2.AgentThought
    ) -> Iterator[None]:
        if update.content is UNSET:
            return
        self._end_speech()
        role, id = _ROLES[type(update)], update.message_id
        if role == "user":
            self._extensions = None
        content = update.content or []
        digest = digest_of(content)
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
        self._card("tool_call", call.id, lambda: ToolCard(call, self._screens.by_id))
        card = self._cards["tool_call", call.id]
        new = _new_content(update) if is_known else call.content
        if isinstance(card, ToolCard) and any(isinstance(each, v2.Diff) for each in new):
            card.see(update.content if isinstance(update.content, list) else call.content)
        for item in new:
            if isinstance(item, v2.Terminal):
                lone = self._screens.shown_by(item.terminal_id, card)
                if lone is not None:
                    self._history.drop(lone)

    def _terminal(self, update: v2.TerminalUpdate | v2.TerminalOutputChunk) -> Iterator[None]:
        known = self.transcript.terminals.get(update.terminal_id)
        card, is_new = self._screens.take(update, known)
        yield from self._screens.work()
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

    # What is said in a line

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
        self._end_speech()
        for key in [key for key in self._cards if key[0] == "plan"]:
            del self._cards[key]  # the next turn's plan stands in the next turn
        reason = update.stop_reason
        if reason is None or reason == "end_turn":
            return
        text, kind = _REASONS.get(reason, (f"stopped: {reason}", "warning"))
        error, more = update.error, ""
        if error is not None:
            more = request_error(error.code, error.message, error.data).description
        self._show_new(Note(text, kind, more=more))

    def _added(self, added: _Added) -> None:
        self._show_new(added.block)

    def _nothing(self, update: object) -> None:
        """What the status line shows."""

    _shows: ClassVar[dict[type, Callable[[Any, Any], Iterator[None] | None]]] = {
        **dict.fromkeys((chunk for _, chunk in MESSAGE_UPDATES.values()), _chunk),
        **dict.fromkeys((whole for whole, _ in MESSAGE_UPDATES.values()), _message),
        _Added: _added,
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
        v2.AvailableCommandsUpdate: _nothing,
        v2.SessionInfoUpdate: _nothing,
        v2.UsageUpdate: _nothing,
    }


def _new_content(
    update: v2.ToolCallUpdate | v2.ToolCallContentChunk,
) -> Sequence[v2.ToolCallContent]:
    """Return what an update adds: to look at all that a tool call has takes longer each time."""
    if isinstance(update, v2.ToolCallContentChunk):
        return [update.content]
    return update.content if isinstance(update.content, list) else ()


async def _give_way() -> None:
    """Let everybody have a turn who waits, and whom they wake."""
    for _ in range(_HANDS):
        await asyncio.sleep(0)  # fairness
