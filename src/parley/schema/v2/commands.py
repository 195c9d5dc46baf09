"""Commands that the user can give by name, such as `/review`.

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
    """Everything that is typed after the command's name."""

    hint: str
    """What to show while nothing is typed."""


AvailableCommandInput: TypeAlias = Open[TextCommandInput]
"""What a command asks for besides its name."""


class Command(Object, tag_field="type", tag="command"):
    """A command that is invoked by its name in a prompt."""

    name: str
    """Without the slash."""
    description: str
    input: AvailableCommandInput | None = None
    """None: the command takes nothing."""


AvailableCommand: TypeAlias = Open[Command]
"""Something the user can invoke. One of an unknown type is kept even without a name."""


class AvailableCommandsUpdate(Object, tag_field="sessionUpdate", tag="available_commands_update"):
    """The commands of the session, all of them."""

    available_commands: SkipInvalid[list[AvailableCommand]]
