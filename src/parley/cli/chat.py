"""`parley chat`: talk to an agent on the whole screen."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from parley._argtypes import non_negative_float
from parley.errors import ConfigError, ConnectFailed
from parley.journal import Journal

from .conversation_setup import conversation_options, conversation_setup, record_to_resume
from .flags import (
    add_agent_arguments,
    add_open_argument,
    add_permission_arguments,
    add_place_arguments,
    add_session_arguments,
)
from .journal import open_journal
from .reporting import Exit, Failure, is_terminal, say

if TYPE_CHECKING:
    from parley.tui.chat import Chat
    from parley.tui.player import Player

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Chat with an agent, full screen: answers as they arrive, tool calls with diffs
and output, permission questions with all details. F1 lists the keys, Ctrl-P
searches all commands, Ctrl-C twice quits. Without a TARGET, you chat with the
default agent, or with the demo agent if no agent is configured.
"""
EXAMPLES = """\
examples:
  parley chat
  parley chat "opencode acp" --cwd ~/src/project
  parley chat --resume
  parley chat claude --session fix --allow edit:src/** --deny "execute:rm *"
  parley chat --replay session.jsonl --speed 4

rules and variables: see `parley run --help`
"""
INSTALL = "the chat needs an extra: pip install 'parley-acp[tui]'"
_LIGHT = frozenset({"7", "15"})
_LINES_ONLY = frozenset({"dumb", "unknown"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "target",
        metavar="TARGET",
        nargs="?",
        help="a configured agent, a command, or an address; else the default agent",
    )
    parser.add_argument(
        "-a", "--agent", metavar="TARGET", help="the same as TARGET, like the flag of `parley run`"
    )
    add_place_arguments(parser)
    add_open_argument(parser)
    parser.add_argument(
        "--theme", choices=("dark", "light"), help="the colours; NO_COLOR=1 means none"
    )
    add_session_arguments(parser)
    add_permission_arguments(parser)
    add_agent_arguments(parser)
    group = parser.add_argument_group("without an agent")
    group.add_argument(
        "--replay",
        metavar="FILE|SESSION",
        help="play a recorded session: exported JSON lines, or a name or key of the journal",
    )
    group.add_argument(
        "--speed",
        metavar="N",
        type=non_negative_float,
        default=1.0,
        help="how fast to play it: 1 as it was, 2 twice as fast, 0 at once",
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the chat until the user leaves."""
    if not is_terminal():
        raise Failure("the chat needs a terminal; `parley run` works without one", Exit.USAGE)
    if (kind := os.environ.get("TERM")) in _LINES_ONLY:
        raise Failure(
            f"this terminal cannot show a full-screen program (TERM={kind}); use `parley run`",
            Exit.USAGE,
        )
    if importlib.util.find_spec("textual") is None:
        raise Failure(INSTALL)
    try:
        return asyncio.run(_talk(arguments))
    except (ConfigError, LookupError) as error:
        raise Failure(str(error), Exit.USAGE) from error
    except ConnectFailed as error:
        raise Failure(str(error), Exit.DIED) from error
    except (OSError, ValueError) as error:
        raise Failure(f"{arguments.replay or 'the chat'}: {error}") from error


async def _talk(arguments: argparse.Namespace) -> int:
    from parley.tui.app import ChatApp

    async with open_journal(is_wanted=not arguments.no_journal) as journal:
        tab = _chat(arguments, journal) if arguments.replay is None else _player(arguments, journal)
        app = ChatApp(tab, theme=arguments.theme or _usual_theme())
        code = await app.converse()
        if app.chat is not None and (record := app.chat.conversation.record) is not None:
            called = shlex.quote(record.name or record.key)
            say(f"parley: resume with `parley chat --session {called}`")
        return code


def _chat(arguments: argparse.Namespace, journal: Journal | None) -> Chat:
    from parley.tui.chat import Chat

    options = conversation_options(arguments, _target(arguments))
    record = record_to_resume(arguments, journal)
    name = "" if record is not None else arguments.session or ""
    return Chat(conversation_setup(options, journal, record), record=record, name=name)


def _target(arguments: argparse.Namespace) -> str | None:
    if arguments.target is not None and arguments.agent is not None:
        raise Failure("two agents are given; leave one of them out", Exit.USAGE)
    target: str | None = arguments.target or arguments.agent
    return target


def _player(arguments: argparse.Namespace, journal: Journal | None) -> Player:
    from parley.conversation.playback import Playback, load_recording
    from parley.tui.player import Player

    source: str = arguments.replay
    frames = load_recording(source, journal, arguments.cwd or ".")
    return Player(Playback(frames, arguments.speed or None), Path(source).name)


def _usual_theme() -> str:
    """Return the theme that fits the background that the terminal reports; dark by default."""
    ground = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return "light" if ground in _LIGHT else "dark"
