"""The words of command lines and other texts, and whether a rule's words are among them.

A rule that asks or denies is looked for wherever its words may stand together: at the beginning, in
a later part (`cd x && rm y`), after any program that runs another (`uv run rm y`), in quotes
(`sh -c 'rm y'`), in code (`run(["rm", "y"])`). No list of such programs is needed: each text is
read in several ways, and the words may begin anywhere in each of them. Options between the words do
not count (`git -C x push`).

What a shell computes first (`$(…)`, `$X`, `r?`) may become anything that fits. Where such a word
could complete the rule, the result is `MAYBE`, which becomes a question.

The work is linear in the length of the texts. `WordIndex` reads at most `MAX_CHARS` of them and
is true if there was more; `examined_chars` counts what was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from posixpath import basename

MAX_CHARS = 64 * 1024
"""The maximum text of one request that is examined; longer text is not examined to its end."""
MAX_TEXTS = 1000
"""The maximum number of strings of one request that are examined."""

COMPUTED = "**"
"""Stands for what a shell computes, where `*` is a wildcard of the text itself."""

_CONTINUED = re.compile(r"\\\r?\n")
_FIELD_SEPARATOR = re.compile(r"\$\{IFS[^{}$]*\}|\$IFS\b")
_QUOTES = re.compile(r"[\"'\\]")
_PUNCTUATION = re.compile(r"[\"'\\,\[\](){}=:@]")
_PIECE = re.compile(r"[^\s;&|`$(){}<>\\!]+|[;&|`$(){}<>\n\\!]+")
_BORDER = frozenset(";&|`$(){}<>\n\\!")
_EXPANSION = re.compile(
    r"\$\{[^{}]*\}|[$<]\([^()]*\)|\$'(?:[^'\\]|\\.)*'|\$\"|\$[A-Za-z_]\w*|\$[\d@*#?!$-]|`[^`]*`"
    r"|\{[^{}\s,]*,[^{}\s]*\}|\{[^{}\s.]*\.\.[^{}\s]*\}",
    re.DOTALL,
)
_NESTING = 4
_MAX_GLOB_CHARS = 1024
_MAX_GLOB_SETS = 16
"""Translating a glob takes time that is quadratic in its sets."""
_WORD = re.compile(r"[^\s\"'\\]+|\\.|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL)
_SPACE = re.compile(r"\s+")
_IN_QUOTES = re.compile(r"\\([\"\\])")
_REDIRECTION = re.compile(r"(?:\b\d+|&)?(?:>[>|&]?|<[>&]?)\s*&?[^\s;&|<>()]+")
_FED = re.compile(r"\|&?|>\(")
_END = re.compile(r"[;\n]|&&")
_GROUPING = re.compile(r"[\s(){};&\"']+")
_RUNS_LINE = re.compile(r"-\w*c")
_SEPARATOR = re.compile(r"[;&|()<>\n]+")
_COARSE = re.compile(r"[\s;&|<>()`]+")
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")
_SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"}
_RUNNERS = {
    *_SHELLS,
    *("sudo", "doas", "env", "nice", "ionice", "nohup", "time", "timeout", "xargs", "exec"),
    *("command", "builtin", "eval", "setsid", "stdbuf", "busybox", "chroot", "unshare", "watch"),
    *("strace", "coproc", "find", "fd", ".", "source"),
    *("parallel", "ssh", "su", "runuser", "flock", "script", "taskset", "systemd-run", "entr"),
    *("uv", "uvx", "npx", "pnpm", "yarn", "bunx", "docker", "podman", "kubectl", "poetry"),
}
"""Programs whose arguments are often a command. Only a word that a shell computes needs this list:
as an argument of another program it is hardly a command."""


_KEYWORDS = {"then", "do", "else", "if", "elif", "while", "until", "!", "time"}


class Match(IntEnum):
    """Whether something matches a rule; `MAYBE` if that is uncertain."""

    NO = 0
    MAYBE = 1
    YES = 2


class WordIndex:
    """All words of some texts, read once, for any number of rules."""

    def __init__(self, commands: Iterable[str] = (), texts: Iterable[str] = ()) -> None:
        """Read texts.

        Args:
            commands: Command lines.
            texts: Other strings, which may be command lines as well. In these, a word such as
                `Find` is the beginning of a sentence and not the command `find`.
        """
        self.examined_chars = 0
        """The amount of text read so far."""
        self.is_complete = True
        """Whether all was read."""
        self.words: dict[str, None] = {}
        """Each word once, as it is written."""
        self.wholes: list[str] = []
        """The texts that were read."""
        self.feeds_shell = False
        """Whether a shell is given commands that are not in the texts."""
        self._streams: list[list[str | None]] = []
        self._computed: list[list[str | None]] = []
        self._known: set[str] = set()
        self._alone: set[str] = set()
        for text in commands:
            self._read(text, is_command=True)
        for text in texts:
            self._read(text, is_command=False)

    def _read(self, text: str, *, is_command: bool) -> None:
        room = MAX_CHARS - self.examined_chars if len(self.wholes) < MAX_TEXTS else 0
        if len(text) > room:
            self.is_complete = False
            text = text[:room]
        if not text.strip():
            return
        self.examined_chars += len(text)
        self.wholes.append(text)
        fold = str.casefold if is_command else _fold_prose
        for each in _readings(text):
            stream: list[str | None] = []
            for piece in _pieces(each):
                if piece is None:
                    stream.append(None)
                    continue
                self.words[piece] = None
                word = fold(piece)
                stream.append(word)
                self._known.update((word, basename(word.rstrip("/"))))
            self._streams.append(stream)
        split = split_words(text, is_strict=False) or []
        spaced = split_words(_SEPARATOR.sub(r" \g<0> ", text), is_strict=False) or []
        self._streams.append([fold(each) for each in spaced])
        for word in (*split, *_path_words(text)):
            self.words[word] = None
        alone = fold(text.strip())
        if _SPACE.search(alone) is None:
            self._alone.update((alone, basename(alone)))
        self._read_computed(text, fold)
        self.feeds_shell = self.feeds_shell or (is_command and _feeds_shell(text))

    def _read_computed(self, text: str, fold: Callable[[str], str]) -> None:
        """Keep the words of which a shell makes others, with a `*` for what it computes."""
        stream = [None if each is None else fold(each) for each in _pieces(_with_wildcards(text))]
        if any(each is not None and is_wildcard(each) for each in stream):
            self._computed.append(stream)

    def find(self, pattern: str) -> Match:
        """Return whether the words of a rule stand together anywhere."""
        found = max((self._find(each) for each in _alternatives(pattern)), default=Match.NO)
        if found is Match.NO and (self.feeds_shell or not self.is_complete):
            return Match.MAYBE
        return found

    def _find(self, wanted: Sequence[str]) -> Match:
        plain = [each for each in wanted if not is_wildcard(each)]
        if all(each in self._known for each in plain):
            if any(_stands_in(stream, wanted) for stream in self._streams):
                return Match.YES
            if len(wanted) > 1 and len(plain) == len(wanted) and wanted[0] in self._alone:
                return Match.YES  # the program and its arguments are different strings
        if any(_may_stand_in(stream, wanted) for stream in self._computed):
            return Match.MAYBE
        return Match.NO


def literal(pattern: str) -> str:
    """Return a pattern in which only `*` and `?` mean something."""
    return pattern.replace("[", "[[]")


def is_wildcard(word: str) -> bool:
    """Return whether a word may stand for other words."""
    return "*" in word or "?" in word or "[" in word


def split_words(line: str, *, is_strict: bool = True) -> list[str] | None:
    """Split a line as `shlex.split` does, in linear time.

    Args:
        line: The line.
        is_strict: Return None if a quote is not closed. Otherwise it is an ordinary character, as
            an apostrophe in a comment is.
    """
    words: list[str] = []
    place, pieces = 0, list[str]()
    while place < len(line):
        if (space := _SPACE.match(line, place)) is not None:
            if pieces:
                words.append("".join(pieces))
                pieces = []
            place = space.end()
        elif (piece := _WORD.match(line, place)) is not None:
            pieces.append(_unquoted(piece[0]))
            place = piece.end()
        elif is_strict:
            return None
        else:
            place += 1
    return [*words, "".join(pieces)] if pieces else words


def _unquoted(piece: str) -> str:
    if piece[0] == "\\":
        return piece[1:]
    if piece[0] == "'":
        return piece[1:-1]
    return _IN_QUOTES.sub(r"\1", piece[1:-1]) if piece[0] == '"' else piece


def _readings(text: str) -> list[str]:
    """Return the ways in which a text is read; quotes may hold words, join words, or be a command.

    All of them are as long as the text, or shorter.
    """
    text = _FIELD_SEPARATOR.sub(" ", _CONTINUED.sub("", text))
    ways = [text]
    if _QUOTES.search(text):
        ways += [_QUOTES.sub(";", text), _QUOTES.sub("", text)]
    if _REDIRECTION.search(text):
        ways.append(_REDIRECTION.sub(" ", text))  # may stand between words: `git 2>log push`
    ways.append(_PUNCTUATION.sub(" ", text))
    return list(dict.fromkeys(ways))


def _pieces(text: str) -> Iterator[str | None]:
    """Yield the words of a text, and None where one command ends and another may begin."""
    for match in _PIECE.finditer(text):
        yield None if match[0][0] in _BORDER else match[0]


def _fold_prose(word: str) -> str:
    """Fold the case of a word, unless it looks like the first one of a sentence."""
    return word if word.istitle() else word.casefold()


def _with_wildcards(text: str) -> str:
    """Put wildcards in place of all that a shell computes."""
    text = _FIELD_SEPARATOR.sub(" ", _CONTINUED.sub("", text))
    for _ in range(_NESTING):
        text, count = _EXPANSION.subn(COMPUTED, text)
        if not count:
            break
    else:
        text = re.sub(r"\$\(|`", f" {COMPUTED} ", text)  # nested deeper than anybody reads
    return _QUOTES.sub("", text)


def _path_words(text: str) -> Iterator[str]:
    """Yield the words of a text with the wildcards and braces that a path may have."""
    return filter(None, _COARSE.split(_with_wildcards(_HOME.sub("~", text))))


def _feeds_shell(text: str) -> bool:
    """Return whether a shell reads commands from a pipe, as in `curl x | sh`."""
    return any(map(_reads_commands, _FED.split(text)[1:]))


def _reads_commands(part: str) -> bool:
    """Return whether a part of a pipe is a shell, or starts one, without naming what it runs."""
    part = part.lstrip()
    is_group = part[:1] in ("(", "{")
    if not is_group:
        part = _END.split(part, maxsplit=1)[0]
    words = [basename(each) for each in _GROUPING.split(part) if each]
    if not words or not (is_group or words[0] in _RUNNERS or "=" in words[0]):
        return False
    shells = (place for place, word in enumerate(words) if word in _SHELLS)
    return any(not _names_line(words[place + 1 :]) for place in shells)


def _names_line(words: Sequence[str]) -> bool:
    """Return whether the arguments of a shell have a line after `-c`."""
    return any(_RUNS_LINE.fullmatch(each) for each in words[:-1])


@lru_cache(maxsize=1024)
def _alternatives(pattern: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of a rule; a `*` within a word may also cross words."""
    words = tuple(literal(each) for each in pattern.casefold().split())
    near: list[str] = []
    far: list[str] = []
    for word in words:
        head, star, tail = word.partition("*")
        crosses = bool(star and head and tail)
        near += [f"{head}*", f"*{tail}"] if crosses else [word]
        far += [f"{head}*", "*", f"*{tail}"] if crosses else [word]
    return tuple(dict.fromkeys((words, tuple(near), tuple(far))))


