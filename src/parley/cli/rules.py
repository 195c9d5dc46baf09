"""The rules of `--allow` and `--deny`: which permission is given without asking.

A rule is `KIND` or `KIND:PATTERN`. The kind is a tool call's: `read`, `edit`, `execute` and so on,
or `*` for any. The pattern, with `*` and `?`, is compared with the command that would run, or with
the paths that the tool call names, from `--cwd` on. What denies counts before what allows, and in
doubt a rule denies and does not allow: an `allow` with a pattern fits no command that a shell would
take apart, and none that the agent does not name.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from parley.schema import v2
from parley.session.entries import ToolCall

from .exits import Exit, Failure

__all__ = ["Rule", "Rules", "Subject", "choose", "read_rule", "subject_of"]

Decision: TypeAlias = Literal["allow", "deny"]

_KINDS = (
    *("*", "read", "edit", "delete", "move", "search", "execute", "think", "fetch"),
    *("switch_mode", "other"),
)
_SHELL = re.compile(r"[;&|`$()<>\n\\]+")


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


def read_rule(text: str) -> Rule:
    """Read a rule of the command line.

    Raises:
        Failure: There is no such kind.
    """
    kind, _, pattern = text.partition(":")
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise Failure(f"there is no kind {kind!r} in the rule {text!r}; use {known}", Exit.USAGE)
    return Rule(kind, pattern)


def subject_of(request: v2.RequestPermissionRequest, call: ToolCall | None) -> Subject:
    """Return what is asked about.

    Args:
        request: The question.
        call: The tool call it is about, with all that is known of it.
    """
    if isinstance(request.subject, v2.CommandPermissionSubject):
        return Subject("execute", commands=(request.subject.command,))
    if call is None:
        return Subject("other")
    paths = tuple(os.path.realpath(each.path) for each in call.locations)
    commands = _commands(call.raw_input) if call.kind == "execute" else ()
    return Subject(call.kind, commands=commands, paths=paths)


class _Input(Struct):
    command: str | list[str]


def _commands(raw_input: Any) -> tuple[str, ...]:
    """Find the command in what a tool is given; agents agree on the name of the field at least."""
    try:
        command = msgspec.convert(raw_input, _Input).command
    except msgspec.ValidationError:
        return ()
    return (command if isinstance(command, str) else " ".join(command),)


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
        pieces = [
            piece.strip()
            for command in subject.commands
            for piece in (command, *_SHELL.split(command))
        ]
        targets = [
            *(fnmatchcase(piece, rule.pattern) for piece in pieces),
            *(fnmatchcase(path, self._from_cwd(rule.pattern)) for path in subject.paths),
        ]
        return not rule.pattern or not targets or any(targets)

    def _allows(self, rule: Rule, subject: Subject) -> bool:
        if rule.kind not in ("*", subject.kind):
            return False
        targets = [
            *(_fits_plainly(command, rule.pattern) for command in subject.commands),
            *(fnmatchcase(path, self._from_cwd(rule.pattern)) for path in subject.paths),
        ]
        if subject.commands:  # the paths are only what the command works on
            targets = targets[: len(subject.commands)]
        return not rule.pattern or (bool(targets) and all(targets))

    def _from_cwd(self, pattern: str) -> str:
        return pattern if pattern.startswith("/") else f"{self._cwd}/{pattern}"


def _fits_plainly(command: str, pattern: str) -> bool:
    if command == pattern:
        return True
    return _SHELL.search(command) is None and fnmatchcase(command, pattern)


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
