"""Names of peers in sentences, for errors."""

from __future__ import annotations

_ROLES = frozenset({"agent", "client"})


def with_article(name: str) -> str:
    """Return a peer's name for a sentence: "the agent" for a role, but "codex" for a name."""
    return f"the {name}" if name in _ROLES else name
