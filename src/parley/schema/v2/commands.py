"""Slash commands: the commands that an agent offers, and the update that lists them.

There is no method to run a command: the user sends it as the text of a prompt, see `prompt.py`.

Spec: https://agentclientprotocol.com/protocol/v2/slash-commands
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import Object, Open, SkipInvalid

__all__ = [
    "AvailableCommand",
    "AvailableCommandInput",
    "AvailableCommandsUpdate",
    "Command",
    "TextCommandInput",
]


class TextCommandInput(Object, tag_field="type", tag="text"):
    """Free text after the name of the command."""

    hint: str
    """The placeholder to show before the user types anything."""


AvailableCommandInput: TypeAlias = Open[TextCommandInput]
"""The input of a command."""


class Command(Object, tag_field="type", tag="command"):
    """A command that is invoked by its name in a prompt."""

    name: str
    """The name without the slash."""
    description: str
    input: AvailableCommandInput | None = None
    """None if the command takes no input."""


AvailableCommand: TypeAlias = Open[Command]
"""A command that the user can invoke; one of an unknown type is kept even without a name.

This is a union for type hints. Create a `Command`."""


class AvailableCommandsUpdate(Object, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list of commands."""

    available_commands: SkipInvalid[list[AvailableCommand]]
