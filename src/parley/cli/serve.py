"""`parley serve`: agents on the network, protected by a token."""

from __future__ import annotations

import argparse

from parley._argtypes import non_negative_float
from parley.errors import ConnectFailed

from .reporting import Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Serve agents over HTTP and WebSocket for `parley run`, `parley chat`, `parley
connect` and other clients. By default the server listens on this machine only,
requires a token, which is created and saved for you, and starts a process for
each connection. The first Ctrl-C or SIGTERM lets running turns finish; the
second one stops the server at once.
"""
EXAMPLES = """\
examples:
  parley serve                               # the default agent
  parley serve "opencode acp" claude         # at /acp/opencode and /acp/claude
  parley serve --name fast="codex --acp" --shared
  parley serve claude --http 0.0.0.0:7400 --allow-host agents.example.com \\
    --tls-cert cert.pem --tls-key key.pem
  parley serve --config gateway.toml --log-format json
  parley serve --new-token                   # then send SIGHUP to the gateway

exit codes:
  0  stopped                       2    the command line or a file is wrong
  1  cannot listen on the address  5    no agent can be started
  130  stopped at once, by a second signal
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
        help="an agent under a name of your choice; may be given several times",
    )
    parser.add_argument(
        "--http", metavar="HOST:PORT", help="the address to listen on; 127.0.0.1:7400 by default"
    )
    parser.add_argument(
        "--config", metavar="FILE", help="read this file instead of [serve] in the configuration"
    )
    parser.add_argument(
        "--shared",
        action="store_true",
        help="one process for all connections of a principal, not one for each",
    )
    parser.add_argument("--page", action="store_true", help="also serve a chat page for browsers")
    _add_access_arguments(parser)
    _add_output_arguments(parser)


def _add_access_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("access")
    group.add_argument(
        "--token-file",
        metavar="FILE",
        help="the file with the token; by default one is created and saved for you",
    )
    group.add_argument(
        "--new-token",
        action="store_true",
        help="write a new token to the token file, and exit",
    )
    group.add_argument(
        "--no-token", action="store_true", help="require no token; only on loopback addresses"
    )
    group.add_argument("--tls-cert", metavar="FILE", help="serve HTTPS with this certificate (PEM)")
    group.add_argument("--tls-key", metavar="FILE", help="the private key of the certificate (PEM)")
    for flag, metavar, what in (
        ("--allow-host", "HOST", "accept requests for this host name; may be given several times"),
        ("--allow-origin", "ORIGIN", "accept pages from this origin, such as https://chat.example"),
        ("--proxy", "ADDRESS", "the address of a reverse proxy whose --trusted-header is trusted"),
    ):
        group.add_argument(flag, metavar=metavar, action="append", default=[], help=what)
    group.add_argument(
        "--trusted-header",
        metavar="HEADER",
        help="the header in which a reverse proxy on this machine, or at --proxy, names the user",
    )
    group.add_argument(
        "--allow-local-servers",
        action="store_true",
        help="let clients use commands and local addresses as MCP servers",
    )


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output and shutdown")
    group.add_argument(
        "--log-format", choices=("text", "json"), help="the log format; text by default"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="log only problems")
    group.add_argument(
        "--tap", action="store_true", help="record each connection; see `parley tap list`"
    )
    group.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agents write to their stderr"
    )
    group.add_argument(
        "--drain",
        metavar="SECONDS",
        type=non_negative_float,
        help="how long running turns may take to end at shutdown; 30 by default",
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
