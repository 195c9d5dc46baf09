"""Which methods open sessions and close them, in both versions of the protocol."""

from __future__ import annotations

__all__ = ["BEGINS", "CLOSES", "OPENS", "REOPENS"]

BEGINS = frozenset({"session/new", "session/fork"})
"""What begins a session; the answer names it."""
REOPENS = frozenset({"session/load", "session/resume"})
"""What opens a session again that was there before; the request names it."""
OPENS = BEGINS | REOPENS
"""What opens a session, new or not."""
CLOSES = frozenset({"session/close", "session/delete", "session/archive"})
"""What closes the session that it names, if that is open."""
