"""Messages as server-sent events: one message, one event, on one line of data.

Every event has an id. To a peer that negotiated it, one that must not overtake another stream has
the field `after`: a number and the session on whose stream that number must be seen first. Readers
that do not know the field pass over it. So they do with `end`, which says on the stream of the
connection why nothing more comes, on any.
Spec: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from __future__ import annotations

__all__ = [
    "COMMENT",
    "HEADERS",
    "behind",
    "can_be_named",
    "ending",
    "event",
    "event_after",
    "last_number",
]

COMMENT = b":\n\n"
"""Says that the stream is there; readers pass over it."""

HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-store"),
    (b"x-accel-buffering", b"no"),
)
"""What goes before the events: nobody on the way keeps them, or keeps them back."""

_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


def event(n: int, frame: bytes) -> bytes:
    """Return a message as the event with this number."""
    if b"\n" in frame or b"\r" in frame:  # white space in JSON that was passed on as it came
        frame = frame.translate(_LINE_ENDS)
    return b"id: %d\ndata: %b\n\n" % (n, frame)


def event_after(n: int, frame: bytes, seen: int, session: str) -> bytes:
    """Return a message that must not be read before an event of a session's stream."""
    rest = event(n, frame).partition(b"\n")[2]
    return b"id: %d\nafter: %d %b\n%b" % (n, seen, session.encode(), rest)


def ending(n: int, why: str) -> bytes:
    """Return what says that the connection is over, and why; it is no message."""
    return b"id: %d\nend: %b\n\n" % (n, why.encode().translate(_LINE_ENDS))


def can_be_named(session: str) -> bool:
    """Tell whether a session's id fits into a line: one that does not has no stream either."""
    return session.isprintable() and session.strip() == session != ""


def last_number(piece: bytes) -> int:
    """Return the number of the last event in a piece."""
    start = piece.rfind(b"\n\nid: ", 0, -2) + 2
    return _number(piece, start if start > 1 else 0)


def behind(piece: bytes, seen: int) -> bytes:
    """Return what is in a piece of several events behind those that were seen."""
    start = 0
    while start < len(piece) and _number(piece, start) <= seen:
        start = piece.index(b"\n\n", start) + 2
    return piece[start:]


def _number(piece: bytes, start: int) -> int:
    return int(piece[start + 4 : piece.index(b"\n", start)])
