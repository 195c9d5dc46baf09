"""Masking of secrets in the lines of a stream, without changing any other byte.

Secrets are found in two ways:

- By value, wherever they occur: those of the environment and of the agent's command line, and those
  that were found by place before. All their encodings are searched, `needles` lists them.
- By place, in requests that hand them over: environments, headers and URLs for MCP servers and
  terminals, what is sent to log in, and the fields of forms whose name is that of a secret.

The bytes of a secret are replaced by `[redacted]`. A frame is never parsed and written again, since
that would change it. A secret whose pieces are in several frames is not found.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from parley._redaction import MASK, SHORTEST, hide_in_command, is_secret, is_telling, needles

from ._format import Source

_MASK = MASK.encode()

Path: TypeAlias = tuple[str | int, ...]

_CLIENT_MARKERS = (b'"env"', b'"headers"', b'"mcpServers"', b'"url"', b'"content"', b"auth")
"""One of these is in each message of a client that hands over a secret."""
_AGENT_MARKERS = (b'/create"',)
"""This is in each `terminal/create`."""
_MAX_DEPTH = 32
"""Values that are nested deeper are in no place that is known to hold secrets."""
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}:,]|[^\s\[\]{}:,"]++', re.DOTALL)
_LOGIN = re.compile("auth|login", re.IGNORECASE)
"""Methods whose params may hold the secrets of a login."""
_HOLDERS: Mapping[str | int, str] = {"env": "the environment variable", "headers": "the header"}
_URL = "the secrets of a URL"
_IN_URL = re.compile(
    r"(?<=://)(?P<user>[^/@?#\s]+)(?=@)|(?P<name>[?&#][^=&#\s]*=)(?P<value>[^&#\s\"]+)"
)


class Masker:
    """Masks the secrets of one connection, and learns more of them as they pass."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """Prepare the search.

        Args:
            secrets: The values of known secrets, each with a description that does not reveal it.
        """
        self._known: dict[str, str] = {}
        self._learned: dict[str, str] = {}
        self._search = NeedleSearch(())
        self._descriptions: dict[bytes, str] = {}
        self.learn(secrets or {})

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Mask these values from now on."""
        new = {value: what for value, what in _by_line(secrets) if value not in self._known}
        if not new:
            return
        self._known |= new
        for value, what in new.items():
            for needle in needles([value]):
                self._descriptions.setdefault(needle, what)
        self._search = NeedleSearch(self._descriptions)

    def mask(self, source: Source, lines: bytes) -> tuple[bytes, Counter[str]]:
        """Mask the secrets in whole lines of a stream.

        Returns:
            The lines, and how often a secret of each description was masked.
        """
        found: Counter[str] = Counter()
        markers = _CLIENT_MARKERS if source == "client" else _AGENT_MARKERS
        if source != "stderr" and any(marker in lines for marker in markers):
            masked = [self._mask_places(line, markers, found) for line in lines.split(b"\n")]
            lines = b"\n".join(masked)
        if self._search.is_in(lines):
            lines = self._mask_values(lines, found)
        if not lines.endswith(b"\n"):
            lines = self._mask_beginning(lines, found)
        return lines, found

    def _mask_beginning(self, lines: bytes, found: Counter[str]) -> bytes:
        """Mask the beginning of a secret at the end of a stream that was cut off."""
        for needle, what in self._descriptions.items():
            for size in range(min(len(needle) - 1, len(lines)), SHORTEST - 1, -1):
                if lines.endswith(needle[:size]):
                    found[what] += 1
                    return lines[:-size] + _MASK
        return lines

    def _mask_values(self, lines: bytes, found: Counter[str]) -> bytes:
        """Mask known values; the longest first, since one may be a part of another."""
        for needle in sorted(self._descriptions, key=len, reverse=True):
            if times := lines.count(needle):
                lines = lines.replace(needle, _MASK)
                found[self._descriptions[needle]] += times
        return lines

    def _mask_places(self, line: bytes, markers: Iterable[bytes], found: Counter[str]) -> bytes:
        """Mask the values of a line that are in the place of a secret, and learn them."""
        if not any(marker in line for marker in markers):
            return line
        pieces: list[bytes] = []
        secrets: dict[str, str] = {}
        position = 0
        for place in secret_places(line):
            pieces += (line[position : place.start], place.masked)
            position = place.end
            found[place.what] += 1
            for value in place.values:
                words = [value, *re.split(r"[\s:]+", value)]
                secrets |= {word: place.what for word in words if is_telling(word)}
        self.learn(secrets | command_line_secrets(line))
        return b"".join((*pieces, line[position:]))


