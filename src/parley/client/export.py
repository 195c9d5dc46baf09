"""A recorded session as a file for somebody else: JSON lines, Markdown, or a page.

What looks like a secret does not leave: keys and tokens of known shapes, passwords in addresses and
assignments, and the values of the environment's variables that are called so. Redaction knows
shapes, not meanings, so look at what you publish.
"""

from __future__ import annotations

from collections.abc import Iterable

from parley.journal import Entry, Record
from parley.journal.jsonl import from_jsonl, write_line
from parley.secrets import redactor
from parley.session.transcript import Transcript

from .markdown import write_markdown
from .outline import Clean
from .page import write_page
from .redacted import redacted

__all__ = ["from_jsonl", "to_html", "to_jsonl", "to_markdown"]


def to_jsonl(entries: Iterable[Entry], *, redact: bool = True) -> bytes:
    """Return the frames and notes of a session, a line each; `Replay.load` plays such a file.

    Args:
        entries: Of one session, in order.
        redact: Whether secrets are left out, also those that came in pieces.
    """
    return b"".join(write_line(each) for each in (redacted(entries) if redact else entries))


def to_markdown(transcript: Transcript, record: Record, *, redact: bool = True) -> str:
    """Return a session as Markdown.

    Args:
        transcript: What was said.
        record: What else is known of the session.
        redact: Whether secrets are left out.
    """
    return write_markdown(transcript, record, _cleaner(redact))


def to_html(transcript: Transcript, record: Record, *, redact: bool = True) -> str:
    """Return a session as one HTML file, which fetches nothing and runs nothing.

    Args:
        transcript: What was said.
        record: What else is known of the session.
        redact: Whether secrets are left out.
    """
    return write_page(transcript, record, _cleaner(redact))


def _cleaner(redact: bool) -> Clean:
    return redactor() if redact else _as_it_is


def _as_it_is(text: str) -> str:
    return text
