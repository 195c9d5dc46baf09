"""Export of recorded sessions as files to share: JSON Lines, Markdown, or HTML.

Text that looks like a secret is redacted: keys and tokens in known formats, passwords in URLs and
assignments, and the values of environment variables with names such as `API_KEY`. Redaction
recognizes formats, not meanings, so review what you publish.

    record = journal.list(limit=1)[0]
    Path("session.jsonl").write_bytes(to_jsonl(journal.entries(record.key)))
    transcript = transcript_from_frames(journal.entries(record.key))
    Path("session.md").write_text(to_markdown(transcript, record))

`transcript_from_frames` is in `parley.session.frame_replay`.
"""

from __future__ import annotations

from collections.abc import Iterable

from parley._redaction import redactor
from parley.journal import Entry, Record
from parley.journal._jsonl import from_jsonl, write_line
from parley.session._transcript import Transcript

from ._html import write_page
from ._markdown import write_markdown
from ._outline import Clean
from ._redacted import redacted

__all__ = ["from_jsonl", "to_html", "to_jsonl", "to_markdown"]


def to_jsonl(entries: Iterable[Entry], *, redact: bool = True) -> bytes:
    """Return the frames and notes of a session as JSON Lines; `Replay.load` reads such a file.

    Args:
        entries: The journal entries of one session, in order.
        redact: Whether to redact secrets, including those split over several frames.
    """
    return b"".join(write_line(each) for each in (redacted(entries) if redact else entries))


def to_markdown(transcript: Transcript, record: Record, *, redact: bool = True) -> str:
    """Return a session as a Markdown document.

    Args:
        transcript: The conversation.
        record: The journal's record of the session: agent, directory, times.
        redact: Whether to redact secrets.
    """
    return write_markdown(transcript, record, _cleaner(redact))


def to_html(transcript: Transcript, record: Record, *, redact: bool = True) -> str:
    """Return a session as a self-contained HTML page without scripts or external resources.

    Args:
        transcript: The conversation.
        record: The journal's record of the session: agent, directory, times.
        redact: Whether to redact secrets.
    """
    return write_page(transcript, record, _cleaner(redact))


def _cleaner(redact: bool) -> Clean:
    return redactor() if redact else _identity


def _identity(text: str) -> str:
    return text
