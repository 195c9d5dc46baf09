"""`parley agents`: the agents that the user has given names."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import msgspec

from parley import config
from parley._display_text import sanitize_text
from parley._redaction import hide_in_command, is_secret
from parley.client import _resolve as named
from parley.config import AgentEntry, config_path
from parley.config._edit import add_agent, remove_agent, set_default
from parley.config._references import referred
from parley.config._registry import agent_of, read_registry
from parley.errors import AcpError, ConfigError
from parley.schema.version import SUPPORTED
from parley.transport._target import is_remote

from . import providers
from .actions import actions_of
from .failures import failure_of
from .handshake import Report, try_agent
from .json_output import print_json
from .paint import cut_row, fitted, painted
from .progress_line import ProgressLine
from .reporting import Exit, Failure, say, write_agent_stderr
from .targets import Resolved, resolve

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Name agents, so that you can write `-a NAME`. They are saved in config.toml in
your configuration directory, which you can also edit by hand. Files inside a
project are not read. Without an ACTION, the agents are listed.
"""
EXAMPLES = """\
examples:
  parley agents add opencode --default -- opencode acp
  parley agents add claude-acp --registry registry.json --env ANTHROPIC_API_KEY
  parley agents test opencode
  parley agents list --json
  parley agents providers opencode
"""
ADD_EXAMPLES = """\
--env NAME passes your variable NAME to the agent; --env 'OTHER=$NAME' passes
it under another name. Only the reference is saved, never the value.

examples:
  parley agents add opencode --default -- opencode acp
  parley agents add codex --env OPENAI_API_KEY -- codex-acp
  parley agents add claude-acp --registry registry.json
  parley agents add work --token-file work.token -- https://agents.example/acp
"""
TEST_EXAMPLES = """\
examples:
  parley agents test opencode
  parley agents test -- npx --yes @google/gemini-cli --acp
"""
_VARIABLE_CELLS = 100
_REFERENCE_ONLY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(after_dashes=[])
    action = actions_of(parser)
    listing = action("list", "list the agents, without starting them")
    listing.add_argument("--json", action="store_true", help="print the agents as JSON")
    _add_adding(action("add", "add an agent under a name, and try it", ADD_EXAMPLES))
    removing = action("remove", "remove an agent")
    removing.add_argument("name", metavar="NAME", help="the agent's name")
    trying = action("test", "start an agent and show what it offers", TEST_EXAMPLES)
    trying.usage = "parley agents test [-h] [--json] [-v] [NAME | -- COMMAND …]"
    trying.add_argument(
        "name", metavar="AGENT", nargs="?", help="a name, or a command line; else the default agent"
    )
    trying.add_argument("--json", action="store_true", help="print the result as JSON")
    _add_verbose(trying)
    default = action("default", "set or show the default agent")
    default.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        help="the agent to make the default; without it, show the default",
    )
    providers.add_arguments(
        action("providers", "show or change where an agent's model calls go", providers.EXAMPLES)
    )


def _add_adding(parser: argparse.ArgumentParser) -> None:
    parser.usage = "parley agents add NAME [options] (-- COMMAND … | --registry FILE)"
    parser.add_argument(
        "name", metavar="NAME", help="the agent's name; with --registry, its id there"
    )
    parser.add_argument(
        "--registry",
        metavar="FILE",
        help="take the command from this registry.json or agent.json, pinned to one version",
    )
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a variable for the agent; may be given several times",
    )
    parser.add_argument(
        "--token-file", metavar="FILE", help="the token for a remote agent, such as -- https://…"
    )
    parser.add_argument(
        "--ca-file",
        metavar="FILE",
        help="certificates to trust for a remote agent, instead of the system's",
    )
    parser.add_argument(
        "--description", metavar="TEXT", default="", help="a description, shown in lists"
    )
    parser.add_argument(
        "--protocol",
        metavar="VERSION",
        type=int,
        choices=SUPPORTED,
        help="speak only this version of the protocol, 1 or 2",
    )
    parser.add_argument("--default", action="store_true", help="make it the default agent")
    parser.add_argument("--no-test", action="store_true", help="do not try the agent")
    _add_verbose(parser)


