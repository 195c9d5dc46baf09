"""Reads the input of a tool call: commands, directories, paths, and every other string.

Agents agree on little: the command is a string or a list, or a name and its arguments; a path is
called `path`, `filePath` or `abs_path`, and may be inside something else. Known keys are looked for
at any depth, also in JSON within a string. Every string under another key is kept as text, which
rules that ask or deny examine as well. Left out are only contents of files and diffs; the files
that a diff names are paths.

Whether a key such as `content` is the content of a file is decided by the kind of the tool: it is
in an edit, and beside a path in a tool of a kind that is not known, but never beside a command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from ._executed_later import is_executed_later

MAX_VALUES = 10_000
"""The maximum number of values of an input that is read to its end."""
_MAX_JSON_CHARS = 256 * 1024

# What JSON is made of. Type checkers would make `list[Unknown]` of the classes themselves.
_ARRAY: Any = list
_OBJECT: Any = dict

_COMMANDS = {
    *("command", "cmd", "commandline", "shellcommand", "shellcmd", "bashcommand", "fullcommand"),
    *("script", "shellscript", "bash", "powershell", "code", "sourcecode", "argv"),
    *("program", "executable", "exe", "exec", "run", "eval"),
}
_RUNNING = _COMMANDS - {"code"}
"""Those that are a command whatever stands beside them; code beside a path is a content."""
_COMMAND_LISTS = {"commands", "cmds", "scripts", "shellcommands", "commandlines"}
_ARGUMENTS = ("args", "arguments", "argv", "params", "parameters")
_ENVIRONMENTS = {"env", "envs", "environment", "envvars", "environmentvariables", "variables"}
_PATHS = {
    *("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths"),
    *("abspath", "absolutepath", "absolutefilepath", "relativepath", "relativeworkspacepath"),
    *("targetfile", "targetpath", "targetdirectory", "notebookpath", "oldpath", "newpath"),
    *("source", "sourcepath", "src", "destination", "destinationpath", "dest", "dst"),
    *("dir", "directory", "dirpath", "directorypath", "folder", "root", "movepath"),
}
_PATH_KEY = re.compile(
    r"(path|file|filename|dir|directory|folder|location)s?\Z|\A(out|output|saveas|to|from|target)\Z"
)
_DIRECTORIES = {"cwd", "workdir", "workingdir", "workingdirectory"}
_CHANGES = {"changes", "filechanges"}
_DIFFS = {"diff", "patch", "unifieddiff", "diffs", "patches"}
_CONTENTS = {
    *("content", "contents", "filecontent", "filecontents", "newcontent", "oldcontent", "text"),
    *("filetext", "oldstring", "newstring", "oldstr", "newstr", "oldtext", "newtext", "body"),
    *("inserttext", "insertion", "replacement", "replace", "search", "find", "original", "code"),
    *("modified", "updated", "newsource", "oldsource", "codeedit", "snippet", "lines", "data"),
    *_DIFFS,
}
"""Keys of contents of files, where a tool has contents of files."""
_PROSE = {
    *("description", "explanation", "reason", "justification", "title", "summary", "intent"),
    *("instruction", "instructions", "rationale", "comment", "thought", "message", "purpose"),
}
_LABEL_KEY = re.compile(
    r"(id|type|kind|mode|status|version|format|encoding|language|permissions)\Z"
)
_LABEL = re.compile(r"[\w.:-]{0,128}", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w-]{0,63}", re.ASCII)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PATCH = re.compile(r"\s*(\*\*\* Begin Patch|diff --git |--- \S)")
_PATCHED = re.compile(
    r"^(?:\+\+\+ |--- |rename (?:from|to) |copy (?:from|to) |Index: |"
    r"[ \t]*\*\*\* (?:Add|Update|Delete) File: |[ \t]*\*\*\* Move to: )([^\t\r\n]+)",
    re.MULTILINE,
)
_GIT_HEADER = re.compile(r"^diff --git ([^\t\r\n]+)", re.MULTILINE)


def is_command_key(key: str) -> bool:
    """Return whether a key of an input is one of a command, or of its arguments."""
    name = _plain(key)
    return name in _COMMANDS or name in _COMMAND_LISTS or name in _ARGUMENTS


def is_content_key(key: str) -> bool:
    """Return whether a key of an input may be one of the content of a file."""
    return _plain(key) in _CONTENTS


class _Item(NamedTuple):
    """A value on the way, and where it stands."""

    key: str
    value: Any
    has_path: bool
    """Whether it is within something that names a file."""
    is_content: bool = False
    """Whether it is a list of contents of files."""
    label: str = ""
    """The key as it is written."""


class ToolInput:
    """The contents of the input of a tool call."""

    def __init__(self, value: Any, kind: str) -> None:
        """Read an input.

        Args:
            value: The input, as it came.
            kind: The kind of the tool call.
        """
        self.commands: list[str] = []
        self.directories: list[str] = []
        self.paths: list[str] = []
        self.texts: dict[str, None] = {}
        self.unknown: dict[str, None] = {}
        """Keys whose strings may be anything."""
        self.path_like: list[str] = []
        """Strings that may be paths by their keys."""
        self.changes_files = False
        self.unclear = ""
        self._kind = kind
        self._count = 0
        self._waiting: list[_Item] = [_Item("command" if kind == "execute" else "", value, False)]
        while self._waiting:
            self._count += 1
            if self._count > MAX_VALUES:
                self.unclear = f"its input has more than {MAX_VALUES:,} values"
                break
            self._read(self._waiting.pop())

    def _read(self, item: _Item) -> None:
        if isinstance(item.value, _OBJECT):
            self._object(item)
        elif isinstance(item.value, _ARRAY):
            self._array(item)
        elif isinstance(item.value, str) and item.value:
            self._text(item)

    def _object(self, item: _Item) -> None:
        fields: Mapping[str, Any] = item.value
        if len(fields) > MAX_VALUES:
            fields = dict(islice(fields.items(), MAX_VALUES + 1))
        plain = {_plain(key): value for key, value in fields.items()}
        runs = not plain.keys().isdisjoint(_RUNNING)
        is_composed = runs and len(plain) == len(fields)
        if len(plain) < len(fields):
            self.unclear = self.unclear or "its input has keys that differ only in spelling"
        has_path = item.has_path or not plain.keys().isdisjoint(_PATHS)
        if item.key in _CHANGES:
            self.paths += fields
            self.changes_files = has_path = True
        pending: list[_Item] = []
        for key, value in fields.items():
            name = _plain(key)
            is_name = _IDENTIFIER.fullmatch(key) and not is_executed_later(key)
            if not is_name and item.key not in _CHANGES:
                self.texts[key] = None
            if item.key in _ENVIRONMENTS:
                self.unknown[key] = None  # whatever it is called, `PATH` is not a path
            if self._is_content(name, has_path=has_path, runs=runs):
                self._content(name, value, pending)
            elif not (is_composed and _belongs_to_command(name, plain)):
                pending.append(_Item(name, value, has_path, label=key))
        if is_composed:
            self._compose(plain, pending)
        self._waiting += reversed(pending)

    def _compose(self, plain: Mapping[str, Any], pending: list[_Item]) -> None:
        """Make lines of commands, their variables before them and their arguments after them."""
        given = _arguments(plain)
        commands = [name for name in plain if name in _COMMANDS and name not in given]
        for name in (*commands, *given):
            if _words(plain[name]) is None:
                self.unclear = self.unclear or f"{name!r} in its input is not a list of words"
                pending.append(_Item("", plain[name], False))
        before = self._variables(plain)
        for name in commands:
            for argument in [plain[each] for each in given] or [None]:
                if line := _line(plain[name], argument):
                    self.commands.append(" ".join([*before, line]))

    def _variables(self, plain: Mapping[str, Any]) -> list[str]:
        """Return the variables that a command is given, as a shell would read them."""
        found: list[tuple[str, Any]] = []
        for name in _ENVIRONMENTS & plain.keys():
            value = plain[name]
            items: Sequence[Any] = value if isinstance(value, _ARRAY) else [value] if value else []
            found += value.items() if isinstance(value, _OBJECT) else map(_pair, items)
        if not all(
            _VARIABLE.fullmatch(name) and _scalar(value) is not None for name, value in found
        ):
            self.unclear = self.unclear or "its input has variables that are not understood"
        return [f"{name}={shlex.quote(_scalar(value) or '')}" for name, value in found]

    def _is_content(self, name: str, *, has_path: bool, runs: bool) -> bool:
        if name not in _CONTENTS or runs or self._kind == "execute":
            return False
        is_edit = self._kind == "edit" and (has_path or name not in _COMMANDS)
        is_open = self._kind not in ("read", "search", "fetch", "think", "delete", "move")
        return is_edit or (is_open and has_path)

    def _content(self, name: str, value: Any, pending: list[_Item]) -> None:
        """Leave a content out, except for the files that a diff names."""
        if isinstance(value, str) and (name in _DIFFS or _PATCH.match(value)):
            self._diff(value)
        elif isinstance(value, _ARRAY | _OBJECT):
            pending.append(_Item(name, value, has_path=True, is_content=True))

    def _diff(self, text: str) -> None:
        self.changes_files = True
        names = [found[1].strip() for found in _PATCHED.finditer(text)]
        for header in _GIT_HEADER.finditer(text):
            names += _git_names(header[1].strip())
        for name in names:
            path = name.strip('"')
            if path != name and "\\" in path:
                self.unclear = self.unclear or "its diff has escaped names of files"
            if path != "/dev/null":
                self.paths.append(path[2:] if path[:2] in ("a/", "b/") else path)

    def _array(self, item: _Item) -> None:
        items: Sequence[Any] = item.value[: MAX_VALUES + 1]
        words = _words(items)
        if item.key in _COMMANDS:
            self.commands += filter(None, [shlex.join(_scalars(items))])
            if words is not None:
                return
            self.unclear = self.unclear or f"{item.key!r} in its input is not a list of words"
        elif words and len(words) > 1 and item.key not in _PATHS and not item.is_content:
            self.texts[" ".join(words)] = None  # a command may be given word by word
        key = "command" if item.key in _COMMAND_LISTS else item.key
        self._waiting += (item._replace(key=key, value=each) for each in reversed(items))

    def _text(self, item: _Item) -> None:
        key, text = item.key, item.value
        if item.is_content:
            return
        if key in _COMMANDS:
            self.commands.append(text)
        elif key in _DIRECTORIES:
            self.directories.append(text)
        elif key in _PATHS or text[:7].lower() == "file://":
            self.paths.append(text)
        elif (inner := _json(text)) is not None:
            self._waiting.append(item._replace(value=inner))
        else:
            self._other_text(key, text, item.label)

    def _other_text(self, key: str, text: str, label: str) -> None:
        if _PATCH.match(text):
            self._diff(text)
            if self._kind == "edit":
                return
        self.texts[text] = None
        if _PATH_KEY.search(key):
            self.path_like.append(text)
        is_label = _LABEL_KEY.search(key) and _LABEL.fullmatch(text)
        if key not in _PROSE and not is_label:
            self.unknown[label] = None


def _git_names(header: str) -> list[str]:
    """Return the two names after `diff --git`; the only names in a change of a file's mode."""
    old, space, new = header.partition(" b/" if " b/" in header else ' "b/')
    return [old, f"b/{new}"] if space else header.split()


