"""The setup of a conversation as the command line has it, for `parley run` and `parley chat`."""

from __future__ import annotations

import argparse
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from parley.conversation.setup import Choices, Setup, check_agent
from parley.errors import AcpError, ConfigError, ConnectFailed
from parley.journal import Journal, Record

from .exits import Exit, Failure
from .flags import config_option, remote, rules, variables
from .history import find_session

__all__ = ["choices_of", "record_to_resume", "setup_of"]


def choices_of(arguments: argparse.Namespace, target: str | None, **more: Any) -> Choices:
    """Return the choices that the command line makes.

    Args:
        arguments: The arguments that both commands have.
        target: The agent; None for the default agent.
        more: Choices that only one of the commands makes.

    Raises:
        Failure: One of the arguments is not valid.
    """
    process, permissions = variables(arguments), rules(arguments)
    return Choices(
        target=target,
        cwd=arguments.cwd or ".",
        additional_directories=arguments.add_dir,
        allow=permissions["allow"],
        deny=permissions["deny"],
        env=process.env,
        inherit=process.inherit,
        remote=remote(arguments),
        protocol=arguments.protocol,
        has_workspace=not arguments.no_workspace,
        has_mcp=not arguments.no_mcp,
        login=arguments.login,
        options=[config_option(each) for each in arguments.set],
        **more,
    )


def record_to_resume(arguments: argparse.Namespace, journal: Journal | None) -> Record | None:
    """Return the session that --session and --resume mean; None for a new one.

    Raises:
        Failure: There is none, or several could be meant.
    """
    name, resume = arguments.session, arguments.resume
    if name is None and not resume:
        return None
    return find_session(journal, name, arguments.cwd or ".", must_exist=resume)


def setup_of(choices: Choices, journal: Journal | None, record: Record | None) -> Setup:
    """Return the setup for the choices, or for the session that is resumed with them.

    Raises:
        Failure: The agent is not that of the session or cannot be found, the session is in use, a
            directory does not exist, or a file of the user is not valid.
    """
    with _failures():
        if record is not None:
            check_agent(record, choices)
        return Setup(choices, journal=journal, record=record)


@contextmanager
def _failures() -> Generator[None]:
    try:
        yield
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    except ConnectFailed as error:
        raise Failure(str(error), Exit.DIED) from error
    except AcpError as error:
        raise Failure(str(error)) from error
