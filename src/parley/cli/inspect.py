"""`parley inspect`: what a client and an agent say, in a browser or as text."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from parley.errors import RecordingError
from parley.inspector._filter import Filter, FilterError
from parley.inspector._sources import InspectedRecording, open_source
from parley.inspector._text import RowSelection, as_json, lines
from parley.recording import RecordingStore

from .json_output import print_json
from .paint import begin_of, painted, terminal_size
from .reporting import Exit, Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Inspect recorded connections: every message with its response, latency and
errors, checked against the schema. `parley tap` records them. A KEY is the key
that `parley tap list` shows, the beginning of one, or the name of an agent for
its last recording; a FILE is a recording or its export. Without --text or
--json, a page opens in the browser, on this machine only.

--text prints one line per message. → is from the client, ← from the agent,
! from the agent's stderr, and · an event. The chunks of a message are one line.
"""
EXAMPLES = """\
examples:
  parley inspect                             # all recordings, in the browser
  parley inspect opencode --text             # the last recording of opencode
  parley inspect opencode --text --follow --filter "is:error"
  parley inspect bug.jsonl --filter "method:prompt from:client" --json

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
    parser.add_argument("--filter", metavar="FILTER", default="", help="only these messages")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="wait for more until the recording ends"
    )
    parser.add_argument(
        "--chunks", action="store_true", help="with --text, a line for each chunk of a message"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit code."""
    try:
        chosen = Filter(arguments.filter)
    except FilterError as error:
        raise Failure(f"--filter: {error}", Exit.USAGE) from error
    try:
        with open_source(arguments.recording or _newest()) as recording:
            return _print(recording, chosen, arguments)
    except RecordingError as error:
        raise Failure(str(error)) from error


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
    if recording.problem is not None:
        raise Failure(f"{Path(recording.path).name}: {recording.problem}")
    return Exit.DONE


def _cut(text: str) -> str:
    """Return a line that ends where the terminal does; elsewhere it is whole."""
    return begin_of(text, terminal_size().columns) if sys.stdout.isatty() else text
