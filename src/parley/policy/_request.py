"""The subject of a permission request, read from the real input of its tool call.

How the input is read is in `_tool_input.py`. A title is never looked at: it is the agent's word for
people and may say anything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from msgspec import UNSET, UnsetType

from parley.schema import v2
from parley.schema.base import Unknown

from ._evidence import MAX_PATHS, real_path
from ._subject import SMALL_CHARS, SMALL_VALUES, Subject
from ._tool_input import ToolInput

T = TypeVar("T")

# What JSON is made of. Type checkers would make `list[Unknown]` of the classes themselves.
_ARRAY: Any = list
_OBJECT: Any = dict

_CHANGING = {"edit", "delete", "move", "execute"}
_MAX_NAMES = 100
_LIKE_PATH = re.compile(r"~?/|\.\.?/|\S*/\S*\Z|\.\.?\Z|\.[\w.-]+\Z|[^\n]*/\.\.(?:/|\Z)")
"""The forms of texts that may be paths."""
_SEPARATOR = re.compile(r"[^\w./\\~+%-]+")
"""Characters that may separate paths in a text, or surround one: `a .env`, `@.env`, `.env:1`."""


def is_small(call: Call | None) -> bool:
    """Return whether reading a tool call takes no time that an event loop would notice."""
    if call is None:
        return True
    changes = sum(len(each.changes) for each in call.content if isinstance(each, v2.Diff))
    if len(call.locations) + len(call.content) + changes > SMALL_VALUES:
        return False
    waiting, count, chars = [call.raw_input], 0, 0
    while waiting and count <= SMALL_VALUES and chars <= SMALL_CHARS:
        item = waiting.pop()
        count += 1
        if isinstance(item, _ARRAY | _OBJECT):
            count += len(item)
            waiting += [] if count > SMALL_VALUES else list(_inner(item))
        elif isinstance(item, str):
            chars += len(item)
    return count <= SMALL_VALUES and chars <= SMALL_CHARS


def _inner(item: Any) -> Iterator[Any]:
    if isinstance(item, _OBJECT):
        yield from item
        yield from item.values()
    else:
        yield from item


class Call(Protocol):
    """The parts of a tool call that are examined; `ToolCallEntry` has them."""

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
    agent_id: str = "",
) -> Subject:
    """Return the subject of a permission request.

    Args:
        request: The question.
        call: The tool call, with all its updates; None if it is not known.
        cwd: Where a path begins that is not absolute.
        agent: What the agent is called here.
        session: The id of the session.
        agent_id: Identifies the agent, see `Subject`.
    """
    if call is None and isinstance(request.subject, v2.ToolCallPermissionSubject):
        call = _Told(request.subject.tool_call)
    kind = "other" if call is None else call.kind
    commands: list[str] = []
    if isinstance(request.subject, v2.CommandPermissionSubject):
        commands, kind = [request.subject.command], "execute"
    read = ToolInput(None if call is None else call.raw_input, kind)
    commands = list(dict.fromkeys([*commands, *read.commands]))
    content: Sequence[v2.ToolCallContent] = [] if call is None else call.content
    paths = [] if call is None else [each.path for each in call.locations]
    paths += [*_changed(content), *read.paths]
    changes = read.changes_files or any(isinstance(each, v2.Diff) for each in content)
    directory, others = _directory(request, read)
    paths += others
    real = _resolved(cwd, paths)
    pieces = _pieces(cwd, paths)
    return Subject(
        kind=kind,
        also=_also(kind, runs=bool(commands), changes=changes),
        tool=_tool(call),
        commands=tuple(commands),
        cwd=_real(cwd, directory) if directory else "",
        paths=real,
        possible=_possible(cwd, read),
        mentioned=_spelled(cwd, [*paths, *pieces], real),
        texts=tuple(read.texts),
        unknown=tuple(read.unknown),
        unclear=read.unclear or _unclear(request, content, [*paths, *pieces], read.texts),
        agent=agent,
        session=session,
        agent_id=agent_id,
    )


def _directory(request: v2.RequestPermissionRequest, read: ToolInput) -> tuple[str, list[str]]:
    """Return where commands run, and the other directories that are named for that."""
    directories = list(dict.fromkeys(read.directories))
    if isinstance(request.subject, v2.CommandPermissionSubject) and request.subject.cwd:
        directories = list(dict.fromkeys([request.subject.cwd, *directories]))
    return (directories[0], directories[1:]) if directories else ("", [])


def _also(kind: str, *, runs: bool, changes: bool) -> tuple[str, ...]:
    """Return what a call is besides what it calls itself."""
    also = ("execute",) if runs and kind != "execute" else ()
    return (*also, "edit") if changes and kind not in _CHANGING else also


def _unclear(
    request: v2.RequestPermissionRequest,
    content: Sequence[v2.ToolCallContent],
    paths: Sequence[str],
    texts: Iterable[str],
) -> str:
    """Return why a question is not understood; empty if it is."""
    if any("\0" in each for each in (*paths, *texts)):
        return "it has a text with a NUL character, where some programs stop reading"
    if isinstance(request.subject, Unknown):
        return "it is about something that is not known here"
    changes = (change for each in content if isinstance(each, v2.Diff) for change in each.changes)
    if any(isinstance(each, Unknown) for each in changes):
        return "it has a diff of a kind that is not known here"
    return f"it names more than {MAX_PATHS:,} paths" if len(paths) > MAX_PATHS else ""


class _Told:
    """A tool call of which only a single update is known."""

    def __init__(self, update: v2.ToolCallUpdate) -> None:
        self.name = _said(update.name, None)
        self.kind = _said(update.kind, "other")
        self.content = _said(update.content, [])
        self.locations = _said(update.locations, [])
        self.raw_input = _said(update.raw_input, None)
        self.meta = _said(update.meta, None)


def _said(value: T | UnsetType | None, default: T) -> T:
    return default if value is None or value is UNSET else value


def _changed(content: Sequence[v2.ToolCallContent]) -> Iterator[str]:
    """Yield what diffs change."""
    diffs = (each for each in content if isinstance(each, v2.Diff))
    for change in (change for each in diffs for change in each.changes):
        if not isinstance(change, Unknown):
            yield change.path
        if isinstance(change, v2.DiffMove | v2.DiffCopy):
            yield change.old_path


def _tool(call: Call | None) -> str:
    """Return the tool's name; some agents of version 1 send it outside the protocol."""
    if call is None:
        return ""
    if call.name:
        return call.name
    meta = call.meta or {}
    inner: Any = meta.get("claudeCode")
    for place in (meta, inner if isinstance(inner, _OBJECT) else {}):
        name: Any = place.get("toolName")
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
    top = os.path.abspath(cwd)  # noqa: PTH100
    return real_path(top, os.path.join(top, _local(path)))  # noqa: PTH118


