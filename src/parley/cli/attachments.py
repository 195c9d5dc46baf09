"""Files that go with a prompt: text as an embedded resource, pictures and sound as such.

What the agent does not take is sent as a link to the file, which the agent may be able to read
itself; for pictures and sound that would only look like success, so those are refused. `-` is
stdin, sent as a text.
"""

from __future__ import annotations

import base64
import functools
import mimetypes
import sys
from collections.abc import Iterable
from pathlib import Path

from parley.schema import v2
from parley.session.features import AgentFeatures

from .exits import Exit, Failure

__all__ = ["MAX_ATTACHMENT_BYTES", "attachments", "check"]

MAX_ATTACHMENT_BYTES = 16 * 1024 * 1024
"""How long a file may be that is sent along."""


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
    kind = mimetypes.guess_type(path.name)[0] or ""
    if str(path) == "-":
        return v2.TextContent(text=data.decode(errors="replace"))
    uri = path.absolute().as_uri()
    if kind.startswith("image/") and kind != "image/svg+xml":
        _check_taken(features.image, path, "pictures")
        return v2.ImageContent(data=base64.b64encode(data).decode(), mime_type=kind, uri=uri)
    if kind.startswith("audio/"):
        _check_taken(features.audio, path, "sound")
        return v2.AudioContent(data=base64.b64encode(data).decode(), mime_type=kind)
    if not features.embedded_context:
        return v2.ResourceLink(uri=uri, name=path.name, mime_type=kind or None, size=len(data))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        blob = base64.b64encode(data).decode()
        contents = v2.BlobResourceContents(uri=uri, blob=blob, mime_type=kind or None)
        return v2.EmbeddedResource(resource=contents)
    return v2.EmbeddedResource(
        resource=v2.TextResourceContents(uri=uri, text=text, mime_type=kind or "text/plain")
    )


def _check_taken(is_taken: bool, path: Path, what: str) -> None:
    if not is_taken:
        raise Failure(f"--file {path}: this agent takes no {what}; leave it out")


def _read(path: Path) -> bytes:
    if str(path) == "-":
        return _stdin()
    try:
        if path.stat().st_size > MAX_ATTACHMENT_BYTES:
            limit = MAX_ATTACHMENT_BYTES // 1024**2
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
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(MAX_ATTACHMENT_BYTES + 1)
    if len(data) > MAX_ATTACHMENT_BYTES:
        raise Failure("--file -: stdin is too long", Exit.USAGE)
    return data
