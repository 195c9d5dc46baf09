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
    text = Path(__file__).with_name(name).read_text()
    for key, value in {**values, "notes": NOTES}.items():
        text = text.replace(f"<{key}>", json.dumps(value)[1:-1])
    seen: dict[str, Any] = json.loads(text)
    return seen
