"""A connection to an agent for commands that ask it something and open no conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from parley.client import Connection, ConnectOptions, Process, connect, run_login
from parley.client._target_settings import merged_process
from parley.errors import AcpError
from parley.journal import Journal

from .failures import failure_of
from .progress_line import ProgressLine
from .reporting import write_agent_stderr
from .targets import Resolved

__all__ = ["connect_agent"]


@asynccontextmanager
async def connect_agent(
    agent: Resolved,
    cwd: str | Path,
    *,
    process: Process,
    is_verbose: bool,
    journal: Journal | None = None,
) -> AsyncGenerator[Connection]:
    """Connect to an agent for as long as the block runs; a line shows what is waited for.

    Args:
        agent: The agent.
        cwd: Its working directory.
        process: The settings of the command line for its process.
        is_verbose: Whether to show what the agent writes to stderr.
        journal: Where to record the sessions that the block opens.

    Raises:
        Failure: The agent cannot be reached, or does not do what the block asks of it.
    """
    options: ConnectOptions = {
        **agent.options,
        "process": replace(
            merged_process(agent.process, process),
            on_stderr=write_agent_stderr if is_verbose else None,
        ),
        "terminal_login": run_login,  # so that the error names these login methods, too
        "journal": journal,
    }
    progress = ProgressLine()
    progress.wait(f"starting {agent.label}")
    is_connected = False
    try:
        async with connect(agent.target, cwd, **options) as connection:
            is_connected = True
            progress.wait(f"waiting for {agent.label}")
            yield connection
    except AcpError as error:
        raise failure_of(
            error,
            is_connected=is_connected,
            is_configured=bool(agent.name),
            login_hint=f"; log in with `parley login {agent.name or 'AGENT'}`",
            log_hint="" if is_verbose else "; run with -v to see what it logged",
        ) from error
    finally:
        progress.wait("")
