"""An MCP server on stdin and stdout that is really somewhere else: it passes bytes on, both ways.

An agent starts this file with the address and the token that the bridge has
put into its environment (`_bridge_stdio.py`). It needs nothing but Python itself, and ends when
either side does.
"""

from __future__ import annotations

import os
import socket
import sys
from threading import Thread

ADDRESS = "PARLEY_MCP_ADDRESS"
TOKEN = "PARLEY_MCP_TOKEN"
_CHUNK = 65536


def main() -> int:
    """Pass bytes on until one side ends; returns the exit code."""
    host, _, port = os.environ.get(ADDRESS, "").rpartition(":")
    token = os.environ.get(TOKEN, "")
    if not port.isdecimal() or not token:
        sys.stderr.write(f"{ADDRESS} and {TOKEN} are not set: only an agent starts this\n")
        return 2
    try:
        connection = socket.create_connection((host, int(port)))
    except OSError as error:
        sys.stderr.write(f"the MCP server has gone: {error.strerror}\n")
        return 1
    connection.sendall(token.encode() + b"\n")
    Thread(target=_read_input, args=(connection,), daemon=True).start()
    while data := _received(connection):
        written = 0
        while written < len(data):
            written += os.write(1, data[written:])
    return 0


def _read_input(connection: socket.socket) -> None:
    """Pass on the agent's messages; exit at their end."""
    try:
        while data := os.read(0, _CHUNK):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(_CHUNK)
    except OSError:
        return b""


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the thread that reads stdin cannot be woken
