"""What every engine of next edit suggestions has in common, and what it is asked.

An engine predicts; it knows nothing of the wire. Places are lines and columns counted from 0, in
code points, whatever encoding the client speaks: `serving` translates.

One `Predictor` belongs to one NES session. It is called on one event loop, in the order in which
the client has sent things, and never from another thread. All methods but `suggest` are plain calls
that have to return at once. A `suggest` may take long, and it can be cancelled wherever it awaits;
while it awaits, documents may change, fates may be told, the session may be closed, and another
`suggest` may begin and even end before it. So an engine may rely on what it has only until its next
`await`, except for the question, whose document is a copy that stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from .documents.change import Change, Span, Spot
from .documents.document import Document

__all__ = [
    "META",
    "Change",
    "Diagnostic",
    "EditProposal",
    "Engine",
    "Fate",
    "HistoryEntry",
    "JumpProposal",
    "Predictor",
    "Proposal",
    "Question",
    "RenameProposal",
    "ReplaceProposal",
    "Snippet",
    "Span",
    "Spot",
    "TextEdit",
    "Trigger",
    "UserAction",
    "Workspace",
]

META = "parley"
"""Under which key of `_meta` our agents say the rule and the score of a suggestion, and more."""
Trigger: TypeAlias = Literal["automatic", "diagnostic", "manual"]
Fate: TypeAlias = Literal["accepted", "rejected", "ignored", "replaced", "cancelled"]


class TextEdit(Struct, frozen=True):
    """One replacement to be made in a document."""

    span: Span
    text: str


class EditProposal(Struct, frozen=True, kw_only=True):
    """Change a document; all spans are of the text as it is, and do not overlap."""

    uri: str
    edits: tuple[TextEdit, ...]
    cursor: Spot | None = None
    """Where to put the cursor afterwards, in the changed text."""
    score: float = 1.0
    """How likely it is that the user keeps it, from 0 to 1."""
    rule: str = ""
    """What made it, such as `repeat` or `rename`; empty if there is no word for it."""
    meta: dict[str, Any] = {}
    """More about it, for `_meta`: `remaining` and the like."""


class JumpProposal(Struct, frozen=True, kw_only=True):
    """Go somewhere."""

    uri: str
    spot: Spot
    score: float = 1.0
    rule: str = ""
    meta: dict[str, Any] = {}


class RenameProposal(Struct, frozen=True, kw_only=True):
    """Rename the symbol at a place."""

    uri: str
    spot: Spot
    new_name: str
    score: float = 1.0
    rule: str = "rename"
    meta: dict[str, Any] = {}


class ReplaceProposal(Struct, frozen=True, kw_only=True):
    """Replace every occurrence in a document."""

    uri: str
    search: str
    replace: str
    is_regex: bool = False
    score: float = 1.0
    rule: str = ""
    meta: dict[str, Any] = {}


Proposal: TypeAlias = EditProposal | JumpProposal | RenameProposal | ReplaceProposal


class Workspace(Struct, frozen=True, kw_only=True):
    """What a client says when it starts a session."""

    folders: tuple[str, ...] = ()
    """Paths of the folders on this machine; none where they are elsewhere."""
    repository: str | None = None
    """`owner/name`, if it is a repository."""


class Diagnostic(Struct, frozen=True):
    """An error or a warning about a document."""

    uri: str
    span: Span
    severity: str
    message: str


class HistoryEntry(Struct, frozen=True):
    """An edit that the client tells about: a unified diff, often without headers."""

    uri: str
    diff: str


class Snippet(Struct, frozen=True):
    """Some lines of a file."""

    uri: str
    line: int
    text: str


class UserAction(Struct, frozen=True):
    """Something that the user did, such as `insertChar`."""

    action: str
    uri: str
    spot: Spot
    milliseconds: int


class Question(Struct, frozen=True, kw_only=True):
    """What might the user want next?"""

    document: Document
    """The text that is asked about; what is changed later is not in it. Proposals are about it."""
    spot: Spot
    """Where the cursor is."""
    selection: Span | None = None
    trigger: Trigger = "automatic"
    kinds: frozenset[str] = frozenset({"edit"})
    """What the client can show: `edit`, `jump`, `rename`, `searchAndReplace`."""
    recent: tuple[Document, ...] = ()
    """Files that were open lately, as the client tells them."""
    snippets: tuple[Snippet, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    actions: tuple[UserAction, ...] = ()
    open_uris: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def is_after_undo(self) -> bool:
        """Whether the user has just taken something back, as far as the client tells."""
        return bool(self.actions) and "undo" in self.actions[-1].action.lower()


class Predictor(Protocol):
    """One session of an engine."""

    def opened(self, document: Document) -> None:
        """A document was opened; the same object is given later, changed in place."""

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        """A document was changed; it has the new text already."""

    def closed(self, document: Document) -> None:
        """A document was closed."""

    def saved(self, document: Document) -> None:
        """A document was saved."""

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        """A document came to the front."""

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        """Return what the user might want next, best first."""
        ...

    def told(self, proposal: Proposal, fate: Fate) -> None:
        """Learn what became of a proposal."""

    def set_option(self, config_id: str, value: str | bool) -> None:
        """Change one of the engine's options; the value is one of those that it offers."""

    def close(self) -> None:
        """Forget everything and let go of what is held."""


class Engine(Protocol):
    """Predicts the next edit, for any number of sessions."""

    @property
    def context(self) -> frozenset[str]:
        """What it wants with each question: `recentFiles`, `editHistory` and so on."""
        ...

    def options(self) -> Sequence[Any]:
        """Return its config options, as version 2's `SessionConfigOption`s."""
        ...

    def begin(self, workspace: Workspace) -> Predictor:
        """Start a session."""
        ...
