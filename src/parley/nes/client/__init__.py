"""Next edit suggestions for editors that are written in Python."""

from .client import NesClient
from .clock import Clock
from .options import NesConnectOptions, NesOptions
from .pace import Timing
from .session import ENCODINGS, KINDS, NesSession, shown_kinds
from .suggestion import (
    ActionSuggestion,
    EditSuggestion,
    JumpSuggestion,
    RenameSuggestion,
    ReplaceSuggestion,
    Suggestion,
)

__all__ = [
    "ENCODINGS",
    "KINDS",
    "ActionSuggestion",
    "Clock",
    "EditSuggestion",
    "JumpSuggestion",
    "NesClient",
    "NesConnectOptions",
    "NesOptions",
    "NesSession",
    "RenameSuggestion",
    "ReplaceSuggestion",
    "Suggestion",
    "Timing",
    "shown_kinds",
]
