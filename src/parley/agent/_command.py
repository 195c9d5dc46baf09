"""Slash commands that a program declares with `@agent.command`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from parley.schema import v2
from parley.session._validation import check_handler, check_text

if TYPE_CHECKING:
    from ._turn import Turn


CommandHandler: TypeAlias = Callable[["Turn", str], Awaitable["v2.StopReason | None"]]
"""`async def review(turn, argument)`, which may return the stop reason."""

_CALL = re.compile(r"/(\S+)\s*(.*)", re.DOTALL)


class DeclaredCommand(Struct, frozen=True):
    """A command as it is announced to clients, and its handler."""

    command: v2.Command
    handler: CommandHandler


def declare_command(
    name: str, handler: CommandHandler, *, description: str | None, hint: str | None
) -> DeclaredCommand:
    """Return the declaration of a command; without a description, the docstring describes it.

    Raises:
        TypeError: The handler is not a coroutine function, takes other arguments, or has no
            docstring although there is no description.
    """
    check_handler(handler, "@agent.command", "turn", "argument", is_async=True)
    if description is None:
        description = (inspect.getdoc(handler) or "").partition("\n")[0]
    check_text(description, "description=")
    if not description:
        raise TypeError(f"the command {name!r} needs description= or a docstring")
    if hint is not None:
        check_text(hint, "hint=")
    input = None if hint is None else v2.TextCommandInput(hint=hint)
    return DeclaredCommand(v2.Command(name=name, description=description, input=input), handler)


def check_command_name(name: object) -> None:
    """Raise for a name that no prompt could start with.

    Raises:
        TypeError: It is not a string; perhaps the parentheses of the decorator are missing.
        ValueError: It is empty, starts with a slash, or has a space in it.
    """
    if not isinstance(name, str):
        raise TypeError('@agent.command takes the name of a command: @agent.command("review")')
    if not re.fullmatch(r"[^/\s]\S*", name):
        raise ValueError(f"{name!r} is not the name of a command, such as 'review'")


def split_command(text: str) -> tuple[str, str] | None:
    """Return the command and the argument of a prompt such as `/review a.py`, or None."""
    found = _CALL.match(text)
    return None if found is None else (found[1], found[2].strip())
