"""The session of a language server: documents, offered edits, and their outcomes.

Nothing here knows LSP's messages; places are as the client counts them. An edit names the version
that it is for: what the user types while the engine thinks moves it, or ends it. A completion names
none, so there is none for a text that has changed.

Editors ask for an edit once, at the first pause, when a word may be half typed. What has no answer
then is asked again here, when the user has rested.
"""

from __future__ import annotations

import asyncio
import difflib
import itertools
import json
import logging
import reprlib
from collections.abc import Sequence
from typing import cast

from msgspec import Struct

from parley.nes._documents.document import Document
from parley.nes._documents.encoding import Encoding, range_of, spot_of
from parley.nes._documents.store import MAX_BYTES, Documents
from parley.nes._feed import DocumentFeed
from parley.nes._rebase import Step, end_after, rebased
from parley.nes.engine import (
    EditProposal,
    Engine,
    Outcome,
    Question,
    Span,
    Spot,
    TextEdit,
    Trigger,
    Workspace,
)
from parley.schema.v2 import Position, Range, TextDocumentContentChangeEvent
from parley.schema.v2.config import SessionConfigBoolean, SessionConfigSelect

from .shapes import as_completion, as_one

logger = logging.getLogger(__name__)

_MAX_OFFERS = 64
_REST_AFTER = 0.8
"""So many seconds after the last change a word is whole."""
_VISIBLE_LINES = 25


class Offer(Struct, frozen=True):
    """One replacement that an editor may show."""

    id: str
    uri: str
    version: int
    range: Range
    text: str


class _PendingQuestion(Struct, eq=False):
    """A question, what it was about, and what became of it."""

    spot: Spot
    documents: dict[str, Document]
    """The document that was open."""
    proposals: Sequence[EditProposal] = ()
    steps: list[Step] = []
    """The changes until the engine responded."""


