"""A rule: what it is about, what becomes of it, and whether it fits.

A field that is not given fits anything. One that is given holds one value or several, any of which
may fit; `*` and `?` stand for other letters. All fields that are given must fit.

What allows is read strictly and what asks or denies generously, because the two mistakes are not
alike. An `allow` needs every kind, command and path of the call to fit, and at least one that is
named. The others need one that fits, and fit in doubt: a call that does not name its tool, a
command that is not told, an edit without a path. See `command.py` and `path.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias, cast, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from parley.errors import ConfigError

from . import command as commands
from . import path as paths
from .subject import KINDS, Decision, Subject

__all__ = ["FIELDS", "Rule", "all_paths", "near", "parse_flags"]

Words: TypeAlias = str | Sequence[str]

FIELDS = ("kind", "tool", "path", "command", "agent", "session")
"""What a rule may be about."""

_ON_FILES = {"read", "edit", "delete", "move"}


class Rule(Struct, frozen=True, kw_only=True):
    """One rule; of each field one value or several."""

    decision: Decision
    kind: Words = ()
    """Kinds of tool calls, as `read`; `*` is any."""
    tool: Words = ()
    """Names of tools, where the agent tells them."""
    path: Words = ()
    """Patterns of paths, as `src/**`."""
    command: Words = ()
    """The first words of commands, as `git status`."""
    agent: Words = ()
    """Names of agents, as they are called here."""
    session: Words = ()
    """Ids of sessions."""
    source: str = ""
    """Where it stands, for people."""

    def __post_init__(self) -> None:
        if self.decision not in get_args(Decision):
            raise ConfigError(f"decision: there is no {self.decision!r}; say allow, ask or deny")
        for name in FIELDS:
            force_setattr(self, name, _checked(name, getattr(self, name)))
        if self.decision == "allow" and self.path and not self.command and _only(self, "execute"):
            raise ConfigError(
                "path: where a command works does not tell what it does, so this would never "
                "allow anything; give `command`"
            )

    def fits(self, subject: Subject, base: str) -> bool:
        """Tell whether it is about this.

        Args:
            subject: What is about to be done.
            base: The directory where its relative paths begin, without symlinks.
        """
        if self.decision == "allow":
            return self._allows(subject, base)
        return self._may_mean(subject, base)

    def doubts(self, subject: Subject) -> list[str]:
        """Return what it asks for and the call does not name."""
        named = {
            "tool": subject.tool,
            "agent": subject.agent,
            "session": subject.session,
            "command": subject.commands or not _should_name(subject, {"execute"}),
            "path": all_paths(subject) or not _should_name(subject, {*_ON_FILES, *self.kind}),
        }
        return [name for name, told in named.items() if getattr(self, name) and not told]

    def _allows(self, subject: Subject, base: str) -> bool:
        kinds = {*self.kind, "execute"} if self.command else {*self.kind}
        if self.kind and not (subject.kind in self.kind and kinds.issuperset(subject.also)):
            return False
        if self.path and subject.runs and not self.command:
            return False
        where = (*subject.paths, *([subject.cwd] if subject.cwd else []))
        return (
            _is_one(subject.tool, self.tool)
            and _is_one(subject.agent, self.agent)
            and _is_one(subject.session, self.session)
            and _all_fit(commands.allows, subject.commands, self.command)
            and _all_fit(lambda path, each: paths.allows(path, each, base), where, self.path)
        )

    def _may_mean(self, subject: Subject, base: str) -> bool:
        if self.kind and not set(self.kind).intersection(subject.kinds):
            return False
        doubts = self.doubts(subject)
        fits: dict[str, Callable[[], bool]] = {
            "tool": lambda: _is_one(subject.tool.casefold(), _folded(self.tool)),
            "agent": lambda: _is_one(subject.agent.casefold(), _folded(self.agent)),
            "session": lambda: _is_one(subject.session, self.session),
            "command": lambda: _any_fits(commands.denies, subject.commands, self.command),
            "path": lambda: self._may_mean_path(subject, base),
        }
        return all(name in doubts or fit() for name, fit in fits.items() if getattr(self, name))

    def _may_mean_path(self, subject: Subject, base: str) -> bool:
        if any(len(each) > commands.MAX_CHARS for each in subject.commands):
            return True
        named = all_paths(subject, base)
        if any(paths.denies(named, each, base) for each in self.path):
            return True
        goes = {"delete", "move"}.intersection(subject.kinds)
        return bool(goes) and any(paths.holds(subject.paths, each, base) for each in self.path)

    def __str__(self) -> str:
        given = ((name, cast("tuple[str, ...]", getattr(self, name))) for name in FIELDS)
        told = [f"{name}={','.join(values)}" for name, values in given if values]
        return " ".join([self.decision, *told])


def _should_name(subject: Subject, kinds: set[str]) -> bool:
    """Tell whether it is of these kinds, or of one that is not known."""
    return not kinds.isdisjoint(subject.kinds) or subject.kind not in KINDS


def _only(rule: Rule, kind: str) -> bool:
    return set(rule.kind) == {kind}


def _checked(name: str, given: Any) -> tuple[str, ...]:
    """Return the values of a field."""
    values: tuple[Any, ...] = (given,) if isinstance(given, str) else tuple(given)
    for value in values:
        if not isinstance(value, str):
            raise ConfigError(f"{name}: expected a string or strings")
        if "\0" in value:
            raise ConfigError(f"{name}: there is a NUL in it, which fits nothing")
        if not value.strip():
            raise ConfigError(f"{name}: it is empty; leave it out for anything")
        if name == "path" and ".." in value.split("/"):
            raise ConfigError(f"path: {value!r} has a `..`; write an absolute path")
        if name == "path" and value.startswith("~") and value[1:2] not in ("", "/"):
            raise ConfigError(f"path: {value!r} is somebody's home; write an absolute path")
        if name == "kind" and value not in ("*", *KINDS) and not value.startswith("_"):
            raise ConfigError(f"kind: there is no {value!r}; {near(value, KINDS)}")
    return () if "*" in values and name == "kind" else tuple(values)


def near(word: str, known: Sequence[str]) -> str:
    """Return a hint at what may be meant."""
    close = difflib.get_close_matches(word, known, 1)
    return f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"


def _folded(words: Words) -> list[str]:
    return [each.casefold() for each in words]


def _is_one(value: str, wanted: Words) -> bool:
    literal = map(paths.literal, wanted)
    return not wanted or (value != "" and any(fnmatchcase(value, each) for each in literal))


def _all_fit(fits: Callable[[str, str], bool], values: Sequence[str], wanted: Words) -> bool:
    if not wanted:
        return True
    return bool(values) and all(any(fits(value, each) for each in wanted) for value in values)


def _any_fits(fits: Callable[[str, str], bool], values: Sequence[str], wanted: Words) -> bool:
    return any(fits(value, each) for value in values for each in wanted)


def all_paths(subject: Subject, base: str = "/") -> list[str]:
    """Return all that is or may be a path, the words of commands among it."""
    return list(dict.fromkeys(_each_path(subject, base)))


def _each_path(subject: Subject, base: str) -> Iterator[str]:
    yield from subject.paths
    yield from subject.mentioned
    if subject.cwd:
        yield subject.cwd
    for line in subject.commands:
        yield from paths.joined(subject.cwd or base, commands.words_of(line[: commands.MAX_CHARS]))


def parse_flags(texts: Iterable[str], decision: Literal["allow", "deny"]) -> list[Rule]:
    """Read rules of a command line: `KIND`, or `KIND:PATTERN` for a command or for paths.

    Raises:
        ConfigError: There is no such kind, or no pattern where one is announced.
    """
    return [rule for text in texts for rule in _parse_flag(text, decision)]


def _parse_flag(text: str, decision: Literal["allow", "deny"]) -> list[Rule]:
    kind, colon, pattern = text.partition(":")
    source = f"--{decision} {text}"
    known = ("*", *KINDS)
    if kind not in known:
        raise ConfigError(f"{source}: there is no kind {kind!r}; {near(kind, known)}")
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
    if kind != "execute":
        yield Rule(decision=decision, kind=kind, path=pattern, source=source)
    elif decision == "deny":
        with suppress(ConfigError):  # a command that is no path either
            yield Rule(decision=decision, kind=kind, path=pattern, source=source)
