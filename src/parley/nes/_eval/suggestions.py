"""Suggestions of the wire as the proposals that are judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parley.nes._documents.document import Document
from parley.nes._documents.encoding import Encoding, span_of, spot_of
from parley.nes.engine import (
    META,
    EditProposal,
    JumpProposal,
    Proposal,
    RenameProposal,
    ReplaceProposal,
    TextEdit,
)
from parley.schema import v2
from parley.schema.base import Unknown

from .driver import path_of


class Unreadable(Exception):
    """A suggestion cannot be judged."""


def proposal_of(
    suggestion: v2.NesSuggestion,
    root: Path,
    documents: Mapping[str, Document],
    encoding: Encoding,
) -> tuple[Proposal, str]:
    """Return the proposal, in code points, and its id.

    Args:
        suggestion: What an agent sent.
        root: The folder of the project.
        documents: The files that are open, by path.
        encoding: What positions count.

    Raises:
        Unreadable: It is of a kind that is not known.
    """
    if isinstance(suggestion, Unknown):
        raise Unreadable(f"it suggests something of an unknown kind: {suggestion.tag}")
    if isinstance(suggestion, v2.NesActionSuggestion):
        raise Unreadable(f"it suggests the action {suggestion.action_id}, which nobody offered")
    document = _document(suggestion.uri, root, documents)
    meta: dict[str, Any] = suggestion.meta or {}  # other agents put their score beside our key
    meta = {**meta, **meta[META]} if isinstance(meta.get(META), dict) else meta
    common: dict[str, Any] = {
        "uri": suggestion.uri,
        "score": _score(meta),
        "rule": str(meta.get("rule", "")),
        "meta": meta,
    }
    match suggestion:
        case v2.NesEditSuggestion(edits=edits):
            replaced = (
                TextEdit(span_of(document, each.range, encoding), each.new_text) for each in edits
            )
            return EditProposal(edits=tuple(replaced), **common), suggestion.suggestion_id
        case v2.NesJumpSuggestion(position=position):
            spot = spot_of(document, position, encoding)
            return JumpProposal(spot=spot, **common), suggestion.suggestion_id
        case v2.NesRenameSuggestion(position=position, new_name=name):
            spot = spot_of(document, position, encoding)
            return RenameProposal(spot=spot, new_name=name, **common), suggestion.suggestion_id
        case v2.NesSearchAndReplaceSuggestion(search=search, replace=replace):
            is_regex = bool(suggestion.is_regex)
            found = ReplaceProposal(search=search, replace=replace, is_regex=is_regex, **common)
            return found, suggestion.suggestion_id


def model_state(meta: Mapping[str, Any] | None) -> str | None:
    """Return why the model is silent, or an empty text; None if its state is not given."""
    match (meta or {}).get(META):
        case {"model": {"answered": True}}:
            return ""
        case {"model": {"answered": False, **more}}:
            return str(more.get("why") or "it gave no reason")
        case _:
            return None


def _score(meta: Mapping[str, Any]) -> float:
    """Return the confidence of the agent; 1 if it reports none."""
    for name in ("score", "p"):
        if isinstance(value := meta.get(name), int | float):
            return float(value)
    return 1.0


def _document(uri: str, root: Path, documents: Mapping[str, Document]) -> Document:
    """Return a file, open or not; an empty one if there is none."""
    path = path_of(root, uri)
    if path is not None and path in documents:
        return documents[path]
    try:
        text = (root / (path or "")).read_bytes().decode()
    except (OSError, ValueError):
        text = ""
    return Document(uri, "", 0, text)