def _stands_in(stream: Sequence[str | None], wanted: Sequence[str]) -> bool:
    """Return whether words stand together in a stream, if options between them do not count.

    An option may be followed by its value, as in `git -C x push`. A state is how many of the words
    were found; an odd number means that the last thing was an option. All states are followed at
    once, so that each word of the stream is looked at once.
    """
    if len(wanted) == 1 and not is_wildcard(wanted[0]):
        name, end = wanted[0], f"/{wanted[0]}"
        return any(each is not None and (each == name or each.endswith(end)) for each in stream)
    states: set[int] = set()
    for word in stream:
        if word is None:
            states = set()
            continue
        states = _next(states | {0}, word, wanted)
        if 2 * len(wanted) in states:
            return True
    return False


def _next(states: set[int], word: str, wanted: Sequence[str]) -> set[int]:
    """Return the states after one more word."""
    after: set[int] = set()
    for state in states:
        count, is_after_option = divmod(state, 2)
        if count == len(wanted):
            continue
        if _equals(word, wanted[count]):
            after.add(2 * count + 2)
            if wanted[count] == "*":
                after.add(2 * count)  # one word, or more
        if count and word.startswith("-"):
            after.add(2 * count + 1)
        elif count and is_after_option:
            after.add(2 * count)
    return after


