"""`parley serve`: agents on the network, for those who have the token."""

from __future__ import annotations

import argparse

from parley._argtypes import non_negative_float
from parley.errors import ConnectFailed

from .reporting import Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Put agents on the network, by HTTP and WebSocket, as `parley run`, `parley chat`,
`parley connect` and other clients reach them. It listens on this machine alone
by default, requires a token, which is created and saved for you, and starts
a process for each connection. The first Ctrl-C, or SIGTERM, lets what is under
way end; the second one ends everything at once.
"""
EXAMPLES = """\
examples:
  parley serve                                    # the default agent
  parley serve "opencode acp" claude              # two agents; /acp/opencode, /acp/claude
  parley serve --name fast="codex --acp" --shared
  parley serve claude --http 0.0.0.0:7400 --tls-cert cert.pem --tls-key key.pem \\
    --allow-host agents.example.com
  parley serve --config gateway.toml --log-format json
  parley serve --new-token                        # then send SIGHUP to the gateway

exit codes:
  0  it was stopped                   2    the command line or a file is wrong
  1  it cannot listen there           5    no agent can be started
  130  it was ended at once, by a second signal
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "targets",
        metavar="TARGET",
        nargs="*",
        help="a configured agent, a command that starts one, or an address; else the default agent",
    )
    parser.add_argument(
        "--name",
        metavar="NAME=TARGET",
        action="append",
        default=[],
        help="an agent under a name of your choice; may be repeated",
    )
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="the address to listen on; 127.0.0.1:7400 by default"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="read this file instead of [serve] in the configuration"
    )
    parser.add_argument(
        "--shared", action="store_true", help="one process for all connections of a principal"
    )
    parser.add_argument("--page", action="store_true", help="serve a page to chat in a browser")
    _add_access_arguments(parser)
    group = parser.add_argument_group("while it runs")
    group.add_argument("--log-format", choices=("text", "json"), help="the format of the log")
    group.add_argument("-q", "--quiet", action="store_true", help="log only problems")
    group.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agents write to their stderr"
    )
    group.add_argument(
        "--drain",
        metavar="SECONDS",
        type=non_negative_float,
        help="how long running turns may take to end at shutdown; 30 by default",
    )


def _add_access_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("who gets in")
    group.add_argument(
        "--token-file", metavar="FILE", help="the file with the token, instead of a generated one"
    )
    group.add_argument(
        "--new-token", action="store_true", help="write a new token to the file, and exit"
    )
    group.add_argument(
        "--no-token", action="store_true", help="require no token; for this machine only"
    )
    group.add_argument(
        "--tls-cert", metavar="FILE", help="serve https with this certificate, in PEM"
    )
    group.add_argument("--tls-key", metavar="FILE", help="its key")
    for flag, metavar, what in (
        ("--allow-host", "HOST", "a name under which it may be asked for"),
        ("--allow-origin", "ORIGIN", "a page elsewhere that may use it, as https://chat.example"),
        ("--proxy", "ADDRESS", "where a proxy is whose --trusted-header is believed"),
    ):
        group.add_argument(flag, metavar=metavar, action="append", default=[], help=what)
    group.add_argument(
        "--trusted-header",
        metavar="HEADER",
        help="the header in which a proxy on this machine, or at --proxy, names the user",
    )
    group.add_argument(
        "--allow-local-servers",
        action="store_true",
        help="let clients name commands and local addresses as MCP servers",
    )


def main(arguments: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    from parley.transport.http._extra import require_http_extra

    try:
        with require_http_extra("serving"):
            from .serving import Serve
    except ConnectFailed as error:
        raise Failure(str(error)) from error
    return Serve(arguments).run()
