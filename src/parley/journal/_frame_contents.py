"""The contents of frames that a record of a session needs.

No function raises: what cannot be read counts as absent.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from parley.rpc._codec import DECODE_ERRORS, decode
from parley.rpc._message import Batch

from ._texts import prompt_text

T = TypeVar("T")

_NO = Raw(b"")


class SessionSetup(Struct, frozen=True):
    """The params of a request that opens a session."""

    cwd: str = ""
    additional_directories: list[str] | None = field(name="additionalDirectories", default=None)
    replay_from: Raw = field(name="replayFrom", default=_NO)

    @property
    def asks_for_replay(self) -> bool:
        """Whether the agent is to replay the session."""
        return len(self.replay_from) > 0 and bytes(self.replay_from) != b"null"


class ResponseContents(Struct, frozen=True):
    """The two possible members of a response."""

    result: Raw = _NO
    error: Raw = _NO

    @property
    def is_success(self) -> bool:
        """Whether the request succeeded."""
        return self.error is _NO


class ResultContents(Struct, frozen=True):
    """The members of results that matter to a record."""

    session_id: str = field(name="sessionId", default="")
    stop_reason: str | None = field(name="stopReason", default=None)
    title: str | None = None


class SessionUpdateContents(Struct, frozen=True):
    """The members of an update about the session as a whole."""

    state: str = ""
    title: str | None | UnsetType = UNSET


class _Call(Struct, frozen=True):
    params: Raw = _NO


class _Updated(Struct, frozen=True):
    update: SessionUpdateContents = SessionUpdateContents()


class _Prompt(Struct, frozen=True):
    prompt: Raw = _NO


def read_batch(frame: bytes) -> list[bytes]:
    """Return the frames in an array; none if it is not a batch."""
    if not isinstance(decode(frame), Batch):
        return []
    items = msgspec.json.decode(frame, type=list[Raw])
    return [each for item in items if not (each := bytes(item).strip()).startswith(b"[")]


def read_response(frame: bytes) -> ResponseContents:
    """Return the contents of a response."""
    return _read(frame, ResponseContents)


def read_result(response: ResponseContents) -> ResultContents:
    """Return the contents of the result of a response."""
    return _read(response.result, ResultContents)


def read_setup(frame: bytes) -> SessionSetup:
    """Return the params of a request that opens a session."""
    return _read(_read(frame, _Call).params, SessionSetup)


def read_prompt(frame: bytes) -> str:
    """Return the text of a prompt."""
    return prompt_text(_read(_read(frame, _Call).params, _Prompt).prompt)


def read_session_update(frame: bytes) -> SessionUpdateContents:
    """Return the contents of an update about the session as a whole."""
    return _read(_read(frame, _Call).params, _Updated).update


def _read(data: bytes | Raw, tp: type[T]) -> T:
    """Decode data, or return the default of the type if it does not fit."""
    try:
        return msgspec.json.decode(data, type=tp)
    except DECODE_ERRORS:
        return tp()
