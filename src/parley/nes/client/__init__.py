"""Next edit suggestions for editors that are written in Python."""

from ._client import NesClient
from ._options import NesConnectOptions, NesOptions
from ._scheduler import Clock, Timing
from ._session import ENCODINGS, KINDS, NesSession, shown_kinds
from ._suggestion import (
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
