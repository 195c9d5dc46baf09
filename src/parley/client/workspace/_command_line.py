"""Command lines: what a `terminal/create` request runs, and how to show it to a person.

The text is what you would type into a shell to do the same: variables, program, arguments, quoted.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from parley.errors import InvalidParams

if TYPE_CHECKING:
    from parley.schema import v1


_NEEDS_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]{}~#!\n\r]|^\S*=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""A valid variable name; in the displayed text, any other name could be read as the command."""


class CommandLine(NamedTuple):
    """A command to run, and its text for display."""

    words: Sequence[str]
    """The program and its arguments."""
    env: Mapping[str, str]
    """The environment variables that the agent sets."""
    text: str
    """All of this in shell syntax."""


def command_line_of(
    request: v1.CreateTerminalRequest, cwd: str, *, shell: bool = False
) -> CommandLine:
    """Return the command line that a request describes.

    Some agents put a whole command line into `command`. If it consists of plain words, it is split;
    if it needs a shell, it gets one only if `shell` is true.

    Raises:
        InvalidParams: There is no command, a variable name is invalid, or a shell is needed.
    """
    env = {each.name: each.value for each in request.env}
    if not request.command or not all(map(_NAME.fullmatch, env)):
        raise InvalidParams(
            "There is no command, or a variable has a name that a shell does not accept"
        )
    words, text = [request.command, *request.args], None
    if not request.args and _is_line(request.command, cwd, env):
        plain = _split_plain(request.command)
        if plain is None:
            if not shell:
                raise _shell_not_allowed(request.command)
            plain, text = ["/bin/sh", "-c", request.command], request.command
        words = plain
    before = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    return CommandLine(words, env, " ".join([*before, text or shlex.join(words)]))


def _is_line(command: str, cwd: str, env: Mapping[str, str]) -> bool:
    """Return whether this is a whole command line rather than the name of a program."""
    if not (_NEEDS_SHELL.search(command) or re.search(r"\s", command)):
        return False
    path = env.get("PATH", os.environ.get("PATH"))
    program = str(Path(cwd, command)) if "/" in command else command
    return "\0" not in command and shutil.which(program, path=path) is None


def _split_plain(line: str) -> list[str] | None:
    """Return the words of a line; None if a shell would do more than split it."""
    if _NEEDS_SHELL.search(line):
        return None
    try:
        return shlex.split(line) or None
    except ValueError:  # an unclosed quote
        return None


def _shell_not_allowed(command: str) -> InvalidParams:
    return InvalidParams(
        f"{command:.200} needs a shell, and commands run without one; send the program in "
        'command and its arguments in args, for example command "sh" with args ["-c", …]',
        {"command": command[:1000]},
    )
