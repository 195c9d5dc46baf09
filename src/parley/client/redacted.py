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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from parley.journal import Entry
from parley.journal.secrets import redact, redact_frame

__all__ = ["redacted"]

_OUTPUT = "terminal_output_chunk"

_Holder: TypeAlias = tuple[dict[str, Any], str]
"""An object of a frame, and the name under which it holds a piece."""


def redacted(entries: Iterable[Entry], environ: Mapping[str, str] | None = None) -> list[Entry]:
    """Return the entries without secrets.

    Args:
        entries: Of one session, in order.
        environ: Whose secret values are hidden besides what looks like a secret; None for this
            process's own environment.
    """
    kept = list(entries)
    chunks = _Chunks()
    for number, entry in enumerate(kept):
        chunks.read(number, entry)
    chunks.redact(lambda text: redact(text, environ=environ))
    for number, message in chunks.changed.items():
        data = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        kept[number] = replace(kept[number], data=data.encode(errors="replace"))
    return [replace(each, data=redact_frame(each.data, environ=environ)) for each in kept]


class _Piece:
    """A piece of a text: where it stands in which frame."""

    def __init__(self, number: int, message: Any, holder: _Holder) -> None:
        self.number = number
        self.message = message
        self._object, self._name = holder

    @property
    def text(self) -> str:
        return cast(str, self._object[self._name])

    @text.setter
    def text(self, text: str) -> None:
        self._object[self._name] = text


class _Chunks:
    """The chunks of a session, by what they are pieces of."""

    def __init__(self) -> None:
        self.changed: dict[int, Any] = {}
        """The frames that say something else now, by the place of their entry."""
        self._streams: defaultdict[Any, list[_Piece]] = defaultdict(list)
        self._runs: list[list[_Piece]] = []
        self._last: Any = None

    def read(self, number: int, entry: Entry) -> None:
        """Look at the next entry."""
        found = _chunk(entry)
        if found is None:
            self._last = None
            return
        key, message, holder = found
        piece = _Piece(number, message, holder)
        self._streams[key].append(piece)
        if key[0] == _OUTPUT:
            return
        if key != self._last:
            self._runs.append([])
            self._last = key
        self._runs[-1].append(piece)

    def redact(self, clean: Callable[[str], str]) -> None:
        """Hide what is in several chunks.

        Version 1 need not say where a message ends, so the chunks are joined twice: all of a kind,
        and those that follow each other directly.
        """
        for (kind, *_), pieces in self._streams.items():
            if kind == _OUTPUT:
                self._redact_output(pieces, clean)
            else:
                self._redact_text(pieces, clean)
        for pieces in self._runs:
            self._redact_text(pieces, clean)

    def _redact_text(self, pieces: Sequence[_Piece], clean: Callable[[str], str]) -> None:
        texts = [piece.text for piece in pieces]
        self._put(pieces, _spread(texts, clean("".join(texts))))

    def _redact_output(self, pieces: Sequence[_Piece], clean: Callable[[str], str]) -> None:
        try:
            outputs = [base64.b64decode(piece.text, validate=True) for piece in pieces]
        except (binascii.Error, ValueError):
            return
        text = b"".join(outputs).decode(errors="surrogateescape")
        whole = clean(text).encode(errors="surrogateescape")
        bytewise = [each.decode("latin-1") for each in outputs]
        spread = (each.encode("latin-1") for each in _spread(bytewise, whole.decode("latin-1")))
        self._put(pieces, [base64.b64encode(each).decode() for each in spread])

    def _put(self, pieces: Sequence[_Piece], texts: Sequence[str]) -> None:
        for piece, text in zip(pieces, texts, strict=True):
            if piece.text != text:
                piece.text = text
                self.changed[piece.number] = piece.message


def _spread(pieces: Sequence[str], whole: str) -> list[str]:
    """Return the pieces, changed as little as possible so that they make this whole."""
    before = "".join(pieces)
    most = min(len(before), len(whole))
    begin = next((at for at in range(most) if before[at] != whole[at]), most)
    same = 0
    while same < most - begin and before[-1 - same] == whole[-1 - same]:
        same += 1
    end, instead = len(before) - same, whole[begin : len(whole) - same]
    spread: list[str] = []
    place = 0
    for piece in pieces:
        left = piece[: max(0, begin - place)]
        right = piece[max(0, end - place) :]
        place += len(piece)
        if place > begin:
            left, instead = left + instead, ""
        spread.append(left + right if place > begin else piece)
    if instead:
        spread[-1] += instead
    return spread


def _chunk(entry: Entry) -> tuple[Any, Any, _Holder] | None:
    """Return what an entry is a piece of, the parsed frame, and where the piece is in it."""
    if entry.kind != "to_client" or b"_chunk" not in entry.data:
        return None
    try:
        message = json.loads(entry.data)
        update = message["params"]["update"]
        kind: str = update["sessionUpdate"]
        if kind == _OUTPUT:
            holder: _Holder = (update, "data")
        else:
            content = update["content"]
            holder = (content["content"] if content.get("type") == "content" else content, "text")
        is_text = isinstance(holder[0][holder[1]], str)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return None
    names = ("messageId", "toolCallId", "terminalId", "compactionId")
    return ((kind, *(update.get(name) for name in names)), message, holder) if is_text else None
