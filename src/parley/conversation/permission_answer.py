"""The user's answer to a permission request."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from parley.policy import Scope

__all__ = ["SCOPE_KEYS", "PermissionAnswer"]

SCOPE_KEYS: dict[str, Scope] = {"s": "session", "p": "project"}
"""The letter for each scope in which an answer can be remembered."""


class PermissionAnswer(Struct, frozen=True):
    """The user's answer to a permission request."""

    option_id: str | None = None
    """The chosen option; None if the user chose none."""
    decision: Literal["allow", "deny"] = "deny"
    """What to decide the next time, if the answer is remembered."""
    scope: Scope | None = None
    """The scope to remember it in; None to forget it."""
