"""Names for agents, from their configuration, program or address."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from parley._program_name import program_name
from parley.client._resolve import Resolved
from parley.config._check import NAME
from parley.transport._target import command_of, is_remote

__all__ = ["distinct", "name_of"]

_UNNAMED = "agent"
_ELSEWHERE = "remote"


def name_of(agent: Resolved) -> str:
    """Return a name for an agent, which other agents may have too."""
    if name := agent.name or agent.options.get("name"):
        return name
    if isinstance(agent.target, str) and is_remote(agent.target):
        return _of_address(agent.target)
    return _clean(program_name(command_of(agent.target) or []), _UNNAMED)


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


def _clean(name: str, otherwise: str) -> str:
    name = "".join(each for each in name if NAME.fullmatch(f"a{each}"))
    return name if NAME.fullmatch(name) else otherwise
