"""What a command line runs, as a name.

A command often begins with a runner (`python agent.py`, `npx @scope/thing@1.2 acp`, `uv run
agent.py`). It is then named after the program that it runs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

_RUNNER = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|bunx|npx|pnpx|pnpm|npm|yarn|uv|uvx|pipx|ruby"
    r"|perl|php|java|env|nohup|exec"
)
_RUNNERS_WORDS = frozenset({"run", "exec", "dlx", "x", "tool"})
_WITH_VALUE = frozenset({"--from", "--with", "--python", "--package", "-p", "--directory", "-W"})
"""Options of runners that take a value other than the program."""
_ENDINGS = frozenset({".py", ".pyz", ".js", ".mjs", ".cjs", ".ts", ".rb", ".sh", ".jar", ".exe"})
_VARIABLE = re.compile(r"\w+=(?!=)")


def program_name(command: Sequence[str]) -> str:
    """Return the name of the program that a command runs; empty if there is none."""
    program = PurePath(command[0]).name if command else ""
    if not _RUNNER.fullmatch(program.removesuffix(".exe").lower()):
        return _without_ending(program)
    rest = iter(command[1:])
    for word in rest:
        if word in ("-m", "--module"):
            return next(rest, "").partition(".")[0]
        if word in ("-c", "-e", "--eval"):
            break
        if word in _WITH_VALUE:
            next(rest, "")
        elif word[:1] != "-" and word not in _RUNNERS_WORDS and not _VARIABLE.match(word):
            return program_name([_package(word), *rest])
    return _without_ending(program)


def _package(word: str) -> str:
    """Return a package without its scope and its version; a path as it is."""
    if word.startswith(("/", ".", "~")):
        return word
    return re.split(r"(?<=.)@|[\[<>=!~;]", word.rpartition("/")[2])[0]


def _without_ending(program: str) -> str:
    path = PurePath(program)
    return path.stem if path.suffix in _ENDINGS else path.name
