"""The directory of recordings: listing, finding, deleting, and how long they are kept."""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Iterable
from math import inf
from pathlib import Path

from msgspec import Struct, structs

from parley._age_limit import oldest_kept
from parley._user_dirs import config_dir, private_dir, state_dir
from parley.errors import ConfigError, RecordingError

from ._format import Header, RecordedEvent, encode_chunk, encode_event, encode_header
from ._jsonl import read_jsonl
from ._reader import RecordedLine, RecordingReader

logger = logging.getLogger(__name__)

SUFFIX = ".acprec"
_DAY = 24 * 60 * 60
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")
_MAX_NAME = 40


class Recording(Struct, frozen=True):
    """A recording on disk."""

    path: Path
    header: Header
    size_bytes: int
    updated_at: float
    """When something was last written, as Unix time."""
    is_active: bool
    """Whether a process is still writing it."""

    @property
    def key(self) -> str:
        """The name of the recording."""
        return self.header.key

    def open(self) -> RecordingReader:
        """Open the recording for reading.

        Raises:
            RecordingError: It cannot be read.
        """
        return RecordingReader(self.path)


class RecordingLimits(Struct, frozen=True):
    """How long recordings are kept, and how large they may be in total."""

    max_age: float | None = 14 * _DAY
    """In seconds since the last write."""
    max_bytes: int | None = 1_000_000_000
    """The maximum size of all recordings, and of each one."""


def configured_limits() -> RecordingLimits:
    """Return the limits of the user's configuration; the defaults if that cannot be read."""
    if not (config_dir() / "config.toml").exists():
        return RecordingLimits()
    from parley import config  # most have no configuration, and need not wait for it

    try:
        settings = config.load().recordings
    except ConfigError as error:
        logger.warning("The defaults apply to recordings: %s", error)
        return RecordingLimits()
    return RecordingLimits(
        max_age=settings.max_age_days * _DAY or None, max_bytes=settings.max_bytes or None
    )


def recordings_dir() -> Path:
    """Return the directory of the recordings of this user."""
    return state_dir() / "recordings"


def new_key(name: str, at: float) -> str:
    """Return a new key: the time in UTC, the name as far as a file name allows, a random suffix."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))
    safe = _UNSAFE.sub("-", name).strip("-.")[:_MAX_NAME] or "agent"
    return f"{moment}-{safe}-{os.urandom(3).hex()}"


class RecordingStore:
    """The recordings in a directory, by default those of this user."""

    def __init__(self, directory: str | Path | None = None) -> None:
        self.directory = recordings_dir() if directory is None else Path(directory)

    def path(self, key: str) -> Path:
        """Return the path of the recording with a key."""
        return self.directory / f"{key}{SUFFIX}"

    def recordings(self) -> list[Recording]:
        """Return the recordings, newest first; files that are not recordings are skipped."""
        try:
            paths = sorted(self.directory.glob(f"*{SUFFIX}"), reverse=True)
        except OSError:
            return []
        found = (_load(path) for path in paths)
        recordings = [each for each in found if each is not None]
        return sorted(recordings, key=lambda each: each.header.started_at, reverse=True)

    def find(self, word: str) -> Recording:
        """Return the recording with a key, with a key that begins like this, or in a file.

        The name of an agent means its last recording.

        Raises:
            RecordingError: There is none, or several keys begin like this.
        """
        path = Path(word)
        if path.suffix == SUFFIX or "/" in word:
            return _read(path)
        recordings = self.recordings()
        exact = [each for each in recordings if word in (each.key, each.header.name)]
        found = exact[:1] or [each for each in recordings if each.key.startswith(word)]
        if not word or not found:
            raise RecordingError(
                f"there is no recording {word!r}; `parley tap list` shows all recordings"
            )
        if len(found) > 1:
            keys = ", ".join(each.key for each in found[:3])
            raise RecordingError(f"{len(found)} recordings begin with {word!r}, such as {keys}")
        return found[0]

    def import_lines(self, lines: Iterable[bytes]) -> Recording:
        """Add a recording that was exported as JSON lines, or as a session of the journal.

        Args:
            lines: The lines of the file.

        Raises:
            RecordingError: The lines are something else, or the recording cannot be written.
        """
        items = read_jsonl(lines)
        header = next(items, None)
        if not isinstance(header, Header):
            raise RecordingError("the file is empty")
        return self._add(header, (_record(item) for item in items))

    def import_file(self, path: str | Path) -> Recording:
        """Add a recording of another machine, a `.acprec` file.

        Raises:
            RecordingError: It cannot be read, or the recording cannot be written.
        """
        with RecordingReader(path) as reader:
            return self._add(reader.header, (_record(item) for item in reader))

    def _add(self, header: Header, records: Iterable[bytes]) -> Recording:
        """Write a recording under a new key; a part of one is not kept."""
        key = new_key(header.name, header.started_at)
        path = self.path(key)
        try:
            private_dir(self.directory)
            path.touch(0o600, exist_ok=False)
            try:
                with path.open("wb") as file:
                    file.write(encode_header(structs.replace(header, key=key)))
                    file.writelines(records)
            except BaseException:
                path.unlink()
                raise
        except OSError as error:
            raise RecordingError(f"{path} cannot be written: {error.strerror}") from error
        return _read(path)

    def delete(self, recording: Recording) -> None:
        """Delete a recording.

        Raises:
            RecordingError: It is still being written, or cannot be deleted.
        """
        if recording.is_active:
            raise RecordingError(f"{recording.key} is still being recorded")
        try:
            recording.path.unlink(missing_ok=True)
        except OSError as error:
            raise RecordingError(f"{recording.path} cannot be deleted: {error.strerror}") from error

    def prune(self, limits: RecordingLimits) -> list[Recording]:
        """Delete the recordings beyond the limits, oldest first, and return them.

        A recording that is still being written stays and counts.
        """
        deleted: list[Recording] = []
        for recording in beyond_limits(self.recordings(), limits, time.time()):
            try:
                self.delete(recording)
            except RecordingError:
                continue  # another process may have begun to use it; the next prune tries again
            deleted.append(recording)
        return deleted


def beyond_limits(
    newest_first: Iterable[Recording], limits: RecordingLimits, now: float
) -> list[Recording]:
    """Return the recordings that are too old or do not fit, oldest first."""
    recordings = list(newest_first)
    used = [moment for each in recordings for moment in (each.header.started_at, each.updated_at)]
    oldest = -inf if limits.max_age is None else oldest_kept(now, used, limits.max_age)
    total = 0
    beyond: list[Recording] = []
    for recording in recordings:
        is_old = recording.updated_at < oldest
        size = total + recording.size_bytes
        is_full = limits.max_bytes is not None and size > limits.max_bytes
        if (is_old or is_full) and not recording.is_active:
            beyond.append(recording)
        else:
            total = size
    return beyond[::-1]


def _load(path: Path) -> Recording | None:
    try:
        return _read(path)
    except RecordingError:
        return None


def _read(path: Path) -> Recording:
    with RecordingReader(path) as reader:
        try:
            found = path.stat()
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {error.strerror}") from error
        return Recording(path, reader.header, found.st_size, found.st_mtime, reader.is_active)


def _record(item: Header | RecordedLine | RecordedEvent) -> bytes:
    if isinstance(item, Header):
        raise RecordingError("the file has a second header")
    if isinstance(item, RecordedEvent):
        return encode_event(item)
    return encode_chunk(item.at, item.source, item.data + b"\n" * item.has_newline)
