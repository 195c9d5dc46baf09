"""The input of a prompt: the window, edits, other files, diagnostics, all within bounds.

What may hold secrets, by its name or its folder, is shown to no model; nor is what has a format's
own tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import PurePosixPath

from parley.nes._documents.document import Document, content
from parley.nes._documents.paths import name_of, parts_of, path_of
from parley.nes.engine import EditProposal, Proposal, Question, Span, Workspace

from ._situation import Event, Excerpt, Place, Remark, Situation
from ._window import Window

_MAX_RELATED = 6000
_MAX_EXCERPT = 1500
_MAX_REMARKS = 10
_MAX_PLACES = 5
_MAX_NAMES = 20
_MAX_WORDS = 300
"""The characters of a diagnostic, or of a line elsewhere, that the prompt has."""
_MAX_SEEN_LINES = 200
_PRIVATE = re.compile(
    r"^\.env(\..*)?$|^\.netrc$|^\.pgpass$|^\.npmrc$|^\.pypirc$|^id_[a-z0-9]+$"
    r"|\.(pem|key|p12|pfx|keystore|jks|kdbx)$|secret|credential",
    re.I,
)
_PRIVATE_FOLDERS = frozenset(
    {".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".secrets"}
)
_PRIVATE_WITHIN = _PRIVATE_FOLDERS | {"secrets", "credentials", "gcloud"}
"""Folders of a workspace; one of these words above it says nothing about what is in it."""


def is_private(uri: str, workspace: Workspace) -> bool:
    """Return whether a file is one of those that hold secrets, by its name or a folder it is in."""
    parts = tuple(part.lower() for part in parts_of(uri))
    path = _inside(uri, workspace)
    inside = parts if path is None else parts[len(parts) - len(path.parts) :]
    return (
        _PRIVATE.search(name_of(uri)) is not None
        or not _PRIVATE_FOLDERS.isdisjoint(parts[:-1])
        or not _PRIVATE_WITHIN.isdisjoint(inside[:-1])
    )


def is_sayable(text: str, reserved: Sequence[str]) -> bool:
    """Return whether a text can be sent and contains none of the model's special tokens."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False  # half a character
    return not any(token in text for token in reserved)


def shown_path(uri: str, workspace: Workspace) -> str:
    """Return a file's path within the workspace; of one that is elsewhere only the name."""
    path = _inside(uri, workspace)
    return (name_of(uri) or "untitled") if path is None else str(path)


def _inside(uri: str, workspace: Workspace) -> PurePosixPath | None:
    """Return a file's path within the workspace; None if it is elsewhere."""
    path = PurePosixPath(path_of(uri) or "")
    folder = next((each for each in workspace.folders if path.is_relative_to(each)), None)
    return None if folder is None else path.relative_to(folder)


class Surroundings:
    """The context of one session besides its edits."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.documents: dict[str, Document] = {}
        """The open documents."""
        self._visible: dict[str, Span] = {}

    def path_of(self, uri: str) -> str:
        """Return a file's path as it is shown."""
        return shown_path(uri, self._workspace)

    def is_private(self, uri: str) -> bool:
        """Return whether a file is one of those that hold secrets."""
        return is_private(uri, self._workspace)

    def seen(self, document: Document, visible: Span) -> None:
        """Remember what the user sees of a document; the last one seen is the most interesting."""
        self._visible.pop(document.uri, None)
        self._visible[document.uri] = visible

    def closed(self, document: Document) -> None:
        """Forget a document."""
        self.documents.pop(document.uri, None)
        self._visible.pop(document.uri, None)

    def situation(
        self,
        question: Question,
        window: Window,
        events: Sequence[Event],
        *,
        proposals: Iterable[Proposal],
        reserved: Sequence[str],
    ) -> Situation:
        """Put together what a prompt may say."""
        uri = question.document.uri

        def is_fit(uri: str, text: str) -> bool:
            return not self.is_private(uri) and is_sayable(self.path_of(uri) + text, reserved)

        places = (
            Place(self.path_of(place), line, text)
            for place, line, text in _places(proposals, self.documents)
            if is_fit(place, text)
        )
        return Situation(
            path=self.path_of(uri),
            language=question.document.language_id,
            window=window,
            events=tuple(event for event in events if is_fit(event.uri, event.diff)),
            related=self._related(question, is_fit),
            remarks=_remarks(question, uri, reserved),
            places=tuple(islice(places, _MAX_PLACES)),
            open_paths=self._open_paths(question, is_fit),
        )

    def _related(
        self, question: Question, is_fit: Callable[[str, str], bool]
    ) -> tuple[Excerpt, ...]:
        pieces = [(each.uri, each.text) for each in question.snippets]
        pieces += [
            (uri, _piece(self.documents[uri], visible))
            for uri, visible in reversed(self._visible.items())
            if uri != question.document.uri and uri in self.documents
        ]
        known = {self.path_of(uri) for uri, _ in pieces}
        pieces += [
            (each.uri, each.text)
            for each in question.recent
            if each.uri != question.document.uri and self.path_of(each.uri) not in known
        ]
        room = _MAX_RELATED
        kept: list[Excerpt] = []
        for uri, whole in pieces:
            text = _clipped(whole, min(room, _MAX_EXCERPT))
            if text.strip() and is_fit(uri, text):
                kept.append(Excerpt(self.path_of(uri), text))
                room -= len(text)
        return tuple(kept)

    def _open_paths(
        self, question: Question, is_fit: Callable[[str, str], bool]
    ) -> tuple[str, ...]:
        uris = question.open_uris or tuple(self.documents)
        others = (uri for uri in uris if uri != question.document.uri and is_fit(uri, ""))
        paths = (path for path in map(self.path_of, others) if len(path) <= _MAX_WORDS)
        return tuple(islice(paths, _MAX_NAMES))


def _remarks(question: Question, uri: str, reserved: Sequence[str]) -> tuple[Remark, ...]:
    mine = [
        Remark(each.span.start.line, each.severity, " ".join(each.message.split())[:_MAX_WORDS])
        for each in question.diagnostics
        if each.uri == uri and is_sayable(each.message + each.severity, reserved)
    ]
    mine.sort(key=lambda each: abs(each.line - question.spot.line))
    return tuple(mine[:_MAX_REMARKS])


def _places(
    proposals: Iterable[Proposal], documents: Mapping[str, Document]
) -> Iterable[tuple[str, int, str]]:
    """Go through what would be changed, as the file, the line, and the line as it is."""
    for each in proposals:
        if not isinstance(each, EditProposal) or each.uri not in documents:
            continue
        lines = documents[each.uri].lines
        for edit in each.edits[:1]:
            if edit.span.start.line < len(lines):
                line = edit.span.start.line
                yield each.uri, line, content(lines[line]).strip()[:_MAX_WORDS]


def _piece(document: Document, visible: Span) -> str:
    top = visible.start.line
    lines = document.lines[top : min(visible.end.line + 1, top + _MAX_SEEN_LINES)]
    return "".join(f"{content(line)}\n" for line in lines)


def _clipped(text: str, most: int) -> str:
    """Return as many whole lines of a text as fit."""
    if len(text) <= most:
        return text
    return text[: text.rfind("\n", 0, most) + 1]
