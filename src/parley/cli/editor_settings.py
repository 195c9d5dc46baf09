"""The agents in the settings of an editor, and the edits that put a tap before one of them.

Zed and JetBrains have the same form: `agent_servers` holds each agent by its name, with `command`
and `args`. Only these two values are edited; every other byte stays.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from parley._atomic_file import write_temporary
from parley._interpreter import parley_command

from .jsonc import JsoncError, Node, parse
from .reporting import Failure

__all__ = ["SettingsFile", "TapEdit", "add_tap", "remove_tap", "settings_path"]

_AGENTS = "agent_servers"
_TAP = ("tap", "--name")
_MAX_BYTES = 16 * 1024 * 1024
_SPACE_BEFORE = re.compile(r"\s*\Z")


def settings_path(editor: str) -> Path:
    """Return where an editor keeps its settings."""
    if editor == "jetbrains":
        return Path.home() / ".jetbrains" / "acp.json"
    base = os.environ.get("XDG_CONFIG_HOME", "")
    config = Path(base) if os.path.isabs(base) else Path.home() / ".config"  # noqa: PTH117
    return config / "zed" / "settings.json"


class SettingsFile:
    """The settings of an editor as they were read."""

    def __init__(self, path: Path) -> None:
        """Read the settings.

        Raises:
            Failure: They cannot be read, or a link leads elsewhere.
        """
        self.path = path
        try:
            self._status = path.lstat()
            if stat.S_ISLNK(self._status.st_mode):
                where = path.resolve()
                raise Failure(
                    f"{path} is a symbolic link to {where}. To change that file, give "
                    f"--settings {shlex.quote(str(where))}"
                )
            if not stat.S_ISREG(self._status.st_mode):
                raise Failure(f"{path} is not a regular file")
            if self._status.st_size > _MAX_BYTES:
                raise Failure(f"{path} is larger than {_MAX_BYTES >> 20} MiB")
            self._data = path.read_bytes()
            self.text = self._data.decode()
        except FileNotFoundError:
            raise Failure(f"{path} does not exist; name the file with --settings FILE") from None
        except OSError as error:
            raise Failure(f"{path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError:
            raise Failure(f"{path} cannot be changed: it is not UTF-8") from None

    def write(self, text: str) -> None:
        """Replace the settings in one step.

        Raises:
            Failure: They cannot be written, or have changed since they were read.
        """
        mode = stat.S_IMODE(self._status.st_mode)
        try:
            with write_temporary(self.path, text.encode(), mode) as temporary:
                is_same = os.path.samestat(self.path.lstat(), self._status)
                if not is_same or self.path.read_bytes() != self._data:
                    raise Failure(f"{self.path} was changed meanwhile; try again")
                temporary.replace(self.path)
        except OSError as error:
            raise Failure(f"{self.path} cannot be written: {error.strerror}") from error


class TapEdit(Struct, frozen=True):
    """A change of the settings."""

    agent: str
    """The name of the agent, as it is written there."""
    text: str
    """The new settings; the same as before if nothing is to be changed."""


class _AgentNodes(Struct, frozen=True):
    """An agent in the settings."""

    name: str
    command: Node
    args: Node | None
    args_key: Node | None

    @property
    def words(self) -> list[str]:
        """The arguments."""
        return [] if self.args is None else self.args.strings or []


def add_tap(text: str, agent: str, parley: Sequence[str]) -> TapEdit:
    """Put a tap before the command of an agent.

    Args:
        text: The settings.
        agent: The name of the agent.
        parley: The command that starts this Parley.

    Raises:
        JsoncError: The settings are not valid, or the agent has no command there.
    """
    found = _find(text, agent)
    if _prefix_length(found):
        return TapEdit(found.name, text)
    words = [*parley[1:], *_TAP, found.name, "--"]
    tokens = [*map(_token, words), text[found.command.start : found.command.end]]
    text = _insert_args(text, found, tokens)
    command = found.command  # its place is the same if the arguments come later
    if found.args is not None and found.args.start < command.start:
        command = _find(text, found.name).command
    text = text[: command.start] + _token(parley[0]) + text[command.end :]
    return TapEdit(found.name, text)


def remove_tap(text: str, agent: str) -> TapEdit:
    """Take the tap away again.

    Raises:
        JsoncError: The settings are not valid, or the agent has no command there.
    """
    found = _find(text, agent)
    length = _prefix_length(found)
    if not length or found.args is None or found.args.items is None:
        return TapEdit(found.name, text)
    items = found.args.items
    original = text[items[length - 1].start : items[length - 1].end]
    start, end = _args_to_remove(text, found, length)
    edits = [(start, end, ""), (found.command.start, found.command.end, original)]
    for first, last, new in sorted(edits, reverse=True):
        text = text[:first] + new + text[last:]
    return TapEdit(found.name, text)


def _find(text: str, agent: str) -> _AgentNodes:
    root = parse(text)
    servers = root.member(_AGENTS)
    members = () if servers is None else servers.value.members or ()
    names = [each.name for each in members]
    exact = [name for name in names if name == agent]
    similar = exact or [name for name in names if name.lower() == agent.lower()]
    if not similar or servers is None:
        known = f"there are {', '.join(names)}" if names else f'there is nothing in "{_AGENTS}"'
        raise JsoncError(f"it has no agent {agent!r}; {known}")
    if len(similar) > 1 and not exact:
        raise JsoncError(f"several agents have this name: {', '.join(similar)}")
    entry = servers.value.member(similar[0])
    assert entry is not None
    command, args = entry.value.member("command"), entry.value.member("args")
    if command is None or not isinstance(command.value.value, str):
        raise JsoncError(
            f"the agent {similar[0]} has no command there, since the editor installs it. Add an "
            "agent with a command of your own"
        )
    if args is not None and args.value.strings is None:
        raise JsoncError(f'"args" of the agent {similar[0]} is not a list of strings')
    if args is None:
        return _AgentNodes(similar[0], command.value, None, None)
    return _AgentNodes(similar[0], command.value, args.value, args.key)


def _prefix_length(found: _AgentNodes) -> int:
    """Return how many arguments a tap has added, with the command; 0 if there is none."""
    words = found.words
    interpreter = parley_command()[1:]
    start = len(interpreter) if words[: len(interpreter)] == interpreter else 0
    is_tap = tuple(words[start : start + 2]) == _TAP and words[start + 3 : start + 4] == ["--"]
    is_parley = start > 0 or Path(str(found.command.value)).name == "parley"
    return start + 5 if is_tap and is_parley and len(words) > start + 4 else 0


def _token(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _insert_args(text: str, found: _AgentNodes, tokens: Sequence[str]) -> str:
    if found.args is None:
        # The blank in `[ ` shows `_args_to_remove` that there were no arguments before.
        added = f', "args": [ {", ".join(tokens)}]'
        return text[: found.command.end] + added + text[found.command.end :]
    if not found.args.items:
        at = found.args.start + 1
        return text[:at] + ", ".join(tokens) + text[at:]
    at = found.args.items[0].start
    space = _SPACE_BEFORE.search(text, found.args.start + 1, at)
    line = "" if space is None else space[0]
    separator = f",{line}" if "\n" in line else ", "
    return text[:at] + separator.join(tokens) + separator + text[at:]


def _args_to_remove(text: str, found: _AgentNodes, length: int) -> tuple[int, int]:
    """Return the part of the text that the tap has added to the arguments."""
    assert found.args is not None
    assert found.args_key is not None
    assert found.args.items is not None
    items = found.args.items
    if length < len(items):
        return items[0].start, items[length].start
    before = text[: found.args_key.start].rstrip()
    if text.startswith("[ ", found.args.start) and before.endswith(","):
        return len(before) - 1, found.args.end
    return items[0].start, items[-1].end
