"""`parley sessions … --agent NAME`: the sessions that an agent keeps itself.

The other actions of `parley sessions` work on the journal of this machine. These ask the agent, and
each needs a feature that not every agent offers.
"""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from parley._display_text import sanitize_text
from parley.client import Connection
from parley.client._session_format import from_home, when
from parley.journal import Record
from parley.schema import v2

from .agent_connection import connect_agent
from .flags import variables
from .journal import open_journal
from .json_output import print_json
from .keyboard import read_line
from .paint import fitted, painted
from .reporting import Exit, Failure, say
from .session_views import KEY_CHARS
from .targets import Resolved, agent_of, resolve

__all__ = ["AGENT_ACTIONS"]

_WHEN_CHARS = 10
_MAX_ID_WIDTH = 80
"""The width of the column of ids; a longer id moves only the rest of its own line."""
_DEFAULT_LIMIT = 20
_MAX_SEARCHED = 10_000
"""The number of sessions among which an id is looked up."""


class _ListedSession(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A session of an agent for a program."""

    session_id: str
    cwd: str
    title: str | None
    updated_at: str | None
    archived: bool | None = None


def list_sessions(arguments: argparse.Namespace) -> int:
    """Print the sessions that the agent keeps."""
    return _run(arguments, _list)


def delete_sessions(arguments: argparse.Namespace) -> int:
    """Ask the agent to delete sessions."""
    if arguments.all_of_project:
        raise Failure(
            "--all-of-project is for the journal; name the sessions to delete", Exit.USAGE
        )
    if not arguments.keys:
        raise Failure(
            f"name the sessions to delete; `parley sessions {_agent_flag(arguments)}` lists them",
            Exit.USAGE,
        )
    return _run(arguments, _delete)


def fork_session(arguments: argparse.Namespace) -> int:
    """Ask the agent to start a session from the conversation of another one."""
    return _run(arguments, _fork)


def rename_session(arguments: argparse.Namespace) -> int:
    """Ask the agent to set the title of a session."""
    return _run(arguments, _rename)


AGENT_ACTIONS: dict[str | None, Callable[[argparse.Namespace], int]] = {
    None: list_sessions,
    "list": list_sessions,
    "delete": delete_sessions,
    "fork": fork_session,
    "rename": rename_session,
}
"""The actions that take `--agent`; without one, `list` runs."""


def fork_record(record: Record, arguments: argparse.Namespace) -> int:
    """Ask the agent of a recorded session to start a session from its conversation."""
    agent = agent_of(record)

    async def run(connection: Connection) -> int:
        return await _fork_session(connection, agent.label, record.session_id, record.cwd)

    return asyncio.run(_connected(agent, record.cwd, arguments, run))


def _run(
    arguments: argparse.Namespace,
    action: Callable[[argparse.Namespace, Connection, str], Awaitable[int]],
) -> int:
    agent = resolve(arguments.agent)

    async def run(connection: Connection) -> int:
        return await action(arguments, connection, agent.label)

    return asyncio.run(_connected(agent, ".", arguments, run))


async def _connected(
    agent: Resolved,
    cwd: str,
    arguments: argparse.Namespace,
    run: Callable[[Connection], Awaitable[int]],
) -> int:
    """Connect to the agent; only a fork opens a session, so only a fork needs the journal."""
    async with (
        open_journal(is_wanted=arguments.action == "fork") as journal,
        connect_agent(
            agent,
            cwd,
            process=variables(arguments),
            is_verbose=arguments.verbose,
            journal=journal,
        ) as connection,
    ):
        return await run(connection)


async def _list(arguments: argparse.Namespace, connection: Connection, agent: str) -> int:
    _require(connection.features.list, agent, "list its sessions")
    limit = _DEFAULT_LIMIT if arguments.limit is None else arguments.limit
    found = await _sessions(connection, None if arguments.all else Path.cwd(), limit + 1)
    if arguments.json:
        print_json([_as_json(each) for each in found[:limit]])
        return Exit.DONE
    if not found:
        where = "" if arguments.all else " in this directory; add --all for all directories"
        say(f"parley: {agent} has no sessions{where}")
        return Exit.DONE
    _print(found[:limit], has_directories=arguments.all)
    if len(found) > limit:
        say(f"parley: there are more; use --limit, for example --limit {5 * limit or 20}")
    return Exit.DONE


async def _delete(arguments: argparse.Namespace, connection: Connection, agent: str) -> int:
    _require(connection.features.delete, agent, "delete sessions")
    chosen = {each.session_id: each for each in await _find(connection, agent, arguments.keys)}
    if not arguments.yes:
        await _confirm(list(chosen.values()), agent)
    for session_id in chosen:
        await connection.delete_session(session_id)
        say(f"parley: {agent} deleted {session_id}")
    return Exit.DONE


async def _fork(arguments: argparse.Namespace, connection: Connection, agent: str) -> int:
    (info,) = await _find(connection, agent, [arguments.key])
    return await _fork_session(connection, agent, info.session_id, info.cwd)


async def _fork_session(connection: Connection, agent: str, session_id: str, cwd: str) -> int:
    """Fork a session and print the id of the new one."""
    _require(connection.features.fork, agent, "fork sessions")
    session = await connection.fork_session(session_id, cwd or None)
    print(sanitize_text(session.id, is_line=True))
    recorder = connection.recorder
    record = None if recorder is None else recorder.record_of(session.id)
    if record is not None:
        say(f'parley: resume it with `parley run --session {record.key[:KEY_CHARS]} "…"`')
    return Exit.DONE


async def _rename(arguments: argparse.Namespace, connection: Connection, agent: str) -> int:
    _require(connection.features.title, agent, "rename sessions")
    (info,) = await _find(connection, agent, [arguments.key])
    title = await connection.set_session_title(info.session_id, arguments.name)
    say(f"parley: {agent} renamed {info.session_id} to {title!r}")
    return Exit.DONE


def _require(is_offered: object, agent: str, what: str) -> None:
    if not is_offered:
        raise Failure(f"{agent} cannot {what}: it does not offer that")


async def _sessions(
    connection: Connection, cwd: Path | None, limit: int | None = None
) -> list[v2.SessionInfo]:
    """Return the agent's sessions, up to a limit, so that an endless list ends."""
    found: list[v2.SessionInfo] = []
    async for info in connection.list_sessions(cwd):
        found.append(info)
        if limit is not None and len(found) >= limit:
            break
    return found


async def _find(connection: Connection, agent: str, words: list[str]) -> list[v2.SessionInfo]:
    """Return the sessions with these ids, each given whole or by how it begins.

    Raises:
        Failure: A word fits no session, or several.
    """
    if not all(words):  # an empty word begins every id; it may come from an unset variable
        raise Failure("the id of a session must not be empty", Exit.USAGE)
    if not connection.features.list:
        return [v2.SessionInfo(session_id=word, cwd="") for word in words]
    sessions = {each.session_id: each for each in await _sessions(connection, None, _MAX_SEARCHED)}
    found: list[v2.SessionInfo] = []
    for word in words:
        matches = [word] if word in sessions else [id for id in sessions if id.startswith(word)]
        if len(matches) != 1:
            problem = "no session" if not matches else f"{len(matches)} sessions"
            raise Failure(f"{agent} has {problem} whose id is or begins with {word!r}", Exit.USAGE)
        found.append(sessions[matches[0]])
    return found


async def _confirm(sessions: list[v2.SessionInfo], agent: str) -> None:
    """Ask whether to delete; no answer means no."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure("there is no terminal to ask on; add --yes to delete", Exit.USAGE)
    _print(sessions, has_directories=True)
    sys.stdout.flush()
    count = "this session" if len(sessions) == 1 else f"these {len(sessions)} sessions"
    answer = await read_line(f"Let {sanitize_text(agent, is_line=True)} delete {count}? [y/N] ")
    if (answer or "").strip().lower() not in ("y", "yes"):
        raise Failure("nothing was deleted", Exit.CANCELLED)


def _print(sessions: list[v2.SessionInfo], *, has_directories: bool) -> None:
    """Print one line for each session: its id, its age and its title."""
    ids = [sanitize_text(each.session_id, is_line=True) for each in sessions]
    width = min(max(map(len, ids), default=0), _MAX_ID_WIDTH)
    for each, session_id in zip(sessions, ids, strict=True):
        age = f"{_age(each.updated_at):<{_WHEN_CHARS}}"
        mark = " [archived]" if each.archived else ""
        title = fitted(each.title or "(no title)", width + len(age) + len(mark) + 4)
        print(f"{painted(f'{session_id:<{width}}', 'bold')}  {age}  {title}{painted(mark, 'dim')}")
        if has_directories and each.cwd:
            print(painted(f"  {fitted(from_home(each.cwd), 2)}", "dim"))


def _age(updated_at: str | None) -> str:
    """Return how long ago something happened; empty if the agent does not say it in RFC 3339."""
    if updated_at is None:
        return ""
    try:
        return when(datetime.fromisoformat(updated_at).timestamp())
    except (ValueError, OverflowError):
        return ""


def _as_json(info: v2.SessionInfo) -> _ListedSession:
    return _ListedSession(
        session_id=info.session_id,
        cwd=info.cwd,
        title=info.title,
        updated_at=info.updated_at,
        archived=info.archived,
    )


def _agent_flag(arguments: argparse.Namespace) -> str:
    return shlex.join(["--agent", arguments.agent])
