"""One session of suggestions on the wire: it says what the agent has asked for, and nothing else.

Every verb that sends something takes `meta=`, the `_meta` of the message.

This is the protocol alone. When to ask, and what becomes of the answers, is `NesClient`'s; a
program that wants neither, as the measure, uses a `NesSession` by itself.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from parley.client import Connection
from parley.errors import AcpError, ConnectionClosed
from parley.nes._documents.change import Change, Span, Spot
from parley.nes._documents.document import Document
from parley.nes._documents.encoding import Encoding, position_of, range_of
from parley.nes.engine import Outcome, TextEdit, Trigger
from parley.schema import v2
from parley.schema.base import JsonObject, Method
from parley.schema.v2 import methods
from parley.schema.v2.methods import SET_SESSION_CONFIG_OPTION

from ._workspace import start_request

logger = logging.getLogger(__name__)

P = TypeVar("P")

_SET_OPTION = replace(SET_SESSION_CONFIG_OPTION, capability="nes")
"""An agent that has no conversations may have options all the same."""

ENCODINGS: tuple[Encoding, ...] = ("utf-32", "utf-16", "utf-8")
"""The position encodings of a Parley client, best first."""
KINDS = ("jump", "rename", "searchAndReplace")
"""The kinds that a client can show besides edits."""
ACTION = "action"
"""The kind of a suggestion that runs an IDE action of the client."""


def shown_kinds(
    kinds: Iterable[str], actions: Iterable[str] | Mapping[str, dict[str, Any]] = ()
) -> v2.ClientNesCapabilities:
    """Return the capabilities of a client that shows these kinds of suggestions, and edits.

    Args:
        kinds: Of `KINDS`.
        actions: The ids of the IDE actions that it runs besides, or a mapping from the ids to the
            JSON Schemas of their arguments.

    Raises:
        ValueError: There is no such kind, or an action that is a kind.
    """
    shown = set(kinds)
    given: dict[str, dict[str, Any]] = {each: {} for each in actions}
    if isinstance(actions, Mapping):
        given |= cast("Mapping[str, dict[str, Any]]", actions)
    if known := given.keys() & {*KINDS, "edit"}:
        raise ValueError(f"{min(known)!r} is a kind of suggestion, not an action: use kinds=")
    if unknown := shown.difference(KINDS, {"edit"}):
        raise ValueError(f"there is no kind {min(unknown)!r}; choose from edit, {', '.join(KINDS)}")
    return v2.ClientNesCapabilities(
        jump=v2.NesJumpCapabilities() if "jump" in shown else None,
        rename=v2.NesRenameCapabilities() if "rename" in shown else None,
        search_and_replace=(
            v2.NesSearchAndReplaceCapabilities() if "searchAndReplace" in shown else None
        ),
        ide_actions=given or None,
    )


def kinds_of(shown: v2.ClientNesCapabilities | None) -> frozenset[str]:
    """Return the kinds of suggestions that a client shows; edits are always among them."""
    shown = shown or v2.ClientNesCapabilities()
    named = zip(KINDS, (shown.jump, shown.rename, shown.search_and_replace), strict=True)
    actions = [ACTION] if shown.ide_actions else []
    return frozenset({"edit", *actions, *(name for name, is_on in named if is_on is not None)})


def sendable(text: str) -> str:
    """Return a text as JSON can have it: without lone surrogates; all places stay as they are."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)
    return text


