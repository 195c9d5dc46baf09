"""One page of a list of sessions.

The newest come first. A cursor says behind which session the next page begins, so that sessions
which come and go meanwhile neither shift the pages nor repeat.

Spec: https://agentclientprotocol.com/protocol/v2/session-list
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable

import msgspec

from parley.errors import InvalidParams
from parley.schema import v2

__all__ = ["PAGE_SIZE", "page"]

PAGE_SIZE = 50
"""How many sessions a page has at most."""


def page(
    sessions: Iterable[v2.SessionInfo], request: v2.ListSessionsRequest
) -> v2.ListSessionsResponse:
    """Return the page that was asked for.

    Raises:
        InvalidParams: The cursor is none of ours, or the filter is not known.
    """
    if request.archived not in (None, "exclude", "include", "only"):
        raise InvalidParams("This filter is not known", {"archived": request.archived})
    matching = [each for each in sessions if _matches(each, request)]
    matching.sort(key=_place, reverse=True)
    if request.cursor is not None:
        last = _read(request.cursor)
        matching = [each for each in matching if _place(each) < last]
    has_more = len(matching) > PAGE_SIZE
    shown = matching[:PAGE_SIZE]
    return v2.ListSessionsResponse(
        sessions=shown, next_cursor=_write(_place(shown[-1])) if has_more else None
    )


def _matches(session: v2.SessionInfo, request: v2.ListSessionsRequest) -> bool:
    if request.cwd is not None and session.cwd != request.cwd:
        return False
    if request.archived == "include":
        return True
    return bool(session.archived) == (request.archived == "only")


def _place(session: v2.SessionInfo) -> tuple[str, str]:
    return session.updated_at or "", session.session_id


def _write(place: tuple[str, str]) -> str:
    return urlsafe_b64encode(msgspec.json.encode(place)).decode()


def _read(cursor: str) -> tuple[str, str]:
    try:
        raw = urlsafe_b64decode(cursor.encode())
        return msgspec.json.decode(raw, type=tuple[str, str])
    except (binascii.Error, msgspec.DecodeError, UnicodeError):
        raise InvalidParams("The cursor is not one of ours") from None
