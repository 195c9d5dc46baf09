"""One session of suggestions: what it knows of the client's documents, and what it has suggested.

A question is about one version of a document. Where the copy here is another one there is nothing
to say: an older question has no answer any more, and what a later one is about may be on its way
and is waited for, for a moment. What is changed while the engine thinks is the client's matter: the
answer is about the version that was asked about.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parley.agent.config import find_option, with_value
from parley.agent.store import new_id
from parley.nes.documents.document import Document
from parley.nes.documents.encoding import Encoding, span_of, spot_of
from parley.nes.documents.files import Files
from parley.nes.documents.store import Documents
from parley.nes.engine import Fate, Predictor, Proposal, Workspace
from parley.nes.feed import DocumentFeed
from parley.schema import v2
from parley.schema.v2 import unstable

if TYPE_CHECKING:
    from parley.agent import Connection

__all__ = ["ServedSession"]

logger = logging.getLogger(__name__)

WAIT_AFTER = 0.05
"""How many seconds a question waits for the change that it is about."""
MAX_SUGGESTED = 500
"""How many suggestions are remembered whose fate is not told; the oldest is forgotten first."""


class ServedSession:
    """One session of suggestions, as a program sees it."""

    def __init__(
        self,
        connection: Connection,
        workspace: Workspace,
        documents: Documents,
        files: Files,
        *,
        encoding: Encoding,
    ) -> None:
        self.id = new_id("nes")
        """Names it; no conversation has this id."""
        self.connection = connection
        """The connection, and with it the client."""
        self.workspace = workspace
        """What the client said about where it works."""
        self.documents = documents
        """The documents that are open."""
        self.files = files
        """The files of the workspace that are not open."""
        self.encoding: Encoding = encoding
        """What the client's positions count."""
        self.config_options: list[v2.SessionConfigOption] = []
        """The options with their values."""
        self.data: dict[str, Any] = {}
        """What the program wants to remember."""
        self.feed: DocumentFeed
        """Tells the engine what happens to the documents."""
        self.questions: set[asyncio.Task[Any]] = set()
        """What is being answered."""
        self._suggested: dict[str, Proposal] = {}
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def predictor(self) -> Predictor:
        """The engine's session."""
        return self.feed.predictor

    def option(self, config_id: str) -> str | bool | None:
        """Return the value of an option; None if there is none of this id."""
        found = find_option(self.config_options, config_id)
        return None if found is None else found.current_value

    def set_option(self, config_id: str, value: str | bool) -> None:
        """Set an option; when the engine refuses, nothing has changed.

        Raises:
            InvalidParams: There is no such option, or it has no such value.
        """
        changed = with_value(self.config_options, config_id, value)
        self.predictor.set_option(config_id, value)
        self.config_options = changed

    # Documents

    def open(self, note: unstable.DidOpenDocumentNotification) -> None:
        """Take `document/didOpen`."""
        self._wake()
        self.feed.opened(note.uri, note.language_id, note.version, note.text)

    def change(
        self,
        uri: str,
        version: int,
        changes: Sequence[unstable.TextDocumentContentChangeEvent | None],
    ) -> None:
        """Take `document/didChange`."""
        self._wake()
        self.feed.changed(uri, version, changes)

    def close_document(self, uri: str) -> None:
        """Take `document/didClose`."""
        self._wake()
        self.feed.closed(uri)

    def save(self, uri: str) -> None:
        """Take `document/didSave`."""
        self.feed.saved(uri)

    def focus(self, note: unstable.DidFocusDocumentNotification) -> None:
        """Take `document/didFocus`."""
        document = self.documents.current(note.uri)
        if document is not None:
            spot = spot_of(document, note.position, self.encoding)
            visible = span_of(document, note.visible_range, self.encoding)
            self.predictor.focused(document, spot, visible)

    def _wake(self) -> None:
        """Let those look again who wait for a document, once what happens to it has happened."""
        for each in self._waiting:
            if not each.done():
                each.set_result(None)

    async def arrived(self, uri: str, wanted: int) -> Document | None:
        """Return an open document in this version, if it is there or comes within a moment."""
        try:
            async with asyncio.timeout(WAIT_AFTER):
                while (document := self.documents.get(uri)) and wanted > document.version:
                    await self._news()
        except TimeoutError:
            return None
        return document if self.is_at(uri, wanted) else None

    def is_at(self, uri: str, wanted: int) -> bool:
        """Tell whether an open document has just this version, as the editor has it."""
        document = self.documents.current(uri)
        return document is not None and wanted == document.version

    async def _news(self) -> None:
        """Wait until something happens to a document."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    # Suggestions

    def suggested(self, proposal: Proposal) -> str:
        """Remember what is suggested, and return how it is called."""
        id = new_id("suggestion")
        self._suggested[id] = proposal
        if len(self._suggested) > MAX_SUGGESTED:
            del self._suggested[next(iter(self._suggested))]
        return id

    def settle(self, id: str, fate: Fate) -> Proposal | None:
        """Take what became of a suggestion; None if it is not known, or was told before."""
        proposal = self._suggested.pop(id, None)
        if proposal is not None:
            self.predictor.told(proposal, fate)
        return proposal

    async def stop(self, grace_after: float) -> None:
        """Cancel what is being answered and let go of everything."""
        for task in self.questions:
            task.cancel()
        if self.questions:
            await asyncio.wait(self.questions, timeout=grace_after)
        self.release()

    def release(self) -> None:
        """Let the engine forget the session."""
        try:
            self.predictor.close()
        except Exception:  # of the engine: the session ends all the same
            logger.exception("%s: closing a session failed", self.connection.name)

    def __repr__(self) -> str:
        return f"ServedSession({self.id!r}, {len(self.documents)} documents)"
