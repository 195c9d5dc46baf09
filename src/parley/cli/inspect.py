"""`parley inspect`: what a client and an agent say, in a browser or as text."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
import webbrowser

from parley.errors import ConnectFailed, RecordingError
from parley.inspector._filter import Filter, FilterError
from parley.inspector._library import Library
from parley.inspector._share import jsonl_of, page_of
from parley.inspector._sources import InspectedRecording, located, open_source
from parley.inspector._text import RowSelection, as_json, lines
from parley.recording import Recording, RecordingStore
from parley.transport.http._app import graceful_shutdown
from parley.transport.http._app.graceful_shutdown import GracefulShutdown
from parley.transport.http._extra import require_http_extra

from .json_output import print_json
from .paint import begin_of, painted, terminal_size
from .reporting import Exit, Failure, is_terminal, say

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Inspect recorded connections: every message with its response, latency and
errors, checked against the schema. `parley tap` records them. A KEY is the key
that `parley tap list` shows, the beginning of one, or the name of an agent for
its last recording; a FILE is a recording or its export. Without --text, --json
or --share, a page opens in the browser; only you can open it.

--text prints one line per message. → is from the client, ← from the agent,
! from the agent's stderr, and · an event. The chunks of a message take one
line.
"""
EXAMPLES = """\
examples:
  parley inspect                             # all recordings, in the browser
  parley inspect opencode --text             # the last recording of opencode
  parley inspect opencode --text --follow --filter "is:error"
  parley inspect bug.jsonl --filter "method:prompt from:client" --json
  parley inspect opencode --share bug.html   # one file for a bug report

filters: words, "a phrase", method:TEXT, session:TEXT, update:TEXT, id:ID,
  from:client|agent|stderr|event, kind:request|response|error|notification|…,
  is:error|slow|cancelled|unanswered|invalid; - in front excludes, as in
  --filter=-kind:notification
"""
_POLL_SECONDS = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "recording",
        metavar="KEY|FILE",
        nargs="?",
        help="a recording; by default all, or with --text and --json the last one",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="print one line per message")
    form.add_argument("--json", action="store_true", help="print one line of JSON per message")
    form.add_argument(
        "--share",
        metavar="FILE",
        help="write a page that opens from disk, or JSON lines if FILE ends with .jsonl",
    )
    parser.add_argument("--filter", metavar="FILTER", default="", help="only these messages")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="wait for more until the recording ends"
    )
    parser.add_argument(
        "--chunks", action="store_true", help="with --text, a line for each chunk of a message"
    )
    parser.add_argument(
        "--port",
        metavar="N",
        type=int,
        default=0,
        help="the port of the page; a free one by default",
    )
    parser.add_argument("--no-open", action="store_true", help="do not open the browser")


def main(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    _check(arguments)
    try:
        chosen = Filter(arguments.filter)
    except FilterError as error:
        raise Failure(f"--filter: {error}", Exit.USAGE) from error
    try:
        if arguments.text or arguments.json or arguments.share:
            with open_source(arguments.recording or _newest()) as recording:
                return _print_or_share(recording, chosen, arguments)
        return _serve(arguments)
    except (RecordingError, ConnectFailed) as error:
        raise Failure(str(error)) from error


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do nothing together."""
    is_printed = arguments.text or arguments.json
    if (arguments.follow or arguments.chunks) and not is_printed:
        raise Failure("--follow and --chunks need --text or --json", Exit.USAGE)
    if arguments.filter and not (is_printed or arguments.share):
        raise Failure("--filter needs --text, --json or --share", Exit.USAGE)
    if not 0 <= arguments.port <= 65535:
        raise Failure("--port must be a number from 0 to 65535", Exit.USAGE)


def _serve(arguments: argparse.Namespace) -> int:
    """Serve the page until a signal comes."""
    with require_http_extra("the inspector's page"):
        from parley.inspector._serving import serve

    async def run(files: list[Recording]) -> int:
        library = Library(RecordingStore(), files)
        key = files[0].key if files else None
        with GracefulShutdown(lambda is_second: None) as stop:
            async with serve(library, port=arguments.port, key=key) as url:
                say(f"parley: the inspector is at {url}")
                say("parley: press Ctrl-C to stop")
                if not arguments.no_open and is_terminal():
                    await asyncio.to_thread(webbrowser.open, url)
                await stop.wait()
        return Exit.DONE

    if arguments.recording is None:
        return graceful_shutdown.run(run([]))
    with located(arguments.recording) as recording:
        return graceful_shutdown.run(run([recording]))


def _print_or_share(
    recording: InspectedRecording, chosen: Filter, arguments: argparse.Namespace
) -> int:
    if not arguments.share:
        return _print(recording, chosen, arguments)
    recording.read_all()
    is_lines = arguments.share.endswith(".jsonl")
    if is_lines and arguments.filter:
        raise Failure("--filter is for a page; JSON lines have the whole recording", Exit.USAGE)
    parts = jsonl_of(recording) if is_lines else page_of(recording, chosen)
    try:
        fd = os.open(arguments.share, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.writelines(parts)
    except OSError as error:
        raise Failure(f"{arguments.share} cannot be written: {error.strerror}") from error
    say(f"parley: {arguments.share} is written. Check it before you publish it.")
    return _end(recording)


def _newest() -> str:
    recordings = RecordingStore().recordings()
    if not recordings:
        raise Failure("there are no recordings; `parley tap -- COMMAND` makes one")
    return recordings[0].key


def _print(recording: InspectedRecording, chosen: Filter, arguments: argparse.Namespace) -> int:
    """Print the rows, and with --follow those that come until the recording ends."""
    folds = arguments.text and not arguments.chunks
    selection = RowSelection(recording, chosen, folds=folds, waits=arguments.follow)
    while True:
        recording.read_all()
        rows = selection.new_rows()
        if arguments.json:
            for row in rows:
                print_json(as_json(row, recording.data(row.number)), is_line=True)
        else:
            for line in lines(rows, folds=folds):
                print(painted(_cut(line.text), line.colour))
        sys.stdout.flush()
        if not (arguments.follow and recording.is_live):
            break
        time.sleep(_POLL_SECONDS)
    return _end(recording)


def _end(recording: InspectedRecording) -> int:
    """Return the exit code; a recording of which a part cannot be read is a failure."""
    if recording.problem is not None:
        raise Failure(f"{recording.path.name}: {recording.problem}")
    return Exit.DONE


def _cut(text: str) -> str:
    """Return a line that ends where the terminal does; elsewhere it is whole."""
    return begin_of(text, terminal_size().columns) if sys.stdout.isatty() else text
