"""The interface of engines of next edit suggestions, and the values that they exchange.

An engine predicts; it knows nothing of the wire. Places are lines and columns counted from 0, in
code points, whatever encoding the client speaks: `serving` translates.

One `Predictor` belongs to one NES session. It is called on one event loop, in the order in which
the client has sent things, and never from another thread. All methods but `suggest` are plain calls
that have to return at once. A `suggest` may take long, and it can be cancelled wherever it awaits;
while it awaits, documents may change, outcomes may arrive, the session may be closed, and another
`suggest` may begin and even end before it. So an engine may rely on what it has only until its next
`await`, except for the question, whose document is a copy that stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import Document

__all__ = [
    "META",
    "ActionProposal",
    "Change",
    "Diagnostic",
    "DocumentEvent",
    "DocumentEventKind",
    "EditProposal",
    "Engine",
    "HistoryEntry",
    "JumpProposal",
    "Outcome",
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
    "WorkspaceFolder",
]

META = "parley"
"""Under which key of `_meta` our agents say the rule and the score of a suggestion, and more."""
Trigger: TypeAlias = Literal["automatic", "diagnostic", "manual"]
Outcome: TypeAlias = Literal["accepted", "rejected", "ignored", "replaced", "cancelled"]
DocumentEventKind: TypeAlias = Literal["didOpen", "didChange", "didClose", "didSave", "didFocus"]


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
    """The probability that the user keeps it, from 0 to 1."""
    rule: str = ""
    """The rule that made it, such as `repeat` or `rename`; may be empty."""
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


class ActionProposal(Struct, frozen=True, kw_only=True):
    """Run one of the client's IDE actions; `Question.ide_actions` lists them."""

    action_id: str
    uri: str = ""
    """The document that it is about, if any; it is not sent."""
    arguments: dict[str, Any] = {}
    """Sent as they are, so positions count in the session's encoding: `session.encoding`."""
    score: float = 1.0
    rule: str = ""
    meta: dict[str, Any] = {}


Proposal: TypeAlias = (
    EditProposal | JumpProposal | RenameProposal | ReplaceProposal | ActionProposal
)


class WorkspaceFolder(Struct, frozen=True):
    """A folder of the client's workspace, which may be on another machine."""

    uri: str
    name: str


class Workspace(Struct, frozen=True, kw_only=True):
    """The workspace of a session, as the client describes it."""

    folders: tuple[str, ...] = ()
    """Paths of the folders on this machine; none where they are elsewhere."""
    repository: str | None = None
    """`owner/name`, if it is a repository."""
    remote_url: str | None = None
    """The address of the repository, as the client sent it."""
    uri: str | None = None
    """The URI of the workspace, as the client sent it, wherever it is."""
    named_folders: tuple[WorkspaceFolder, ...] = ()
    """The folders as the client sent them, wherever they are."""


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
    """A request for suggestions: the text, the cursor, and the context."""

    document: Document
    """The text that is asked about; what is changed later is not in it. Proposals are about it."""
    spot: Spot
    """Where the cursor is."""
    selection: Span | None = None
    trigger: Trigger = "automatic"
    kinds: frozenset[str] = frozenset({"edit"})
    """The kinds that the client shows: `edit`, `jump`, `rename`, `searchAndReplace`, `action`."""
    recent: tuple[Document, ...] = ()
    """Other files that were open lately, as the client sends them."""
    snippets: tuple[Snippet, ...] = ()
    history: tuple[HistoryEntry, ...] = ()
    actions: tuple[UserAction, ...] = ()
    open_uris: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    ide_actions: Mapping[str, dict[str, Any]] = {}
    """The IDE actions that the client runs, by id, each with the schema of its arguments if the
    client sends one. Renames and replacements are not among them: they have proposals."""

    @property
    def is_after_undo(self) -> bool:
        """Whether the user has just taken something back, as far as the client tells."""
        return bool(self.actions) and "undo" in self.actions[-1].action.lower()


class DocumentEvent(Struct, frozen=True, kw_only=True):
    """Something that happened to a document of the client."""

    kind: DocumentEventKind
    uri: str
    document: Document | None = None
    """The document, changed in place by later events; for `didClose` as it was last. None if the
    agent does not have its current text: it follows no changes, or the document is too large."""
    changes: tuple[Change, ...] = ()
    """For `didChange`: what was changed in `document`."""
    spot: Spot | None = None
    """For `didFocus`: the cursor. Without `document`, it counts in the session's encoding."""
    visible: Span | None = None
    """For `didFocus`: what the user sees of the document, counted in the same way."""


class Predictor:
    """One session of an engine; a subclass overrides `suggest`, and what it wants to know."""

    def opened(self, document: Document) -> None:
        """Handle a document that was opened; the same object is given later, changed in place."""

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        """Handle changes of a document, which has the new text already."""

    def closed(self, document: Document) -> None:
        """Handle a document that was closed."""

    def saved(self, document: Document) -> None:
        """Handle a document that was saved."""

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        """Handle a document that came to the front."""

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        """Return what the user might want next, best first."""
        raise NotImplementedError

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        """Handle the outcome of a proposal; it is the object that `suggest` has returned."""

    def set_option(self, config_id: str, value: str | bool) -> None:
        """Change one of the engine's options; the value is one of those that it offers."""

    def close(self) -> None:
        """Release everything that the session holds."""


class Engine(Protocol):
    """Predicts the next edit, for any number of sessions."""

    @property
    def context(self) -> frozenset[str]:
        """The context that it wants with each question: `recentFiles`, `editHistory` and so on."""
        ...

    def options(self) -> Sequence[Any]:
        """Return its config options, each a `SessionConfigOption` of version 2."""
        ...

    def begin(self, workspace: Workspace) -> Predictor:
        """Start a session."""
        ...
