"""One session with a model: follows the documents, asks, and keeps of the answer what is wanted."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from parley.nes._documents.differences import differences
from parley.nes._documents.document import Document
from parley.nes._documents.past import Past
from parley.nes.engine import (
    Change,
    EditProposal,
    Outcome,
    Predictor,
    Proposal,
    Question,
    Span,
    Spot,
    TextEdit,
    Workspace,
)

from ._api import Completion
from ._context import Surroundings, is_sayable
from ._differences import edits_of
from ._filters import breaks_syntax, is_unlike, leaks, undoes_edit, without_space
from ._formats import PromptFormat, Rewrite
from ._history import History
from ._situation import Situation
from ._source import Flights, Source
from ._window import Window, window_around

RULE = "model"
"""The rule of a model's proposals."""
_MAX_REJECTED = 20
_MAX_MADE = 100
_MAX_ANSWER = 64 * 1024
_MAX_NEW = 16 * 1024
_MAX_NEW_LINES = 400
"""A sensible answer has no more characters, and the lines in it no more of them."""
_SCORE = 0.5

_Trace: TypeAlias = tuple[str, tuple[str, ...], str]


class Reach(NamedTuple):
    """The size of what a model may rewrite."""

    lines: int
    tokens: int


class ModelPredictor(Predictor):
    """One session."""

    def __init__(
        self,
        source: Source,
        format: PromptFormat,
        workspace: Workspace,
        *,
        reach: Reach,
        clock: Callable[[], float],
        on_close: Callable[[], None],
    ) -> None:
        self._source = source
        self._format = format
        self._reach = reach
        self._on_close: Callable[[], None] | None = on_close
        self._around = Surroundings(workspace)
        self._history = History(clock, self._around.path_of)
        self._pasts: dict[str, Past] = {}
        self._flights = Flights(source)
        self._rejected: deque[_Trace] = deque(maxlen=_MAX_REJECTED)
        self._made: deque[tuple[EditProposal, _Trace]] = deque(maxlen=_MAX_MADE)
        self.model_state: str | None = None
        """The state of the model after the last question.

        Empty if it answered, why it did not, or None if it was not to be asked.
        """

    def opened(self, document: Document) -> None:
        """Follow a document."""
        self._around.documents[document.uri] = document
        self._history.log.opened(document)
        self._pasts[document.uri] = Past(document)

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        """Remember what was changed."""
        self._history.log.changed(document.uri, changes)
        if document.uri in self._pasts:
            self._pasts[document.uri].change(changes)

    def closed(self, document: Document) -> None:
        """Follow a document no longer; its edits are still known."""
        self._around.closed(document)
        self._history.log.closed(document.uri)
        self._pasts.pop(document.uri, None)

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        """Remember what the user looks at."""
        self._around.seen(document, visible)

    async def suggest(
        self, question: Question, candidates: Sequence[Proposal] = ()
    ) -> Sequence[Proposal]:
        """Ask the model what the user might want next.

        Args:
            question: Where the user is.
            candidates: The proposals of another engine, whose places the prompt names.
        """
        situation = self._situation(question, candidates)
        if situation is None:
            self.model_state = self._source.complaint if self._source.is_resting else None
            return ()
        completion = await self._flights.ask(self._format.prompt(situation))
        if completion is None:
            self.model_state = self._source.complaint or None
            return ()
        self.model_state = ""
        rewrite = self._rewrite(completion, situation)
        return () if rewrite is None else self._proposals(question, situation, rewrite)

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        """Remember what was taken, and what is not to be proposed again."""
        if not isinstance(proposal, EditProposal):
            return
        if outcome == "accepted":
            self._history.accepted(proposal)
        elif outcome == "rejected":
            self._rejected += [trace for made, trace in self._made if made is proposal]

    def close(self) -> None:
        """Forget everything, and end what is under way."""
        on_close, self._on_close = self._on_close, None
        self._flights.close()
        if on_close is not None:
            on_close()

    def _situation(self, question: Question, candidates: Sequence[Proposal]) -> Situation | None:
        """Return the input of the prompt; None if the model is not to be asked."""
        document = question.document
        is_wanted = "edit" in question.kinds and self._on_close is not None
        if not is_wanted or self._around.is_private(document.uri):
            return None
        is_bad_time = self._source.is_resting or self._is_undoing(question)
        if is_bad_time and question.trigger != "manual":
            return None
        window = window_around(
            document, question.spot, lines=self._reach.lines, tokens=self._reach.tokens
        )
        if window is None or not is_sayable(
            f"{self._around.path_of(document.uri)}\n{window.whole}", self._format.reserved
        ):
            return None
        return self._around.situation(
            question,
            window,
            self._history.events(self._around.documents, question.history),
            proposals=candidates,
            reserved=self._format.reserved,
        )

    def _is_undoing(self, question: Question) -> bool:
        past = self._pasts.get(question.document.uri)
        return question.is_after_undo or (past is not None and past.is_undoing)

    def _rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Read an answer; None if it is none that may become a proposal."""
        if len(completion.text) > _MAX_ANSWER:
            return None
        text = completion.text.replace("\r\n", "\n").replace("\r", "\n")
        rewrite = self._format.rewrite(completion._replace(text=text), situation)
        if rewrite is None or leaks(situation.window.whole, rewrite.text):
            return None
        is_long = len(rewrite.text) > _MAX_NEW or rewrite.text.count("\n") > _MAX_NEW_LINES
        return None if is_long else rewrite

    def _proposals(
        self, question: Question, situation: Situation, rewrite: Rewrite
    ) -> Sequence[Proposal]:
        document, window = question.document, situation.window
        found = differences(window.text, rewrite.text)
        if is_unlike(window.text, found):
            return ()
        wanted = [
            each
            for each in without_space(found)
            if not undoes_edit(each, situation.events, document.uri)
        ]
        edits = edits_of(window, wanted)
        if not edits or _trace(document, edits) in self._rejected:
            return ()
        after = _edited(document, edits)
        past = self._pasts.get(document.uri)
        if (past is not None and past.had(after)) or breaks_syntax(document, after):
            return ()
        is_whole = len(wanted) == len(found)
        proposal = EditProposal(
            uri=document.uri,
            edits=edits,
            cursor=_cursor(window, rewrite) if is_whole else None,
            score=_SCORE,
            rule=RULE,
            meta={"format": self._format.name},
        )
        self._made.append((proposal, _trace(document, edits)))
        return (proposal,)


def _trace(document: Document, edits: Sequence[TextEdit]) -> _Trace:
    """Return what tells an edit from others, wherever it has moved to."""
    line = document.lines[edits[0].span.start.line]
    return document.uri, tuple(each.text for each in edits), line


def _edited(document: Document, edits: Sequence[TextEdit]) -> Document:
    copy = document.copy()
    for edit in sorted(edits, key=lambda each: each.span, reverse=True):
        copy.edit(edit.span, edit.text)
    return copy


def _cursor(window: Window, rewrite: Rewrite) -> Spot | None:
    """Return where the model would put the cursor, in the changed text."""
    if rewrite.cursor is None:
        return None
    head = rewrite.text[: rewrite.cursor]
    return Spot(window.first + head.count("\n"), len(head) - head.rfind("\n") - 1)