def environment_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets of an environment, each with its description."""
    return {
        secret: f"the environment variable {name}"
        for name, value in environ.items()
        for secret in _variable_secrets(name, value)
    }


def _variable_secrets(name: str, value: str) -> Iterator[str]:
    """Yield the value of a variable if it is a secret, else the logins in its URLs.

    A password such as `postgres` is masked only after its user: it is also an ordinary word.
    """
    if is_secret(name, value) and not value.startswith("/"):
        yield value
        return
    for found in _IN_URL.finditer(value):
        login = found["user"] or ""
        _, separator, password = login.partition(":")
        if separator:
            yield login
        if is_telling(password or login):
            yield password or login


def command_secrets(command: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Return a command line without its secrets, and the secrets with their description."""
    shown, secrets = hide_in_command(list(command))
    return shown, dict.fromkeys(secrets, "the command line")


def _by_line(secrets: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield secrets; of one with several lines, such as a private key, also each line."""
    for value, what in secrets.items():
        if len(value) >= SHORTEST:
            yield value, what
        lines = value.splitlines()
        if len(lines) > 1:
            yield from ((line, what) for line in lines if is_telling(line))


class SecretPlace(NamedTuple):
    """A value of a frame that is a secret because of its place."""

    start: int
    end: int
    masked: bytes
    """What is written instead of the bytes from `start` to `end`."""
    values: Sequence[str]
    """The secrets."""
    what: str


class _Leaf(NamedTuple):
    """A string, number, boolean or null of a frame."""

    path: Path
    start: int
    end: int
    text: str


def secret_places(line: bytes) -> Iterator[SecretPlace]:
    """Yield the values of a frame that are in the place of a secret, in their order."""
    leaves = list(_leaves(line))
    names = {each.path[:-1]: each.text for each in leaves if each.path[-1:] == ("name",)}
    methods = [each.text for each in leaves if each.path[-1:] == ("method",)]
    is_login = any(_LOGIN.search(method) for method in methods)
    for leaf in leaves:
        what = _describe(leaf, names, is_login=is_login)
        if what is None or leaf.text in ("", "null"):
            continue
        masked, values = b'"%b"' % _MASK, [leaf.text]
        if what == _URL:
            masked, values = _mask_url(line[leaf.start : leaf.end], leaf.text)
        if values:
            yield SecretPlace(leaf.start, leaf.end, masked, values, what)


def _describe(leaf: _Leaf, names: Mapping[Path, str], *, is_login: bool) -> str | None:
    """Return which secret a value is, by its place; None if it is none."""
    for member, describe in (("params", _describe_param), ("result", _describe_result)):
        if member in leaf.path:
            start = leaf.path.index(member) + 1
            if is_login and is_secret(str(leaf.path[-1]), leaf.text):
                return f"the login field {leaf.path[-1]}"
            return describe(leaf, leaf.path[start:], names)
    return None


def _describe_param(leaf: _Leaf, place: Path, names: Mapping[Path, str]) -> str | None:
    if place[:1] == ("mcpServers",):
        place = place[2:]
    if place == ("url",):
        return _URL
    if len(place) < 2 or place[0] not in _HOLDERS:
        return None
    name: object = place[1]
    if isinstance(name, int):  # a list of objects with a name and a value
        if len(place) > 2 and place[2] != "value":
            return None
        item = leaf.path[: len(leaf.path) - len(place) + 2]
        name = names.get(item, name)
    return f"{_HOLDERS[place[0]]} {name}"


def _describe_result(leaf: _Leaf, place: Path, names: Mapping[Path, str]) -> str | None:
    is_field = len(place) == 2 and place[0] == "content" and is_secret(str(place[1]), leaf.text)
    return f"the form field {place[1]}" if is_field else None


def _mask_url(token: bytes, url: str) -> tuple[bytes, list[str]]:
    """Mask the user, the password and the query of a URL.

    Returns:
        The string as it is written in the frame, and the secrets.
    """
    secrets = [found["user"] or found["value"] for found in _IN_URL.finditer(url)]
    if b"\\" in token:  # with escapes, the secret is written in another way than in the URL
        return b'"%b"' % _MASK, secrets
    text = token.decode(errors="surrogateescape")
    masked = _IN_URL.sub(lambda found: f"{found['name'] or ''}{MASK}", text)
    return masked.encode(errors="surrogateescape"), secrets


def command_line_secrets(line: bytes) -> dict[str, str]:
    """Return the secrets of the command lines of MCP servers and terminals in a request."""
    commands: dict[Path, list[str]] = {}
    for leaf in _leaves(line):
        if leaf.path[-2:-1] == ("args",) and "params" in leaf.path:
            commands.setdefault(leaf.path[:-2], []).append(leaf.text)
    secrets = {each for words in commands.values() for each in hide_in_command(words)[1]}
    return dict.fromkeys(secrets, "the command line of a server or terminal")


def _leaves(line: bytes) -> Iterator[_Leaf]:
    """Yield the strings and other plain values of a frame, by looking at its tokens.

    Works for any bytes, also for noise before a frame and for a frame that is cut off.
    """
    path: list[str | int | None] = []  # None: the name of a member is next
    for found in _TOKEN.finditer(line):
        token = found[0]
        if token in b"{[":
            path.append(None if token == b"{" else 0)
        elif token in b"}]":
            if path:
                path.pop()
        elif token == b",":
            if path and isinstance(path[-1], int):
                path[-1] += 1
            elif path:
                path[-1] = None
        elif token != b":" and len(path) <= _MAX_DEPTH:
            text = _text(token)
            if path and path[-1] is None:
                path[-1] = text
            else:
                names = (each for each in path if each is not None)
                yield _Leaf(tuple(names), found.start(), found.end(), text)


def _text(token: bytes) -> str:
    """Return the text of a string, or a token as it is."""
    text = token.decode(errors="surrogateescape")
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text.strip('"')


class NeedleSearch:
    """Searches bytes for any of many values, at a cost that hardly depends on their number.

    A value of 23 bytes or more contains, wherever it begins, one of the 8-byte words of the text at
    multiples of 16 bytes. These words are looked up in the set of all words of the values. With
    values of 39 bytes or more, every fourth word is enough. Shorter values are searched one by one.
    """

    def __init__(self, values: Iterable[bytes]) -> None:
        self._short: list[bytes] = []
        self._words: dict[int, frozenset[int]] = {}
        words: dict[int, set[int]] = {}
        for value in values:
            if len(value) < 23:
                self._short.append(value)
                continue
            step = 4 if len(value) >= 39 else 2
            starts = range(8 * step)
            of_step = words.setdefault(step, set())
            of_step |= {int.from_bytes(value[start : start + 8], sys.byteorder) for start in starts}
        self._words = {step: frozenset(each) for step, each in words.items()}

    def is_in(self, text: bytes) -> bool:
        """Return whether the text may contain one of the values; False is certain."""
        if any(value in text for value in self._short):
            return True
        return bool(self._words) and self._has_word(text)

    def _has_word(self, text: bytes) -> bool:
        whole = memoryview(text)[: len(text) & ~7].cast("Q")
        return not all(each.isdisjoint(whole[::step]) for step, each in self._words.items())
