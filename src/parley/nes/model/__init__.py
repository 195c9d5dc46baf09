"""The engine that uses a model, and both engines as one."""

from __future__ import annotations

from ._combined import CombinedEngine
from ._engine import ModelEngine
from ._formats import FORMATS, PromptFormat
from ._keys import read_api_key

__all__ = ["FORMATS", "CombinedEngine", "ModelEngine", "PromptFormat", "read_api_key"]
