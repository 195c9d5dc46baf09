"""Slash commands: the commands that an agent offers, and the update that lists them.

There is no method to run a command: the user sends it as the text of a prompt, see `prompt.py`.

Spec: https://agentclientprotocol.com/protocol/v1/slash-commands
"""

from __future__ import annotations

from typing import TypeAlias

from parley.schema.base import Lenient, Object

__all__ = [
    "AvailableCommand",
    "AvailableCommandInput",
    "AvailableCommandsUpdate",
    "UnstructuredCommandInput",
]


class UnstructuredCommandInput(Object):
    """Free text after the name of the command."""

    hint: str
    """The placeholder to show before the user types anything."""


AvailableCommandInput: TypeAlias = UnstructuredCommandInput
"""The input of a command; so far there is only one kind."""


class AvailableCommand(Object):
    """A command that the user can send in a prompt."""

    name: str
    """The name without the slash."""
    description: str
    input: AvailableCommandInput | None = None


class AvailableCommandsUpdate(Object, tag_field="sessionUpdate", tag="available_commands_update"):
    """The complete list of commands."""

    available_commands: Lenient[list[AvailableCommand]]