class NesSession:
    """A session that was started; made by `NesSession.start`."""

    def __init__(self, connection: Connection, response: v2.StartNesResponse) -> None:
        self.connection = connection
        self.id = response.session_id
        """The id of the session; it is not a session of a conversation."""
        self.config_options = list(response.config_options)
        """The config options."""
        features = connection.features
        offer = features.nes or v2.NesCapabilities()
        events = offer.events or v2.NesEventCapabilities()
        self.wants = events.document or v2.NesDocumentEventCapabilities()
        """Which events the agent wants to hear of."""
        self.context = offer.context or v2.NesContextCapabilities()
        """The context that it wants with each question."""
        self.encoding: Encoding = "utf-16"
        """The unit of positions."""
        if features.position_encoding is not None and connection.offered.position_encodings:
            self.encoding = features.position_encoding
        self.kinds = kinds_of(connection.offered.nes)
        """Which suggestions the agent may make."""
        shown = connection.offered.nes
        self.actions = frozenset(() if shown is None else shown.ide_actions or ())
        """Which IDE actions it may suggest."""

    @classmethod
    async def start(
        cls,
        connection: Connection,
        folders: Iterable[Path] = (),
        *,
        response_timeout: float | None = None,
        meta: JsonObject | None = None,
    ) -> NesSession:
        """Begin a session; if the agent wants a login, the user is asked for it.

        Args:
            connection: The agent; it may have no conversations at all.
            folders: The folders of the workspace, the main one first.
            response_timeout: How many seconds the agent has to respond; None for ever.
            meta: The `_meta` of the request.

        Raises:
            TimeoutError: The agent has not answered in time.
            Unsupported: The agent makes no suggestions.
            AuthRequired: It wants a login, and there was none.
        """
        request = replace(start_request(folders), meta=meta)

        async def start() -> v2.StartNesResponse:
            async with asyncio.timeout(response_timeout):
                return await connection.adapter.request(methods.START_NES, request)

        try:
            return cls(connection, await connection.with_login(start))
        except TimeoutError:
            problem = f"{connection.name} has not answered nes/start within {response_timeout:g} s"
            diagnosis = connection.peer.diagnosis
            raise TimeoutError(f"{problem}; {diagnosis}" if diagnosis else problem) from None

    @property
    def agent_has_texts(self) -> bool:
        """Whether events give the agent the current text of every document.

        If not, the document has to be sent with each question, in `recentFiles`.
        """
        return self.wants.did_open is not None and self.wants.did_change is not None

    # What happens to documents

    async def opened(self, document: Document, *, meta: JsonObject | None = None) -> None:
        """Report that a document was opened."""
        if self.wants.did_open is None:
            return
        note = v2.DidOpenDocumentNotification(
            session_id=self.id,
            uri=document.uri,
            language_id=document.language_id,
            version=document.version,
            text=sendable(document.text),
            meta=meta,
        )
        await self._notify(methods.DID_OPEN_DOCUMENT, note)

    def apply(
        self, document: Document, edits: Sequence[TextEdit]
    ) -> tuple[list[Change], list[v2.TextDocumentContentChangeEvent]]:
        """Change a document, one edit after the other; returns what `changed` tells then."""
        kind = self.wants.did_change
        made: list[Change] = []
        events: list[v2.TextDocumentContentChangeEvent] = []
        for edit in edits:
            if kind is not None and kind.sync_kind == "incremental":
                place = Span(*sorted(map(document.clamp, edit.span)))
                range, text = range_of(document, place, self.encoding), sendable(edit.text)
                events.append(v2.TextDocumentContentChangeEvent(range=range, text=text))
            made.append(document.edit(edit.span, edit.text))
        document.version += 1
        if kind is not None and kind.sync_kind == "full":
            events = [v2.TextDocumentContentChangeEvent(text=sendable(document.text))]
        return made, events

    def whole(self, document: Document) -> list[v2.TextDocumentContentChangeEvent]:
        """Return what `changed` tells an agent that may have missed something: all of the text."""
        document.version += 1
        return [v2.TextDocumentContentChangeEvent(text=sendable(document.text))]

    async def changed(
        self,
        document: Document,
        events: Sequence[v2.TextDocumentContentChangeEvent],
        *,
        meta: JsonObject | None = None,
    ) -> None:
        """Report that a document was changed."""
        if self.wants.did_change is None:
            return
        note = v2.DidChangeDocumentNotification(
            session_id=self.id,
            uri=document.uri,
            version=document.version,
            content_changes=list(events),
            meta=meta,
        )
        await self._notify(methods.DID_CHANGE_DOCUMENT, note)

    async def closed(self, uri: str, *, meta: JsonObject | None = None) -> None:
        """Report that a document was closed."""
        if self.wants.did_close is not None:
            note = v2.DidCloseDocumentNotification(session_id=self.id, uri=uri, meta=meta)
            await self._notify(methods.DID_CLOSE_DOCUMENT, note)

    async def saved(self, uri: str, *, meta: JsonObject | None = None) -> None:
        """Report that a document was saved."""
        if self.wants.did_save is not None:
            note = v2.DidSaveDocumentNotification(session_id=self.id, uri=uri, meta=meta)
            await self._notify(methods.DID_SAVE_DOCUMENT, note)

    async def focused(
        self, document: Document, spot: Spot, visible: Span, *, meta: JsonObject | None = None
    ) -> None:
        """Report that a document came to the front."""
        if self.wants.did_focus is None:
            return
        note = v2.DidFocusDocumentNotification(
            session_id=self.id,
            uri=document.uri,
            version=document.version,
            position=position_of(document, spot, self.encoding),
            visible_range=range_of(document, visible, self.encoding),
            meta=meta,
        )
        await self._notify(methods.DID_FOCUS_DOCUMENT, note)

    # Suggestions

    async def suggest(
        self,
        document: Document,
        spot: Spot,
        *,
        selection: Span | None = None,
        trigger: Trigger = "automatic",
        context: v2.NesSuggestContext | None = None,
        on_response: Callable[[v2.SuggestNesResponse], None] | None = None,
        meta: JsonObject | None = None,
    ) -> v2.SuggestNesResponse:
        """Ask what comes next; a task that is cancelled takes the question back.

        Args:
            document: What the user works in.
            spot: Where the cursor is.
            selection: What is selected.
            trigger: Why it is asked.
            context: What goes with the question.
            on_response: Called with the response, also if the task was cancelled by then.
            meta: The `_meta` of the request.
        """
        chosen = selection if selection is not None and selection.start != selection.end else None
        request = v2.SuggestNesRequest(
            session_id=self.id,
            uri=document.uri,
            version=document.version,
            position=position_of(document, spot, self.encoding),
            selection=None if chosen is None else range_of(document, chosen, self.encoding),
            trigger_kind=trigger,
            context=context,
            meta=meta,
        )
        surface = self.connection.adapter
        return await surface.request(methods.SUGGEST_NES, request, on_result=on_response)

    async def report_outcome(
        self, suggestion_id: str, outcome: Outcome, *, meta: JsonObject | None = None
    ) -> None:
        """Report the outcome of a suggestion."""
        if outcome == "accepted":
            taken = v2.AcceptNesNotification(
                session_id=self.id, suggestion_id=suggestion_id, meta=meta
            )
            await self._notify(methods.ACCEPT_NES, taken)
        else:
            note = v2.RejectNesNotification(
                session_id=self.id, suggestion_id=suggestion_id, reason=outcome, meta=meta
            )
            await self._notify(methods.REJECT_NES, note)

    async def set_config_option(
        self, config_id: str, value: str | bool, *, meta: JsonObject | None = None
    ) -> None:
        """Set one of `config_options`.

        Raises:
            RequestError: There is no such option, or no such value.
        """
        kind = (
            v2.SetSessionConfigBooleanRequest
            if isinstance(value, bool)
            else v2.SetSessionConfigValueRequest
        )
        params: Any = {"session_id": self.id, "config_id": config_id, "value": value, "meta": meta}
        response = await self.connection.adapter.request(_SET_OPTION, kind(**params))
        self.config_options = list(response.config_options)

    async def close(self, *, meta: JsonObject | None = None) -> None:
        """End the session; an agent that has gone or refuses is only logged."""
        request = v2.CloseNesRequest(session_id=self.id, meta=meta)
        try:
            with suppress(ConnectionClosed):
                await self.connection.adapter.request(methods.CLOSE_NES, request)
        except AcpError as error:
            logger.warning("%s: nes/close failed: %s", self.connection.name, error)

    async def _notify(self, method: Method[P, None], note: P) -> None:
        await self.connection.adapter.notify(method, note)
