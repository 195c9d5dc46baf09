"""Slash commands: what the user can start a prompt with.

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
    """Everything that is typed after the command's name."""

    hint: str
    """What to show while nothing has been typed."""


AvailableCommandInput: TypeAlias = UnstructuredCommandInput
"""What a command takes; so far there is one kind."""


class AvailableCommand(Object):
    """A command that the user can give."""

    name: str
    """Without the slash."""
    description: str
    input: AvailableCommandInput | None = None


class AvailableCommandsUpdate(Object, tag_field="sessionUpdate", tag="available_commands_update"):
    """All commands there are now."""

    available_commands: Lenient[list[AvailableCommand]]
