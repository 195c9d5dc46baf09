"""The fast path for updates: from the bytes of many lines to typed params in one call.

Most of the messages on a connection are updates, and nearly all of them are written in the same
form. Such lines are decoded here, envelope and params in one pass, all lines of a block at once.
Anything that does not match exactly takes the slow path, which sends errors, is lenient and gives
reasons: an envelope with other members, a value that needs the schema's leniency, bytes that are
not UTF-8.

On the fast path the decoder limits how deep an update may nest; on the slow path `Limits.depth`
does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal, NamedTuple, Union

import msgspec

from parley.rpc._codec import DECODE_ERRORS, NOTIFICATION_PREFIX
from parley.rpc._framing import Frame
from parley.rpc._peek import is_utf8
from parley.schema._codec import strict_decoder

from ._dispatcher import Handler
from ._routes import Route


class UpdateGroup(NamedTuple):
    """Consecutive updates of one session, decoded: one call of the handler for each."""

    method: str
    session_id: str
    handler: Handler
    params: list[Any]


_GAP = b'}\n{"jsonrpc"'
"""The bytes between two messages in the usual form."""


class UpdateReader:
    """A decoder of the notifications that are handled in session order."""

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self._routes = {route.name: route for route in routes if route.is_plain}
        self._kinds: dict[type, Route] = {}
        self._decoder: msgspec.json.Decoder[Any] | None = None
        self.heads = tuple(
            NOTIFICATION_PREFIX + msgspec.json.encode(name) + b"," for name in self._routes
        )
        """The prefixes of lines that can be decoded here."""

    def read(self, frame: Frame) -> UpdateGroup | None:
        """Return an update as a group of one; None if it must take the slow path."""
        try:
            message = self._ready().decode(frame) if _is_text(frame) else None
        except DECODE_ERRORS:
            return None
        if message is None:
            return None
        route, params = self._kinds[type(message)], message.params
        return UpdateGroup(route.name, params.session_id, route.handler, [params])

    def read_block(self, block: bytes) -> list[UpdateGroup] | None:
        """Return the updates of a block of lines, in order; None if it must take the slow path."""
        # A cheap test first: both the first and the last line must look like an update.
        last = block.rfind(b"\n", 0, -1) + 1
        if not (block.startswith(self.heads) and block.startswith(self.heads, last)):
            return None
        try:
            messages: list[Any] = self._ready().decode_lines(block) if _is_text(block) else []
        except DECODE_ERRORS:
            return None
        return list(self._group(messages)) if _is_one_a_line(block, len(messages)) else None

    def _group(self, messages: list[Any]) -> Iterator[UpdateGroup]:
        """Group consecutive updates of one session; usually that is the whole block."""
        if len(set(map(type, messages))) == 1:  # faster than `groupby`
            yield from self._grouped_by_session(messages)
            return
        for _, each in groupby(messages, type):
            yield from self._grouped_by_session(list(each))

    def _grouped_by_session(self, messages: list[Any]) -> Iterator[UpdateGroup]:
        """Group consecutive messages of one session; all of them have the same method."""
        route, params = self._kinds[type(messages[0])], [each.params for each in messages]
        if len({one.session_id for one in params}) == 1:
            yield UpdateGroup(route.name, params[0].session_id, route.handler, params)
            return
        for session, group in groupby(params, lambda one: one.session_id):
            yield UpdateGroup(route.name, session, route.handler, list(group))

    def _ready(self) -> msgspec.json.Decoder[Any]:
        """Return the decoder, which is built on first use."""
        if self._decoder is None:
            for name, route in self._routes.items():
                self._kinds[self._kind(name, route.type)] = route
            kinds: Any = tuple(self._kinds)
            self._decoder = strict_decoder(Union[kinds])  # noqa: UP007 - known only at run time
        return self._decoder

    def _kind(self, name: str, params: Any) -> type:
        """Return a message type for this method that allows only the members of an update.

        Several types are distinguished by a tag. A single type must not have one: the decoder
        would not notice if it was missing, and a message without a method would pass as an update.
        """
        fields = [("jsonrpc", Literal["2.0"]), ("params", params)]
        tag = None if len(self._routes) == 1 else name
        if tag is None:
            fields.insert(1, ("method", Literal[name]))
        return msgspec.defstruct(
            "Update",
            fields,
            tag_field=None if tag is None else "method",
            tag=tag,
            forbid_unknown_fields=True,
            gc=False,  # never part of a cycle: like all types of the schema
        )


def _is_text(data: Frame) -> bool:
    return data.isascii() or is_utf8(data)


def _is_one_a_line(block: bytes, count: int) -> bool:
    """Return whether each line of a decoded block is exactly one message.

    The decoder accepts any white space between two messages, even none, and a newline inside a
    message is white space too. But `}`, a newline and `{` follow each other only between two
    messages: inside a message there is a comma, and a string contains no newline. So if there are
    as many of these as gaps between messages, and no other newline, the slow path would read the
    same lines.
    """
    if len(block) - len(block.replace(b"\n", b"")) != count:  # several times faster than `count`
        return False
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    return block.count(_GAP) == count - 1
