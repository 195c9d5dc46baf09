"""`parley tap`: run an agent for an editor and record what both say; list and show recordings."""

from __future__ import annotations

import argparse
from pathlib import Path

from parley._interpreter import replace_parley
from parley._program_name import program_name

from .actions import actions_of
from .reporting import Exit, Failure, say
from .tap_connection import TappedAgent, end_like
from .tap_install import ACTIONS as INSTALL_ACTIONS
from .tap_install import add_actions as add_install_actions
from .tap_install import run as run_install

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Run an agent and record everything that it and its client write. Put
`parley tap --` before the command of the agent in the settings of your editor;
neither the editor nor the agent notices. With an ACTION, work with the
recordings. A KEY is the key that `list` shows, the beginning of one, a file,
or the name of an agent for its last recording. Without an ACTION and without
a COMMAND, the recordings are listed.

Secrets are masked before anything is written. Recordings are deleted after 14
days, or when they take more than 1 GB; [recordings] in config.toml changes it.
"""
EXAMPLES = """\
examples:
  parley tap -- opencode acp                 # in the settings of the editor
  parley run "hello" -a "parley tap -- opencode acp"
  parley tap list
  parley tap show opencode --follow
  parley tap export 20261119-2115 -o bug.jsonl

exit codes of `parley tap -- COMMAND`:
  that of the agent, or 127 if the command is not found, 126 if it cannot be
  started; if a signal ended the agent, the same signal ends the tap
"""
_MAX_WAIT_SECONDS = 5.0
"""How long the end of the tap waits for the disk."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.usage = "parley tap [--name NAME] [--file FILE] -- COMMAND …\n       parley tap ACTION …"
    hint = "put -- before the command of an agent"
    parser.set_defaults(after_dashes=[], json=False, limit=20, choice_hint=hint)
    parser.add_argument(
        "--name", metavar="NAME", help="the name of the recording; by default that of the program"
    )
    parser.add_argument(
        "--file", metavar="FILE", help="the file to write; an earlier recording is replaced"
    )
    action = actions_of(parser)
    listing = action("list", "list the recordings, newest first")
    listing.add_argument("--json", action="store_true", help="print the recordings as JSON")
    listing.add_argument(
        "--limit", metavar="N", type=int, default=20, help="maximum number; 20 by default"
    )
    showing = action("show", "show the messages of a recording, one per line")
    _add_key(showing)
    showing.add_argument(
        "-f", "--follow", action="store_true", help="wait for more until the recording ends"
    )
    exporting = action("export", "export a recording as JSON lines")
    _add_key(exporting)
    exporting.add_argument(
        "-o", "--output", metavar="FILE", help="the file to write; stdout by default"
    )
    importing = action("import", "add a recording that was exported, or a .acprec file")
    importing.add_argument("import_file", metavar="FILE", help="the file; - for stdin")
    deleting = action("delete", "delete recordings")
    deleting.add_argument("keys", metavar="KEY", nargs="+", help="a recording to delete")
    add_install_actions(action)


def _add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "key", metavar="KEY", help="a key, the beginning of one, a file, or the name of an agent"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the tap, or an action on recordings."""
    command: list[str] = arguments.after_dashes
    if arguments.action in INSTALL_ACTIONS:
        return run_install(arguments)
    if not command:
        if arguments.action is None and (arguments.name or arguments.file):
            raise Failure("the COMMAND of the agent is missing; put it after --", Exit.USAGE)
        from .recordings import run_action  # loads what a tapped agent would have to wait for

        return run_action(arguments)
    if arguments.action is not None:
        raise Failure(f"`parley tap {arguments.action}` takes no COMMAND", Exit.USAGE)
    if not command[0]:
        raise Failure("the COMMAND of the agent is empty", Exit.USAGE)
    return _tap(command, arguments.name or program_name(command), arguments.file)


def _tap(command: list[str], name: str, path: str | None) -> int:
    try:
        agent = TappedAgent(replace_parley(command))
    except OSError as error:
        return _record_failure(command, name, path, error)
    recorder = _Recorder(command, name, path)  # the agent starts meanwhile
    status = agent.run(recorder.recording)
    recorder.close()
    return end_like(status)


def _record_failure(command: list[str], name: str, path: str | None, error: OSError) -> int:
    reason = error.strerror or str(error)
    recorder = _Recorder(command, name, path)
    recorder.recording.write_event("failed", reason=reason)
    recorder.close()
    where = recorder.recording.path
    say(f"parley tap: {command[0]!r} cannot be started: {reason}. The recording is {where}")
    return 127 if isinstance(error, FileNotFoundError) else 126


class _Recorder:
    """The recording of one agent, and the thread that writes it."""

    def __init__(self, command: list[str], name: str, path: str | None) -> None:
        from parley.recording import RecordingWriter  # takes longer than to start an agent

        self._writer = RecordingWriter()
        self.recording = self._writer.start(name, command, cwd=_cwd(), path=path)

    def close(self) -> None:
        """Write the rest; report on stderr what could not be written."""
        self.recording.close()
        is_written = self._writer.close(_MAX_WAIT_SECONDS)
        problem = self.recording.problem
        if not is_written:
            say("parley tap: the recording may be incomplete: the disk did not respond")
        elif problem is not None:
            say(f"parley tap: {self.recording.lost_bytes:,} bytes were not recorded: {problem}")


def _cwd() -> str:
    try:
        return str(Path.cwd())
    except OSError:  # the directory was deleted
        return ""
