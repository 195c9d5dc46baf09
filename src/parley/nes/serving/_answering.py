"""Proposals of an engine as suggestions for a client: its kinds, its encoding, and ids.

What the client cannot show, what changes nothing at all, and what is about a text that nobody here
knows is left out. Places are those of the version that was asked about, also when the document has
changed since: an answer names no version, so the client can take it for no other.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias, cast

from parley.errors import InternalError
from parley.nes._documents.change import Spot
from parley.nes._documents.document import Document
from parley.nes._documents.encoding import position_of, range_of
from parley.nes._documents.paths import is_same_file
from parley.nes.engine import (
    META,
    ActionProposal,
    EditProposal,
    JumpProposal,
    Proposal,
    Question,
    RenameProposal,
    ReplaceProposal,
    TextEdit,
)
from parley.schema import v2

from ._session import ServedSession

logger = logging.getLogger(__name__)

_KINDS: dict[type[Any], str] = {
    EditProposal: "edit",
    JumpProposal: "jump",
    RenameProposal: "rename",
    ReplaceProposal: "searchAndReplace",
    ActionProposal: "action",
}
Known: TypeAlias = Mapping[str, tuple[Document, int]]
"""Documents with their versions, by their URIs."""


def checked(found: object) -> Sequence[Proposal]:
    """Return what a program answers, if these are proposals; None is no answer.

    Raises:
        InternalError: It is something else; the client and the log learn what.
    """
    if found is None:
        return ()
    listed: Sequence[object] = cast(Sequence[object], found) if _is_list(found) else ()
    strange = [each for each in listed if type(each) not in _KINDS]
    if _is_list(found) and not strange:
        return cast(Sequence[Proposal], listed)
    what = f"a list with {_type(strange[0])} in it" if strange else _type(found)
    problem = f"What suggests edits returned {what}, and not a list of proposals"
    logger.error("%s", problem)
    raise InternalError(problem)


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _type(value: object) -> str:
    return type(value).__name__


async def make_suggestions(
    session: ServedSession,
    question: Question,
    proposals: Sequence[Proposal],
    context: v2.NesSuggestContext,
    known: Known,
) -> list[v2.NesSuggestion]:
    """Return the suggestions for a client, and remember them.

    Args:
        session: For which they are.
        question: What was asked.
        proposals: What the engine has answered.
        context: What came with the question.
        known: Which documents were open then, and their versions; what has changed since is not
            known any more.
    """
    answers = (_Answer(session, question, each, context, known) for each in proposals)
    found = [await each.suggestion() for each in answers]
    return [each for each in found if each is not None]


class _Answer:
    """One proposal on its way."""

    def __init__(
        self,
        session: ServedSession,
        question: Question,
        proposal: Proposal,
        context: v2.NesSuggestContext,
        known: Known,
    ) -> None:
        self._context = context
        self._known = known
        self._session = session
        self._question = question
        self._proposal = proposal

    async def suggestion(self) -> v2.NesSuggestion | None:
        """Return the suggestion; None where there is nothing to say."""
        proposal = self._proposal
        if _KINDS[type(proposal)] not in self._question.kinds:
            return None
        if isinstance(proposal, ActionProposal):
            return self._action(proposal)
        if isinstance(proposal, ReplaceProposal):
            if proposal.search == proposal.replace and not proposal.is_regex:
                return None
            return v2.NesSearchAndReplaceSuggestion(
                uri=proposal.uri,
                search=proposal.search,
                replace=proposal.replace,
                is_regex=proposal.is_regex or None,
                **self._named(),
            )
        document = await self._document(proposal.uri)
        if document is None:
            return None
        if isinstance(proposal, EditProposal):
            return self._edit(proposal, document)
        position = position_of(document, proposal.spot, self._session.encoding)
        if isinstance(proposal, JumpProposal):
            return v2.NesJumpSuggestion(uri=proposal.uri, position=position, **self._named())
        return v2.NesRenameSuggestion(
            uri=proposal.uri, position=position, new_name=proposal.new_name, **self._named()
        )

    def _action(self, proposal: ActionProposal) -> v2.NesSuggestion | None:
        if proposal.action_id not in self._question.ide_actions:
            return None
        return v2.NesActionSuggestion(
            action_id=proposal.action_id, arguments=proposal.arguments, **self._named()
        )

    def _edit(self, edit: EditProposal, document: Document) -> v2.NesSuggestion | None:
        changing = (each for each in edit.edits if document.between(each.span) != each.text)
        edits = sorted(changing, key=lambda each: each.span)
        if not edits:
            return None
        if any(one.span.end > other.span.start for one, other in pairwise(edits)):
            by = f" by {edit.rule}" if edit.rule else ""
            logger.warning("the edits of a proposal%s overlap; it is left out", by)
            return None
        encoding = self._session.encoding
        return v2.NesEditSuggestion(
            uri=edit.uri,
            edits=[
                v2.NesTextEdit(range=range_of(document, each.span, encoding), new_text=each.text)
                for each in edits
            ],
            cursor_position=self._cursor(document, edits, edit.cursor),
            **self._named(),
        )

    def _cursor(
        self, document: Document, edits: Sequence[TextEdit], cursor: Spot | None
    ) -> v2.Position | None:
        """Return where the cursor goes, in the text as it is with the edits."""
        if cursor is None:
            return None
        changed = document.copy()
        for each in reversed(edits):
            changed.edit(each.span, each.text)
        return position_of(changed, cursor, self._session.encoding)

    async def _document(self, uri: str) -> Document | None:
        """Return the text that the proposal's places are in; None if nobody here knows it.

        What is on the disk counts only where the file is known not to be open in the editor.
        """
        if uri == self._question.document.uri:
            return self._question.document
        documents = self._session.documents
        if uri in self._known or documents.get(uri) is not None:
            now = documents.current(uri)
            is_same = now is not None and self._known.get(uri) == (now, now.version)
            return now if is_same else None
        recent = (each for each in self._question.recent if each.uri == uri)
        if (found := next(recent, None)) is not None:
            return found
        if is_same_file(uri, self._question.document.uri):
            return None
        text = await self._session.files.read(uri)
        if text is None or not self._session.has_on_disk(uri, self._context):
            return None
        return Document(uri, "", 0, text)

    def _named(self) -> dict[str, Any]:
        """Return the suggestion's id, and what is said about it."""
        proposal = self._proposal
        rule = {"rule": proposal.rule} if proposal.rule else {}
        about = {**proposal.meta, **rule, "score": round(proposal.score, 4)}
        return {"suggestion_id": self._session.suggested(proposal), "meta": {META: about}}
