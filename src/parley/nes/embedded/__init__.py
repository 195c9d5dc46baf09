"""The engine without a model: rules that propose candidates, a score, and what is never proposed."""

from ._engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
