"""Entries of a journal without secrets, frame by frame.

Each frame keeps its place and its time. A secret that came in pieces, over several chunks of a
message or of a terminal's output, is found too: the chunks of each are looked at joined. Then the
first of the chunks that it was in says what is left, and the others say less, or nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from parley.journal import Entry
from parley.journal.secrets import redact_frame
from parley.secrets import MASK, redactor

__all__ = ["redacted"]

_OUTPUT = "terminal_output_chunk"
_PROMPT = b'"session/prompt"'


def redacted(entries: Iterable[Entry], environ: Mapping[str, str] | None = None) -> list[Entry]:
    """Return the entries without secrets.

    Args:
        entries: Of one session, in order.
        environ: Whose secret values are hidden besides what looks like a secret; None for this
            process's own environment.
    """
    kept = list(entries)
    clean = redactor(environ)
    chunks = _Chunks()
    for place, entry in enumerate(kept):
        chunks.read(place, entry)
    chunks.redact(clean)
    for place, text in chunks.changed.items():
        kept[place] = replace(kept[place], data=_with_text(kept[place], text))
    return [_cleaned(each, clean) for each in kept]


def _cleaned(entry: Entry, clean: Callable[[str], str]) -> Entry:
    data = redact_frame(entry.data, clean)
    return entry if data is entry.data else replace(entry, data=data)


class _Chunks:
    """The chunks of a session, by what they are pieces of: the places of their entries."""

    def __init__(self) -> None:
        self.changed: dict[int, str] = {}
        """What chunks say instead, by the place of their entry."""
        self._texts: dict[int, str] = {}
        self._streams: defaultdict[Any, list[int]] = defaultdict(list)
        self._runs: list[list[int]] = []
        self._last: Any = None
        self._turn = 0

    def read(self, place: int, entry: Entry) -> None:
        """Look at the next entry."""
        found = _chunk(entry)
        if found is None:
            self._turn += entry.kind == "to_agent" and _PROMPT in entry.data
            self._last = None
            return
        key = found.key if any(found.key[1:]) else (*found.key, self._turn)
        self._texts[place] = found.text
        self._streams[key].append(place)
        if key[0] == _OUTPUT:
            return
        if key != self._last:
            self._runs.append([])
            self._last = key
        self._runs[-1].append(place)

    def redact(self, clean: Callable[[str], str]) -> None:
        """Hide what is in several chunks.

        Version 1 need not say where a message ends, so the chunks are joined twice: all of a kind
        in a turn, and those that follow each other directly.
        """
        for (kind, *_), places in self._streams.items():
            if kind == _OUTPUT:
                self._redact_output(places, clean)
            else:
                self._redact_text(places, clean)
        for places in self._runs:
            self._redact_text(places, clean)

    def _redact_text(self, places: Sequence[int], clean: Callable[[str], str]) -> None:
        texts = [self._texts[place] for place in places]
        self._put(places, _spread(texts, clean("".join(texts))))

    def _redact_output(self, places: Sequence[int], clean: Callable[[str], str]) -> None:
        try:
            outputs = [base64.b64decode(self._texts[place], validate=True) for place in places]
        except (binascii.Error, ValueError):
            return
        text = b"".join(outputs).decode(errors="surrogateescape")
        whole = clean(text).encode(errors="surrogateescape")
        bytewise = [each.decode("latin-1") for each in outputs]
        spread = (each.encode("latin-1") for each in _spread(bytewise, whole.decode("latin-1")))
        self._put(places, [base64.b64encode(each).decode() for each in spread])

    def _put(self, places: Sequence[int], texts: Sequence[str]) -> None:
        for place, text in zip(places, texts, strict=True):
            if self._texts[place] != text:
                self._texts[place] = self.changed[place] = text


def _spread(pieces: Sequence[str], whole: str) -> list[str]:
    """Return the pieces without secrets, so that they make this whole.

    Where a secret was, the first of its pieces gets what stands for it; the rest stays in place.
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
        said = ""
        while change is not None and change[0] < end:
            first, last, instead = change
            said += before[begin:first] + (instead if first >= begin else "")
            begin = max(begin, min(last, end))
            if last > end:
                break
            change = next(changes, None)
        spread.append(said + before[begin:end])
    is_whole = "".join(spread) == whole
    return spread if is_whole else [whole, *("" for _ in pieces[1:])]


def _changes(before: str, whole: str) -> Iterator[tuple[int, int, str]]:
    """Yield from where to where a text has become what, in order.

    What stands between two masks stood in the text before, and is looked for there.
    """
    *kept, last = whole.split(MASK)
    place = 0
    for number, words in enumerate(kept):
        found = before.find(words, place) if number else 0
        begin = found + len(words)
        if number:
            yield place, found, MASK
        place = begin
    yield place, len(before) - len(last), MASK


class _Chunk(NamedTuple):
    """A piece of a text in a frame."""

    key: tuple[Any, ...]
    """What it is a piece of."""
    text: str
    message: Any
    """The frame, parsed."""
    holder: dict[str, Any]
    """The object in it that holds the piece."""
    name: str
    """Under which name."""


def _chunk(entry: Entry) -> _Chunk | None:
    """Return the piece of a text that an entry is, if it is one."""
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
    """Return a chunk that says something else."""
    chunk = _chunk(entry)
    assert chunk is not None
    chunk.holder[chunk.name] = text
    data = json.dumps(chunk.message, ensure_ascii=False, separators=(",", ":"))
    return data.encode(errors="replace")
