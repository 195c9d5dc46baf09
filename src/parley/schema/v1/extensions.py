"""Extension methods, whose names start with an underscore: their params and results are any JSON.

Parley passes them to the handler that a program registered under that name.

Spec: https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["ExtNotification", "ExtRequest", "ExtResponse"]

ExtNotification: TypeAlias = Any
"""The params of an extension notification."""

ExtRequest: TypeAlias = Any
"""The params of an extension request."""

ExtResponse: TypeAlias = Any
"""The result of an extension request."""
