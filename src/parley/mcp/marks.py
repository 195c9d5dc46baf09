"""How a function says that it is a resource or a prompt of MCP, and no tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["PROMPT", "RESOURCE", "mark_of", "prompt", "resource"]

F = TypeVar("F", bound=Callable[..., Any])

PROMPT = "prompt"
RESOURCE = "resource"
_MARK = "__parley_mcp__"


def resource(uri: str, *, mime_type: str | None = None) -> Callable[[F], F]:
    """Have a function be read as a resource, where it is given among the tools.

    Args:
        uri: Its address, as `notes://today`. In braces are the function's parameters, as in
            `notes://{day}`.
        mime_type: What it returns; text unless told otherwise.
    """

    def marked(function: F) -> F:
        setattr(function, _MARK, (RESOURCE, uri, mime_type))
        return function

    return marked


def prompt(function: F) -> F:
    """Have a function be a prompt that a user can choose, where it is given among the tools."""
    setattr(function, _MARK, (PROMPT, "", None))
    return function


def mark_of(function: object) -> tuple[str, str, str | None] | None:
    """Return what a function says that it is, with address and type; None for a tool."""
    mark: tuple[str, str, str | None] | None = getattr(function, _MARK, None)
    return mark
