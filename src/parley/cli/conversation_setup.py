"""The setup of a conversation as the command line has it, for `parley run` and `parley chat`."""

from __future__ import annotations

import argparse
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from parley.conversation.setup import ConversationOptions, ConversationSetup, check_agent
from parley.errors import AcpError, ConfigError, ConnectFailed
from parley.journal import Journal, Record

from .flags import config_option, open_files, remote, rules, variables
from .journal import find_session
from .reporting import Exit, Failure

__all__ = ["conversation_options", "conversation_setup", "record_to_resume"]


def conversation_options(
    arguments: argparse.Namespace, target: str | None, **more: Any
) -> ConversationOptions:
    """Return the options that the command line sets.

    Args:
        arguments: The arguments that both commands have.
        target: The agent; None for the default agent.
        more: Options that only one of the commands has.

    Raises:
        Failure: One of the arguments is not valid.
    """
    process, permissions = variables(arguments), rules(arguments)
    return ConversationOptions(
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
        config_options=[config_option(each) for each in arguments.set],
        open_files=open_files(arguments),
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


def conversation_setup(
    options: ConversationOptions, journal: Journal | None, record: Record | None
) -> ConversationSetup:
    """Return the setup for the options, or for the session that is resumed with them.

    Raises:
        Failure: The agent is not that of the session or cannot be found, the session is in use, a
            directory does not exist, or a file of the user is not valid.
    """
    with _failures():
        if record is not None:
            check_agent(record, options)
        return ConversationSetup(options, journal=journal, record=record)


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
