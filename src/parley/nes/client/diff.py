"""An edit of the history as a unified diff with one piece."""

from __future__ import annotations

from parley.nes.documents.document import split_lines
from parley.nes.documents.edit_log import Edit
from parley.nes.documents.patches import write_patch

__all__ = ["diff_of"]


def diff_of(edit: Edit, path: str) -> str:
    """Return an edit as a unified diff of a file."""
    pieces = write_patch(_lines(edit.old), _lines(edit.new), line=edit.line)
    return f"--- a/{path}\n+++ b/{path}\n{pieces}"


def _lines(text: str) -> list[str]:
    lines = split_lines(text)
    return lines if lines[-1] else lines[:-1]
