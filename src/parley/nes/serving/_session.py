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

from parley.agent._config_options import find_option, with_value
from parley.agent._store import new_id
from parley.nes._documents.change import Span, Spot
from parley.nes._documents.document import Document
from parley.nes._documents.encoding import Encoding, span_of, spot_of
from parley.nes._documents.files import Files
from parley.nes._documents.paths import is_same_file
from parley.nes._documents.store import Documents
from parley.nes._feed import DocumentFeed
from parley.nes.engine import DocumentEvent, Outcome, Predictor, Proposal, Workspace
from parley.schema import v2

if TYPE_CHECKING:
    from parley.agent import AgentConnection


logger = logging.getLogger(__name__)

WAIT_AFTER = 0.05
"""The seconds that a question waits for the change that it is about."""
MAX_SUGGESTED = 500
"""The suggestions with a pending outcome that are kept; the oldest is forgotten first."""


class ServedSession:
    """One session of suggestions, as a program sees it."""

    def __init__(
        self,
        connection: AgentConnection,
        workspace: Workspace,
        documents: Documents,
        files: Files,
        *,
        encoding: Encoding,
        tracks_documents: bool = True,
    ) -> None:
        self.id = new_id("nes")
        """Names it; no conversation has this id."""
        self.connection = connection
        """The connection, and with it the client."""
        self.workspace = workspace
        """The workspace, as the client describes it."""
        self.documents = documents
        """The documents that are open; none if the agent does not track them."""
        self.tracks_documents = tracks_documents
        """Whether events keep `documents` as the editor has them."""
        self.files = files
        """The files of the workspace that are not open."""
        self.encoding: Encoding = encoding
        """The unit of the client's positions."""
        self.config_options: list[v2.SessionConfigOption] = []
        """The options with their values."""
        self.data: dict[str, Any] = {}
        """Values that the program keeps."""
        self.feed: DocumentFeed
        """Passes document events to the engine."""
        self.questions: set[asyncio.Task[Any]] = set()
        """The questions that are being answered."""
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

    # An agent that does not track documents keeps none of them: the text of an event is that of
    # the event alone, and would be out of date with the next key.

    def open(self, note: v2.DidOpenDocumentNotification) -> DocumentEvent:
        """Take `document/didOpen`."""
        self._wake()
        uri = note.uri
        if self.tracks_documents:
            self.feed.opened(uri, note.language_id, note.version, note.text)
            document = self.documents.current(uri)
        else:
            document = Document(uri, note.language_id, note.version, note.text)
        return DocumentEvent(kind="didOpen", uri=uri, document=document)

    def change(
        self,
        uri: str,
        version: int,
        changes: Sequence[v2.TextDocumentContentChangeEvent | None],
    ) -> DocumentEvent:
        """Take `document/didChange`."""
        self._wake()
        if not self.tracks_documents:
            whole = _whole(changes)
            document = None if whole is None else Document(uri, "", version, whole)
            return DocumentEvent(kind="didChange", uri=uri, document=document)
        made = self.feed.changed(uri, version, changes)
        return DocumentEvent(
            kind="didChange", uri=uri, document=self.documents.current(uri), changes=tuple(made)
        )

    def close_document(self, uri: str) -> DocumentEvent:
        """Take `document/didClose`."""
        self._wake()
        document = self.documents.current(uri)
        self.feed.closed(uri)
        return DocumentEvent(kind="didClose", uri=uri, document=document)

    def save(self, uri: str) -> DocumentEvent:
        """Take `document/didSave`."""
        self.feed.saved(uri)
        return DocumentEvent(kind="didSave", uri=uri, document=self.documents.current(uri))

    def focus(self, note: v2.DidFocusDocumentNotification) -> DocumentEvent:
        """Take `document/didFocus`."""
        document = self.documents.current(note.uri)
        if document is None:
            spot, visible = _uncounted(note.position), _uncounted_span(note.visible_range)
        else:
            spot = spot_of(document, note.position, self.encoding)
            visible = span_of(document, note.visible_range, self.encoding)
            self.predictor.focused(document, spot, visible)
        return DocumentEvent(
            kind="didFocus", uri=note.uri, document=document, spot=spot, visible=visible
        )

    def has_on_disk(self, uri: str, context: v2.NesSuggestContext) -> bool:
        """Return whether a file is known not to be open in the editor, so the disk has its text.

        Args:
            uri: The file.
            context: What came with the question that is being answered.
        """
        if self.tracks_documents:
            return not self.documents.is_open(uri)
        files = context.open_files
        return files is not None and not any(is_same_file(uri, each.uri) for each in files)

    def _wake(self) -> None:
        """Wake the questions that wait for a document, after its events."""
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
        """Return whether an open document has just this version, as the editor has it."""
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

    def settle(self, id: str, outcome: Outcome) -> Proposal | None:
        """Take what became of a suggestion; None if it is not known, or has an outcome already."""
        proposal = self._suggested.pop(id, None)
        if proposal is not None:
            self.predictor.on_outcome(proposal, outcome)
        return proposal

    async def stop(self, grace_after: float) -> None:
        """Cancel what is being answered and let go of everything."""
        for task in self.questions:
            task.cancel()
        if self.questions:
            await asyncio.wait(self.questions, timeout=grace_after)
        self.release()

    def release(self) -> None:
        """Close the session of the engine."""
        try:
            self.predictor.close()
        except Exception:  # of the engine: the session ends all the same
            logger.exception("%s: closing a session failed", self.connection.name)

    def __repr__(self) -> str:
        return f"ServedSession({self.id!r}, {len(self.documents)} documents)"


def _whole(changes: Sequence[v2.TextDocumentContentChangeEvent | None]) -> str | None:
    """Return the text after changes of which the last one is a whole text; else None."""
    last = changes[-1] if changes else None
    return last.text if last is not None and last.range is None else None


def _uncounted(position: v2.Position) -> Spot:
    """Return a position of an unknown text as it was sent."""
    return Spot(position.line, position.character)


def _uncounted_span(range: v2.Range) -> Span:
    return Span(_uncounted(range.start), _uncounted(range.end))
