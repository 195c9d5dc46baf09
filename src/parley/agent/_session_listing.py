"""Filtering and pagination of session lists.

The newest sessions come first. A cursor names the last session of a page, so that sessions created
or deleted meanwhile neither shift the pages nor cause repetitions.

An older revision of the specification has two more filters, `createdAfter` and `search`. They are
read from the undecoded request, because the types follow the newest schema.

Spec: https://agentclientprotocol.com/protocol/v2/session-list
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import msgspec
from msgspec import Raw, Struct

from parley.errors import InvalidParams
from parley.rpc._codec import DECODE_ERRORS
from parley.schema import v2

PAGE_SIZE = 50
"""The maximum number of sessions on a page."""


class _OlderParams(Struct, rename="camel"):
    """The params of `session/list` that only an older revision of the spec has."""

    created_after: object = None
    search: object = None


class OlderFilters(Struct, frozen=True):
    """The filters of `session/list` that only an older revision of the spec has."""

    created_after: datetime | None = None
    search: str = ""
    """A text that the title must contain, ignoring case; already case-folded."""

    @classmethod
    def read(cls, params: Raw) -> OlderFilters:
        """Return the filters in the params of `session/list`.

        Values that are not strings are ignored: they are some other member of the same name.

        Raises:
            InvalidParams: `createdAfter` is not a timestamp.
        """
        try:
            found = msgspec.json.decode(params, type=_OlderParams)
        except DECODE_ERRORS:
            return cls()
        after, search = found.created_after, found.search
        return cls(
            _parse_created_after(after) if isinstance(after, str) else None,
            search.casefold() if isinstance(search, str) else "",
        )

    def match(self, session: v2.SessionInfo, created_at: str | None) -> bool:
        """Return whether a session passes the filters.

        Args:
            session: The session.
            created_at: The time of its creation; None if it is not known. Then the time of its last
                change counts: a session that has not changed since was not created since.
        """
        if self.search and self.search not in (session.title or "").casefold():
            return False
        created_at = created_at or session.updated_at
        if self.created_after is None or created_at is None:
            return True
        try:
            return _parse_timestamp(created_at) > self.created_after
        except ValueError:
            return True


def _parse_created_after(text: str) -> datetime:
    try:
        return _parse_timestamp(text)
    except ValueError:
        raise InvalidParams(
            data={"problem": "params.createdAfter: expected a time such as 2025-10-20T00:00:00Z"}
        ) from None


def _parse_timestamp(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)


def paginate(
    sessions: Iterable[v2.SessionInfo],
    request: v2.ListSessionsRequest,
    older: OlderFilters | None = None,
    created: Mapping[str, str] | None = None,
) -> v2.ListSessionsResponse:
    """Return the requested page of a session list.

    Args:
        sessions: All sessions.
        request: The request, with the cursor and the filters.
        older: Filters of the older revision.
        created: The creation times of the sessions, by session id, where known.

    Raises:
        InvalidParams: The cursor was not issued by Parley, or the filter is unknown.
    """
    if request.archived not in (None, "exclude", "include", "only"):
        raise InvalidParams("Unknown filter", {"archived": request.archived})
    matching = [each for each in sessions if _matches(each, request)]
    if older is not None:
        times = created or {}
        matching = [each for each in matching if older.match(each, times.get(each.session_id))]
    matching.sort(key=_sort_key, reverse=True)
    if request.cursor is not None:
        last = _decode_cursor(request.cursor)
        matching = [each for each in matching if _sort_key(each) < last]
    has_more = len(matching) > PAGE_SIZE
    page = matching[:PAGE_SIZE]
    return v2.ListSessionsResponse(
        sessions=page, next_cursor=_encode_cursor(_sort_key(page[-1])) if has_more else None
    )


def _matches(session: v2.SessionInfo, request: v2.ListSessionsRequest) -> bool:
    if request.cwd is not None and session.cwd != request.cwd:
        return False
    if request.archived == "include":
        return True
    return bool(session.archived) == (request.archived == "only")


def _sort_key(session: v2.SessionInfo) -> tuple[str, str]:
    return session.updated_at or "", session.session_id


def _encode_cursor(key: tuple[str, str]) -> str:
    return urlsafe_b64encode(msgspec.json.encode(key)).decode()


def _decode_cursor(cursor: str) -> tuple[str, str]:
    try:
        raw = urlsafe_b64decode(cursor.encode())
        return msgspec.json.decode(raw, type=tuple[str, str])
    except (binascii.Error, msgspec.DecodeError, UnicodeError):
        raise InvalidParams("The cursor is not valid") from None
