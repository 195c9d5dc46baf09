"""How a function says that it is a resource or a prompt of MCP, and no tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

PROMPT = "prompt"
RESOURCE = "resource"
_ATTRIBUTE = "__parley_mcp__"


def resource(uri: str, *, mime_type: str | None = None) -> Callable[[F], F]:
    """Have a function be read as a resource, where it is given among the tools.

    Args:
        uri: Its address, as `notes://today`. In braces are the function's parameters, as in
            `notes://{day}`.
        mime_type: What it returns; text unless told otherwise.
    """

    def decorate(function: F) -> F:
        setattr(function, _ATTRIBUTE, (RESOURCE, uri, mime_type))
        return function

    return decorate


def prompt(function: F) -> F:
    """Have a function be a prompt that a user can choose, where it is given among the tools."""
    setattr(function, _ATTRIBUTE, (PROMPT, "", None))
    return function


def decoration_of(function: object) -> tuple[str, str, str | None] | None:
    """Return what a function says that it is, with address and type; None for a tool."""
    decoration: tuple[str, str, str | None] | None = getattr(function, _ATTRIBUTE, None)
    return decoration
