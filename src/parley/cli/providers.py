"""`parley agents providers`: where an agent sends its model calls, shown and changed."""

from __future__ import annotations

import argparse
import asyncio
import os

from parley._display_text import sanitize_text
from parley.client import Connection, Process
from parley.config import _references as references
from parley.errors import ConfigError
from parley.schema import v2

from .agent_connection import connect_agent
from .handshake import working_dir
from .json_output import print_json
from .paint import fitted, painted
from .reporting import Exit, Failure, say
from .targets import resolve

__all__ = ["EXAMPLES", "add_arguments", "show_or_change"]

_MAX_ID_WIDTH = 80
"""The width of the column of ids; a longer id moves only the rest of its own line."""

EXAMPLES = """\
A header's value may refer to your variables as $NAME, so that no key is on the
command line. --set replaces the whole configuration of a provider, headers
included. Whether it outlives the agent's process is up to the agent.

examples:
  parley agents providers opencode
  parley agents providers opencode --set main --api openai \\
      --url https://models.example/v1 --header 'Authorization=Bearer $API_KEY'
  parley agents providers opencode --disable spare
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the action."""
    parser.add_argument(
        "name", metavar="AGENT", nargs="?", help="a name, or a command line; else the default agent"
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--set", metavar="ID", dest="provider", help="configure this provider")
    change.add_argument("--disable", metavar="ID", help="stop the agent from using this provider")
    parser.add_argument("--api", metavar="TYPE", help="with --set: its API, such as openai")
    parser.add_argument("--url", metavar="URL", help="with --set: the base URL of its API")
    parser.add_argument(
        "--header",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="with --set: a header to send; may be given several times",
    )
    parser.add_argument("--json", action="store_true", help="print the providers as JSON")
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agent writes to its stderr"
    )


def show_or_change(arguments: argparse.Namespace) -> int:
    """Show the providers of an agent, after the change that was asked for."""
    request = _request(arguments)
    agent = resolve(arguments.name)

    async def run() -> int:
        async with connect_agent(
            agent, working_dir(agent), process=Process(), is_verbose=arguments.verbose
        ) as connection:
            if not connection.features.providers:
                raise Failure(f"{agent.label} does not let its providers be configured")
            await _change(connection, request, arguments.disable)
            providers = await connection.list_providers()
        if arguments.json:
            print_json([_as_json(each) for each in providers])
        elif providers:
            _print(providers)
        else:
            say(f"parley: {agent.label} has no providers")
        return Exit.DONE

    return asyncio.run(run())


def _request(arguments: argparse.Namespace) -> v2.SetProviderRequest | None:
    """Return the configuration that --set and its options describe.

    Raises:
        Failure: An option is missing or has no use, or a header is not valid.
    """
    if arguments.provider is None:
        if arguments.api or arguments.url or arguments.header:
            raise Failure("--api, --url and --header need --set ID", Exit.USAGE)
        return None
    if not (arguments.api and arguments.url):
        raise Failure("--set needs --api TYPE and --url URL", Exit.USAGE)
    headers: dict[str, str] = {}
    for each in arguments.header:
        name, equals, value = each.partition("=")
        if not name or not equals:
            raise Failure("--header must be NAME=VALUE", Exit.USAGE)
        headers[name] = value
    try:
        headers = references.resolve(headers, os.environ, "--header")
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    return v2.SetProviderRequest(
        provider_id=arguments.provider,
        api_type=arguments.api,
        base_url=arguments.url,
        headers=headers,
    )


async def _change(
    connection: Connection, request: v2.SetProviderRequest | None, disabled: str | None
) -> None:
    if request is not None:
        await connection.list_providers()  # An API that the agent lists may be newer than Parley.
        await connection.set_provider(request)
    elif disabled is not None:
        await connection.disable_provider(disabled)


def _print(providers: list[v2.ProviderInfo]) -> None:
    """Print a line for each provider: its id, where it is, and the APIs that it supports."""
    ids = [sanitize_text(each.provider_id, is_line=True) for each in providers]
    width = min(max(map(len, ids)), _MAX_ID_WIDTH)
    for each, provider_id in zip(providers, ids, strict=True):
        name = painted(f"{provider_id:<{width}}", "bold")
        where = (
            "disabled"
            if each.current is None
            else f"{each.current.api_type} at {each.current.base_url}"
        )
        mark = " (required)" if each.required else ""
        print(f"{name}  {fitted(f'{where}{mark}', width + 2)}")
        supported = ", ".join(each.supported) or "none"
        print(painted(f"{'':<{width}}  {fitted(f'APIs: {supported}', width + 2)}", "dim"))


def _as_json(provider: v2.ProviderInfo) -> dict[str, object]:
    current = provider.current
    return {
        "id": provider.provider_id,
        "required": provider.required,
        "supported": list(provider.supported),
        "api": None if current is None else current.api_type,
        "url": None if current is None else current.base_url,
    }
