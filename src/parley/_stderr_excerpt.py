"""The lines of a program's stderr that say why it has failed.

Programs log to stderr, and most of what they log is not the reason why they ended. A crash prints
its reason together with a stack trace, before it (Go, Node.js, Rust) or after it (Python). So the
lines that look like errors are chosen, without log lines below a warning, stack frames and colors.
If none looks like an error, or there are only a few lines, the last lines are shown as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from parley._display_text import sanitize_text

__all__ = ["stderr_excerpt"]

_READ_CHARS = 16 * 1024
_MAX_CHARS = 4000
_MAX_LINES = 20
"""The number of last lines that are shown if none looks like an error."""
_MAX_ERRORS = 10
_FEW_LINES = 5
"""This many lines are shown whole: what does not look like an error may explain one."""

_COLOR = re.compile(r"\x1b\[[0-9;:]*[mK]")
_LEVEL = re.compile(
    r"""\b(?:(?P<noise>TRACE|DEBUG|INFO|VERBOSE|NOTICE)|WARN|WARNING|ERROR|FATAL|CRITICAL)\b
      |^\W*(?P<prefix>trace|debug|info|verbose|notice)[\]>):]
      |^npm\ (?P<npm>notice|info|verb)\b
      |\blevel"?[=:]\s*"?(?P<field>trace|debug|info)\b
    """,
    re.VERBOSE,
)
"""The level of a log line; the named groups are the levels below a warning."""
_ERROR = re.compile(
    r"error|exception|panic|fatal|fail|abort|uncaught|unhandled|out of memory|segmentation fault"
    r"|signal sig|cannot|could not|denied|not found|\bERR\b",
    re.IGNORECASE,
)
_FRAME = re.compile(r"\s+(?:at\s|File \"|\d+:\s)|\s*\^+\s*$|\s*throw\s|(?:node:|file:///?)\S+:\d+$")
"""A line of a stack trace, or the source line that Node.js prints before it."""
_TRACEBACK = re.compile(r"[\s|+]*(?:Exception Group )?Traceback \(most recent call last\):")
_GOROUTINE = re.compile(r"goroutine \d+ .*\[")
_CHAIN = ("The above exception was", "During handling of the above exception")
"""The prefixes of lines between two tracebacks."""
_Trace: TypeAlias = Literal["", "traceback", "goroutine", "cause", "panic"]
"""What a line may belong to: a traceback of Python, the stack of a goroutine, the causes of an
error in Rust, or a panic in Rust, whose message follows its place."""


def stderr_excerpt(stderr: str) -> str:
    """Return the last lines of stderr that look like errors, sanitized; else the last lines.

    Args:
        stderr: The last part of what a program has written, as it has written it.
    """
    # A line that a carriage return begins again is seen as a terminal shows it at the end.
    raw = _COLOR.sub("", stderr[-_READ_CHARS:]).replace("\r\n", "\n").rstrip().split("\n")
    lines = [line.rstrip().rpartition("\r")[2] for line in raw]
    quiet = [line for line in lines if line.strip() and not _is_noise(line)]
    if len(quiet) > _FEW_LINES and (errors := list(dict.fromkeys(_errors(lines)))):
        chosen = errors[-_MAX_ERRORS:]
    else:
        chosen = (quiet or lines)[-_MAX_LINES:]
    return sanitize_text("\n".join(chosen)[-_MAX_CHARS:]).strip("\n")


def _is_noise(line: str) -> bool:
    """Return whether a line was logged below the level of a warning."""
    level = _LEVEL.search(line[:200])
    return level is not None and level.lastgroup is not None


def _errors(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines that say what went wrong, without the traces around them."""
    trace: _Trace = ""
    for line in lines:
        trace, is_reason = _read_line(trace, line)
        if is_reason:
            yield line


def _read_line(trace: _Trace, line: str) -> tuple[_Trace, bool]:
    """Return what the next line belongs to, and whether this line says what went wrong."""
    is_indented = line[:1] in (" ", "\t", "|", "+")
    if _TRACEBACK.match(line):
        return "traceback", False
    if trace == "traceback" and (is_indented or not line):
        return trace, False
    if trace == "goroutine" and line:
        return trace, False
    if trace == "cause" and is_indented:
        return trace, True
    if trace in ("traceback", "panic"):  # an exception, or the message of a panic
        return "", True
    return _read_plain_line(line)


def _read_plain_line(line: str) -> tuple[_Trace, bool]:
    if _GOROUTINE.match(line):
        return "goroutine", False
    if line.startswith("Caused by:"):
        return "cause", True
    if line.startswith(_CHAIN) or _FRAME.match(line):
        return "", False
    if _is_noise(line) or not _ERROR.search(line):
        return "", False
    return "panic" if line.startswith("thread '") and line.endswith(":") else "", True
