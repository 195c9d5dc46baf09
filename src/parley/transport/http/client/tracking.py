"""What a client notes of the frames that pass, to know where they belong.

A request of the agent's that came on a session's stream is answered with that session. The answer
to what opens a session names a stream to be read, the answer to what closes one a stream to be let
go of. Updates, which are nearly everything, are not looked at.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, field

from parley.rpc.codec import NOT_FITTING
from parley.rpc.framing import Frame, Oversized
from parley.rpc.message import Id
from parley.schema.sessions import REOPENS
from parley.transport.http.scopes import read_head, scope_of

__all__ = ["Seen", "Tracker", "Way", "agreed_version", "is_updates", "messages_in"]

_UPDATE = b'{"jsonrpc":"2.0","method":"session/update",'
_NEXT_UPDATE = b"\n" + _UPDATE
_SENDABLE = re.compile(r"[\x21-\x7e\x80-\U0010ffff](?:[\x20-\x7e\x80-\U0010ffff]*\S)?")


class _Agreed(Struct):
    version: int = field(name="protocolVersion")


class _Initialized(Struct):
    result: _Agreed


_read_items = msgspec.json.Decoder(list[Raw]).decode
_read_initialized = msgspec.json.Decoder(_Initialized).decode


class Way(NamedTuple):
    """What is known of a frame that goes out."""

    method: str = ""
    """Empty for an answer."""
    id: Id = None
    """The request's id, if it waits for an answer."""
    waits: bool = False
    """Whether somebody waits for an answer."""
    session: str = ""
    """Whose it is; empty for the connection's."""

    @property
    def loads(self) -> bool:
        """Whether its session's stream must be open before it is sent."""
        return self.method in REOPENS

    @property
    def is_sendable(self) -> bool:
        """Whether the session can be named in a header."""
        return not self.session or _SENDABLE.fullmatch(self.session) is not None


What: TypeAlias = Literal["opened", "closed", "loaded", "not loaded"]


class Seen(NamedTuple):
    """What an answer means for the streams."""

    what: What
    session: str


class Tracker:
    """Remembers requests of either side until they are answered."""

    def __init__(self) -> None:
        self._asked: dict[Id, str] = {}
        """The sessions on whose streams the agent's requests came."""
        self._sent: dict[Id, Way] = {}
        """Our requests that open, load or close a session."""

    def outbound(self, frame: bytes) -> Way:
        """Look at a frame that goes out."""
        head = read_head(frame)
        id = None if head.id is UNSET else head.id
        if head.method is UNSET:
            return Way(session=self._asked.pop(id, ""))
        params = head.params
        session = "" if params is UNSET or params.session_id is UNSET else params.session_id
        way = Way(head.method, id, head.id is not UNSET, session)
        if way.waits and scope_of(head.method) in ("opening", "loading", "closing"):
            self._sent[id] = way
        return way

    def forget(self, way: Way) -> None:
        """Expect no answer any more."""
        self._sent.pop(way.id, None)

    def inbound(self, frame: Frame, session: str) -> list[Seen]:
        """Look at a frame that came on a stream."""
        if frame.startswith(_UPDATE) or isinstance(frame, Oversized):
            return []
        seen = (self._one_inbound(each, session) for each in messages_in(bytes(frame)))
        return [each for each in seen if each is not None]

    def _one_inbound(self, message: bytes, session: str) -> Seen | None:
        head = read_head(message)
        if head.id is UNSET:
            return None
        if head.method is not UNSET:
            if session:
                self._asked[head.id] = session
            return None
        way = self._sent.pop(head.id, None)
        if way is None:
            return None
        has_worked = head.result is not UNSET
        if way.loads:
            return Seen("loaded" if has_worked else "not loaded", way.session)
        if not has_worked:
            return None
        if scope_of(way.method) == "closing":
            return Seen("closed", way.session)
        assert head.result is not UNSET
        opened = head.result.session_id
        return None if opened is UNSET else Seen("opened", opened)


def messages_in(frame: bytes) -> list[bytes]:
    """Return the messages of a frame: those of an array, any other as it is."""
    if not frame.startswith(b"["):
        return [frame]
    try:
        return [bytes(each) for each in _read_items(frame)] or [frame]
    except NOT_FITTING:
        return [frame]


def agreed_version(frame: bytes) -> int | None:
    """Return the version of the protocol that the answer to initialize names."""
    try:
        return _read_initialized(frame).result.version
    except NOT_FITTING:
        return None


def is_updates(block: bytes, count: int) -> bool:
    """Tell whether so many lines are all updates, as everybody writes them."""
    return block.startswith(_UPDATE) and block.count(_NEXT_UPDATE) == count - 1
