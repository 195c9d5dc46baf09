"""Settings for an agent that is started as a process, and for a remote agent."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from parley.session._validation import check_handler
from parley.transport._target import TargetOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class Process:
    """Settings for an agent that `connect` starts as a process; ignored for other targets.

        connect("opencode acp", process=Process(inherit=["OPENAI_API_KEY"]))

    A value never changes; `dataclasses.replace(process, env={…})` returns one that differs.
    """

    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Environment variables to set, in addition to the few that every agent gets."""
    inherit: Sequence[str] = ()
    """Names of further variables of this process that the agent inherits."""
    on_start: Callable[[int], object] | None = None
    """Called with the process id, before the agent has responded."""
    on_stderr: Callable[[bytes], object] | None = None
    """Called with each chunk that the agent writes to stderr."""
    grace_after: float = 2.0
    """Timeout of each step of ending the process, in seconds."""

    def __post_init__(self) -> None:
        _check(self, "env", 'a dict of strings, such as {"DEBUG": "1"}', _is_strings)
        _check(self, "inherit", 'names of variables, such as ["PATH"]', is_names)
        _check(self, "grace_after", "a number of seconds", is_seconds)
        _check_callback(self, "on_start", "pid")
        _check_callback(self, "on_stderr", "data")


@dataclass(frozen=True, kw_only=True, slots=True)
class Remote:
    """Settings for an agent that `connect` reaches by its URL; ignored for other targets.

        connect("https://agents.example/acp", remote=Remote(token=token))

    A value never changes; `dataclasses.replace(remote, token=…)` returns one that differs.
    """

    token: str | None = field(default=None, repr=False)
    """Sent with each request, as `Authorization: Bearer`."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Further headers of each request."""
    ca_file: str | Path | None = None
    """A file with certificates to trust instead of the system's."""
    tls: ssl.SSLContext | None = None
    """The TLS settings; if given, `ca_file` is ignored."""
    allows_plain_token: bool = False
    """Whether the token may be sent to another machine without TLS."""
    on_state: Callable[[Literal["connected", "away", "gone"], str], None] | None = None
    """Called with the new state and the reason when the connection is lost (`away`), restored
    (`connected`) or given up (`gone`)."""

    def __post_init__(self) -> None:
        _check(self, "token", "a string", _is_string_or_none)
        _check(self, "headers", 'a dict of strings, such as {"X-Team": "a"}', _is_strings)
        _check(self, "ca_file", "a path", lambda value: isinstance(value, str | Path | None))
        _check(self, "tls", "an SSLContext", lambda value: isinstance(value, ssl.SSLContext | None))
        _check(self, "allows_plain_token", "a bool", lambda value: isinstance(value, bool))
        _check_callback(self, "on_state", "state", "reason")


def merged_process(base: Process, other: Process) -> Process:
    """Return the settings of `other` with the variables of both; those of `other` win."""
    return replace(other, env={**base.env, **other.env}, inherit=[*base.inherit, *other.inherit])


def target_options(process: Process, remote: Remote) -> TargetOptions:
    """Return the options to open a target with: those of a command and those of a URL."""
    return {
        "env": process.env,
        "inherit": process.inherit,
        "on_stderr": process.on_stderr,
        "grace_after": process.grace_after,
        "token": remote.token,
        "headers": remote.headers,
        "ca_file": remote.ca_file,
        "tls": remote.tls,
        "allows_plain_token": remote.allows_plain_token,
        "on_state": remote.on_state,
    }


def is_seconds(value: Any) -> bool:
    """Return whether a value is a positive number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def _is_strings(value: Any) -> bool:
    return _is(value, Mapping) and all(
        isinstance(each, str) for pair in value.items() for each in pair
    )


def is_names(value: Any) -> bool:
    """Return whether a value is several strings."""
    is_sequence = _is(value, Iterable) and not _is(value, str | bytes)
    return is_sequence and all(isinstance(each, str) for each in value)


def _is(value: object, kind: Any) -> bool:
    return isinstance(value, kind)


def _is_string_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _check(settings: object, name: str, expected: str, fits: Callable[[Any], bool]) -> None:
    if not fits(getattr(settings, name)):
        raise TypeError(f"{type(settings).__name__}({name}=…) takes {expected}")


def _check_callback(settings: object, name: str, *parameters: str) -> None:
    if (function := getattr(settings, name)) is not None:
        check_handler(function, f"{type(settings).__name__}({name}=…)", *parameters)
