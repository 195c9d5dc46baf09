"""The filter language: which rows of a recording are shown.

| | the rows |
|---|---|
| `word`, `"a phrase"` | that contain this text, in any case, in the frame or in its row |
| `method:TEXT` | whose method contains this text; a response has the method of its request |
| `session:TEXT`, `update:TEXT` | whose session or kind of update contains this text |
| `from:client` | from the `client`, the `agent`, its `stderr`, or an `event` |
| `kind:request` | of this kind; see `_app.py` for the kinds |
| `id:1` | with this id |
| `is:error` | that stand out: `error`, `slow`, `cancelled`, `unanswered`, `invalid` |

A `-` in front excludes these rows. All conditions must hold; of several with the same name and
without `-`, one is enough: `kind:request kind:response method:prompt`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import get_args

from msgspec import Struct

from ._row import Flag, Row, RowKind, RowSource

ReadBody = Callable[[int], bytes]
"""Returns the bytes of the frame with a number."""

_TERM = re.compile(r'(-?)(?:([a-z]+):)?(?:"([^"]*)"|(\S+))')
_CONTAINS = ("method", "session", "update")
_VALUES: dict[str, tuple[str, ...]] = {
    "from": (*get_args(get_args(RowSource)[0]), "event"),
    "kind": get_args(RowKind),
    "is": tuple(flag.name.lower() for flag in Flag if flag.name),
}
_NAMES = (*_CONTAINS, *_VALUES, "id")
_MAX_CHARS = 1000


class FilterError(ValueError):
    """A filter has a mistake; the text describes it."""


class _Condition(Struct, frozen=True):
    name: str
    """The name before the colon; empty for text."""
    value: str
    is_excluded: bool


class Filter:
    """A parsed filter."""

    def __init__(self, text: str) -> None:
        """Parse a filter.

        Raises:
            FilterError: It has a mistake.
        """
        if len(text) > _MAX_CHARS:
            raise FilterError(f"the filter is longer than {_MAX_CHARS} characters")
        conditions = [_condition(found) for found in _TERM.finditer(text)]
        self._texts = [each for each in conditions if not each.name]
        self._others = [each for each in conditions if each.name]

    @property
    def searches_frames(self) -> bool:
        """Whether frames are read, and not only their rows."""
        return bool(self._texts)

    def numbers(self, rows: Sequence[Row], read: ReadBody) -> list[int]:
        """Return the numbers of the rows that match, in order.

        Args:
            rows: The rows.
            read: Reads a frame, if the filter searches frames.
        """
        left = list(rows)
        for condition in self._others:
            if condition.is_excluded:
                fits = _fitting(left, [condition])
                left = [row for row in left if not fits(row)]
        for name in dict.fromkeys(each.name for each in self._others if not each.is_excluded):
            same = [each for each in self._others if each.name == name and not each.is_excluded]
            fits = _fitting(left, same)
            left = [row for row in left if fits(row)]
        texts = [(_needles(each.value), each.is_excluded) for each in self._texts]
        if texts:
            left = [row for row in left if _has_texts(row, texts, read)]
        return [row.number for row in left]


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Return ascending numbers as pairs of the first and last number of each run."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def _condition(found: re.Match[str]) -> _Condition:
    minus, name, phrase, word = found.groups()
    value = (word if phrase is None else phrase) or ""
    if name is None or (name in ("http", "https", "file") and value.startswith("//")):
        return _Condition("", value if name is None else f"{name}:{value}", bool(minus))
    if name not in _NAMES:
        known = ", ".join(f"{each}:" for each in _NAMES)
        raise FilterError(f'{name}: is unknown; use {known} or quotes, as in "{name}:{value}"')
    if name in _VALUES and value not in _VALUES[name]:
        raise FilterError(f"{name}:{value} is unknown; use one of {', '.join(_VALUES[name])}")
    return _Condition(name, value, bool(minus))


def _fitting(rows: Sequence[Row], same: Sequence[_Condition]) -> Callable[[Row], bool]:
    """Return whether a row fits one of several conditions with the same name."""
    name, values = same[0].name, {each.value for each in same}
    if name == "is":
        mask = sum(Flag[each.upper()].value for each in values)
        return lambda row: bool(row.flags & mask)
    if name == "kind":
        return lambda row: row.kind in values
    if name == "from":
        return lambda row: row.source in values
    if name == "id":
        quoted = values | {json.dumps(each) for each in values}
        return lambda row: row.id in quoted
    # There are few different ones, so the text is compared once for each of them.
    wanted = [each.lower() for each in values]
    present = {str(getattr(row, name)) for row in rows}
    chosen = {each for each in present if any(text in each.lower() for text in wanted)}
    return lambda row: getattr(row, name) in chosen


def _needles(text: str) -> tuple[str, list[bytes]]:
    """Return a text in lower case, and its forms in JSON."""
    lower = text.lower()
    forms = (lower, json.dumps(lower)[1:-1], json.dumps(lower, ensure_ascii=False)[1:-1])
    return lower, [form.encode(errors="replace") for form in dict.fromkeys(forms)]


def _has_texts(
    row: Row, texts: Sequence[tuple[tuple[str, list[bytes]], bool]], read: ReadBody
) -> bool:
    known = f"{row.method} {row.session} {row.update} {row.summary}".lower()
    body: bytes | None = None
    for (text, forms), is_excluded in texts:
        has_text = text in known
        if not has_text:
            body = read(row.number).lower() if body is None else body
            has_text = any(form in body for form in forms)
        if has_text == is_excluded:
            return False
    return True
