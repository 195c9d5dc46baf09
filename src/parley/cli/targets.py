"""The agent that a word on the command line means, or a reason to stop."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from parley.client import _resolve as named
from parley.client._resolve import Resolved
from parley.errors import ConfigError, ConnectFailed
from parley.journal import Record

from .reporting import Exit, Failure

__all__ = ["Resolved", "agent_of", "resolve"]


def resolve(word: str | None, environ: Mapping[str, str] | None = None) -> Resolved:
    """Return the agent that the user means, as `named.resolve` does.

    Raises:
        Failure: There is none, the configuration cannot be used, or a variable is not set.
    """
    with _as_failure():
        return named.resolve(word, environ)


def agent_of(record: Record) -> Resolved:
    """Return the agent that a session of the journal is one of.

    Raises:
        Failure: As `resolve`.
    """
    with _as_failure():
        return named.agent_of(record)


@contextmanager
def _as_failure() -> Generator[None]:
    try:
        yield
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    except ConnectFailed as error:
        raise Failure(str(error), Exit.DIED) from error
