"""A prompt turn, as programs see it: one prompt, the updates that it causes, and its result."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from parley.schema import v2
from parley.session._transcript import Entry
from parley.session._transcript_entries import MessageEntry

if TYPE_CHECKING:
    from ._session import Session
    from ._turn_state import PromptTurnState


class TurnResult(Struct, frozen=True, kw_only=True, eq=False):
    """The result of a turn; you get it by awaiting a `PromptTurn`.

    `text` is the agent's messages, `entries` is everything that the turn added to the transcript,
    and `stop_reason` is why the agent stopped.
    """

    stop_reason: v2.StopReason
    """Why the agent stopped: `end_turn`, `max_tokens`, `refusal`, `cancelled`, …"""
    message_id: v2.MessageId | None
    """The id of the user message."""
    entries: list[Entry]
    """The entries that the turn added, in order; a part of `session.transcript.entries`."""
    tokens: v2.Usage | None = None
    """Unstable: the tokens used, if the agent reports them."""
    meta: dict[str, Any] | None = None
    """The `_meta` of the update that ended the turn."""

    @property
    def text(self) -> str:
        """The agent's messages, without its thoughts, separated by empty lines."""
        messages = (each for each in self.entries if isinstance(each, MessageEntry))
        texts = [each.text for each in messages if each.role == "agent"]
        return "\n\n".join(text for text in texts if text)


class PromptTurn:
    """A prompt and the agent's work on it; `Session.prompt` returns one.

    Await it for its `TurnResult`, loop over its updates with `async for`, or loop over the text of
    the agent's messages with `async for … in turn.text_stream()`. You can also loop first and await
    it after the loop. The prompt is sent in the step in which you first do one of these.

    ```python
    turn = session.prompt("Run the tests.")
    async for update in turn:
        print(update)
    result = await turn
    print(result.stop_reason)
    ```

    If the task that awaits the turn or loops over it is cancelled, the turn is cancelled too. If
    you leave the loop in any other way, the turn continues, and the remaining updates are folded
    into the transcript. Call `cancel` to stop the agent.

    Use `async with` if the turn must not outlive a block of code:

        async with session.prompt("Run the tests.") as turn:
            async for update in turn:
                if is_enough(update):
                    break

    Entering the block sends the prompt. If an exception leaves the block, or if you leave a loop
    over the turn before its end, the turn is cancelled, and the end of the block waits up to five
    seconds for the agent to end it. Otherwise the end of the block waits for the end of the turn
    and raises its error, unless the block has seen it. Start a loop as soon as the block is
    entered: the updates that arrive before it are kept for it, but only 1024 of them.
    """

    def __init__(self, state: PromptTurnState) -> None:
        self._state = state
        self.session: Session = state.session.session
        """The session that the prompt belongs to."""

    @property
    def request(self) -> v2.PromptRequest:
        """The request to send."""
        return self._state.request

    @property
    def message_id(self) -> v2.MessageId | None:
        """The id of the user message; None until the agent has accepted the prompt."""
        return self._state.message_id

    @property
    def is_begun(self) -> bool:
        """Whether the turn was started by awaiting it or looping over it."""
        return self._state.is_begun

    @property
    def is_accepted(self) -> bool:
        """Whether the agent has accepted the prompt."""
        return self._state.is_accepted

    @property
    def is_cancelled(self) -> bool:
        """Whether cancellation was requested."""
        return self._state.is_cancelled

    @property
    def is_done(self) -> bool:
        """Whether the turn has ended, with a result or an error."""
        return self._state.is_done

    def __await__(self) -> Generator[Any, None, TurnResult]:
        """Send the prompt if necessary, wait for the end of the turn and return its result.

        Raises:
            LocalProtocolError: Waiting for it here would prevent its updates from being handled.
            AcpError: The turn ended with an error, or the session or connection has closed.
        """
        return self._state.wait().__await__()

    async def wait(self) -> TurnResult:
        """Do the same as awaiting the turn, as a coroutine, for `asyncio.create_task`.

        Raises:
            AcpError: Anything that awaiting the turn raises.
        """
        return await self._state.wait()

    async def __aenter__(self) -> PromptTurn:
        """Send the prompt.

        Raises:
            LocalProtocolError: The turn was awaited, looped over or entered before.
            AcpError: The prompt could not be sent.
        """
        self._state.enter()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for the end of the turn, after cancelling it if the block was left early."""
        await self._state.leave(is_early=error is not None)

    def __aiter__(self) -> AsyncIterator[v2.SessionUpdate]:
        """Return an iterator over the updates of the prompt, which its first step sends.

        Raises:
            LocalProtocolError: The turn was looped over or awaited before.
        """
        return self._state.iterate()

    def text_stream(self) -> AsyncIterator[str]:
        """Return an iterator over the text of the agent's messages, as it arrives.

            async for text in session.prompt("Explain this project.").text_stream():
                print(text, end="", flush=True)

        It takes the place of the loop over the updates and behaves like it. Thoughts, tool calls
        and content other than text are left out; they are in the transcript. A blank line
        separates two messages: the first text of a later message starts with it. If the agent
        replaces a message, only text that extends what was already returned follows.

        Raises:
            LocalProtocolError: The turn was looped over or awaited before.
        """
        return _TextIterator(self._state.iterate())

    async def cancel(self) -> None:
        """Cancel the turn; it ends when the agent confirms this.

        The protocol cancels sessions, not prompts. If the turn is the running one, the prompts that
        wait after it are cancelled with it. If other prompts of the session come first, the turn is
        cancelled after they have ended.
        """
        await self._state.cancel()

    def __repr__(self) -> str:
        state = "done" if self.is_done else "running" if self.is_begun else "not sent"
        return f"PromptTurn({self.message_id or 'no id yet'}, {state})"


class _TextIterator:
    """The asynchronous iterator over the text of the agent's messages in one turn."""

    def __init__(self, updates: AsyncIterator[v2.SessionUpdate]) -> None:
        self._updates = updates
        self._texts: dict[v2.MessageId, list[str]] = {}
        self._last_id: v2.MessageId | None = None

    def __aiter__(self) -> _TextIterator:
        return self

    async def __anext__(self) -> str:
        while True:
            update = await anext(self._updates)
            if isinstance(update, v2.AgentMessageChunk):
                text = _text_of(update.content)
            elif isinstance(update, v2.AgentMessage) and isinstance(update.content, list):
                sent = "".join(self._texts.get(update.message_id, ()))
                text = "".join(map(_text_of, update.content))
                text = text[len(sent) :] if text.startswith(sent) else ""
            else:
                continue
            if text:
                return self._separate(update.message_id, text)

    def _separate(self, message_id: v2.MessageId, text: str) -> str:
        """Return the text, after a blank line if the last text was of another message."""
        is_other = self._last_id not in (None, message_id)
        self._last_id = message_id
        self._texts.setdefault(message_id, []).append(text)
        return f"\n\n{text}" if is_other else text


def _text_of(block: v2.ContentBlock) -> str:
    return block.text if isinstance(block, v2.TextContent) else ""
