"""Methods of somebody's own, whose names begin with an underscore: any JSON may go in and come out.

Spec: https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

from typing import Any, TypeAlias

__all__ = ["ExtNotification", "ExtRequest", "ExtResponse"]

ExtNotification: TypeAlias = Any
"""The params of somebody's own notification."""

ExtRequest: TypeAlias = Any
"""The params of somebody's own request."""

ExtResponse: TypeAlias = Any
"""The result of somebody's own request."""
