"""Decorators for functions that are resources or prompts of MCP instead of tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

PROMPT = "prompt"
RESOURCE = "resource"
_ATTRIBUTE = "__parley_mcp__"


def resource(uri: str, *, mime_type: str | None = None) -> Callable[[F], F]:
    """Make a function that is passed as a tool a resource instead.

    Args:
        uri: Its address, as `notes://today`. In braces are the function's parameters, as in
            `notes://{day}`.
        mime_type: The type of its content; text by default.
    """

    def decorate(function: F) -> F:
        setattr(function, _ATTRIBUTE, (RESOURCE, uri, mime_type))
        return function

    return decorate


def prompt(function: F) -> F:
    """Make a function that is passed as a tool a prompt, which a user can choose, instead."""
    setattr(function, _ATTRIBUTE, (PROMPT, "", None))
    return function


def decoration_of(function: object) -> tuple[str, str, str | None] | None:
    """Return the kind, address and type of a decorated function; None for a tool."""
    decoration: tuple[str, str, str | None] | None = getattr(function, _ATTRIBUTE, None)
    return decoration
