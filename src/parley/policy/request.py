"""What a question for permission is about, read from the real input of its tool call.

Agents agree on little: the command is a string or a list, or a name and its arguments; a path is
called `path`, `filePath` or `abs_path`, and may be inside something else. All of these are looked
for. A title is never looked at: it is the agent's word for people and may say anything.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar
from urllib.parse import unquote, urlsplit

from msgspec import UNSET, UnsetType

from parley.schema import v2
from parley.schema.base import Unknown

from .subject import Subject

__all__ = ["Call", "subject_of"]

T = TypeVar("T")

_Fields: TypeAlias = dict[str, Any]

# What JSON is made of. Type checkers would make `list[Unknown]` of the classes themselves.
_ARRAY: Any = list
_OBJECT: Any = dict

_COMMANDS = {"command", "cmd", "commandline", "shellcommand"}
_COMMAND_LISTS = {"commands", "cmds"}
_ARGUMENTS = ("args", "arguments", "argv")
_PATHS = {
    *("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths"),
    *("abspath", "absolutepath", "absolutefilepath", "relativepath", "relativeworkspacepath"),
    *("targetfile", "targetpath", "targetdirectory", "notebookpath", "oldpath", "newpath"),
    *("source", "sourcepath", "src", "destination", "destinationpath", "dest", "dst"),
    *("dir", "directory", "dirpath", "directorypath", "folder", "root"),
}
_DIRECTORIES = {"cwd", "workdir", "workingdir", "workingdirectory"}
_CHANGES = {"changes", "filechanges"}
_CHANGING = {"edit", "delete", "move", "execute"}

MAX_PATHS = 1000
"""So many paths of a call are looked at; where there are more, no allowed path is all of them."""
MAX_PATH_CHARS = 4096
"""No system has longer ones."""


class Call(Protocol):
    """What is looked at of a tool call; `session.entries.ToolCall` is one."""

    name: str | None
    kind: v2.ToolKind
    content: list[v2.ToolCallContent]
    locations: list[v2.ToolCallLocation]
    raw_input: Any
    meta: dict[str, Any] | None


def subject_of(
    request: v2.RequestPermissionRequest,
    call: Call | None,
    cwd: str = ".",
    *,
    agent: str = "",
    session: str = "",
) -> Subject:
    """Return what is asked about.

    Args:
        request: The question.
        call: The tool call it is about, with all that was said of it; None where it is not known.
        cwd: Where a path begins that is not absolute.
        agent: What the agent is called here.
        session: The id of the session.
    """
    if call is None and isinstance(request.subject, v2.ToolCallPermissionSubject):
        call = _Told(request.subject.tool_call)
    seen = _Seen(call)
    if isinstance(request.subject, v2.CommandPermissionSubject):
        seen.commands = [request.subject.command]
        seen.directory = request.subject.cwd
        kind = "execute"
    else:
        kind = "other" if call is None else call.kind
    return Subject(
        kind=kind,
        also=seen.also(kind),
        tool=_tool(call),
        commands=tuple(seen.commands),
        cwd=_real(cwd, seen.directory) if seen.directory else "",
        paths=_resolved(cwd, seen.paths),
        mentioned=_spelled(cwd, seen.paths, seen.guesses),
        agent=agent,
        session=session,
    )


class _Told:
    """A tool call of which no more is known than one update says."""

    def __init__(self, update: v2.ToolCallUpdate) -> None:
        self.name = _said(update.name, None)
        self.kind = _said(update.kind, "other")
        self.content = _said(update.content, [])
        self.locations = _said(update.locations, [])
        self.raw_input = _said(update.raw_input, None)
        self.meta = _said(update.meta, None)


def _said(value: T | UnsetType | None, default: T) -> T:
    return default if value is None or value is UNSET else value


class _Seen:
    """What a tool call names."""

    def __init__(self, call: Call | None) -> None:
        self.commands: list[str] = []
        self.directory = ""
        self.paths: list[str] = []
        self.guesses: list[str] = []
        self._changes = False
        if call is None:
            return
        self.paths += [each.path for each in call.locations]
        self._changes = any(isinstance(each, v2.Diff) for each in call.content)
        self.paths += _changed(call.content)
        self._look(call.raw_input)
        if not self.paths and not self.commands:
            self.guesses = [each for each in _walk(call.raw_input) if _may_be_path(each)]

    def also(self, kind: str) -> tuple[str, ...]:
        """Return what it is besides what it calls itself."""
        runs = ("execute",) if self.commands and kind != "execute" else ()
        return (*runs, "edit") if self._changes and kind not in _CHANGING else runs

    def _look(self, value: Any) -> None:
        """Look through what a tool was given."""
        for item in _walk(value):
            if isinstance(item, _OBJECT):
                for key, each in item.items():
                    self._field(_plain(key), each, item)

    def _field(self, key: str, value: Any, fields: _Fields) -> None:
        words = _words(value)
        if key in _CHANGES and isinstance(value, _OBJECT):
            self.paths += value
            self._changes = True
        elif key in _COMMANDS and words:
            self.commands.append(_line(value, words, fields))
        elif key in _COMMAND_LISTS:
            self.commands += words
        elif key in _DIRECTORIES:
            self.directory = self.directory or " ".join(words)
        elif key in _PATHS:
            self.paths += words
        else:
            self.paths += [each for each in words if each[:7].lower() == "file://"]


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _walk(value: Any) -> Iterator[Any]:
    """Yield a value and all that is in it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, _ARRAY):
            waiting += item
        elif isinstance(item, _OBJECT):
            waiting += item.values()


