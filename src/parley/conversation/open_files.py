"""Files that are open in the user's editor, for agents that ask for them (`workspace/*`).

The user lists them with `--open`. Files that a prompt attaches are recent documents too, but only
text: directories, images, audio and video are not documents of an editor.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from parley._languages import language_id_of
from parley.client import Session
from parley.schema import v2

__all__ = ["MAX_RECENT", "OpenFiles"]

MAX_RECENT = 100
"""How many attached files are remembered."""
_MEDIA = frozenset({"image", "audio", "video"})


class OpenFiles:
    """The open, recent and active documents of a conversation; the `editor` of its connection."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        """List the open files.

        Args:
            paths: The open files, the active one first; relative ones begin at the current
                directory.
        """
        absolute = dict.fromkeys(Path(os.path.normpath(Path(each).absolute())) for each in paths)
        self._open = [_document(each.as_uri()) for each in absolute]
        self._attached: dict[str, v2.WorkspaceDocument] = {}
        """By URI, the newest one last."""

    def add_attachments(self, content: Iterable[str | v2.ContentBlock]) -> None:
        """Remember the text files that a prompt attaches."""
        for block in content:
            if (uri := _attached_uri(block)) is not None:
                self._attached.pop(uri, None)
                self._attached[uri] = _document(uri)
        for uri in list(self._attached)[:-MAX_RECENT]:
            del self._attached[uri]

    def open_documents(self, session: Session) -> Sequence[v2.WorkspaceDocument]:
        """Return the open files."""
        del session
        return self._open

    def recent_documents(
        self, limit: int | None, session: Session
    ) -> Sequence[v2.WorkspaceDocument]:
        """Return the attached files, newest first, and then the open ones."""
        del session
        newest_first = [*reversed(self._attached.values()), *self._open]
        return list({each.uri: each for each in newest_first}.values())[:limit]

    def active_document(self, session: Session) -> v2.WorkspaceDocument | None:
        """Return the first open file."""
        del session
        return next(iter(self._open), None)


def _document(uri: str) -> v2.WorkspaceDocument:
    return v2.WorkspaceDocument(uri=uri, language_id=language_id_of(uri))


def _attached_uri(block: str | v2.ContentBlock) -> str | None:
    """Return the URI of the text file that a block attaches, without the lines it is about."""
    match block:
        case v2.EmbeddedResource(resource=v2.TextResourceContents(uri=uri)):
            pass
        case v2.ResourceLink(uri=uri, size=int(), mime_type=kind):  # directories have no size
            if (kind or "").partition("/")[0] in _MEDIA:
                return None
        case _:
            return None
    return uri.partition("#")[0] if uri.startswith("file:///") else None
