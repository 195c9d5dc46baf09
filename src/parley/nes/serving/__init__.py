"""The agent's side: `Suggestions` has an agent answer `nes/*` and follow `document/*`."""

from __future__ import annotations

from ._session import ServedSession
from ._suggestions import Suggestions

__all__ = ["ServedSession", "Suggestions"]
