"""Files that go with a prompt: text as an embedded resource, pictures and sound as such.

What the agent does not take is sent as a link to the file, which the agent may be able to read
itself; for pictures and sound that would only look like success, so those are refused. `-` is
stdin, sent as a text.
"""

from __future__ import annotations

import base64
import functools
import sys
from collections.abc import Iterable
from pathlib import Path

from parley.client._attachments import (
    MAX_ATTACHED_BYTES,
    is_picture,
    kind_of,
    link_block,
    picture_block,
    text_block,
)
from parley.schema import v2
from parley.session._capabilities import AgentFeatures

from .reporting import Exit, Failure

__all__ = ["attachments", "check"]


def attachments(paths: Iterable[str], features: AgentFeatures) -> list[v2.ContentBlock]:
    """Return the blocks for files.

    Raises:
        Failure: One cannot be read, is too long, or is of a kind that the agent does not take.
    """
    return [_block(Path(path), features) for path in paths]


def check(paths: Iterable[str]) -> None:
    """Refuse files that cannot be sent, before an agent is started for nothing.

    Raises:
        Failure: One cannot be read, or is too long.
    """
    for path in paths:
        _read(Path(path))


def _block(path: Path, features: AgentFeatures) -> v2.ContentBlock:
    data = _read(path)
    if str(path) == "-":
        return v2.TextContent(text=data.decode(errors="replace"))
    place, kind = path.absolute(), kind_of(path)
    if is_picture(place):
        _check_taken(features.image, path, "pictures")
        return picture_block(place, data)
    if kind.startswith("audio/"):
        _check_taken(features.audio, path, "sound")
        return v2.AudioContent(data=base64.b64encode(data).decode(), mime_type=kind)
    if not features.embedded_context:
        return link_block(place, len(data))
    try:
        return text_block(place, data.decode())
    except UnicodeDecodeError:
        blob = base64.b64encode(data).decode()
        contents = v2.BlobResourceContents(uri=place.as_uri(), blob=blob, mime_type=kind or None)
        return v2.EmbeddedResource(resource=contents)


def _check_taken(is_taken: bool, path: Path, what: str) -> None:
    if not is_taken:
        raise Failure(f"--file {path}: this agent takes no {what}; leave it out")


def _read(path: Path) -> bytes:
    if str(path) == "-":
        return _stdin()
    try:
        if path.stat().st_size > MAX_ATTACHED_BYTES:
            limit = MAX_ATTACHED_BYTES // 1024**2
            raise Failure(
                f"--file {path}: longer than {limit} MiB; name it in the prompt instead", Exit.USAGE
            )
        return path.read_bytes()
    except OSError as error:
        reason = (error.strerror or "it cannot be read").lower()
        raise Failure(f"--file {path}: {reason}", Exit.USAGE) from error


@functools.cache
def _stdin() -> bytes:
    """Read stdin, once."""
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_ATTACHED_BYTES + 1)
    if len(data) > MAX_ATTACHED_BYTES:
        raise Failure("--file -: stdin is too long", Exit.USAGE)
    return data
