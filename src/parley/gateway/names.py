"""Names for agents, from their configuration, program or address.

A command often begins with a runner (`python agent.py`, `npx @scope/thing@1.2 acp`, `uv run
agent.py`); then the agent is named after the program that it runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import PurePath
from urllib.parse import urlsplit

from parley.client._resolve import Resolved
from parley.config._check import NAME
from parley.transport._target import command_of, is_remote

__all__ = ["distinct", "name_of"]

_RUNNER = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|bunx|npx|pnpx|pnpm|npm|yarn|uv|uvx|pipx|ruby"
    r"|perl|php|java|env|nohup|exec"
)
_RUNNERS_WORDS = frozenset({"run", "exec", "dlx", "x", "tool"})
_WITH_VALUE = frozenset({"--from", "--with", "--python", "--package", "-p", "--directory", "-W"})
"""Options of runners that take a value other than the program."""
_ENDINGS = frozenset({".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".jar", ".exe"})
_VARIABLE = re.compile(r"\w+=(?!=)")
_UNNAMED = "agent"
_ELSEWHERE = "remote"


def name_of(agent: Resolved) -> str:
    """Return a name for an agent, which other agents may have too."""
    if name := agent.name or agent.options.get("name"):
        return name
    if isinstance(agent.target, str) and is_remote(agent.target):
        return _of_address(agent.target)
    return _of_command(command_of(agent.target) or [])


def distinct(given: Sequence[str], found: Sequence[str]) -> list[str]:
    """Return unique names.

    Args:
        given: The names that were given, empty where there is none; they stay as they are.
        found: What each would be called; of several the second becomes `NAME-2`.
    """
    taken = {name for name in given if name}
    names: list[str] = []
    for own, wanted in zip(given, found, strict=True):
        name, number = own or wanted, 2
        while not own and name in taken:
            name, number = f"{wanted}-{number}", number + 1
        taken.add(name)
        names.append(name)
    return names


def _of_address(url: str) -> str:
    """Return the last part after `/acp/`, else the first label of the host name."""
    parts = urlsplit(url)
    before, _, last = parts.path.rstrip("/").rpartition("/")
    if before.endswith("/acp") and NAME.fullmatch(last):
        return last
    host = parts.hostname or ""
    try:
        ip_address(host)
    except ValueError:
        return _clean(host.partition(".")[0], _ELSEWHERE)
    return _ELSEWHERE


def _of_command(words: Sequence[str]) -> str:
    program = PurePath(words[0]).name if words else ""
    if not _RUNNER.fullmatch(program.removesuffix(".exe").lower()):
        return _clean(_without_ending(program), _UNNAMED)
    rest = iter(words[1:])
    for word in rest:
        if word in ("-m", "--module"):
            return _clean(next(rest, "").partition(".")[0], _UNNAMED)
        if word in ("-c", "-e", "--eval"):
            break
        if word in _WITH_VALUE:
            next(rest, "")
        elif word[:1] != "-" and word not in _RUNNERS_WORDS and not _VARIABLE.match(word):
            return _of_command([_package(word), *rest])
    return _clean(_without_ending(program), _UNNAMED)


def _package(word: str) -> str:
    """Return a package without its scope and its version; a path as it is."""
    if word.startswith(("/", ".", "~")):
        return word
    return re.split(r"(?<=.)@|[\[<>=!~;]", word.rpartition("/")[2])[0]


def _without_ending(program: str) -> str:
    path = PurePath(program)
    return path.stem if path.suffix in _ENDINGS else path.name


def _clean(name: str, otherwise: str) -> str:
    name = "".join(each for each in name if NAME.fullmatch(f"a{each}"))
    return name if NAME.fullmatch(name) else otherwise
