"""The documents that are open in one session, as far as they are known.

A copy that may differ from the editor's is *out of date*: after a change that could not be read, or
when one comes after a later one. It stays so, and of its changes only the versions are taken,
until a whole text comes. Events about files that are not open do no harm.

A document that is too large is not kept, but it is still known to be open in the editor: what is on
the disk may differ from it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from parley.schema.v2 import TextDocumentContentChangeEvent

from .change import Change
from .document import Document
from .encoding import Encoding, span_of
from .paths import is_same_file

logger = logging.getLogger(__name__)

MAX_COUNT = 1000
"""The documents that may be open in a session."""
MAX_BYTES = 64 * 1024 * 1024
"""The bytes that they may have together."""


class _Open:
    """The state of one open document."""

    def __init__(self, document: Document, size: int) -> None:
        self.document = document
        self.bytes = size
        self.is_current = True
        self.whole = document.version
        """The version that came as a whole text last."""


class Documents:
    """The open documents of one session."""

    def __init__(
        self,
        encoding: Encoding = "utf-16",
        *,
        max_count: int = MAX_COUNT,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._encoding: Encoding = encoding
        self._max_count = max_count
        self._max_bytes = max_bytes
        self._open: dict[str, _Open] = {}
        self._not_kept: set[str] = set()
        self._is_complete = True
        """Whether every document that is open in the editor is in one of the two."""
        self.bytes = 0
        """The bytes of all documents together."""

    def __iter__(self) -> Iterator[Document]:
        return iter([each.document for each in self._open.values()])

    def __len__(self) -> int:
        return len(self._open)

    def get(self, uri: str) -> Document | None:
        """Return an open document, which may be out of date."""
        found = self._open.get(uri)
        return None if found is None else found.document

    def is_current(self, uri: str) -> bool:
        """Return whether a document is open and has the editor's text."""
        return uri in self._open and self._open[uri].is_current

    def is_open(self, uri: str) -> bool:
        """Return whether a file may be open in the editor, however its URI is spelled."""
        names = (*self._open, *self._not_kept)
        return not self._is_complete or any(is_same_file(uri, each) for each in names)

    def current(self, uri: str) -> Document | None:
        """Return an open document that has the editor's text."""
        return self.get(uri) if self.is_current(uri) else None

    def open(self, uri: str, language_id: str, version: int, text: str) -> Document | None:
        """Open a document; one of this name that was open is gone. None if it is too much."""
        self.close(uri)
        size = _size(text)
        if len(self._open) >= self._max_count or self.bytes + size > self._max_bytes:
            logger.warning("a document of %d bytes is too much, and not kept", size)
            self._note_not_kept(uri)
            return None
        document = Document(uri, language_id, version, text)
        self._open[uri] = _Open(document, size)
        self.bytes += size
        return document

    def change(
        self, uri: str, after: int, changes: Sequence[TextDocumentContentChangeEvent | None]
    ) -> list[Change] | None:
        """Change a document.

        Args:
            uri: Which one.
            after: Its version afterwards.
            changes: One after the other; None for one that could not be read.

        Returns:
            What was changed; None if the copy is out of date, or was changed later already.
        """
        found = self._open.get(uri)
        if found is None:
            return None
        latest = found.document.version
        if after <= latest:
            # What is between a whole text and now was missing when a later change was made.
            if found.whole < after < latest:
                found.is_current = False
            return None
        found.document.version = after
        wholes = [at for at, each in enumerate(changes) if each is not None and each.range is None]
        if wholes:
            changes = changes[wholes[-1] :]
            found.is_current, found.whole = True, after
        if None in changes:
            found.is_current = False
        return self._apply(found, changes) if found.is_current else None

    def _apply(
        self, found: _Open, changes: Sequence[TextDocumentContentChangeEvent | None]
    ) -> list[Change] | None:
        document, made = found.document, list[Change]()
        for each in changes:
            assert each is not None
            if each.range is None:
                made.append(document.replace(each.text))
            else:
                span = span_of(document, each.range, self._encoding)
                made.append(document.edit(span, each.text))
        grown = sum(_size(each.new) - _size(each.old) for each in made)
        found.bytes += grown
        self.bytes += grown
        if self.bytes > self._max_bytes:
            logger.warning("a document of %d bytes is too much, and given up", found.bytes)
            self.close(document.uri)
            self._note_not_kept(document.uri)
            return None
        return made

    def _note_not_kept(self, uri: str) -> None:
        """Remember a document that is open in the editor and not kept, within the same bound."""
        if len(self._not_kept) < self._max_count:
            self._not_kept.add(uri)
        else:
            self._is_complete = False

    def close(self, uri: str) -> Document | None:
        """Forget a document and return it."""
        self._not_kept.discard(uri)
        found = self._open.pop(uri, None)
        if found is None:
            return None
        self.bytes -= found.bytes
        return found.document


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
