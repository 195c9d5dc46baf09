"""Redaction of journal entries, frame by frame.

Each frame keeps its position and its time. A secret that is split over several chunks of a message
or of a terminal's output is found too, because the chunks of each stream are joined first. The mask
goes into the first chunk that contained a part of the secret; the later ones become shorter, or
empty.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import Any, NamedTuple

from msgspec.structs import replace

from parley._redaction import MASK, redactor
from parley.journal import Entry
from parley.journal._secrets import redact_frame

_OUTPUT = "terminal_output_chunk"
_PROMPT = b'"session/prompt"'


def redacted(entries: Iterable[Entry], environ: Mapping[str, str] | None = None) -> list[Entry]:
    """Return the entries with their secrets redacted.

    Args:
        entries: The journal entries of one session, in order.
        environ: Environment variables whose secret values are redacted in addition to known
            formats; None for this process's environment.
    """
    kept = list(entries)
    clean = redactor(environ)
    chunks = _Chunks()
    for position, entry in enumerate(kept):
        chunks.read(position, entry)
    chunks.redact(clean)
    for position, text in chunks.changed.items():
        kept[position] = replace(kept[position], data=_with_text(kept[position], text))
    return [_clean_entry(each, clean) for each in kept]


def _clean_entry(entry: Entry, clean: Callable[[str], str]) -> Entry:
    data = redact_frame(entry.data, clean)
    return entry if data is entry.data else replace(entry, data=data)


class _Chunks:
    """The chunks of a session, as entry positions grouped by the stream they belong to."""

    def __init__(self) -> None:
        self.changed: dict[int, str] = {}
        """The redacted text of the changed chunks, by entry position."""
        self._texts: dict[int, str] = {}
        self._streams: defaultdict[Any, list[int]] = defaultdict(list)
        self._runs: list[list[int]] = []
        self._last: Any = None
        self._turn = 0

    def read(self, position: int, entry: Entry) -> None:
        """Add the next entry, if it is a chunk."""
        found = _chunk(entry)
        if found is None:
            self._turn += entry.kind == "to_agent" and _PROMPT in entry.data
            self._last = None
            return
        # Without any id, the chunks of one kind in a turn count as one stream.
        key = found.key if any(found.key[1:]) else (*found.key, self._turn)
        self._texts[position] = found.text
        self._streams[key].append(position)
        if key[0] == _OUTPUT:
            return
        if key != self._last:
            self._runs.append([])
            self._last = key
        self._runs[-1].append(position)

    def redact(self, clean: Callable[[str], str]) -> None:
        """Redact secrets that may span several chunks.

        Version 1 does not require message ids, so message boundaries may be unknown. The chunks are
        therefore joined twice: all of a kind in a turn, and those that directly follow each other.
        """
        for (kind, *_), positions in self._streams.items():
            if kind == _OUTPUT:
                self._redact_output(positions, clean)
            else:
                self._redact_text(positions, clean)
        for positions in self._runs:
            self._redact_text(positions, clean)

    def _redact_text(self, positions: Sequence[int], clean: Callable[[str], str]) -> None:
        texts = [self._texts[position] for position in positions]
        self._put(positions, _spread(texts, clean("".join(texts))))

    def _redact_output(self, positions: Sequence[int], clean: Callable[[str], str]) -> None:
        try:
            outputs = [
                base64.b64decode(self._texts[position], validate=True) for position in positions
            ]
        except (binascii.Error, ValueError):
            return
        # A character may be split over two chunks, so join as text but distribute as bytes.
        text = b"".join(outputs).decode(errors="surrogateescape")
        whole = clean(text).encode(errors="surrogateescape")
        bytewise = [each.decode("latin-1") for each in outputs]
        spread = (each.encode("latin-1") for each in _spread(bytewise, whole.decode("latin-1")))
        self._put(positions, [base64.b64encode(each).decode() for each in spread])

    def _put(self, positions: Sequence[int], texts: Sequence[str]) -> None:
        for position, text in zip(positions, texts, strict=True):
            if self._texts[position] != text:
                self._texts[position] = self.changed[position] = text


def _spread(pieces: Sequence[str], whole: str) -> list[str]:
    """Distribute a redacted text over the pieces that the original text came in.

    The mask of a secret goes into the first piece that contained a part of it; all other text
    stays where it was. If that cannot be worked out, the first piece gets everything.
    """
    before = "".join(pieces)
    if before == whole:
        return list(pieces)
    changes = _changes(before, whole)
    change = next(changes, None)
    spread: list[str] = []
    end = 0
    for piece in pieces:
        begin, end = end, end + len(piece)
        text_so_far = ""
        while change is not None and change[0] < end:
            first, last, instead = change
            text_so_far += before[begin:first] + (instead if first >= begin else "")
            begin = max(begin, min(last, end))
            if last > end:
                break
            change = next(changes, None)
        spread.append(text_so_far + before[begin:end])
    is_whole = "".join(spread) == whole
    return spread if is_whole else [whole, *("" for _ in pieces[1:])]


def _changes(before: str, whole: str) -> Iterator[tuple[int, int, str]]:
    """Yield the replaced ranges of a text, as start, end and replacement, in order.

    The text between two masks also occurs in the original, and is searched for there.
    """
    *kept, last = whole.split(MASK)
    position = 0
    for number, words in enumerate(kept):
        found = before.find(words, position) if number else 0
        begin = found + len(words)
        if number:
            yield position, found, MASK
        position = begin
    yield position, len(before) - len(last), MASK


class _Chunk(NamedTuple):
    """A piece of streamed text, and where it is in its frame."""

    key: tuple[Any, ...]
    """Identifies the stream: the kind of update and the ids in it."""
    text: str
    message: Any
    """The frame, parsed."""
    holder: dict[str, Any]
    """The object in the frame that contains the text."""
    name: str
    """The member of that object."""


def _chunk(entry: Entry) -> _Chunk | None:
    """Return the chunk that an entry contains; None if it is anything else."""
    if entry.kind != "to_client" or b"_chunk" not in entry.data:
        return None
    try:
        message = json.loads(entry.data)
        update = message["params"]["update"]
        kind: str = update["sessionUpdate"]
        if kind == _OUTPUT:
            holder, name = update, "data"
        else:
            content = update["content"]
            is_inside = content.get("type") == "content"
            holder, name = content["content"] if is_inside else content, "text"
        text = holder[name]
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    ids = ("messageId", "toolCallId", "terminalId", "compactionId")
    key = (kind, *(update.get(each) for each in ids))
    return _Chunk(key, text, message, holder, name) if isinstance(text, str) else None


def _with_text(entry: Entry, text: str) -> bytes:
    """Return the frame of a chunk with its text replaced."""
    chunk = _chunk(entry)
    assert chunk is not None
    chunk.holder[chunk.name] = text
    data = json.dumps(chunk.message, ensure_ascii=False, separators=(",", ":"))
    return data.encode(errors="replace")
