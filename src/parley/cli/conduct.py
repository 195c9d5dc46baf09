"""`parley conduct`: proxies and an agent as one agent on stdin and stdout."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence

from parley import config
from parley._interpreter import replace_parley
from parley.config import ChainEntry
from parley.errors import ConfigError, RequestError
from parley.proxy import Conductor
from parley.proxy._chain.builtin_commands import NAMES, is_builtin, parse, suggest_builtin
from parley.proxy._chain.component import ComponentSpec
from parley.recording import RecordingWriter
from parley.transport._base import Transport
from parley.transport._stdio import HINT, serve_stdio
from parley.transport._target import TargetOptions, is_remote

from .recording_writers import close_writer
from .reporting import Exit, Failure, write_agent_stderr
from .targets import Resolved, resolve

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = f"""\
Serve a chain of proxies and an agent as one agent on stdin and stdout.
Messages from the editor pass through each PROXY to the AGENT, and the agent's
messages pass back through them. A PROXY is a built-in proxy, in quotes with
its options, or a command that starts one. The AGENT is a configured name, a
command, an address, or `replay FILE`. All of them start with the first request
of the editor and end together. Without an AGENT, the chain is itself a proxy.

built-in proxies, each with its own --help:
{textwrap.fill(", ".join(NAMES), 79, initial_indent="  ", subsequent_indent="  ")}
"""
EXAMPLES = """\
examples:
  parley conduct log "budget --cost 1" -- opencode acp
  parley conduct "python greeter.py" policy -- claude
  parley conduct --chain careful      # [chains.careful] in the configuration
  parley conduct --tap log -- opencode acp    # record what passes on each hop
  parley conduct "budget --help"

exit codes:
  0  the editor disconnected       5  a component cannot be started, or exited
  2  the command line is wrong
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = "parley conduct [options] [PROXY …] [-- AGENT …]"
    quotes = 'put a proxy and its options in quotes, such as "budget --cost 1"'
    parser.set_defaults(after_dashes=[], quotes=quotes)
    parser.add_argument(
        "proxies", metavar="PROXY", nargs="*", help="a built-in proxy, or a command that starts one"
    )
    parser.add_argument("--chain", metavar="NAME", help="a chain from the configuration")
    parser.add_argument(
        "--inherit",
        metavar="VARIABLE",
        action="append",
        default=[],
        help="an environment variable to pass to the components; repeatable",
    )
    parser.add_argument(
        "--tap", action="store_true", help="record each hop of the chain; see `parley tap list`"
    )


def main(arguments: argparse.Namespace) -> int:
    """Conduct until the other side closes, or a component is gone."""
    writer = RecordingWriter(may_wait=False) if arguments.tap else None
    conductor = _conductor(arguments, writer)
    if sys.stdin is not None and sys.stdin.isatty():
        raise Failure(f"{HINT}; see `parley conduct --help`", Exit.USAGE)
    failures: list[RequestError] = []

    async def serve(transport: Transport) -> None:
        failure = await conductor.conduct(transport)
        if failure is not None:
            failures.append(failure)

    serve_stdio(serve, HINT)
    if writer is not None:
        close_writer(writer)
    if failures:
        raise Failure(failures[0].message, Exit.DIED)
    return Exit.DONE


def _conductor(arguments: argparse.Namespace, writer: RecordingWriter | None) -> Conductor:
    proxies: Sequence[str] = arguments.proxies
    agent: list[str] = arguments.after_dashes
    inherit: list[str] = arguments.inherit
    if arguments.chain is not None:
        if proxies or agent:
            raise Failure("--chain cannot be combined with PROXY or AGENT", Exit.USAGE)
        chain = _chain(arguments.chain)
        proxies, agent, inherit = chain.proxies, [chain.agent], [*inherit, *chain.inherit]
    try:
        found = _agent(agent) if agent else None
        name = "" if found is None else found.name or found.command
        return Conductor(
            *[_proxy(each, inherit, name) for each in proxies],
            agent=None if found is None else _component(found, inherit),
            recordings=writer,
        )
    except (ConfigError, ValueError) as error:
        raise Failure(str(error), Exit.USAGE) from error


def _chain(name: str) -> ChainEntry:
    try:
        chains = config.load().chains
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    if name not in chains:
        there = f"there are {', '.join(chains)}" if chains else "none are configured"
        raise Failure(f"there is no chain {name!r} in the configuration; {there}", Exit.USAGE)
    return chains[name]


def _proxy(word: str, inherit: Sequence[str], agent: str) -> ComponentSpec:
    if is_builtin(word):
        return ComponentSpec(target=parse(word, agent=agent))
    if word in config.load().chains:
        problem = (
            f"{word} is a chain that ends with an agent, so it is not a proxy; name its proxies"
        )
        raise Failure(f"{problem}, or give it as the AGENT: -- {word}", Exit.USAGE)
    name = next(iter(shlex.split(word)), "")
    program = replace_parley([name])[0]
    if not is_remote(word) and shutil.which(program) is None and config.load().find(word) is None:
        problem = f"{name!r} is neither a built-in proxy nor a program; {suggest_builtin(name)}"
        raise Failure(problem, Exit.DIED if name else Exit.USAGE)
    return _component(resolve(word), inherit)


def _agent(words: list[str]) -> Resolved:
    if len(words) > 1:
        return Resolved(target=shlex.join(words) if is_builtin(words) else words)
    return resolve(words[0])


def _component(found: Resolved, inherit: Sequence[str]) -> ComponentSpec:
    """Return a component with the options of its configuration."""
    merged = found.merged(inherit=inherit)
    options: TargetOptions = {**merged.target_options, "on_stderr": write_agent_stderr}
    return ComponentSpec(target=found.target, name=found.name, options=options)
