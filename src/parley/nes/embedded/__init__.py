"""The engine without a model: generators of candidates, a score, and what is never proposed."""

from .engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
