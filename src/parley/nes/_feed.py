"""Document events on their way to an engine, for both agents and language servers.

The engine hears of documents that are kept, in the order in which things happen. One that becomes
too large is given up, and closed to the engine. What is said about an unknown one does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence

from parley.nes._documents.change import Change
from parley.nes._documents.store import Documents
from parley.schema.v2 import TextDocumentContentChangeEvent

from .engine import Predictor


class DocumentFeed:
    """The open documents of one session, and the engine's session that follows them."""

    def __init__(self, documents: Documents, predictor: Predictor) -> None:
        self.documents = documents
        self.predictor = predictor

    def opened(self, uri: str, language_id: str, version: int, text: str) -> None:
        """Take a document that was opened; one of this name that was open is gone."""
        self.closed(uri)
        document = self.documents.open(uri, language_id, version, text)
        if document is not None:
            self.predictor.opened(document)

    def changed(
        self, uri: str, version: int, changes: Sequence[TextDocumentContentChangeEvent | None]
    ) -> Sequence[Change]:
        """Take changes of a document, and return those that were made in the copy of it."""
        document = self.documents.get(uri)
        if document is None:
            return ()
        made = self.documents.change(uri, version, changes)
        if self.documents.get(uri) is None:  # it has become too large
            self.predictor.closed(document)
        elif made:
            self.predictor.changed(document, made)
        return made or ()

    def saved(self, uri: str) -> None:
        """Record that a document was saved."""
        document = self.documents.current(uri)
        if document is not None:
            self.predictor.saved(document)

    def closed(self, uri: str) -> None:
        """Forget a document."""
        document = self.documents.close(uri)
        if document is not None:
            self.predictor.closed(document)
