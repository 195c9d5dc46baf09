"""The defaults of lists and maps that may be left out; empty ones are not written either."""

from __future__ import annotations

from typing import Any, cast

from msgspec import field

__all__ = ["NO_ENTRIES", "NO_ITEMS"]

NO_ITEMS = cast(Any, field(default_factory=list))
NO_ENTRIES = cast(Any, field(default_factory=dict))
