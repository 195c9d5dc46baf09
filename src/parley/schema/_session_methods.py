"""The methods that open and close sessions, in both versions of the protocol."""

from __future__ import annotations

BEGINS = frozenset({"session/new", "session/fork"})
"""Methods that create a session; the response contains its id."""
REOPENS = frozenset({"session/load", "session/resume"})
"""Methods that reopen an existing session; the request contains its id."""
OPENS = BEGINS | REOPENS
"""Methods that open a session, new or existing."""
CLOSES = frozenset({"session/close", "session/delete", "session/archive"})
"""Methods that close the session whose id they contain, if it is open."""