def _words(value: Any) -> list[str]:
    """Return a text, or several; nothing for anything else."""
    items: list[Any] = value if isinstance(value, _ARRAY) else [value]
    is_text = all(isinstance(each, str) for each in items)
    return [each for each in items if each] if is_text else []


def _line(value: Any, words: list[str], fields: _Fields) -> str:
    """Return a command line from a text or its words, with the arguments that stand beside."""
    line = value if isinstance(value, str) else shlex.join(words)
    given: Any = next((fields[name] for name in _ARGUMENTS if fields.get(name)), None)
    if isinstance(given, str):
        return f"{line} {given}"
    if not isinstance(given, _ARRAY):
        return line
    program = shlex.quote(line) if isinstance(value, str) else line
    return f"{program} {shlex.join(map(str, given))}"


def _changed(content: Sequence[v2.ToolCallContent]) -> Iterator[str]:
    """Yield what diffs change."""
    diffs = (each for each in content if isinstance(each, v2.Diff))
    for change in (change for each in diffs for change in each.changes):
        if not isinstance(change, Unknown):
            yield change.path
        if isinstance(change, v2.DiffMove | v2.DiffCopy):
            yield change.old_path


def _may_be_path(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_PATH_CHARS and "\n" not in value


def _tool(call: Call | None) -> str:
    """Return the tool's name; some agents of version 1 tell it beside the protocol."""
    if call is None:
        return ""
    if call.name:
        return call.name
    for place in _walk({key: (call.meta or {}).get(key) for key in ("toolName", "claudeCode")}):
        name: Any = place.get("toolName") if isinstance(place, _OBJECT) else None
        if isinstance(name, str):
            return name
    return ""


def _local(path: str) -> str:
    """Return a path that may be written as a URI or from home on."""
    if path[:7].lower() == "file://":
        path = unquote(urlsplit(path).path)
    return os.path.expanduser(path) if path.startswith("~") else path  # noqa: PTH111


def _real(cwd: str, path: str) -> str:
    """Resolve a path; what cannot be one becomes the root, which is hardly ever allowed."""
    joined = os.path.join(os.path.abspath(cwd), _local(path))  # noqa: PTH100, PTH118
    try:
        return os.path.realpath(joined) if len(joined) <= MAX_PATH_CHARS else os.sep
    except ValueError:  # as with NUL in it
        return os.sep


def _resolved(cwd: str, paths: Sequence[str]) -> tuple[str, ...]:
    real = dict.fromkeys(_real(cwd, each) for each in paths[:MAX_PATHS])
    return (*real, os.sep) if len(paths) > MAX_PATHS else tuple(real)


def _spelled(cwd: str, paths: Sequence[str], guesses: Sequence[str]) -> tuple[str, ...]:
    """Return how paths are written where that differs, and what may be paths."""
    top = os.path.abspath(cwd)  # noqa: PTH100
    named = [*paths[:MAX_PATHS], *guesses[:MAX_PATHS]]
    written = [each for path in named for each in (path, _local(path))]
    spelled = dict.fromkeys(os.path.normpath(os.path.join(top, each)) for each in written)  # noqa: PTH118
    real = set(_resolved(cwd, paths))
    return tuple(each for each in spelled if each not in real)
