"""A recorded conversation told again: from frames to updates, with no connection.

It hears what passed between a client and an agent and says what a live client would have learned,
in version 2's words: version 1 is lifted by the same code as on a connection, a prompt of version 1
becomes the user's message, the answer to it the end of the turn, the answer that opens a session
its options and commands, and a question for permission the state of its tool call. Nothing is sent
and nothing is waited for.

A record may go on over several connections, each beginning with initialize. What a lost connection
left unfinished is cancelled when the next one begins. What the agent replays there is told again
where it is known by an id, which changes nothing; a message of version 1 without one would come
twice and is passed over. So is whatever cannot be read, and what belongs to another session. A
session that was forked goes on as the fork, as in a journal, which copies what was said before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct, structs

from parley.errors import AcpError, MalformedValue
from parley.peer.initialize import version_of
from parley.rpc.codec import decode as decode_frame
from parley.rpc.codec import exception_of, find_message
from parley.rpc.message import (
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
from parley.schema.codec import decode
from parley.schema.v1 import methods as methods1
from parley.schema.v1 import unstable as draft1
from parley.schema.v2 import methods as methods2
from parley.schema.v2 import unstable as draft2

from .lift import Lifting
from .pairs import lift_prompt
from .transcript import Transcript, first_updates

__all__ = ["RecordedFrame", "Retelling", "Told", "retell", "retold"]

_Updates = list[v2.SessionUpdate]
_Answer = Success | Failure

_BEGINS = frozenset({methods2.NEW_SESSION.name, methods2.FORK_SESSION.name})
"""The requests whose answer names a session."""
_QUESTIONS = frozenset({methods2.REQUEST_PERMISSION.name, methods2.CREATE_ELICITATION.name})
"""The requests of an agent for which the user is asked."""


class RecordedFrame(Protocol):
    """A frame as a record has it, such as an entry of a journal."""

    @property
    def at(self) -> float:
        """When it passed, in seconds."""
        ...

    @property
    def kind(self) -> str:
        """Whither it went: `to_agent` or `to_client`; of any other kind it is passed over."""
        ...

    @property
    def data(self) -> bytes:
        """The bytes."""
        ...


class Told(Struct, frozen=True):
    """An update, and when it came."""

    at: float
    update: v2.SessionUpdate


def retell(frames: Iterable[RecordedFrame], session_id: str | None = None) -> Iterator[Told]:
    """Yield the updates of a session, each with the time of the frame that it came with.

    Args:
        frames: What was recorded, in order.
        session_id: Which session; None for the first one in the record.
    """
    retelling = Retelling(session_id)
    for frame in frames:
        for update in retelling.hear(frame):
            yield Told(frame.at, update)


def retold(frames: Iterable[RecordedFrame], session_id: str | None = None) -> Transcript:
    """Return the transcript of a session, as a live client had it."""
    retelling = Retelling(session_id)
    for frame in frames:
        retelling.hear(frame)
    return retelling.transcript


class _Head(Struct):
    session_id: str | None = msgspec.field(name="sessionId", default=None)


class Retelling:
    """One session, as far as it was heard."""

    def __init__(self, wanted: str | None) -> None:
        self.transcript = Transcript()
        self._wanted = wanted
        self._session_id: str | None = None
        self._connections = 0
        self._tongue: _Version1 | _Version2 = _Version2()
        self._asked: dict[Id, Request] = {}
        self._questions: set[Id] = set()
        self._early: list[Notification] = []

    @property
    def lifting(self) -> Lifting | None:
        """What lifts the words of an agent of version 1; None where version 2 is spoken."""
        return self._tongue.lifting if isinstance(self._tongue, _Version1) else None

    def message_of(self, prompt: Id) -> str | None:
        """Return the id of the message that a prompt of version 1 became, until it is answered."""
        return self._tongue.prompts.get(prompt) if isinstance(self._tongue, _Version1) else None

    def hear(self, frame: RecordedFrame) -> _Updates:
        """Return what a frame says, folded already."""
        message: Message | None = decode_frame(frame.data)
        if isinstance(message, Malformed):
            message = find_message(frame.data)
        told: _Updates = []
        for item in message.items if isinstance(message, Batch) else (message,):
            try:
                for update in self._hear(frame.kind, item):
                    self.transcript.fold(update)
                    told.append(update)
            except AcpError:
                pass  # a live client passes over it, too
        return told

    def _hear(self, kind: str, item: Message | None) -> _Updates:
        match kind, item:
            case "to_client", Notification(method="session/update"):
                return self._updated(item)
            case "to_client", Request():
                return self._question(item)
            case "to_client", Success() | Failure():
                return self._answered(item)
            case "to_agent", Request():
                return self._request(item)
            case "to_agent", Notification(method="session/cancel"):
                return self._cancelled() if self._is_ours(item.params) else []
            case "to_agent", Success() | Failure() if item.id in self._questions:
                self._questions.discard(item.id)
                return self._tongue.replied()
            case _:
                return []

    def _is_ours(self, raw: Raw) -> bool:
        """Tell whether params or a result name the session; the first one that is named is it."""
        found = decode(_Head, raw).session_id
        if self._session_id is None and found is not None and self._wanted in (None, found):
            self._session_id = found
        return found is not None and found == self._session_id

    # What the agent says

    def _updated(self, note: Notification) -> _Updates:
        is_early = self._session_id is None and any(
            request.method in _BEGINS for request in self._asked.values()
        )
        if is_early:
            self._early.append(note)
            return []
        return self._tongue.update(note.params) if self._is_ours(note.params) else []

    def _question(self, request: Request) -> _Updates:
        if request.method not in _QUESTIONS or not self._is_ours(request.params):
            return []
        updates = self._tongue.question(request)
        self._questions.add(request.id)
        return updates

    def _answered(self, answer: _Answer) -> _Updates:
        request = self._asked.pop(answer.id, None)
        if request is None:
            return []
        if request.method == "initialize":
            self._begin(answer)
            return []
        if request.method not in _BEGINS:
            return self._tongue.answered(request, answer)
        if isinstance(answer, Failure) or not self._goes_on(request, answer):
            return []
        updates = self._tongue.answered(request, answer)
        early, self._early = self._early, []
        for note in early:
            updates += self._updated(note)
        return updates

    def _goes_on(self, request: Request, answer: Success) -> bool:
        """Tell whether an answer names the session; what was forked from it goes on as that."""
        forked = request.method == methods2.FORK_SESSION.name
        if forked and decode(_Head, request.params).session_id == self._session_id:
            named = decode(_Head, answer.result).session_id
            if self._wanted in (None, named):
                self._session_id = named
        return self._is_ours(answer.result)

    def _begin(self, answer: _Answer) -> None:
        """Learn which version is spoken."""
        if isinstance(answer, Success):
            version = version_of(answer.result)
            self._connections += 1
            prefix = f"told-{self._connections}-"
            self._tongue = _Version1(prefix) if version == 1 else _Version2()

    # What the client says

    def _request(self, request: Request) -> _Updates:
        if request.method == "initialize":
            self._asked = {request.id: request}
            self._questions = set()
            return self._interrupted()
        if request.method not in _BEGINS and not self._is_ours(request.params):
            return []
        self._asked[request.id] = request
        return self._tongue.request(request, has_messages=bool(self.transcript.messages))

    def _cancelled(self) -> _Updates:
        """Do what a client does that has just cancelled: guess ahead of the agent."""
        return [
            v2.ToolCallUpdated(tool_call_id=call.id, status=call.status)
            for call in self.transcript.cancel_unfinished()
        ]

    def _interrupted(self) -> _Updates:
        """Learn that the connection before this one is gone, and with it the turn."""
        if self.transcript.state == "idle":
            return []
        return [*self._cancelled(), v2.StateUpdated(state="idle", stop_reason="cancelled")]


_OPENED: dict[str, Any] = {
    methods2.NEW_SESSION.name: v2.NewSessionResponse,
    methods2.FORK_SESSION.name: draft2.ForkSessionResponse,
    methods2.RESUME_SESSION.name: v2.ResumeSessionResponse,
}


class _Version2:
    """What was said in version 2."""

    def update(self, params: Raw) -> _Updates:
        """Take an update."""
        return [decode(v2.UpdateSessionNotification, params).update]

    def question(self, request: Request) -> _Updates:
        """Take a question to the user."""
        if request.method != methods2.REQUEST_PERMISSION.name:
            return []
        return _subject(decode(v2.RequestPermissionRequest, request.params))

    def replied(self) -> _Updates:
        """Take the user's answer: the agent says what that changes."""
        return []

    def request(self, request: Request, *, has_messages: bool) -> _Updates:
        """Take a request of the client's: the agent says what it does."""
        return []

    def answered(self, request: Request, answer: _Answer) -> _Updates:
        """Take the answer to a request."""
        if isinstance(answer, Failure):
            return []
        if request.method in _OPENED:
            return list(first_updates(decode(_OPENED[request.method], answer.result)))
        if request.method == methods2.SET_SESSION_CONFIG_OPTION.name:
            return [_options(decode(v2.SetSessionConfigOptionResponse, answer.result))]
        return []


