"""Replay of recorded frames: turns them into session updates and transcripts, without a connection.

`updates_from_frames` and `transcript_from_frames` take the frames between a client and an agent,
such as a journal's entries. They return what a live client would have seen, as version 2 types.
Version 1 is upgraded by the same code as on a connection. Besides the updates themselves:

- a version 1 prompt becomes the user's message, and its response the end of the turn;
- the response that opens a session becomes its options and commands;
- a permission request becomes an update of its tool call.

A recording may span several connections, each of which begins with `initialize`. When the next one
begins, a turn that a lost connection left unfinished ends with the stop reason `interrupted`, and
its tool calls are cancelled. If the agent then replays the session, updates with an id are yielded
again, which changes nothing in the transcript; version 1 messages without an id would appear twice
and are skipped. Malformed frames and frames of other sessions are skipped too. After a fork the
replay continues with the forked session, as in a journal, which copies the earlier conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from msgspec import Raw, Struct, structs

from parley.errors import AcpError, MalformedValue
from parley.peer._initialize import version_of
from parley.rpc._codec import decode as decode_frame
from parley.rpc._codec import find_message, to_exception
from parley.rpc._message import (
    Batch,
    Failure,
    Id,
    Malformed,
    Message,
    Notification,
    Request,
    Success,
)
from parley.schema import v1, v2
from parley.schema._codec import decode
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2
from parley.transport._frame_head import peek_params

from ._transcript import INTERRUPTED, Transcript, first_updates
from ._v1_method_translations import V1_TRANSLATIONS
from ._v1_session_upgrader import SessionUpgrader

_Updates = list[v2.SessionUpdate]
_Response = Success | Failure

_OPENING_REQUESTS = frozenset({methods2.NEW_SESSION.name, methods2.FORK_SESSION.name})
"""The requests whose result names a session."""
_QUESTIONS = frozenset({methods2.REQUEST_PERMISSION.name, methods2.CREATE_ELICITATION.name})
"""The requests of an agent to the user."""

__all__ = [
    "FrameReplay",
    "RecordedFrame",
    "TimedUpdate",
    "transcript_from_frames",
    "updates_from_frames",
]


class RecordedFrame(Protocol):
    """A recorded frame, such as an entry of a journal."""

    @property
    def at(self) -> float:
        """The time at which it was recorded, in seconds."""
        ...

    @property
    def kind(self) -> str:
        """The direction, `to_agent` or `to_client`; frames of any other kind are skipped."""
        ...

    @property
    def data(self) -> bytes:
        """The bytes of the frame."""
        ...


class TimedUpdate(Struct, frozen=True):
    """A session update, and the time in seconds at which its frame was recorded."""

    at: float
    update: v2.SessionUpdate


def updates_from_frames(
    frames: Iterable[RecordedFrame], session_id: str | None = None
) -> Iterator[TimedUpdate]:
    """Yield the updates of a session, each with the time of its frame.

    Args:
        frames: The recorded frames, in order.
        session_id: The session; None for the first one in the recording.
    """
    replay = FrameReplay(session_id)
    for frame in frames:
        for update in replay.feed(frame):
            yield TimedUpdate(frame.at, update)


def transcript_from_frames(
    frames: Iterable[RecordedFrame], session_id: str | None = None
) -> Transcript:
    """Return the transcript of a session, as a live client would have it.

    Args:
        frames: The recorded frames, in order.
        session_id: The session; None for the first one in the recording.
    """
    replay = FrameReplay(session_id)
    for frame in frames:
        replay.feed(frame)
    return replay.transcript


class FrameReplay:
    """Incremental replay of one session: `feed` it frames in order, and read `transcript`.

    For a complete recording, `updates_from_frames` and `transcript_from_frames` are simpler.
    """

    def __init__(self, session_id: str | None) -> None:
        self.transcript = Transcript()
        self._wanted_session_id = session_id
        self._session_id: str | None = None
        self._connections = 0
        self._reader: _V1Reader | _V2Reader = _V2Reader()
        self._pending: dict[Id, Request] = {}
        self._questions: set[Id] = set()
        self._early: list[Notification] = []

    @property
    def upgrader(self) -> SessionUpgrader | None:
        """The translation state for a version 1 agent; None on a version 2 connection."""
        return self._reader.upgrader if isinstance(self._reader, _V1Reader) else None

    def message_of(self, prompt: Id) -> str | None:
        """Return the id of the user message for a pending version 1 prompt, or None."""
        return self._reader.prompts.get(prompt) if isinstance(self._reader, _V1Reader) else None

    def feed(self, frame: RecordedFrame) -> _Updates:
        """Process a frame; return its updates, which are in `transcript` already."""
        message: Message | None = decode_frame(frame.data)
        if isinstance(message, Malformed):
            message = find_message(frame.data)
        updates: _Updates = []
        # A malformed update must not hide the rest of a batch, so each item has its own `try`.
        for item in message.items if isinstance(message, Batch) else (message,):
            try:
                for update in self._handle(frame.kind, item):
                    self.transcript.fold(update)
                    updates.append(update)
            except AcpError:
                pass  # a live client ignores it, too
        return updates

    def _handle(self, kind: str, item: Message | None) -> _Updates:
        match kind, item:
            case "to_client", Notification(method="session/update"):
                return self._handle_update(item)
            case "to_client", Request():
                return self._handle_question(item)
            case "to_client", Success() | Failure():
                return self._handle_response(item)
            case "to_agent", Request():
                return self._handle_request(item)
            case "to_agent", Notification(method="session/cancel"):
                return self._cancel_tool_calls() if self._is_session(item.params) else []
            case "to_agent", Success() | Failure() if item.id in self._questions:
                self._questions.discard(item.id)
                return self._reader.decision_updates()
            case _:
                return []

    def _is_session(self, raw: Raw) -> bool:
        """Return whether params or a result name the replayed session.

        If no session was requested, the first one that is named becomes the replayed one.
        """
        found = peek_params(raw).session_id
        is_wanted = found is not None and self._wanted_session_id in (None, found)
        if self._session_id is None and is_wanted:
            self._session_id = found
        return found is not None and found == self._session_id

    # Messages from the agent

    def _handle_update(self, note: Notification) -> _Updates:
        # Updates can arrive before the response that names their session.
        is_early = self._session_id is None and any(
            request.method in _OPENING_REQUESTS for request in self._pending.values()
        )
        if is_early:
            self._early.append(note)
            return []
        return self._reader.session_updates(note.params) if self._is_session(note.params) else []

    def _handle_question(self, request: Request) -> _Updates:
        if request.method not in _QUESTIONS or not self._is_session(request.params):
            return []
        updates = self._reader.question_updates(request)
        self._questions.add(request.id)
        return updates

    def _handle_response(self, response: _Response) -> _Updates:
        request = self._pending.pop(response.id, None)
        if request is None:
            return []
        if request.method == "initialize":
            self._begin_connection(response)
            return []
        if request.method not in _OPENING_REQUESTS:
            return self._reader.response_updates(request, response)
        if isinstance(response, Failure) or not self._opens_session(request, response):
            return []
        updates = self._reader.response_updates(request, response)
        early, self._early = self._early, []
        for note in early:
            updates += self._handle_update(note)
        return updates

    def _opens_session(self, request: Request, response: Success) -> bool:
        """Return whether a response opens the replayed session, which a fork of it replaces."""
        is_fork = request.method == methods2.FORK_SESSION.name
        if is_fork and peek_params(request.params).session_id == self._session_id:
            opened = peek_params(response.result).session_id
            if self._wanted_session_id in (None, opened):
                self._session_id = opened
        return self._is_session(response.result)

    def _begin_connection(self, response: _Response) -> None:
        """Begin a connection in the version that the `initialize` response names."""
        if isinstance(response, Success):
            version = version_of(response.result)
            self._connections += 1
            # A fixed prefix gives the same ids in every replay of the same recording.
            prefix = f"replay-{self._connections}-"
            self._reader = _V1Reader(prefix) if version == 1 else _V2Reader()

    # Messages from the client

    def _handle_request(self, request: Request) -> _Updates:
        if request.method == "initialize":
            self._pending = {request.id: request}
            self._questions = set()
            return self._end_interrupted_turn()
        if request.method not in _OPENING_REQUESTS and not self._is_session(request.params):
            return []
        self._pending[request.id] = request
        return self._reader.request_updates(request, has_messages=bool(self.transcript.messages))

    def _cancel_tool_calls(self) -> _Updates:
        """Cancel unfinished tool calls, as a client does before the agent confirms it."""
        return [
            v2.ToolCallUpdated(tool_call_id=call.id, status=call.status)
            for call in self.transcript.cancel_unfinished()
        ]

    def _end_interrupted_turn(self) -> _Updates:
        """Return the updates that end a turn which the previous connection left unfinished.

        Nobody cancelled it, so its stop reason is one of our own.
        """
        if self.transcript.state == "idle":
            return []
        return [*self._cancel_tool_calls(), v2.StateUpdated(state="idle", stop_reason=INTERRUPTED)]


_SETTINGS_RESULTS = frozenset(
    method.name
    for method in (
        methods2.NEW_SESSION,
        methods2.FORK_SESSION,
        methods2.RESUME_SESSION,
        methods2.SET_SESSION_CONFIG_OPTION,
    )
)
"""The requests whose result has the options of the session, by version 2 name."""


class _V2Reader:
    """The messages of a version 2 connection."""

    def session_updates(self, params: Raw) -> _Updates:
        """Return the updates for the params of a `session/update`."""
        return [decode(v2.UpdateSessionNotification, params).update]

    def question_updates(self, request: Request) -> _Updates:
        """Return the updates for an agent's request to the user."""
        if request.method != methods2.REQUEST_PERMISSION.name:
            return []
        return _subject(decode(v2.RequestPermissionRequest, request.params))

    def decision_updates(self) -> _Updates:
        """Return nothing: the agent itself reports the effect of the user's response."""
        return []

    def request_updates(self, request: Request, *, has_messages: bool) -> _Updates:
        """Return nothing: the agent itself reports the effect of a client's request."""
        return []

    def response_updates(self, request: Request, response: _Response) -> _Updates:
        """Return the updates for the response to a client's request."""
        if isinstance(response, Failure):
            return []
        if request.method not in _SETTINGS_RESULTS:
            return []
        method = methods2.TABLE.requests("agent")[request.method]
        return _settings(decode(method.result, response.result))


