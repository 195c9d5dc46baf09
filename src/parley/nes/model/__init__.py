"""The engine that uses a model, and both engines as one."""

from __future__ import annotations

from .combined import CombinedEngine
from .engine import ModelEngine
from .formats import FORMATS, PromptFormat
from .keys import read_api_key

__all__ = ["FORMATS", "CombinedEngine", "ModelEngine", "PromptFormat", "read_api_key"]
