"""The actions of `parley tap`: list, show, export, import and delete recordings."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, to_builtins

from parley.client._session_format import from_home, when
from parley.errors import RecordingError
from parley.recording import Recording, RecordingReader, RecordingStore
from parley.recording._jsonl import write_jsonl
from parley.recording._store import SUFFIX

from .frame_summary import RecordingView
from .json_output import print_json
from .paint import fitted, painted
from .reporting import Exit, Failure, say

__all__ = ["run_action"]

_WHEN_CHARS = 10
_SIZE_CHARS = 8


class RecordingJson(Struct, kw_only=True, rename="camel", omit_defaults=True):
    """A recording as JSON."""

    key: str
    name: str
    command: list[str]
    cwd: str
    path: str
    started_at: float
    updated_at: float
    size_bytes: int
    is_active: bool
    hop: str = ""
    chain: str = ""

    @classmethod
    def of(cls, recording: Recording) -> RecordingJson:
        """Describe a recording."""
        header = recording.header
        return cls(
            key=header.key,
            name=header.name,
            command=header.command,
            cwd=header.cwd,
            path=str(recording.path),
            started_at=header.started_at,
            updated_at=recording.updated_at,
            size_bytes=recording.size_bytes,
            is_active=recording.is_active,
            hop=header.hop,
            chain=header.chain,
        )


def run_action(arguments: argparse.Namespace) -> int:
    """Run an action; without one, list the recordings."""
    actions: dict[str | None, Callable[[argparse.Namespace, RecordingStore], int]] = {
        None: _list,
        "list": _list,
        "show": _show,
        "export": _export,
        "import": _import,
        "delete": _delete,
    }
    try:
        return actions[arguments.action](arguments, RecordingStore())
    except RecordingError as error:
        raise Failure(str(error)) from error


def _list(arguments: argparse.Namespace, store: RecordingStore) -> int:
    recordings = store.recordings()[: max(arguments.limit, 0)]
    if arguments.json:
        print_json([to_builtins(RecordingJson.of(each)) for each in recordings])
        return Exit.DONE
    if not recordings:
        say("parley: there are no recordings; `parley tap -- COMMAND` makes one")
    width = max((len(each.key) for each in recordings), default=0)
    for recording in recordings:
        print(_row(recording, width))
    return Exit.DONE


def _row(recording: Recording, width: int) -> str:
    header = recording.header
    age = f"{when(recording.updated_at):<{_WHEN_CHARS}}"
    size = f"{_size(recording.size_bytes):>{_SIZE_CHARS}}"
    mark = " [recording]" if recording.is_active else ""
    what = header.hop or " ".join(header.command) or header.name
    indent = width + _WHEN_CHARS + _SIZE_CHARS + 6 + len(mark)
    key = painted(f"{recording.key:<{width}}", "bold")
    return f"{key}  {age}  {size}  {fitted(what, indent)}{painted(mark, 'yellow')}"


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _show(arguments: argparse.Namespace, store: RecordingStore) -> int:
    with store.find(arguments.key).open() as reader:
        header = reader.header
        command = " ".join(header.command) or header.name
        facts = (header.key, when(header.started_at), command, from_home(header.cwd))
        print(painted(fitted(", ".join(each for each in facts if each)), "dim"), flush=True)
        view = RecordingView()
        for item in reader.follow() if arguments.follow else reader:
            for line in view.lines(item):
                print(line, flush=arguments.follow)
        if not arguments.follow and reader.is_active:
            say("parley: this is still being recorded; --follow shows what comes")
    return Exit.DONE


def _export(arguments: argparse.Namespace, store: RecordingStore) -> int:
    with store.find(arguments.key).open() as reader:
        if arguments.output is None:
            sys.stdout.flush()
            for line in write_jsonl(reader.header, reader):
                sys.stdout.buffer.write(line)
            return Exit.DONE
        try:
            _write_export(reader, arguments.output)
        except OSError as error:
            why = error.strerror or error
            raise Failure(f"{arguments.output} cannot be written: {why}") from error
    say(f"parley: {arguments.output} is written. Check it before you publish it.")
    return Exit.DONE


def _write_export(reader: RecordingReader, output: str) -> None:
    fd = os.open(output, os.O_WRONLY | os.O_CREAT, 0o600)
    with os.fdopen(fd, "wb") as file:
        if os.path.samestat(os.fstat(fd), reader.path.stat()):
            raise OSError("it is the recording itself")
        if stat.S_ISREG(os.fstat(fd).st_mode):
            os.fchmod(fd, 0o600)
            os.ftruncate(fd, 0)
        file.writelines(write_jsonl(reader.header, reader))


def _import(arguments: argparse.Namespace, store: RecordingStore) -> int:
    path = arguments.import_file
    try:
        if path == "-":
            recording = store.import_lines(sys.stdin.buffer)
        elif path.endswith(SUFFIX):
            recording = store.import_file(path)
        else:
            with Path(path).open("rb") as file:
                recording = store.import_lines(file)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}") from error
    except RecordingError as error:
        raise Failure(f"{path} cannot be imported: {error}") from error
    print(recording.key)
    return Exit.DONE


def _delete(arguments: argparse.Namespace, store: RecordingStore) -> int:
    found = [store.find(key) for key in arguments.keys]
    for key, recording in zip(arguments.keys, found, strict=True):
        if not recording.key.startswith(key):
            raise Failure(f"{key!r} is not a KEY; the last recording is {recording.key}")
    for recording in {each.key: each for each in found}.values():
        store.delete(recording)
        say(f"parley: {recording.key} is deleted")
    return Exit.DONE
