"""Flags that several commands share, and their values."""

from __future__ import annotations

import argparse
import os
import stat
from pathlib import Path
from typing import Any

from parley.client import Process
from parley.errors import ConfigError
from parley.policy import Rule, parse_flags
from parley.schema.version import SUPPORTED
from parley.transport.http._tokens import read_token

from .reporting import Exit, Failure

__all__ = [
    "SEVERAL",
    "add_agent_arguments",
    "add_open_argument",
    "add_permission_arguments",
    "add_place_arguments",
    "add_remote_arguments",
    "add_session_arguments",
    "config_option",
    "name_and_value",
    "open_files",
    "remote",
    "remote_words",
    "rules",
    "variables",
]

SEVERAL: dict[str, Any] = {"action": "append", "default": []}
"""The settings of an option that may be given several times."""


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for where the agent works."""
    parser.add_argument(
        "--cwd", metavar="DIR", help="the directory of the agent; this one by default"
    )
    parser.add_argument(
        "--add-dir",
        metavar="DIR",
        help="another directory that the agent may use",
        **SEVERAL,
    )


def add_open_argument(parser: argparse.ArgumentParser) -> None:
    """Add the flag for the files that are open in the user's editor."""
    parser.add_argument(
        "--open",
        metavar="FILE",
        help="report this file as open in your editor; the first is the active one",
        **SEVERAL,
    )


def open_files(arguments: argparse.Namespace) -> list[Path]:
    """Return the files of --open.

    Raises:
        Failure: One does not exist, or is not a file.
    """
    paths = [Path(each) for each in arguments.open]
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            reason = (error.strerror or "it cannot be read").lower()
            raise Failure(f"--open {path}: {reason}", Exit.USAGE) from error
        if not stat.S_ISREG(mode):
            kind = "it is a directory" if stat.S_ISDIR(mode) else "it is not a regular file"
            raise Failure(f"--open {path}: {kind}; give a file", Exit.USAGE)
    return paths


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for which session it is, and for its options."""
    group = parser.add_argument_group("the session")
    group.add_argument(
        "--session",
        metavar="NAME",
        help="resume the session with this name or key, or start one with this name",
    )
    group.add_argument(
        "--resume", action="store_true", help="resume the last session of this directory"
    )
    group.add_argument(
        "--no-journal", action="store_true", help="do not save the session in the journal"
    )
    group.add_argument(
        "--set",
        metavar="ID=VALUE",
        help="set an option of the session, such as --set mode=plan; the agent defines the options",
        **SEVERAL,
    )


def add_permission_arguments(parser: argparse.ArgumentParser, *, has_yes: bool = False) -> None:
    """Add the flags for what is permitted without asking; with --yes it is everything."""
    group = parser.add_argument_group("permissions")
    group.add_argument(
        "--allow",
        metavar="RULE",
        help="allow this without asking; may be given several times",
        **SEVERAL,
    )
    group.add_argument("--deny", metavar="RULE", help="deny this without asking", **SEVERAL)
    if has_yes:
        group.add_argument(
            "--yes",
            action="store_true",
            help="allow everything that you would be asked about; rules can still deny",
        )
    group.add_argument(
        "--no-workspace",
        action="store_true",
        help="offer the agent no files and no terminals",
    )


def add_agent_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for how the agent is started and connected to."""
    group = parser.add_argument_group("the agent")
    group.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        help="a variable for the agent, which by default gets only PATH, HOME and similar",
        **SEVERAL,
    )
    group.add_argument(
        "--login", metavar="METHOD", help="the login method, if the agent requires a login"
    )
    group.add_argument(
        "--no-mcp", action="store_true", help="do not pass the configured MCP servers to the agent"
    )
    group.add_argument(
        "--protocol",
        metavar="VERSION",
        type=int,
        choices=SUPPORTED,
        help="speak only this version of the protocol, 1 or 2",
    )
    add_remote_arguments(parser)


def add_remote_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags for how a remote agent is connected to."""
    group = parser.add_argument_group("a remote agent")
    group.add_argument(
        "--token-file",
        metavar="FILE",
        help="the file with the token; $PARLEY_TOKEN by default",
    )
    group.add_argument(
        "--ca-file", metavar="FILE", help="certificates to trust instead of the system's"
    )
    group.add_argument(
        "--plain-token",
        action="store_true",
        help="send the token to another machine without TLS, where others can read it",
    )


def remote(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the fields of `Remote` that the command line sets.

    Raises:
        Failure: The token cannot be read from the file.
    """
    options: dict[str, Any] = {}
    if arguments.token_file is not None:
        try:
            options["token"] = read_token(Path(arguments.token_file))
        except ConfigError as error:
            raise Failure(f"--token-file: {error}", Exit.USAGE) from error
    if arguments.ca_file is not None:
        options["ca_file"] = Path(arguments.ca_file)
    if arguments.plain_token:
        options["allows_plain_token"] = True
    return options


def remote_words(arguments: argparse.Namespace) -> list[str]:
    """Return the same flags as they were typed, for a command that is suggested to the user."""
    words: list[str] = []
    if arguments.token_file is not None:
        words += ["--token-file", arguments.token_file]
    if arguments.ca_file is not None:
        words += ["--ca-file", arguments.ca_file]
    return [*words, "--plain-token"] if arguments.plain_token else words


def rules(arguments: argparse.Namespace) -> dict[str, list[Rule]]:
    """Return the rules of --allow and --deny.

    Raises:
        Failure: One of them is not valid.
    """
    try:
        return {
            "allow": parse_flags(arguments.allow, "allow"),
            "deny": parse_flags(arguments.deny, "deny"),
        }
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error


def config_option(text: str) -> tuple[str, str | bool]:
    """Return a config option of the session and its value, as --set has it.

    Raises:
        Failure: It is not of the form ID=VALUE.
    """
    name, value = name_and_value(text)
    return name, {"true": True, "false": False}.get(value, value)


def name_and_value(text: str) -> tuple[str, str]:
    """Return the two sides of ID=VALUE, as --set has it.

    Raises:
        Failure: It is not of this form.
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Failure(f"--set: {text!r} is not ID=VALUE", Exit.USAGE)
    return name, value


def variables(arguments: argparse.Namespace) -> Process:
    """Return the variables that --env gives the agent.

    Raises:
        Failure: One has no name, or is not set here.
    """
    names: list[str] = arguments.env
    given = [each.partition("=") for each in names]
    inherited = [name for name, equals, _ in given if not equals]
    for each, (name, _, _) in zip(names, given, strict=True):
        if not name:
            raise Failure(f"--env: there is no name in {each!r}; give NAME=VALUE", Exit.USAGE)
    for name in inherited:
        if name not in os.environ:
            raise Failure(f"--env: {name} is not set here; give it as {name}=VALUE", Exit.USAGE)
    return Process(env={name: value for name, equals, value in given if equals}, inherit=inherited)
