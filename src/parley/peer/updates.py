"""The short way for updates: from the bytes of many lines to typed params in one call.

A stream of updates is what a connection carries most, and nearly always it is written as everybody
writes it. Such lines are read here, envelope and params in one pass, all lines of a block at once.
What does not fit exactly takes the long way, which answers, forgives and explains: an envelope with
other members, a value that needs the leniency of the schema, bytes that are not UTF-8.

How deep an update may nest is decided by the decoder here, and by the limit on the long way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import groupby
from typing import Any, Literal, TypeAlias

import msgspec

from parley.rpc.codec import NOT_FITTING, USUAL
from parley.rpc.framing import Frame
from parley.rpc.unread import is_utf8
from parley.schema.codec import strict_decoder

from .lane import Run
from .routes import Route

__all__ = ["UpdateReader"]

Group: TypeAlias = tuple[str, Run, list[Any]]
"""A session, the handler, and the params with which it is to be called, one after the other."""


class UpdateReader:
    """Reads the notifications that wait for their turn in a session."""

    def __init__(self, routes: Iterable[Route] = ()) -> None:
        self._routes = {route.name: route for route in routes if route.is_plain}
        self._handlers: dict[type, Run] = {}
        self._decoders: list[msgspec.json.Decoder[Any]] = []
        self.heads = tuple(USUAL + msgspec.json.encode(name) + b"," for name in self._routes)
        """How the lines begin that can be read here."""

    def read(self, frame: Frame) -> tuple[Run, Any] | None:
        """Return the handler of an update and its params; None if it must take the long way."""
        try:
            message = self._ready().decode(frame) if _is_text(frame) else None
        except NOT_FITTING:
            return None
        return None if message is None else (self._handlers[type(message)], message.params)

    def read_block(self, block: bytes) -> list[Group] | None:
        """Return what many lines hold, in their order; None if they must take the long way."""
        last = block.rfind(b"\n", 0, -1) + 1
        if not (block.startswith(self.heads) and block.startswith(self.heads, last)):
            return None
        # Read as an array, two messages on one line lack a comma, and a newline inside a message is
        # a comma too many, or leaves fewer messages than lines. A peer that breaks both rules in a
        # block can make them cancel out; it garbles nothing but its own text.
        array = b"[%b]" % block[:-1].replace(b"\n", b",")
        try:
            messages: list[Any] = self._ready(many=True).decode(array) if _is_text(block) else []
        except NOT_FITTING:
            return None
        return list(self._grouped(messages)) if len(messages) == block.count(b"\n") else None

    def _grouped(self, messages: list[Any]) -> Iterator[Group]:
        """Put together what follows each other in one session; mostly that is everything."""
        for kind, each in groupby(messages, type):
            params = [message.params for message in each]
            if len({one.session_id for one in params}) == 1:
                yield params[0].session_id, self._handlers[kind], params
                continue
            for session, group in groupby(params, lambda one: one.session_id):
                yield session, self._handlers[kind], list(group)

    def _ready(self, *, many: bool = False) -> msgspec.json.Decoder[Any]:
        """Return the decoder of one message or of an array, built at the first use."""
        if not self._decoders:
            for name, route in self._routes.items():
                fields = [("jsonrpc", Literal["2.0"]), ("params", route.type)]
                kind = msgspec.defstruct(
                    "Update", fields, tag_field="method", tag=name, forbid_unknown_fields=True
                )
                self._handlers[kind] = route.handler
            kinds: list[Any] = list(self._handlers)
            either: Any = reduce(lambda one, other: one | other, kinds)
            self._decoders = [strict_decoder(either), strict_decoder(list[either])]
        return self._decoders[many]


def _is_text(data: Frame) -> bool:
    return data.isascii() or is_utf8(data)
