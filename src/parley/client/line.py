"""Command lines: what a request for a terminal runs, and how that is written for a person.

The text is what a shell would read to do the same: variables, program, arguments, quoted.
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

__all__ = ["Line", "line_of"]

_NEEDS_SHELL = re.compile(r"[|&;<>()$`\\*?\[\]{}~#!\n\r]|^\S*=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What a shell takes for a variable: another name could be read as the command."""


class Line(NamedTuple):
    """What is to be run."""

    words: Sequence[str]
    """The program and its arguments."""
    env: Mapping[str, str]
    """The variables that the agent gives it."""
    text: str
    """All of this as a shell would read it."""


def line_of(request: v1.CreateTerminalRequest, cwd: str, *, shell: bool = False) -> Line:
    """Find out what a request is to run.

    Some agents put a whole line into `command`. Plain words are taken for what they are; what needs
    a shell gets one only if `shell` says so.

    Raises:
        InvalidParams: It needs a shell, or cannot be passed on as it is.
    """
    env = {each.name: each.value for each in request.env}
    if not request.command or not all(map(_NAME.fullmatch, env)):
        raise InvalidParams("There is no command, or a variable whose name is none for a shell")
    words, text = [request.command, *request.args], None
    if not request.args and _is_line(request.command, cwd, env):
        plain = _plain_words(request.command)
        if plain is None:
            if not shell:
                raise _no_shell(request.command)
            plain, text = ["/bin/sh", "-c", request.command], request.command
        words = plain
    before = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    return Line(words, env, " ".join([*before, text or shlex.join(words)]))


def _is_line(command: str, cwd: str, env: Mapping[str, str]) -> bool:
    """Tell whether this is more than the name of a program."""
    if not (_NEEDS_SHELL.search(command) or re.search(r"\s", command)):
        return False
    path = env.get("PATH", os.environ.get("PATH"))
    program = str(Path(cwd, command)) if "/" in command else command
    return "\0" not in command and shutil.which(program, path=path) is None


def _plain_words(line: str) -> list[str] | None:
    """Return the words of a line in which a shell would do no more than split them."""
    if _NEEDS_SHELL.search(line):
        return None
    try:
        return shlex.split(line) or None
    except ValueError:  # a quote that is not closed
        return None


def _no_shell(command: str) -> InvalidParams:
    return InvalidParams(
        f"{command:.200} is a line for a shell, and commands run without one; send the program in "
        'command and its arguments in args, as command "sh" with args ["-c", …]',
        {"command": command[:1000]},
    )
