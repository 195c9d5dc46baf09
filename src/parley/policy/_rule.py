"""A rule: what it is about, what becomes of it, and whether it fits.

A missing field fits anything. A field holds one value or several, any of which may fit; `*` and `?`
stand for other letters. All fields of a rule must fit.

What allows is read strictly and what asks or denies generously, because the two mistakes are not
alike. An `allow` needs every kind, command and path of the call to fit, and at least one that is
named. The others need one that fits, and fit in doubt: a call that does not name its tool, a
command without text, an edit without a path. Where only a part of the input can be examined, or
a shell computes what is meant, they may fit, and the user is asked. See `_command.py`, `_words.py`
and `_path.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from parley._suggestions import suggest
from parley.errors import ConfigError

from . import _command as commands
from . import _path as paths
from ._evidence import MAX_COMMANDS, Evidence, path_words, real_path
from ._executed_later import is_executed_later
from ._subject import KINDS, Decision, Subject
from ._words import MAX_CHARS, Match, is_wildcard, literal, split_words

Words: TypeAlias = str | Sequence[str]

FIELDS = ("kind", "tool", "path", "command", "agent", "session")
"""The fields of a rule."""

_NAME = re.compile(r"[\w -]+")
_WEB_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_ON_FILES = {"read", "edit", "delete", "move"}


class Rule(Struct, frozen=True, kw_only=True):
    """A rule; each field has one value or several."""

    decision: Decision
    kind: Words = ()
    """Kinds of tool calls, as `read`; `*` is any."""
    tool: Words = ()
    """Names of tools, if the agent sends them."""
    path: Words = ()
    """Patterns of paths, as `src/**`."""
    command: Words = ()
    """The first words of commands, as `git status`."""
    agent: Words = ()
    """Names of agents, as they are called here."""
    session: Words = ()
    """Ids of sessions."""
    source: str = ""
    """The place where it is written, for people."""
    is_either: bool = False
    """Whether its path may as well be a command, as in `--deny execute:rm`, for which there is
    another rule; then a word of a text, or one that a shell computes, is not taken for the path."""

    def __post_init__(self) -> None:
        if self.decision not in get_args(Decision):
            raise ConfigError(f"decision: there is no {self.decision!r}; use allow, ask or deny")
        for name in FIELDS:
            force_setattr(self, name, _checked(name, getattr(self, name)))
        if self.decision == "allow" and self.path and not self.command and _only(self, "execute"):
            raise ConfigError(
                "path: where a command works does not tell what it does, so this would never "
                "allow anything; give `command`"
            )

    def fits(self, subject: Subject, base: str) -> bool:
        """Return whether it is about this.

        Args:
            subject: What is about to be done.
            base: The directory where its relative paths begin, without symlinks.
        """
        return self.match(Evidence(subject), base) is Match.YES

    def match(self, evidence: Evidence, base: str) -> Match:
        """Return whether it is about this; `MAYBE` only where it asks or denies.

        Args:
            evidence: What is about to be done, as far as it is known.
            base: The directory where its relative paths begin, without symlinks.
        """
        if self.decision == "allow":
            return Match.YES if self._allows(evidence.subject, base) else Match.NO
        return self._may_mean(evidence, base)

    def doubts(self, subject: Subject) -> list[str]:
        """Return what it asks for and the call does not name."""
        paths = subject.paths or subject.mentioned or subject.possible or subject.cwd
        says = subject.commands or subject.texts
        named = {
            "tool": subject.tool,
            "agent": subject.agent,
            "session": subject.session,
            "command": subject.commands or not _should_name(subject, {"execute"}),
            "path": paths or says or not _should_name(subject, {*_ON_FILES, *self.kind}),
        }
        return [name for name, is_named in named.items() if getattr(self, name) and not is_named]

    def _allows(self, subject: Subject, base: str) -> bool:
        kinds = {*self.kind, "execute"} if self.command else {*self.kind}
        if self.kind and not (subject.kind in self.kind and kinds.issuperset(subject.also)):
            return False
        if self.path and subject.runs and not self.command:
            return False
        if self.command and (subject.unknown or len(subject.commands) > MAX_COMMANDS):
            return False
        where = [*subject.paths, *([subject.cwd] if subject.cwd else [])]
        if self.path and where:
            where += [*subject.possible, *argument_paths(subject, base)]
        return (
            _is_one(subject.tool, self.tool)
            and _is_one(subject.agent, self.agent)
            and _is_one(subject.session, self.session)
            and _all_fit(commands.allows, subject.commands, self.command)
            and _all_fit(lambda path, each: paths.allows(path, each, base), where, self.path)
        )

    def names_executed_later(self, path: str, base: str) -> bool:
        """Return whether it names a file that is executed later, and not just all files.

        Args:
            path: The file, without symlinks.
            base: The directory where its relative paths begin.
        """
        given = [each for each in self.path if is_executed_later(each)]
        words = [word for each in self.command for word in each.split()]
        return any(paths.allows(path, each, base) for each in given) or any(
            is_executed_later(each) and paths.allows(path, each, base) for each in words
        )

    def _may_mean(self, evidence: Evidence, base: str) -> Match:
        subject = evidence.subject
        doubts = self.doubts(subject)
        if self.kind and not set(self.kind).intersection(subject.kinds):
            # A tool of unknown purpose may execute what is in its input.
            if not (self.command and "execute" in self.kind and _says_nothing(subject)):
                return Match.NO
            doubts = [each for each in doubts if each != "command"]
        names = {
            "tool": _is_one(subject.tool.casefold(), _folded(self.tool)),
            "agent": _is_one(subject.agent.casefold(), _folded(self.agent)),
            "session": _is_one(subject.session, self.session),
        }
        if not all(fits or name in doubts for name, fits in names.items()):
            return Match.NO
        found = [Match.YES]
        if self.command and "command" not in doubts:
            found.append(self._may_mean_command(evidence))
        if self.path and "path" not in doubts and min(found) is not Match.NO:
            found.append(self._may_mean_path(evidence, base))
        return min(found)

    def _may_mean_command(self, evidence: Evidence) -> Match:
        found = max(evidence.words.find(each) for each in self.command)
        return Match.MAYBE if found is Match.NO and evidence.subject.unclear else found

    def _may_mean_path(self, evidence: Evidence, base: str) -> Match:
        subject, known = evidence.subject, evidence.paths(base, has_texts=not self.is_either)
        goes = not {"delete", "move"}.isdisjoint(subject.kinds)
        patterns = [paths.DenyingPattern(each, base) for each in self.path]
        for pattern in patterns:
            if any(map(pattern.means, known.folded)):
                return Match.YES
        if goes and any(paths.holds(subject.paths, each, base) for each in self.path):
            return Match.YES
        if self.is_either:
            return Match.NO
        if not known.is_complete:
            return Match.MAYBE
        may = any(pattern.may_mean(each) for pattern in patterns for each in known.wildcards)
        return Match.MAYBE if may else Match.NO

    def __str__(self) -> str:
        values_by_name = ((name, cast("tuple[str, ...]", getattr(self, name))) for name in FIELDS)
        fields = [f"{name}={','.join(values)}" for name, values in values_by_name if values]
        return " ".join([self.decision, *fields])


def _should_name(subject: Subject, kinds: set[str]) -> bool:
    """Return whether it is of these kinds, or of one that is not known."""
    return not kinds.isdisjoint(subject.kinds) or subject.kind not in KINDS


def _says_nothing(subject: Subject) -> bool:
    return subject.kind == "other" or subject.kind not in KINDS


def _only(rule: Rule, kind: str) -> bool:
    return set(rule.kind) == {kind}


def _checked(name: str, value_or_values: Any) -> tuple[str, ...]:
    """Return the values of a field."""
    values: tuple[Any, ...] = (
        (value_or_values,) if isinstance(value_or_values, str) else tuple(value_or_values)
    )
    for value in values:
        if not isinstance(value, str):
            raise ConfigError(f"{name}: expected a string or strings")
        if "\0" in value:
            raise ConfigError(f"{name}: a NUL character matches nothing")
        if not value.strip():
            raise ConfigError(f"{name}: it is empty; leave it out for anything")
        if name == "path" and ".." in value.split("/"):
            raise ConfigError(f"path: {value!r} has a `..`; write an absolute path")
        if name == "path" and value.startswith("~") and value[1:2] not in ("", "/"):
            problem = "is another user's home directory; write an absolute path"
            raise ConfigError(f"path: {value!r} {problem}")
        if name == "kind" and value not in ("*", *KINDS) and not value.startswith("_"):
            raise ConfigError(f"kind: there is no {value!r}; {suggest(value, KINDS, '{!r}')}")
    return () if "*" in values and name == "kind" else tuple(values)


def _folded(words: Words) -> list[str]:
    return [each.casefold() for each in words]


def _is_one(value: str, wanted: Words) -> bool:
    patterns = map(literal, wanted)
    return not wanted or (value != "" and any(fnmatchcase(value, each) for each in patterns))


def _all_fit(fits: Callable[[str, str], bool], values: Sequence[str], wanted: Words) -> bool:
    if not wanted:
        return True
    return bool(values) and all(any(fits(value, each) for each in wanted) for value in values)


def argument_paths(subject: Subject, base: str) -> list[str]:
    """Return the words of commands that may be paths, resolved; `/` if one is unknown."""
    found: dict[str, None] = {}
    top = subject.cwd or os.path.realpath(base)
    for line in subject.commands:
        for value in _argument_words(line):
            if is_wildcard(value) or "{" in value or len(found) >= MAX_COMMANDS:
                found["/"] = None
            elif "/" in value or value.startswith(("~", ".")) or _exists(top, value):
                local = os.path.expanduser(value)  # noqa: PTH111
                found[real_path(top, os.path.join(top, local))] = None  # noqa: PTH118
    return list(found)


def _argument_words(line: str) -> list[str]:
    """Return what may be a path in the arguments of a command, or of the line that a shell runs."""
    words = split_words(commands.unwrapped(line) or "")
    if words is None or len(line) > MAX_CHARS:
        return ["/"]
    # A program may take an argument apart, as `sed 'r FILE'` does.
    pieces = [each for word in words[1:] for each in dict.fromkeys([word, *word.split()])]
    return list(path_words(each for each in pieces if not _WEB_ADDRESS.match(each)))


def _exists(top: str, name: str) -> bool:
    try:
        return os.path.lexists(os.path.join(top, name))  # noqa: PTH118 - a link counts, too
    except (OSError, ValueError):
        return False


def parse_flags(texts: Iterable[str], decision: Literal["allow", "deny"]) -> list[Rule]:
    """Read rules of a command line: `KIND`, or `KIND:PATTERN` for a command or for paths.

    Raises:
        ConfigError: The kind is unknown, or a pattern is missing.
    """
    return [rule for text in texts for rule in _parse_flag(text, decision)]


def _parse_flag(text: str, decision: Literal["allow", "deny"]) -> list[Rule]:
    kind, colon, pattern = text.partition(":")
    source = f"--{decision} {text}"
    known = ("*", *KINDS)
    if kind not in known:
        raise ConfigError(f"{source}: there is no kind {kind!r}; {suggest(kind, known, '{!r}')}")
    if colon and not pattern.strip():
        raise ConfigError(f"{source}: there is no pattern; for all of the kind: {kind}")
    try:
        return list(_flag_rules(kind, pattern, decision, source))
    except ConfigError as error:
        raise ConfigError(f"{source}: {error}") from None


def _flag_rules(
    kind: str, pattern: str, decision: Literal["allow", "deny"], source: str
) -> Iterator[Rule]:
    """Yield a rule for a command and one for paths, as the kind of a flag asks for."""
    if not pattern:
        yield Rule(decision=decision, kind=kind, source=source)
        return
    if kind in ("*", "execute"):
        runs = kind if decision == "deny" else "execute"
        yield Rule(decision=decision, kind=runs, command=pattern, source=source)
    is_either = kind in ("*", "execute") and _NAME.fullmatch(pattern) is not None
    if kind != "execute":
        yield Rule(decision=decision, kind=kind, path=pattern, source=source, is_either=is_either)
    elif decision == "deny":
        with suppress(ConfigError):  # a command that is not a path either
            yield Rule(
                decision=decision, kind=kind, path=pattern, source=source, is_either=is_either
            )
