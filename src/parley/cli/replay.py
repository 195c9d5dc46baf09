"""`parley replay`: a recording as an agent, or as a client that shows what an agent does now."""

from __future__ import annotations

import argparse

from parley._argtypes import positive_float
from parley.errors import RecordingError
from parley.recording._replay.loading import LoadedRecording, load_recording

from .flags import SEVERAL, add_remote_arguments
from .reporting import Exit, Failure, say

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Replay a recording of `parley tap`. As an agent, it behaves on stdin and stdout
as the recorded agent did: no model, no key, no cost. As a client, it sends an
agent what the recorded client sent, and reports what differs.

RECORDING is the key of a recording, the beginning of one, the name of an agent
for its last recording, or a file: a .acprec file, an export of `parley tap
export`, or one of `parley sessions export`.
"""
EXAMPLES = """\
examples:
  parley run "hello" -a "parley replay opencode --as agent"
  parley replay bug.jsonl --as agent --speed 1
  parley replay opencode --as client -- opencode acp
  parley replay bug.jsonl --as client -a my-agent --json

exit codes of --as agent:  that of the recorded agent
exit codes of --as client:
  0  nothing differs               2  the command line is wrong
  1  something differs             5  the agent could not be started
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = (
        "parley replay RECORDING --as agent [options]\n"
        "       parley replay RECORDING --as client [options] (-a TARGET | -- COMMAND …)"
    )
    parser.set_defaults(after_dashes=[], quotes="put -- before the command of the agent")
    parser.add_argument("recording", metavar="RECORDING", help="a key, a name or a file")
    parser.add_argument(
        "--as", dest="role", choices=("agent", "client"), required=True, help="whom to replay"
    )
    parser.add_argument(
        "--speed",
        metavar="N",
        type=positive_float,
        help="1 takes the time that was recorded, 2 half of it; by default nothing waits",
    )
    group = parser.add_argument_group("with --as client")
    group.add_argument(
        "-a", "--agent", metavar="TARGET", help="a configured agent, a command, or an address"
    )
    group.add_argument(
        "--inherit",
        metavar="VARIABLE",
        help="an environment variable to pass to the agent; repeatable",
        **SEVERAL,
    )
    group.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=positive_float,
        default=120.0,
        help="stop when the agent sends nothing for this long; 120 by default",
    )
    group.add_argument("--json", action="store_true", help="print the result as JSON")
    group.add_argument("-v", "--verbose", action="store_true", help="show the agent's stderr")
    add_remote_arguments(parser)


def main(arguments: argparse.Namespace) -> int:
    """Replay a recording."""
    has_agent = bool(arguments.agent or arguments.after_dashes)
    if arguments.role == "agent" and has_agent:
        raise Failure("--as agent takes no other agent; see --as client", Exit.USAGE)
    if arguments.role == "client" and not has_agent:
        raise Failure("the agent is missing: give -a TARGET, or -- COMMAND", Exit.USAGE)
    if arguments.agent and arguments.after_dashes:
        raise Failure("give the agent once: -a TARGET or -- COMMAND", Exit.USAGE)
    recording = _load(arguments.recording)
    if arguments.role == "agent":
        from .replay_agent import serve_replay

        return serve_replay(recording, arguments.speed)
    from .replay_client import replay_client  # loads what an agent does not need

    return replay_client(recording, arguments)


def _load(word: str) -> LoadedRecording:
    try:
        recording = load_recording(word)
    except RecordingError as error:
        raise Failure(str(error), Exit.USAGE) from error
    if lost := recording.lost_bytes:
        say(f"parley replay: {lost:,} bytes are missing in the recording, so it may stop early")
    return recording
