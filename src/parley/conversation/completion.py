"""Completions at the cursor: commands, and files of the workspace.

`/` at the beginning of a prompt completes a command, `@` anywhere a file. Both are found by how
they begin, else by a part, else by their letters in order; the shorter ones first.

Nothing is computed per file and key: the names stand in one text, one a line, shortest first, and
that is searched for as many hits as are shown. So a key costs a few searches through a text of some
megabytes for any input.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice

from msgspec import Struct

from parley.schema import v2

from .mentions import mention

__all__ = ["Completion", "Index", "Item", "completion_at", "in_commands"]

_SHOWN = 20
_MOST_COMMANDS = 200
"""The maximum number of rows while only the slash is typed."""
_LOOKED_AT = 200
"""Of this many names that have the letters in order, those with the closest letters are shown."""
_COMMAND = re.compile(r"\s*/(\S*)")
_FILE = re.compile(r'(?<![\w@/.])@(?:"((?:[^"\\\n]|\\.)*)|([^\s"]*))\Z')


class Item(Struct, frozen=True):
    """Something that can be written."""

    text: str
    """The text to insert."""
    label: str
    """The text to show; it may be the agent's."""
    detail: str = ""
    """The description."""


class Completion(Struct, frozen=True):
    """The completions at the cursor, and what they replace."""

    start: int
    end: int
    items: list[Item]


class Index:
    """Names that can be found by parts of them."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Sort the names; those that do not stand on one line are left out."""
        known = {each for each in names if each.isprintable() and each}
        self.names = sorted(known, key=lambda each: (len(each), each))
        self._whole = _Lines(self.names)
        self._last = _Lines([each.rpartition("/")[2] for each in self.names])
        self._hopeless = ""
        """A word that means nothing; what begins so means nothing, either."""

    def find(self, word: str, limit: int = _SHOWN) -> list[str]:
        """Return the names that a word may mean, the best first; all names if it is empty."""
        return list(islice(self.hits(word), limit))

    def hits(self, word: str) -> Iterator[str]:
        """Go through the names that a word may mean, the best first, without haste."""
        seen: set[int] = set()
        for number in self._numbers(word.casefold()):
            if number not in seen:
                seen.add(number)
                yield self.names[number]

    def _numbers(self, word: str) -> Iterator[int]:
        if not word:
            yield from range(len(self.names))
            return
        if "\n" in word or (self._hopeless and word.startswith(self._hopeless)):
            return
        number = None
        for number in self._parts(word):
            yield number
        if number is None:
            for number in self._last.spelling(word) or self._whole.spelling(word):
                yield number
        if number is None:
            self._hopeless = word

    def _parts(self, word: str) -> Iterator[int]:
        if "/" not in word:
            yield from self._last.finding(f"\n{word}")
            yield from self._last.finding(word)
        yield from self._whole.finding(f"\n{word}")
        yield from self._whole.finding(f"/{word}")
        yield from self._whole.finding(word)


class _Lines:
    """Texts, one a line, in one text."""

    def __init__(self, texts: Sequence[str]) -> None:
        lines = [f"\n{each.casefold()}" for each in texts]
        self._text = "".join(lines)
        self._starts = list(accumulate(map(len, lines), initial=0))

    def finding(self, part: str) -> Iterator[int]:
        """Go through the numbers of the lines that have a part."""
        at = self._text.find(part)
        while at >= 0:
            number = bisect_right(self._starts, at) - 1
            yield number
            at = self._text.find(part, self._starts[number + 1])

    def spelling(self, word: str) -> list[int]:
        """Return lines that have the letters of a word in order, the closest first."""
        if any(letter not in self._text for letter in word):
            return []
        first, *more = (rf"[^{letter}\n]*+{letter}" for letter in map(re.escape, word))
        # A line is tried once: what does not follow its first letter follows no later one.
        hits = re.compile(rf"\n{first}(){''.join(more)}").finditer(self._text)
        found: list[tuple[int, int]] = []
        for hit in islice(hits, _LOOKED_AT):
            number = bisect_right(self._starts, hit.start()) - 1
            found.append((hit.end() - hit.end(1), number))
        return [number for _, number in sorted(found)]


def in_commands(commands: Iterable[v2.AvailableCommand], word: str) -> list[Item]:
    """Return the commands that a word, without its slash, may mean; without a word, in order.

    Of several with the same name the first is meant.
    """
    known: dict[str, v2.Command] = {}
    for each in commands:
        if isinstance(each, v2.Command) and each.name and each.name.isprintable():
            known.setdefault(each.name, each)
    items: list[Item] = []
    for name in Index(known).find(word) if word else islice(known, _MOST_COMMANDS):
        input = known[name].input
        hint = f" <{input.hint}>" if isinstance(input, v2.TextCommandInput) else ""
        items.append(Item(f"/{name} ", f"/{name}{hint}", known[name].description))
    return items


def completion_at(
    text: str,
    cursor: int,
    commands: Iterable[v2.AvailableCommand],
    files: Callable[[str], Sequence[str]],
) -> Completion | None:
    """Return what can be written at the cursor; None where nothing is completed.

    Args:
        text: The prompt so far.
        cursor: How many characters are before it.
        commands: Those of the agent and ours; of two with the same name the first is meant.
        files: Finds paths by a word, as `WorkspaceFiles.find` does.
    """
    before = text[:cursor]
    if command := _COMMAND.fullmatch(before):
        items = in_commands(commands, command[1])
        return Completion(command.start(1) - 1, _word_end(text, cursor), items) if items else None
    named = _FILE.search(before)
    if named is None:
        return None
    is_quoted = named[1] is not None
    word = re.sub(r"\\(.)", r"\1", named[1]) if is_quoted else named[2]
    items = [Item(f"{mention(path)} ", path) for path in files(word)]
    end = _quote_end(text, cursor) if is_quoted else _word_end(text, cursor)
    return Completion(named.start(), end, items) if items else None


def _word_end(text: str, cursor: int) -> int:
    rest = re.compile(r"[^\s\"]*").match(text, cursor)
    return cursor if rest is None else rest.end()


def _quote_end(text: str, cursor: int) -> int:
    rest = re.compile(r'[^"\n]*"').match(text, cursor)
    return cursor if rest is None else rest.end()
