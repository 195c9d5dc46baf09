"""What a recorder has to see of a frame: whose it is, and the little that a record tells."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, field

from parley.rpc._codec import DECODE_ERRORS, decode
from parley.rpc._message import Batch

from ._texts import prompt_text

T = TypeVar("T")

_NO = Raw(b"")


class Setup(Struct, frozen=True):
    """What a request that opens a session says about it."""

    cwd: str = ""
    additional_directories: list[str] | None = field(name="additionalDirectories", default=None)
    replay_from: Raw = field(name="replayFrom", default=_NO)

    @property
    def asks_for_replay(self) -> bool:
        """Whether a resumed session is to be told again."""
        return len(self.replay_from) > 0 and bytes(self.replay_from) != b"null"


class Answer(Struct, frozen=True):
    """An answer, as far as a record needs it."""

    result: Raw = _NO
    error: Raw = _NO

    @property
    def is_success(self) -> bool:
        """Whether the request was done."""
        return self.error is _NO


class Result(Struct, frozen=True):
    """What is looked for in results."""

    session_id: str = field(name="sessionId", default="")
    stop_reason: str | None = field(name="stopReason", default=None)
    title: str | None = None


class Told(Struct, frozen=True):
    """What an update tells about the session as a whole."""

    state: str = ""
    title: str | None | UnsetType = UNSET


class _Call(Struct, frozen=True):
    params: Raw = _NO


class _Updated(Struct, frozen=True):
    update: Told = Told()


class _Prompt(Struct, frozen=True):
    prompt: Raw = _NO


def read_batch(frame: bytes) -> list[bytes]:
    """Return the frames in an array; none if it is no batch."""
    if not isinstance(decode(frame), Batch):
        return []
    items = msgspec.json.decode(frame, type=list[Raw])
    return [each for item in items if not (each := bytes(item).strip()).startswith(b"[")]


def read_answer(frame: bytes) -> Answer:
    """Read an answer."""
    return _read(frame, Answer)


def read_result(answer: Answer) -> Result:
    """Read the result of an answer."""
    return _read(answer.result, Result)


def read_setup(frame: bytes) -> Setup:
    """Read the request that opens a session."""
    return _read(_read(frame, _Call).params, Setup)


def read_prompt(frame: bytes) -> str:
    """Read the words of a prompt."""
    return prompt_text(_read(_read(frame, _Call).params, _Prompt).prompt)


def read_told(frame: bytes) -> Told:
    """Read what an update tells about the session as a whole."""
    return _read(_read(frame, _Call).params, _Updated).update


def _read(data: bytes | Raw, tp: type[T]) -> T:
    """Read something, or what stands for nothing where it does not fit."""
    try:
        return msgspec.json.decode(data, type=tp)
    except DECODE_ERRORS:
        return tp()
