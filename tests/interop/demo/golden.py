"""The files that hold what is seen, with `<name>` where something differs from run to run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["NOTES", "read_golden"]

NOTES = "first\nsecond 🦜\n"
"""What the file `notes.txt` holds, which the prompt `fs` is about."""


def read_golden(name: str, **values: str) -> dict[str, Any]:
    """Return what a file holds."""
    raw = json.loads(Path(__file__).with_name(name).read_text())
    filled: dict[str, Any] = _filled(raw, {**values, "notes": NOTES})
    return filled


def _filled(value: Any, values: dict[str, str]) -> Any:
    match value:
        case dict():
            return {key: _filled(inner, values) for key, inner in value.items()}
        case list():
            return [_filled(inner, values) for inner in value]
        case str():
            for name, text in values.items():
                value = value.replace(f"<{name}>", text)
            return value
        case _:
            return value