class Session:
    """One editor."""

    def __init__(
        self,
        engine: Engine,
        folders: Sequence[str],
        encoding: Encoding,
        *,
        rest_after: float = _REST_AFTER,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._encoding: Encoding = encoding
        self._rest_after = rest_after
        self._rested_at = 0.0
        self._documents = Documents(encoding, max_bytes=max_bytes)
        self._predictor = engine.begin(Workspace(folders=tuple(folders)))
        self._feed = DocumentFeed(self._documents, self._predictor)
        self._options = {each.config_id: each for each in engine.options()}
        self._offered: dict[str, EditProposal] = {}
        self._shown: set[str] = set()
        self._spots: dict[str, Spot] = {}
        self._asking: list[_PendingQuestion] = []
        self._ids = itertools.count(1)

    def set_options(self, values: dict[str, object]) -> list[str]:
        """Set those of the engine's options that are named; return what is wrong with others.

        A name that is not even like one of them may be meant for somebody else: that is logged.
        """
        wrong: list[str] = []
        for name, value in values.items():
            option = self._options.get(name)
            choices = _choices(option)
            if any(value is each for each in choices) or (
                isinstance(value, str) and value in choices
            ):
                self._predictor.set_option(name, cast(str | bool, value))
            elif option is not None:
                listed = ", ".join(json.dumps(each) for each in choices)
                wrong.append(f"{name} is one of {listed}, and not {reprlib.repr(value)}")
            elif close := difflib.get_close_matches(name, self._options, 1):
                wrong.append(f"there is no option {reprlib.repr(name)}; did you mean {close[0]}?")
            else:
                logger.warning("there is no option %s", reprlib.repr(name))
        return wrong

    def opened(self, uri: str, language_id: str, version: int, text: str) -> None:
        """Take a document that was opened."""
        self._spots.pop(uri, None)
        self._feed.opened(uri, language_id, version, text)

    def changed(
        self, uri: str, version: int, changes: Sequence[TextDocumentContentChangeEvent]
    ) -> None:
        """Take changes of a document."""
        made = self._feed.changed(uri, version, changes)
        if made:
            self._rested_at = asyncio.get_running_loop().time() + self._rest_after
            for each in self._asking:
                each.steps += [Step(uri, it, end_after(it.span.start, it.new), "") for it in made]

    def saved(self, uri: str) -> None:
        """Record that a document was saved."""
        self._feed.saved(uri)

    def closed(self, uri: str) -> None:
        """Forget a document."""
        self._spots.pop(uri, None)
        self._feed.closed(uri)

    def focused(self, uri: str) -> None:
        """Record that a document came to the front; where, is a guess."""
        document = self._documents.current(uri)
        if document is None:
            return
        spot = document.clamp(self._spots.get(uri, Spot(0, 0)))
        top = document.clamp(Spot(max(0, spot.line - _VISIBLE_LINES), 0))
        bottom = document.clamp(Spot(spot.line + _VISIBLE_LINES, 0))
        self._predictor.focused(document, spot, Span(top, bottom))

    async def edits(
        self, uri: str, position: Position, *, version: int | None, trigger: Trigger
    ) -> list[Offer]:
        """Return the best edit, wherever it is; at most one.

        Args:
            uri: In which document the cursor is.
            position: Where it is there.
            version: The document's version that the editor asks about, if it says so.
            trigger: Why it asks.
        """
        outcome = await self._ask(uri, position, version, trigger)
        wait = self._rested_at - asyncio.get_running_loop().time()
        if not outcome.proposals and trigger == "automatic" and wait > 0:
            await asyncio.sleep(wait)
            outcome = await self._ask(uri, position, version, trigger)
        for proposal in outcome.proposals:
            document = self._documents.current(proposal.uri)
            edits = _rebased(proposal, outcome.steps)
            if document is not None and edits and outcome.documents.get(document.uri) is document:
                return [self._offer(document, as_one(document, edits, outcome.spot), proposal)]
        return []

    async def completions(self, uri: str, position: Position, *, trigger: Trigger) -> list[Offer]:
        """Return what can be written at the cursor, the best first."""
        offers: list[Offer] = []
        outcome = await self._ask(uri, position, None, trigger)
        for proposal in outcome.proposals:
            document, spot = self._documents.current(uri), outcome.spot
            if document is None or proposal.uri != uri or outcome.steps:
                continue
            edit = as_completion(document, as_one(document, proposal.edits, spot), spot)
            if edit is not None:
                offers.append(self._offer(document, edit, proposal))
        return offers

    def shown(self, offer_id: str) -> None:
        """Record that the user sees an offer."""
        if offer_id in self._offered:
            self._shown.add(offer_id)

    def settle(self, offer_id: str, outcome: Outcome) -> None:
        """Record what became of an offer; one that is not known is no matter."""
        proposal = self._offered.pop(offer_id, None)
        self._shown.discard(offer_id)
        if proposal is not None:
            self._predictor.on_outcome(proposal, outcome)

    def close(self) -> None:
        """End the session."""
        self._predictor.close()

    async def _ask(
        self, uri: str, position: Position, version: int | None, trigger: Trigger
    ) -> _PendingQuestion:
        """Ask the engine once, and return what it proposes with what was changed meanwhile."""
        pending = _PendingQuestion(
            spot=Spot(0, 0), documents={each.uri: each for each in self._documents}
        )
        document = self._documents.current(uri)
        if document is None or version not in (None, document.version):
            return pending
        pending.spot = self._spots[uri] = spot_of(document, position, self._encoding)
        question = Question(
            document=document.copy(),
            spot=pending.spot,
            trigger=trigger,
            open_uris=tuple(pending.documents),
        )
        self._asking.append(pending)
        try:
            found = await self._predictor.suggest(question)
        finally:
            self._asking = [each for each in self._asking if each is not pending]
        if self._documents.get(uri) is document:
            edits = [each for each in found if isinstance(each, EditProposal) and each.edits]
            self._forget(edits)
            pending.proposals = edits
        return pending

    def _forget(self, fresh: Sequence[EditProposal]) -> None:
        """Settle what was offered before: what was shown and is not offered again was ignored."""
        again = [(each.uri, each.edits) for each in fresh]
        for offer_id, proposal in [*self._offered.items()]:
            if offer_id in self._shown and (proposal.uri, proposal.edits) not in again:
                self.settle(offer_id, "ignored")
        while len(self._offered) > _MAX_OFFERS:
            oldest = next(iter(self._offered))
            del self._offered[oldest]
            self._shown.discard(oldest)

    def _offer(self, document: Document, edit: TextEdit, proposal: EditProposal) -> Offer:
        offer_id = str(next(self._ids))
        self._offered[offer_id] = proposal
        place = range_of(document, edit.span, self._encoding)
        return Offer(offer_id, document.uri, document.version, place, edit.text)


def _choices(option: object) -> tuple[str | bool, ...]:
    """Return the values that an option may have; none if there is no such option."""
    if isinstance(option, SessionConfigBoolean):
        return (True, False)
    if not isinstance(option, SessionConfigSelect):
        return ()
    return tuple(str(value) for each in option.options if (value := getattr(each, "value", None)))


def _rebased(proposal: EditProposal, steps: Sequence[Step]) -> tuple[TextEdit, ...]:
    """Return a proposal's edits as they are after some changes; none if they are over."""
    edits = tuple(sorted(proposal.edits, key=lambda each: each.span))
    for step in steps:
        if step.uri == proposal.uri:
            left = rebased(edits, step)
            if left is None:
                return ()
            edits = left.edits
    return edits
