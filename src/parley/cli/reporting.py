"""Exit codes, failures, and what a command reports about itself on stderr."""

from __future__ import annotations

import io
import logging
import os
import sys
from enum import IntEnum

from parley._display_text import sanitize_text

from .held_stderr import write_stderr
from .stderr_log_handler import StderrLogHandler

__all__ = [
    "Exit",
    "Failure",
    "is_terminal",
    "prepare_streams",
    "say",
    "say_state",
    "write_agent_stderr",
]


class Exit(IntEnum):
    """The exit codes."""

    DONE = 0
    """It succeeded."""
    FAILED = 1
    """Something failed; stderr says what."""
    USAGE = 2
    """The command line is wrong."""
    REFUSED = 3
    """The agent refused the prompt."""
    CUT = 4
    """It stopped at a limit: tokens, requests in a turn, or cost."""
    DIED = 5
    """The agent could not be started, or ended, or the connection to it was lost."""
    AUTH = 6
    """The agent wants the user to log in first."""
    TIMEOUT = 124
    """The time limit was reached."""
    CANCELLED = 130
    """It was cancelled, for example by Ctrl-C."""


class Failure(Exception):
    """A command has failed: one sentence for the user, and the exit code."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code


def say(message: str) -> None:
    """Write a line about the command itself to stderr, made inert."""
    print(sanitize_text(message), file=sys.stderr, flush=True)


def say_state(name: str, state: str, reason: str) -> None:
    """Report that a remote agent is disconnected or connected again; a final loss is an error."""
    if state == "away":
        say(f"parley: {name} is disconnected ({reason}); reconnecting")
    elif state == "connected":
        say(f"parley: {name} is connected again")


def is_terminal() -> bool:
    """Return whether stdin and stdout are a terminal."""
    return all(each is not None and each.isatty() for each in (sys.stdin, sys.stdout))


def write_agent_stderr(data: bytes) -> None:
    """Write what an agent has written to its stderr to ours, made inert."""
    write_stderr(sanitize_text(data.decode(errors="replace")))


def prepare_streams() -> None:
    """Make stdout and stderr take any text, if they are there, and write warnings to stderr."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the program that started us
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    logging.getLogger("parley").handlers = [StderrLogHandler()]