def _add_verbose(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agent writes to its stderr"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the action on the configuration."""
    action = {
        None: _list,
        "list": _list,
        "add": _add,
        "remove": _remove,
        "test": _test,
        "default": _default,
        "providers": providers.show_or_change,
    }[arguments.action]
    if arguments.after_dashes and arguments.action not in ("add", "test"):
        raise Failure("unexpected arguments after --; see `parley agents --help`", Exit.USAGE)
    try:
        return action(arguments)
    except ConfigError as error:
        raise Failure(str(error)) from error


# The list


def _list(arguments: argparse.Namespace) -> int:
    configured = config.load()
    agents = list(configured.agents.values())
    if getattr(arguments, "json", False):
        shown = [_json(each, configured) for each in agents]
        print_json(shown)
        return Exit.DONE
    if not agents:
        say(
            "parley: no agents are configured, so the demo agent is used; add one, for example:\n"
            "  parley agents add opencode --default -- opencode acp"
        )
        return Exit.DONE
    width = max(len(each.name) for each in agents)
    for each in agents:
        is_default = each.name == configured.default_agent
        mark = painted("*" if is_default else " ", "green")
        name = painted(f"{each.name:<{width}}", "bold" if is_default else "")
        print(f"{mark} {name}  {fitted(each.shown, width + 4)}")
        if each.description:
            print(painted(f"  {'':<{width}}  {fitted(each.description, width + 4)}", "dim"))
    if sys.stdout.isatty():
        print(painted(f"* the default; all from {fitted(str(configured.path), 24)}", "dim"))
    return Exit.DONE


def _json(entry: AgentEntry, configured: config.Config) -> dict[str, Any]:
    """Return an agent for a program; of its variables only the names, and no secrets."""
    return {
        "name": entry.name,
        "command": hide_in_command(entry.command)[0],
        "url": entry.url or None,
        "description": entry.description,
        "env": sorted(entry.env),
        "inherit": entry.inherit,
        "protocol": entry.protocol,
        "default": entry.name == configured.default_agent,
        "source": str(configured.path),
    }


# Changes


def _add(arguments: argparse.Namespace) -> int:
    entry = _entry(arguments)
    path = config_path()
    add_agent(path, entry, is_default=arguments.default)
    default = ", the default" if arguments.default else ""
    say(f"parley: {entry.name}{default}: {entry.shown}")
    if arguments.registry is not None:
        for name, value in entry.env.items():
            variable = sanitize_text(f"{name}={value.replace('$$', '$')}", is_line=True)
            say(f"parley: it gets {cut_row(variable, _VARIABLE_CELLS)}")
    say(f"parley: saved in {path}")
    if arguments.no_test:
        return Exit.DONE
    try:
        _show(_tried(named.resolve_entry(entry), arguments))
    except (Failure, ConfigError) as error:
        code = error.code if isinstance(error, Failure) else Exit.FAILED
        raise Failure(
            f"it is saved, but could not be tried: {error}\n"
            f"`parley agents test {entry.name}` tries again, `parley agents remove {entry.name}` "
            "takes it out",
            code,
        ) from error
    return Exit.DONE


def _entry(arguments: argparse.Namespace) -> AgentEntry:
    """Return the agent that is to be added."""
    words: list[str] = arguments.after_dashes
    if bool(words) is (arguments.registry is not None):
        raise Failure(
            f"say how to start it: `parley agents add {arguments.name} -- COMMAND …`, or "
            "--registry FILE",
            Exit.USAGE,
        )
    entry = AgentEntry(name=arguments.name, command=words)
    if len(words) == 1 and is_remote(words[0]):
        entry = AgentEntry(
            name=arguments.name,
            url=words[0],
            token_file=_absolute(arguments.token_file),
            ca_file=_absolute(arguments.ca_file),
        )
    elif arguments.token_file is not None or arguments.ca_file is not None:
        flag = "--token-file" if arguments.token_file is not None else "--ca-file"
        raise Failure(f"{flag} is only for remote agents", Exit.USAGE)
    if arguments.registry is not None:
        entry = agent_of(read_registry(Path(arguments.registry)).entry(arguments.name))
    return msgspec.structs.replace(
        entry,
        env={**entry.env, **dict(map(_variable, arguments.env))},
        description=arguments.description or entry.description,
        protocol=arguments.protocol,
    )


def _absolute(file: str | None) -> str:
    return "" if file is None else str(Path(file).absolute())


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    if not _REFERENCE_ONLY.fullmatch(name):
        raise Failure(f"--env: {name!r} is not a valid variable name", Exit.USAGE)
    if not equals:
        return name, f"${name}"
    if not referred(value) and is_secret(name, value):
        raise Failure(
            f"--env: this would save the secret itself; refer to it with --env {name}, or "
            f"--env '{name}=$OTHER' in single quotes",
            Exit.USAGE,
        )
    return name, value


def _remove(arguments: argparse.Namespace) -> int:
    was_default = config.load().default_agent == arguments.name
    remove_agent(config_path(), arguments.name)
    say(f"parley: {arguments.name} is removed from {config_path()}")
    if was_default:
        say("parley: it was the default; choose another with `parley agents default NAME`")
    return Exit.DONE


def _default(arguments: argparse.Namespace) -> int:
    if arguments.name is None:
        default = config.load().default_agent
        if default is None:
            say("parley: there is no default agent; choose one with `parley agents default NAME`")
            return Exit.FAILED
        print(sanitize_text(default, is_line=True))
        return Exit.DONE
    set_default(config_path(), arguments.name)
    say(f"parley: {arguments.name} answers now when no agent is named")
    return Exit.DONE


# The trial


def _test(arguments: argparse.Namespace) -> int:
    words: list[str] = arguments.after_dashes
    if words and arguments.name is not None:
        raise Failure("give a name or a command, not both", Exit.USAGE)
    agent = Resolved(target=words) if words else resolve(arguments.name)
    try:
        report = _tried(agent, arguments)
    except Failure as failure:
        if arguments.json:
            error = {"message": str(failure), "code": int(failure.code)}
            print_json({"name": agent.name or None, "command": agent.command, "error": error})
        raise
    if arguments.json:
        print_json({"name": agent.name or None, "command": agent.command, **report.json()})
    else:
        _show(report)
    return Exit.DONE


def _tried(agent: Resolved, arguments: argparse.Namespace) -> Report:
    try:
        return asyncio.run(_try(agent, is_verbose=arguments.verbose))
    except AcpError as error:
        hint = "; run with -v to see what it logged"
        raise failure_of(
            error, is_connected=False, is_configured=bool(agent.name), log_hint=hint
        ) from error


async def _try(agent: Resolved, *, is_verbose: bool) -> Report:
    progress = ProgressLine()
    is_fetched = agent.command.startswith(("npx ", "uvx "))
    progress.wait("it may be downloaded first" if is_fetched else f"starting {agent.label}")
    try:
        return await try_agent(agent, on_stderr=write_agent_stderr if is_verbose else None)
    finally:
        progress.wait("")


def _show(report: Report) -> None:
    print(f"{painted('✓', 'green')} {painted(fitted(report.who, 24), 'bold')} ", end="")
    print(f"answered in {report.seconds:.1f} s")
    for heading, text in report.lines():
        print(f"  {painted(f'{heading:<11}', 'dim')}  {fitted(text, 15)}")