def _equals(word: str, pattern: str) -> bool:
    if not is_wildcard(pattern):
        return word == pattern or basename(word.rstrip("/")) == pattern
    return fnmatchcase(word, pattern) or fnmatchcase(basename(word.rstrip("/")), pattern)


def _may_stand_in(stream: Sequence[str | None], wanted: Sequence[str]) -> bool:
    """Return whether words may stand together once a shell has computed some of them."""
    count, is_first, runs = 0, True, False
    for word in stream:
        if word is None:
            count, is_first, runs = 0, True, False
            continue
        if is_first:
            runs = basename(word) in _RUNNERS or "=" in word
        is_anything = not word.strip("*?[]")
        if is_anything and (is_first or runs):
            return True  # it may become several words
        can_begin = not is_anything
        if (count or can_begin) and may_equal(word, wanted[count]):
            count += 1
        elif not word.startswith("-"):
            count = int(can_begin and may_equal(word, wanted[0]))
        is_first = is_first and ("=" in word or word in _KEYWORDS)
        if count == len(wanted):
            return True
    return False


def may_equal(word: str, pattern: str) -> bool:
    """Return whether a word of a command may be one of a rule; either may have wildcards."""
    if not is_wildcard(word):
        return _equals(word, pattern)
    name = basename(word)
    if not is_wildcard(pattern):
        return glob_may_mean(word, pattern) or glob_may_mean(name, pattern)
    return ends_agree(word, pattern) or ("/" not in pattern and ends_agree(name, pattern))


def glob_may_mean(glob: str, text: str) -> bool:
    """Return whether a glob of an agent's means a text, or is too complicated to be compared."""
    if len(glob) > _MAX_GLOB_CHARS or glob.count("[") > _MAX_GLOB_SETS:
        return True
    return fnmatchcase(text, glob)


def ends_agree(one: str, other: str) -> bool:
    """Return whether two words with wildcards may mean the same, judged by their ends."""
    heads = [re.split(r"[*?\[]", each, maxsplit=1)[0] for each in (one, other)]
    tails = [re.split(r"[*?\]]", each)[-1] for each in (one, other)]
    return (heads[0].startswith(heads[1]) or heads[1].startswith(heads[0])) and (
        tails[0].endswith(tails[1]) or tails[1].endswith(tails[0])
    )
