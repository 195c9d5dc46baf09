"""The numbers of a connection's server-sent events, and the encoding of events with them.

Events are numbered 1, 2, 3, … across all streams of a connection; the number is the event's id. A
message is one event with one line of data. Two fields are our own, for peers that negotiated them.
`after` has an event number and a session, on whose stream that event must be read first. `end`, on
the stream of the connection, is the reason why all streams end. Readers ignore unknown fields.

The events that were sent are kept in `event_log.py`, and queued in `event_stream.py`. The numbers
of a client's POSTs, which are independent of these, are in `post_order.py`.
Spec: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


class EventNumbering:
    """Assigns the numbers of one connection's events while encoding them.

    Both happen in one call, because there is one for every message.
    """

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last = 0
        """The number of the last event; 0 if there was none."""

    def encode(self, frame: bytes) -> bytes:
        """Encode a message as the next event."""
        self.last = number = self.last + 1
        if b"\n" in frame or b"\r" in frame:  # white space in JSON that was forwarded unchanged
            frame = frame.translate(_LINE_ENDS)
        return b"id: %d\ndata: %b\n\n" % (number, frame)

    def encode_after(self, frame: bytes, earlier: int, session: str) -> bytes:
        """Encode a message that must be read after event `earlier` of a session's stream."""
        id_line, _, rest = self.encode(frame).partition(b"\n")
        return b"%b\nafter: %d %b\n%b" % (id_line, earlier, session.encode(), rest)

    def encode_end(self, reason: str) -> bytes:
        """Encode the event that ends the connection with a reason; it carries no message."""
        self.last += 1
        return b"id: %d\nend: %b\n\n" % (self.last, reason.encode().translate(_LINE_ENDS))


def fits_in_field(session: str) -> bool:
    """Return whether a session id can be the value of a field, as it can be that of a header."""
    return session.isprintable() and session.strip() == session != ""


def last_number(chunk: bytes) -> int:
    """Return the number of the last event in a chunk."""
    start = chunk.rfind(b"\n\nid: ", 0, -2) + 2
    return _number(chunk, start if start > 1 else 0)


def events_after(chunk: bytes, number: int) -> bytes:
    """Return the events in a chunk that come after the event with this number."""
    start = 0
    while start < len(chunk) and _number(chunk, start) <= number:
        start = chunk.index(b"\n\n", start) + 2
    return chunk[start:]


def _number(chunk: bytes, start: int) -> int:
    """Return the number of the event that starts at this offset."""
    return int(chunk[start + 4 : chunk.index(b"\n", start)])
