"""Next edit suggestions: documents, engines, both sides of the protocol, and a measure.

`Suggestions` has an agent suggest edits, `NesClient` is for editors. What suggests is an engine, or
a function of the program's that returns proposals. All is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parley.nes._documents.document import Document

    from .client import NesClient
    from .embedded import EmbeddedEngine
    from .engine import (
        ActionProposal,
        DocumentEvent,
        EditProposal,
        Engine,
        JumpProposal,
        Predictor,
        Proposal,
        Question,
        RenameProposal,
        ReplaceProposal,
        Span,
        Spot,
        TextEdit,
        Workspace,
    )
    from .model import CombinedEngine, ModelEngine
    from .serving import Suggestions

__all__ = [
    "ActionProposal",
    "CombinedEngine",
    "Document",
    "DocumentEvent",
    "EditProposal",
    "EmbeddedEngine",
    "Engine",
    "JumpProposal",
    "ModelEngine",
    "NesClient",
    "Predictor",
    "Proposal",
    "Question",
    "RenameProposal",
    "ReplaceProposal",
    "Span",
    "Spot",
    "Suggestions",
    "TextEdit",
    "Workspace",
]

_LAZY = {
    "CombinedEngine": "model",
    "Document": "_documents.document",
    "EmbeddedEngine": "embedded",
    "ModelEngine": "model",
    "NesClient": "client",
    "Suggestions": "serving",
}
"""Where what is not in `engine.py` is."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY.get(name, 'engine')}"), name)