def _resolved(cwd: str, paths: Sequence[str]) -> tuple[str, ...]:
    real = dict.fromkeys(_real(cwd, each) for each in paths[:MAX_PATHS])
    return (*real, os.sep) if len(paths) > MAX_PATHS else tuple(real)


def _possible(cwd: str, read: ToolInput) -> tuple[str, ...]:
    """Return the texts that may be paths: by their key, by their form, or because they exist."""
    texts = list(islice(read.texts, _MAX_NAMES))
    like = [each for each in texts if _LIKE_PATH.match(each) or _exists(cwd, each)]
    found = dict.fromkeys(_real(cwd, each) for each in [*read.path_like[:_MAX_NAMES], *like])
    is_more = len(read.texts) > _MAX_NAMES or len(read.path_like) > _MAX_NAMES
    return (*found, os.sep) if is_more else tuple(found)


def _exists(cwd: str, text: str) -> bool:
    if len(text) > 255 or "\0" in text or text in (".", ""):
        return False
    try:
        return os.path.lexists(os.path.join(cwd, text))  # noqa: PTH118 - a link counts, too
    except (OSError, ValueError):
        return False


def _pieces(cwd: str, paths: Sequence[str]) -> list[str]:
    """Return what a tool may take for paths if a string that should be one path has several.

    A string that names an existing file means that file. If there are more than `MAX_PATHS`, the
    rest is left out.
    """
    pieces: dict[str, None] = {}
    for path in paths[:MAX_PATHS]:
        local = _local(path)
        split = dict.fromkeys(each for each in _SEPARATOR.split(local) if each)
        found = list(split)[: MAX_PATHS + 1]
        if found == [local] or _exists(cwd, local) or len(pieces) > MAX_PATHS:
            continue
        pieces |= dict.fromkeys(found)
        pieces |= dict.fromkeys(filter(os.path.isabs, (_linked(cwd, each) for each in found)))
    return list(pieces)


def _linked(cwd: str, path: str) -> str:
    """Return where a path leads through symlinks; empty if there are none in it."""
    real = _real(cwd, path)
    return "" if real == os.path.normpath(os.path.join(os.path.realpath(cwd), path)) else real  # noqa: PTH118


def _spelled(cwd: str, paths: Sequence[str], real: Sequence[str]) -> tuple[str, ...]:
    """Return how paths are written where that differs."""
    top = os.path.abspath(cwd)  # noqa: PTH100
    written = [each for path in paths[:MAX_PATHS] for each in (path, _local(path))]
    known = set(real)
    spelled = dict.fromkeys(os.path.normpath(os.path.join(top, each)) for each in written)  # noqa: PTH118
    return tuple(each for each in spelled if each not in known)