def _arguments(plain: Mapping[str, Any]) -> list[str]:
    """Return the fields with arguments of a command that stands beside them."""
    has_command = any(name in _COMMANDS and name != "argv" for name in plain)
    return [name for name in _ARGUMENTS if plain.get(name)] if has_command else []


def _belongs_to_command(name: str, plain: Mapping[str, Any]) -> bool:
    """Return whether a field is part of a command line that another field of it begins."""
    return name in _COMMANDS or name in _ENVIRONMENTS or name in _arguments(plain)


def _words(value: Any) -> list[str] | None:
    """Return a text, or a list of texts and numbers, as words; None if it is something else."""
    items: Sequence[Any] = value if isinstance(value, _ARRAY) else [value]
    words = [_scalar(each) for each in items]
    return None if None in words else [each for each in words if each]


def _scalars(value: Any) -> list[str]:
    """Return all texts and numbers in a value, in their order."""
    found: list[str] = []
    waiting = [value]
    while waiting and len(found) < MAX_VALUES:
        item = waiting.pop()
        if isinstance(item, _ARRAY):
            waiting += reversed(item)
        elif isinstance(item, _OBJECT):
            waiting += reversed(list(item.values()))
        elif word := _scalar(item):
            found.append(word)
    return found


def _line(value: Any, argument: Any) -> str:
    """Return a command line from a text or its words, with the arguments that stand beside."""
    line = value if isinstance(value, str) else shlex.join(_scalars(value))
    if isinstance(argument, str) or not line:
        return f"{line} {argument or ''}".strip()
    given = _scalars(argument)
    if not given:
        return line
    program = shlex.quote(line) if isinstance(value, str) else line
    return f"{program} {shlex.join(given)}"


def _pair(item: Any) -> tuple[str, Any]:
    """Return the name and the value of a variable in a list."""
    if isinstance(item, _OBJECT):
        fields: Mapping[str, Any] = item
        return str(fields.get("name", fields.get("key", ""))), fields.get("value")
    name, _, value = str(item).partition("=")
    return name, value


def _json(text: str) -> Any:
    """Return the object or the array that a text holds as JSON; None if it holds none."""
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _MAX_JSON_CHARS:
        return None
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, _ARRAY | _OBJECT) else None


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _scalar(value: Any) -> str | None:
    """Return a string or a number as a word; None for anything else."""
    if isinstance(value, bool | None):
        return ""
    return str(value) if isinstance(value, str | int | float) else None