class _V1Reader:
    """The messages of a version 1 connection."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._loads = 0
        self.upgrader = SessionUpgrader(prefix=prefix)
        self.prompts: dict[Id, str] = {}
        self._is_known_replay = False

    def session_updates(self, params: Raw) -> _Updates:
        """Return the updates for the params of a `session/update`."""
        update = decode(v1.SessionNotification, params).update
        # A replay of a known conversation: without an id, the message would appear twice.
        if (
            self._is_known_replay
            and isinstance(update, v1.ContentChunk)
            and update.message_id is None
        ):
            return []
        return self.upgrader.upgrade(update)

    def question_updates(self, request: Request) -> _Updates:
        """Return the updates for an agent's request to the user, and its `requires_action`."""
        subject: _Updates = []
        if request.method == methods1.REQUEST_PERMISSION.name:
            subject = _subject(self._upgrade_params(request))
        return [*self.upgrader.begin_decision(), *subject]

    def decision_updates(self) -> _Updates:
        """Return the updates for the user's response."""
        return self.upgrader.end_decision()

    def request_updates(self, request: Request, *, has_messages: bool) -> _Updates:
        """Return the updates for a client's request."""
        if request.method == methods1.PROMPT.name:
            prompt = self._upgrade_params(request).prompt
            message_id = self.prompts[request.id] = self.upgrader.new_message_id()
            return self.upgrader.begin_turn(message_id, prompt)
        if request.method == methods1.LOAD_SESSION.name:
            # The agent sends the conversation again, so its translation starts over.
            self._loads += 1
            self.upgrader = SessionUpgrader(prefix=f"{self._prefix}{self._loads}-")
            self.upgrader.begin_replay()
            self._is_known_replay = has_messages
        return []

    def response_updates(self, request: Request, response: _Response) -> _Updates:
        """Return the updates for the response to a client's request."""
        if request.id in self.prompts:
            return self.upgrader.end_turn(self.prompts.pop(request.id), _outcome(response))
        if request.method == methods1.LOAD_SESSION.name:
            self._is_known_replay = False
            self.upgrader.end_replay()
        return [] if isinstance(response, Failure) else self._succeeded(request, response.result)

    def _upgrade_params(self, request: Request) -> Any:
        row = V1_TRANSLATIONS["request", request.method]
        return row.upgrade(decode(row.v1.params, request.params), self.upgrader)

    def _succeeded(self, request: Request, result: Raw) -> _Updates:
        row = V1_TRANSLATIONS.get(("request", request.method))
        if row is None or row.v2.name not in _SETTINGS_RESULTS:
            return []
        # Only the response to `session/set_mode` needs its params: it does not repeat the mode.
        is_mode = request.method == methods1.SET_SESSION_MODE.name
        params = decode(row.v1.params, request.params) if is_mode else None
        return _settings(row.upgrade_result(decode(row.v1.result, result), self.upgrader, params))


def _subject(request: v2.RequestPermissionRequest) -> _Updates:
    """Return the tool call that a permission request is about, as an update of the call."""
    if not isinstance(request.subject, v2.ToolCallPermissionSubject):
        return []
    return [v2.ToolCallUpdated(**structs.asdict(request.subject.tool_call))]


def _settings(response: Any) -> _Updates:
    """Return the updates for a version 2 response that has the options of the session."""
    if isinstance(response, v2.SetSessionConfigOptionResponse):
        return [v2.ConfigOptionUpdate(config_options=response.config_options)]
    return list(first_updates(response))


def _outcome(response: _Response) -> v1.PromptResponse | AcpError:
    """Return the outcome of a version 1 turn, from the response to its prompt."""
    if isinstance(response, Success):
        try:
            return decode(v1.PromptResponse, response.result, "result")
        except MalformedValue as malformed:
            return malformed
    return to_exception(response.error)
