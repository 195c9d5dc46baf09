"""The engine without a model: rules propose candidates, which are scored and filtered."""

from ._engine import EmbeddedEngine

__all__ = ["EmbeddedEngine"]