class _Version1:
    """What was said in version 1."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._loads = 0
        self.lifting = Lifting(prefix=prefix)
        self.prompts: dict[Id, str] = {}
        self._is_known = False

    def update(self, params: Raw) -> _Updates:
        """Take an update."""
        update = decode(v1.SessionNotification, params).update
        if self._is_known and isinstance(update, v1.ContentChunk) and update.message_id is None:
            return []
        return self.lifting.lift(update)

    def question(self, request: Request) -> _Updates:
        """Take a question to the user, for whom the session waits now."""
        subject: _Updates = []
        if request.method == methods1.REQUEST_PERMISSION.name:
            asked = decode(v1.RequestPermissionRequest, request.params)
            subject = _subject(self.lifting.permission(asked))
        return [*self.lifting.begin_wait(), *subject]

    def replied(self) -> _Updates:
        """Take the user's answer."""
        return self.lifting.end_wait()

    def request(self, request: Request, *, has_messages: bool) -> _Updates:
        """Take a request of the client's."""
        if request.method == methods1.PROMPT.name:
            prompt = lift_prompt(decode(v1.PromptRequest, request.params)).prompt
            message_id = self.prompts[request.id] = self.lifting.new_message_id()
            return self.lifting.begin_turn(message_id, prompt)
        if request.method == methods1.LOAD_SESSION.name:
            self._loads += 1
            self.lifting = Lifting(prefix=f"{self._prefix}{self._loads}-")
            self.lifting.begin_replay()
            self._is_known = has_messages
        return []

    def answered(self, request: Request, answer: _Answer) -> _Updates:
        """Take the answer to a request."""
        if request.id in self.prompts:
            return self.lifting.end_turn(self.prompts.pop(request.id), _outcome(answer))
        if request.method == methods1.LOAD_SESSION.name:
            self._is_known = False
            self.lifting.end_replay()
        return [] if isinstance(answer, Failure) else self._succeeded(request, answer.result)

    def _succeeded(self, request: Request, result: Raw) -> _Updates:
        lifting = self.lifting
        match request.method:
            case methods1.NEW_SESSION.name:
                opened: Any = lifting.new_session(decode(v1.NewSessionResponse, result))
            case methods1.FORK_SESSION.name:
                opened = lifting.fork_session(decode(draft1.ForkSessionResponse, result))
            case methods1.LOAD_SESSION.name | methods1.RESUME_SESSION.name:
                opened = lifting.resume_session(decode(v1.ResumeSessionResponse, result))
            case methods1.SET_SESSION_MODE.name:
                asked = decode(v1.SetSessionModeRequest, request.params)
                changed = decode(v1.SetSessionModeResponse, result)
                return [_options(lifting.mode_set(asked, changed))]
            case methods1.SET_SESSION_CONFIG_OPTION.name:
                answer = decode(v1.SetSessionConfigOptionResponse, result)
                return [_options(lifting.option_set(answer))]
            case _:
                return []
        return list(first_updates(opened))


def _subject(request: v2.RequestPermissionRequest) -> _Updates:
    """Return the tool call that a question is about, which counts like an update of it."""
    if not isinstance(request.subject, v2.ToolCallPermissionSubject):
        return []
    return [v2.ToolCallUpdated(**structs.asdict(request.subject.tool_call))]


def _options(answer: v2.SetSessionConfigOptionResponse) -> v2.SessionUpdate:
    return v2.ConfigOptionUpdate(config_options=answer.config_options)


def _outcome(answer: _Answer) -> v1.PromptResponse | AcpError:
    """Return how a turn of version 1 ended."""
    if isinstance(answer, Success):
        try:
            return decode(v1.PromptResponse, answer.result, "result")
        except MalformedValue as malformed:
            return malformed
    return exception_of(answer.error)
