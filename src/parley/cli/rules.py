"""The rules of `--allow` and `--deny`: which permission is given without asking.

A rule is `KIND` or `KIND:PATTERN`. The kind is a tool call's: `read`, `edit`, `execute` and so on,
or `*` for any. The pattern, with `*` and `?`, is compared with the command that would run, or with
the paths that the tool call names, from `--cwd` on. What denies counts before what allows, and in
doubt a rule denies and does not allow: an `allow` with a pattern fits no command that a shell would
take apart, and none that the agent does not name. Paths are those that the tool call names and
those that its diffs change.
"""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from parley.schema import v2
from parley.schema.base import Unknown
from parley.session.entries import ToolCall

from .exits import Exit, Failure

__all__ = ["Rule", "Rules", "Subject", "choose", "read_rule", "subject_of"]

Decision: TypeAlias = Literal["allow", "deny"]

_KINDS = (
    *("*", "read", "edit", "delete", "move", "search", "execute", "think", "fetch"),
    *("switch_mode", "other"),
)
_SHELL = re.compile(r"[;&|`$()<>\n\\]+")
_QUOTES = re.compile(r"[\"'\\]")


class Rule(Struct, frozen=True):
    """One rule."""

    kind: str
    pattern: str
    """Empty: whatever it is."""


class Subject(Struct, frozen=True):
    """What a permission is about."""

    kind: str
    commands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Absolute and without symlinks."""

    @property
    def targets(self) -> tuple[str, ...]:
        """What a pattern is compared with; a command that is not named cannot be."""
        return self.commands if self.kind == "execute" else self.paths


def read_rule(text: str) -> Rule:
    """Read a rule of the command line.

    Raises:
        Failure: There is no such kind, or no pattern where one is announced.
    """
    kind, colon, pattern = text.partition(":")
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise Failure(f"there is no kind {kind!r} in the rule {text!r}; use {known}", Exit.USAGE)
    if colon and not pattern:
        raise Failure(f"the rule {text!r} has no pattern; for all of the kind: {kind}", Exit.USAGE)
    return Rule(kind, pattern)


def subject_of(
    request: v2.RequestPermissionRequest, call: ToolCall | None, cwd: str = "."
) -> Subject:
    """Return what is asked about.

    Args:
        request: The question.
        call: The tool call it is about, with all that is known of it.
        cwd: Where a path begins that is not absolute.
    """
    if isinstance(request.subject, v2.CommandPermissionSubject):
        return Subject("execute", commands=(request.subject.command,))
    if call is None:
        return Subject("other")
    paths = tuple(
        os.path.realpath(Path(cwd, path.removeprefix("file://"))) for path in _paths(call)
    )
    commands = _commands(call.raw_input) if call.kind == "execute" else ()
    return Subject(call.kind, commands=commands, paths=paths)


def _paths(call: ToolCall) -> Iterator[str]:
    """Yield what a tool call names: where it says that it works, and what its diffs change."""
    yield from (each.path for each in call.locations)
    changes = [
        change for each in call.content if isinstance(each, v2.Diff) for change in each.changes
    ]
    for change in changes:
        if not isinstance(change, Unknown):
            yield change.path
        if isinstance(change, v2.DiffMove | v2.DiffCopy):
            yield change.old_path


class _Input(Struct):
    command: str | list[str]


def _commands(raw_input: Any) -> tuple[str, ...]:
    """Find the command in what a tool is given; agents agree on the name of the field at least."""
    try:
        command = msgspec.convert(raw_input, _Input).command
    except msgspec.ValidationError:
        return ()
    return (command if isinstance(command, str) else shlex.join(command),)


class Rules:
    """All rules of a command line."""

    def __init__(self, allow: Sequence[Rule], deny: Sequence[Rule], cwd: str) -> None:
        self._allow = allow
        self._deny = deny
        self._cwd = glob.escape(os.path.realpath(cwd).rstrip("/"))

    def decide(self, subject: Subject) -> Decision | None:
        """Return what the rules say; None: nothing."""
        if any(self._denies(rule, subject) for rule in self._deny):
            return "deny"
        if any(self._allows(rule, subject) for rule in self._allow):
            return "allow"
        return None

    def _denies(self, rule: Rule, subject: Subject) -> bool:
        if rule.kind not in ("*", subject.kind):
            return False
        if not rule.pattern or not subject.targets:
            return True
        pieces = (piece for command in subject.commands for piece in _pieces(command))
        return any(_fits(piece, rule.pattern) for piece in pieces) or any(
            self._fits_path(path, rule.pattern) for path in subject.paths
        )

    def _allows(self, rule: Rule, subject: Subject) -> bool:
        if rule.kind not in ("*", subject.kind):
            return False
        if not rule.pattern or not subject.targets:
            return not rule.pattern
        if subject.kind == "execute":  # the paths are only what the command works on
            return all(_fits_plainly(command, rule.pattern) for command in subject.commands)
        return all(self._fits_path(path, rule.pattern) for path in subject.paths)

    def _fits_path(self, path: str, pattern: str) -> bool:
        start = "" if pattern.startswith("/") else f"{self._cwd}/"
        return fnmatchcase(path, start + _glob(pattern))


def _glob(pattern: str) -> str:
    """Return a pattern in which only `*` and `?` mean something."""
    return pattern.replace("[", "[[]")


def _fits(text: str, pattern: str) -> bool:
    return fnmatchcase(text, _glob(pattern))


def _fits_plainly(command: str, pattern: str) -> bool:
    return command == pattern or (_SHELL.search(command) is None and _fits(command, pattern))


def _pieces(command: str) -> Iterator[str]:
    """Yield all that may be a command in a command, quoted or not."""
    quoted, bare = _QUOTES.sub(";", command), _QUOTES.sub("", command)
    for piece in (command, *_SHELL.split(command), *_SHELL.split(quoted), *_SHELL.split(bare)):
        yield " ".join(piece.split())


def choose(options: Sequence[v2.PermissionOption], decision: Decision) -> str | None:
    """Return the option for a decision; None if there is none that says only this.

    A rule allows what is asked now, never more: "always" is for the user to say.
    """
    kinds = ("allow_once",) if decision == "allow" else ("reject_once", "reject_always")
    for kind in kinds:
        for option in options:
            if option.kind == kind:
                return option.option_id
    return None
