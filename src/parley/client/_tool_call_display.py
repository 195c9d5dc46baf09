"""Texts about tool calls for people: the action in words, output, and what repeats something else.

The chat and `parley run` use them. The policy does not: it examines the whole input.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from typing import Any

from parley.policy import Subject
from parley.policy._command import same, unwrapped
from parley.policy._tool_input import is_command_key, is_content_key
from parley.policy._words import split_words
from parley.schema import v2

from ._patch_reader import repeats_patch, repeats_text

# What JSON is made of. Type checkers would make `list[Unknown]` of the classes themselves.
_ARRAY: Any = list
_OBJECT: Any = dict

_MAX_TITLE_CHARS = 5_000
_MAX_JSON_CHARS = 1_000
"""The number of characters of a value that are shown next to a question as JSON."""
_MAX_COMPARED_COMMANDS = 20
_MAX_COMPARED_VALUES = 1_000
_MAX_COMMAND_CHARS = 10_000
_MAX_OUTPUT_DEPTH = 3

_ACTIONS = {
    "read": "read a file",
    "edit": "edit a file",
    "delete": "delete a file",
    "move": "move a file",
    "search": "search",
    "execute": "run a command",
    "fetch": "fetch something from the network",
    "switch_mode": "switch its mode",
}
_VERBS = {
    "read": {"read", "open", "view"},
    "edit": {"edit", "write", "change", "modify", "create", "update", "replace", "patch"},
    "delete": {"delete", "remove"},
    "move": {"move", "rename"},
    "search": {"search", "find"},
    "execute": {"run", "execute", "command"},
    "fetch": {"fetch", "download", "open"},
    "switch_mode": {"switch", "mode"},
}
_WORD = re.compile(r"[a-z]+")

_FENCE = re.compile(r"(`{3,})[^\n`]*\n(.*?)\n?[ \t]*\1", re.DOTALL)
_INLINE_FENCE = re.compile(r"`{3,}([^`\n]+)`{3,}")

_JOINED = re.compile(r"""(?:[\w@%+=:,./~>*? \t\n;&|-]|'[^'\n;&|]*'|"[^"\n;&|$`\\]*")*""", re.ASCII)
"""A line that can be split into commands without a shell."""
_OPERATOR = re.compile(r"&&|\|\||[;&|\n]")
_LABEL = re.compile(r"[A-Za-z]+(?:[_-][A-Za-z]+)*")
_OUTPUT_KEYS = (
    *("formatted_output", "formattedOutput", "aggregated_output", "aggregatedOutput"),
    *("output", "stdout", "text", "result", "content"),
)
_EXIT_KEYS = ("exit_code", "exitCode", "exit")


def describe_action(subject: Subject) -> str:
    """Return the action that a permission is for, such as `run a command`; empty if unknown."""
    return _ACTIONS.get(_kind_of(subject), "")


def names_action(title: str, subject: Subject) -> bool:
    """Return whether a title itself asks for the action, such as `Run command?`."""
    words = set(_WORD.findall(title[:_MAX_TITLE_CHARS].lower()))
    is_question = title.rstrip().endswith("?")
    return is_question and not words.isdisjoint(_VERBS.get(_kind_of(subject), ()))


def _kind_of(subject: Subject) -> str:
    if subject.runs:
        return "execute"
    return "edit" if subject.kind not in _ACTIONS and "edit" in subject.also else subject.kind


def clean_title(title: str) -> str:
    """Return a title without the Markdown code marks around commands and paths."""
    if len(title) > _MAX_TITLE_CHARS:
        return title
    title = _INLINE_FENCE.sub(r"\1", _FENCE.sub(r"\2", title)).strip()
    is_code = len(title) > 2 and title[0] == title[-1] == "`" and title.count("`") == 2
    return title[1:-1] if is_code else title


def without_fence(text: str) -> tuple[str, str]:
    """Return a text that is one Markdown code block as its code and its language.

    Any other text is returned as it is, without a language.
    """
    first, _, rest = text.strip("\n").partition("\n")
    rest = rest.rstrip()
    if not first.startswith("```") or not rest.endswith("```") or "```" in rest[:-3]:
        return text, ""
    return rest[:-3].rstrip("\n"), first[3:].strip()


