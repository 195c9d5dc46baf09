"""A recorded session as an agent: the same answers and updates for every client.

It needs no model and no process, so a screen can be shown, tested and debugged with what an agent
once sent. `script.py` reads the record.

The client's requests are answered from the record, by method and in order: initialize, the request
that opens the session (whichever it is, the session has its recorded id), then the prompts. What
the agent asked the user is asked again, and any answer is accepted; the rest of the record follows
as it was. What the agent asked the client to do, files, terminals, extensions, is not asked again
unless `acts` is true, because it would be done again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from parley.errors import ConnectionClosed
from parley.journal._jsonl import from_jsonl
from parley.rpc._codec import (
    decode,
    encode_failure,
    encode_notification,
    encode_request,
    encode_success,
)
from parley.rpc._framing import Frame
from parley.rpc._message import (
    Batch,
    ErrorObject,
    Failure,
    Id,
    Notification,
    Request,
    Success,
)
from parley.schema import v2
from parley.schema._session_methods import BEGINS, CLOSES, OPENS
from parley.session.frame_replay import RecordedFrame
from parley.transport import Transport

from .script import (
    CancelRequest,
    FailTurn,
    Key,
    ReplayScript,
    Respond,
    Send,
    SendRequest,
    Step,
    WaitForRequest,
    WaitForResponse,
    session_in,
)

_ASKS = frozenset({"session/request_permission", "elicitation/create"})
_CANCELS = frozenset({"session/cancel", "$/cancel_request"})
_HARMLESS = dict.fromkeys(CLOSES, b"{}")
"""Responses to requests that are not in the record."""


class Replay:
    """Plays a recorded session to each client that connects, always from the beginning.

    `parley.connect(Replay(journal.entries(key)))`; prompt with `prompts`, one after the other.
    """

    def __init__(
        self, entries: Iterable[RecordedFrame], *, speed: float | None = None, acts: bool = False
    ) -> None:
        """Read a record.

        Args:
            entries: The entries of a session in a journal, or other frames with their direction.
            speed: How fast the agent is: 1 as it was, 2 twice as fast; None: it never waits. How
                long the user took does not count.
            acts: Whether the agent's requests are sent again: files, terminals, extensions.

        Raises:
            ValueError: The record does not show how a session was opened; or the speed is not above
                zero.
        """
        if speed is not None and speed <= 0:
            raise ValueError("the speed of a replay is above zero")
        self._script = ReplayScript(entries)
        self._speed = speed
        self._acts = acts

    @classmethod
    def load(cls, path: str | Path, *, speed: float | None = None, acts: bool = False) -> Replay:
        """Read a record from a file: an export as JSON lines, or what `Recorder.save` wrote.

        Raises:
            ValueError: It is something else.
        """
        return cls(from_jsonl(Path(path).read_bytes()), speed=speed, acts=acts)

    @property
    def prompts(self) -> list[list[v2.ContentBlock]]:
        """Return the recorded prompts, for example for `session.prompt(*replay.prompts[0])`."""
        return self._script.prompts

    @property
    def session_id(self) -> str:
        """The id of the session, as it was recorded."""
        return self._script.session_id or ""

    async def serve(self, transport: Transport) -> None:
        """Play the record on a connection, until the other side closes it."""
        connection = _ReplayConnection(transport, self._script, self._speed, self._acts)
        try:
            with suppress(ConnectionClosed):
                for step in self._script.steps:
                    await connection.do(step)
                await connection.end()
        finally:
            await transport.aclose()


class _ReplayConnection:
    """A connection on which a record is replayed."""

    def __init__(
        self, transport: Transport, script: ReplayScript, speed: float | None, acts: bool
    ) -> None:
        self._transport = transport
        self._script = script
        self._speed = speed
        self._acts = acts
        self._waiting: deque[Request] = deque()
        self._live: dict[Key, Request] = {}
        self._responded: set[Key] = set()
        self._sent_ids: dict[Key, int] = {}
        self._open_requests: set[Id] = set()
        self._unclaimed_responses = {
            name: deque(responses) for name, responses in script.responses.items()
        }
        self._is_hurried = False
        self._is_open = False
        self._is_over = False
        self._lost: ConnectionClosed | None = None
        self._news = asyncio.Event()
        transport.start(self)

    # What comes

    def frames_received(self, frames: Sequence[Frame], /) -> None:
        """Take what the client sends."""
        for frame in frames:
            message = decode(frame)
            for item in message.items if isinstance(message, Batch) else (message,):
                match item:
                    case Request():
                        self._request(item)
                    case Notification(method=method) if method in _CANCELS:
                        self._is_hurried = True
                    case Success(id=id) | Failure(id=id):
                        self._open_requests.discard(id)
                    case _:
                        pass
        self._news.set()

    def connection_lost(self, reason: ConnectionClosed, /) -> None:
        """Record that the client is gone."""
        self._lost = reason
        self._news.set()

    def _request(self, request: Request) -> None:
        method = request.method
        if method in ("initialize", "session/prompt", *OPENS):
            if self._is_open and method != "session/prompt":
                self._refuse(request, -32600, "The record has one session, and it is open already")
            elif self._is_over:
                self._refuse_late(request)
            else:
                self._waiting.append(request)
        elif self._unclaimed_responses.get(method):
            self._reply(request.id, self._unclaimed_responses[method].popleft())
        elif method in _HARMLESS:
            self._transport.send(encode_success(request.id, _HARMLESS[method]))
        else:
            self._refuse(request, -32601, f"The record has no answer to this {method}")

    def _refuse_late(self, request: Request) -> None:
        known = len(self._script.prompts)
        end = f"The record ends here: it has {known} prompt{'s' * (known != 1)}"
        self._refuse(request, -32600, end)

    def _refuse(self, request: Request, code: int, message: str) -> None:
        self._transport.send(encode_failure(request.id, ErrorObject(code, message)))

    def _reply(self, id: Id, response: Success | Failure) -> None:
        if isinstance(response, Success):
            self._transport.send(encode_success(id, response.result))
        else:
            self._transport.send(encode_failure(id, response.error))

    # What is played

    async def do(self, step: Step) -> None:
        """Do one thing.

        Raises:
            ConnectionClosed: The client is gone.
        """
        match step:
            case WaitForRequest():
                await self._wait(step)
            case Respond():
                await self._pause(step.after)
                self._respond(step)
            case Send():
                await self._pause(step.after)
                self._transport.send(step.frame)
            case SendRequest() if self._acts or step.request.method in _ASKS:
                await self._pause(step.after)
                self._ask(step)
            case WaitForResponse() if step.key in self._sent_ids:
                await self._until(lambda: self._sent_ids[step.key] not in self._open_requests)
            case CancelRequest() if step.key in self._sent_ids:
                await self._pause(step.after)
                body = msgspec.json.encode({"requestId": self._sent_ids[step.key]})
                self._transport.send(encode_notification("$/cancel_request", body))
            case FailTurn():
                self._break(step)
            case _:
                pass
        if (room := self._transport.drained()) is not None:
            await room

    async def end(self) -> None:
        """Refuse what goes beyond the record, until the client closes."""
        self._is_over = True
        while self._waiting:
            self._refuse_late(self._waiting.popleft())
        await self._until(lambda: False)

    async def _wait(self, step: WaitForRequest) -> None:
        """Wait for a request; one that opens a session may be another than in the record."""
        wanted = OPENS if step.method in OPENS else (step.method,)
        while True:
            await self._until(lambda: any(each.method in wanted for each in self._waiting))
            request = next(each for each in self._waiting if each.method in wanted)
            self._waiting.remove(request)
            if self._is_for_session(request):
                break
            where = f"The record is of the session {self._script.session_id}"
            self._refuse(request, -32002, where)
        self._is_hurried = False
        self._live[step.key] = request
        self._is_open = self._is_open or step.method in OPENS
        if step.method in OPENS and request.method in BEGINS:
            self._respond_to_first(step.key, request)

    def _is_for_session(self, request: Request) -> bool:
        """Return whether a request is for the session of the record, where it must be."""
        if request.method in ("initialize", *BEGINS):
            return True
        return session_in(request.params) == self._script.session_id

    def _respond_to_first(self, key: Key, request: Request) -> None:
        """Send the session's id before its first update, for example before a recorded replay."""
        response = next(
            step.response
            for step in self._script.steps
            if isinstance(step, Respond) and step.key == key
        )
        assert isinstance(response, Success)
        result: Any = msgspec.json.decode(response.result, type=dict[str, Raw])
        result["sessionId"] = self._script.session_id
        self._transport.send(encode_success(request.id, msgspec.json.encode(result)))
        self._responded.add(key)

    def _respond(self, step: Respond) -> None:
        if step.key not in self._responded:
            self._reply(self._live[step.key].id, step.response)
            self._responded.add(step.key)

    def _ask(self, step: SendRequest) -> None:
        id = self._sent_ids[step.key] = len(self._sent_ids) + 1
        self._open_requests.add(id)
        params = bytes(step.request.params) or None
        self._transport.send(encode_request(id, step.request.method, params))

    def _break(self, step: FailTurn) -> None:
        """End a turn of which the record has no end."""
        code, text = -32603, "The record ends in the middle of this turn"
        if not self._script.is_second or step.key not in self._responded:
            self._refuse(self._live[step.key], code, text)
            return
        update = {
            "sessionUpdate": "state_update",
            "state": "idle",
            "stopReason": "error",
            "error": {"code": code, "message": text},
        }
        params = {"sessionId": self._script.session_id, "update": update}
        body = msgspec.json.encode(params)
        self._transport.send(encode_notification("session/update", body))

    # Waiting

    async def _pause(self, after: float) -> None:
        """Pause as long as the agent did; after a cancellation, send the rest at once."""
        if self._speed is not None and after > 0 and not self._is_hurried:
            with suppress(TimeoutError):
                async with asyncio.timeout(after / self._speed):
                    await self._until(lambda: self._is_hurried)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            if self._lost is not None:
                raise self._lost
            self._news.clear()
            await self._news.wait()
