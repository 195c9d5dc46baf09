"""Questions without an answer: at most two, of which the newest wins.

A third one takes the place of the second, which is cancelled. When one is answered, those that were
asked before it are cancelled. So a slow agent is never asked more than it can answer, and the first
answer is not lost because the user went on typing.

An answer may name files that have to be read first. What the user does meanwhile still counts: such
a question is not under way any more, but it is followed until its task has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from parley.nes._documents.document import Document
from parley.nes._rebase import Step

from ._suggestion_memory import Key

MOST = 2
"""The requests that may be in flight."""


class SuggestRequest:
    """One question: what it was about, and what has happened since."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.steps: list[Step] = []
        """The changes of the user since, in any document."""
        self.before: dict[str, Document] = {}
        """The documents that were changed since, as they were."""
        self.closed: set[str] = set()
        """The documents that were closed since."""
        self.revision = 0
        """Which texts it is about, counted up at each change."""
        self.is_sent = False
        """Whether the agent knows of it."""
        self.is_void = False
        """Whether nothing of the answer is to be shown, whatever it is."""
        self.task: asyncio.Task[Any] | None = None

    def send(self, key: Key, revision: int) -> None:
        """Ask about what is there now: the task begins a moment after it was made."""
        self.key = key
        self.revision = revision
        self.is_sent = True
        self.steps.clear()
        self.before.clear()

    def cancel(self) -> None:
        """Take the question back."""
        if self.task is not None:
            self.task.cancel()


class InFlight:
    """The questions that are under way."""

    def __init__(self) -> None:
        self._pending: list[SuggestRequest] = []
        self._reading: list[SuggestRequest] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    def __contains__(self, key: Key) -> bool:
        """Return whether this very thing was asked, and nothing has changed since."""
        return any(each.is_sent and each.key == key and not each.steps for each in self._pending)

    def begin(self, request: SuggestRequest, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Ask, in a task of its own."""
        if len(self._pending) >= MOST:
            self._pending.pop().cancel()
        self._pending.append(request)
        request.task = task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(lambda task: self._ended(request, task))
        return task

    def _ended(self, request: SuggestRequest, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        for each in (self._pending, self._reading):
            if request in each:
                each.remove(request)

    def response_arrived(self, request: SuggestRequest) -> None:
        """Cancel the requests that were sent before this one."""
        place = self._pending.index(request)
        for each in self._pending[:place]:
            each.cancel()
        del self._pending[: place + 1]
        self._reading.append(request)

    def leaving(self, document: Document) -> None:
        """Record that a document is about to change: keep how it was."""
        for each in (*self._pending, *self._reading):
            if document.uri not in each.before:
                each.before[document.uri] = document.copy()

    def changed(self, step: Step) -> None:
        """Record what the user has changed."""
        for each in (*self._pending, *self._reading):
            each.steps.append(step)

    def closed(self, uri: str) -> None:
        """Record that a document was closed."""
        for each in (*self._pending, *self._reading):
            each.closed.add(uri)
            each.is_void = each.is_void or each.key.uri == uri

    def cancel(self) -> None:
        """Take all questions back."""
        for each in self._pending:
            each.cancel()
        self._pending.clear()
        for each in self._reading:
            each.is_void = True

    async def aclose(self) -> None:
        """Take all questions back, and wait until they are."""
        self.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