def distinct_commands(commands: Sequence[str]) -> list[str]:
    """Return commands without those that another one of them contains, so that each shows once.

    Agents send one command in several forms: as a line and as words, with and without the shell
    that runs it, whole and in parts. Everything else is kept.
    """
    kept = list(commands)
    if len(kept) > _MAX_COMPARED_COMMANDS:
        return kept
    for command in commands:
        others = [each for each in kept if each != command]
        before = kept[: kept.index(command)]
        if any(_contains(each, command, is_before=each in before) for each in others):
            kept.remove(command)
    return kept


def _contains(whole: str, command: str, *, is_before: bool) -> bool:
    """Return whether showing one command shows another one as well."""
    if max(len(whole), len(command)) > _MAX_COMMAND_CHARS:
        return False
    inner = unwrapped(whole)
    if command == inner or (inner is not None and command in _joined_commands(inner)):
        return True
    if is_before and unwrapped(command) != whole and same(whole, command):
        return True
    words = split_words(whole)
    return words is not None and command == shlex.join(words)


def _joined_commands(line: str) -> list[str]:
    """Return the commands of a line that joins several; none if only a shell can read it."""
    if not _JOINED.fullmatch(line):
        return []
    parts = [part.strip() for part in _OPERATOR.split(line)]
    return parts if len(parts) > 1 else []


def repeats_shown(
    name: str, value: Any, commands: Sequence[str], shown: Collection[str], diffs: Sequence[v2.Diff]
) -> bool:
    """Return whether a field of a tool's input only repeats what is shown next to a question.

    Args:
        name: The name of the field; empty for an input that is not an object.
        value: The value of the field.
        commands: All commands of the question, as the policy sees them.
        shown: Other texts that are shown, such as the directory and paths.
        diffs: The diffs that are shown.
    """
    if not isinstance(value, str):
        return _repeats_commands(value, commands, is_command=is_command_key(name))
    if value in commands or value in shown or repeats_patch(value, diffs):
        return True
    if is_command_key(name):
        return any(each.startswith(f"{value} ") for each in commands)
    return is_content_key(name) and repeats_text(value, diffs)


def _repeats_commands(value: Any, commands: Sequence[str], *, is_command: bool) -> bool:
    """Return whether a list or an object has commands and labels of them, and nothing else."""
    has_command = is_command
    waiting: list[tuple[str, Any]] = [("", value)]
    count = 0
    while waiting:
        key, item = waiting.pop()
        count += 1
        if count > _MAX_COMPARED_VALUES:
            return False
        if isinstance(item, _ARRAY):
            if _joined_words(item) in commands:
                has_command = True
            else:
                waiting += [(key, each) for each in item]
        elif isinstance(item, _OBJECT):
            waiting += item.items()
        elif isinstance(item, str):
            is_label = key in ("type", "kind") and _LABEL.fullmatch(item)
            if not is_label and not any(item in each for each in commands):
                return False
            has_command = has_command or item in commands
        elif item is not None:
            return False
    return has_command and bool(commands) and bool(value)


def _joined_words(items: list[Any]) -> str | None:
    """Return a command line from words; None if the items are not words."""
    return shlex.join(items) if all(isinstance(each, str) for each in items) else None


def shorten_json(text: str) -> str:
    """Return JSON as far as it is shown next to a question, with the length of the rest."""
    hidden = len(text) - _MAX_JSON_CHARS
    return text if hidden <= 0 else f"{text[:_MAX_JSON_CHARS]}\n… {hidden:,} more characters"


def raw_output_text(value: Any, depth: int = 0) -> str:
    """Return the text in the raw output of a tool, as most agents send it; empty if none is found.

    Args:
        value: The raw output: a text, an object with the output and the exit code of a command, or
            the content blocks of an MCP tool.
        depth: The number of values around it.
    """
    if isinstance(value, str):
        return value
    if depth > _MAX_OUTPUT_DEPTH:
        return ""
    if isinstance(value, _ARRAY):
        texts = [raw_output_text(each, depth + 1) for each in value[:_MAX_COMPARED_VALUES]]
        return "\n".join(filter(None, texts))
    if not isinstance(value, _OBJECT):
        return ""
    texts = [raw_output_text(value.get(key), depth + 1) for key in _OUTPUT_KEYS]
    parts = [next(filter(None, texts), "")]
    stderr: Any = value.get("stderr")
    if isinstance(stderr, str) and stderr.strip() not in parts[0]:
        parts.append(stderr)
    codes = [value.get(key) for key in _EXIT_KEYS]
    code = next((each for each in codes if type(each) is int), 0)
    if code:
        parts.append(f"exit code {code}")
    return "\n".join(part.rstrip("\n") for part in parts if part)
