"""`parley doctor`: what is installed, what is wrong, and what to do."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import textwrap
from collections.abc import Iterable

from msgspec import structs

from parley._display_text import sanitize_text
from parley.config import Config

from . import diagnostics
from .diagnostics import Finding, State
from .json_output import print_json
from .paint import painted
from .progress_line import ProgressLine
from .reporting import Exit, Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Check the installation and the configuration, start each configured agent to
see whether it responds, and report problems with a suggested fix. Nothing is
changed. With AGENT, only these agents are started.
"""
EXAMPLES = """\
marks:
  ✓  fine    ·  missing, optional    !  warning    ✗  problem

examples:
  parley doctor
  parley doctor opencode codex
  parley doctor --no-agents --json

exit codes:
  0  no problems, maybe warnings    1  at least one problem
"""
_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("·", "dim"),
    "warning": ("!", "yellow"),
    "problem": ("✗", "red"),
}
_MAX_LINES = 6
"""The maximum number of lines shown of an error."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="start only these agents")
    parser.add_argument("--no-agents", action="store_true", help="do not start any agent")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=20.0,
        help="how long to wait for an agent to respond; 20 by default",
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def main(arguments: argparse.Namespace) -> int:
    """Run all checks and print the results."""
    if arguments.timeout <= 0:
        raise Failure("--timeout must be a positive number of seconds", Exit.USAGE)
    found = [*diagnostics.installed(), *diagnostics.places()]
    configured, complaints = diagnostics.configuration()
    found += [*complaints, *diagnostics.policy(), *diagnostics.journal()]
    if not arguments.json:
        _show(found)
    names: list[str] = arguments.agents or list(configured.agents if configured else ())
    if configured is not None and names and not arguments.no_agents:
        answers = asyncio.run(_ask(configured, dict.fromkeys(names), arguments.timeout))
        if not arguments.json:
            print()
            _show(answers)
        found += answers
    is_well = all(each.state != "problem" for each in found)
    if arguments.json:
        print_json({"ok": is_well, "findings": [structs.asdict(each) for each in found]})
    elif configured is not None and not configured.agents:
        print("\nno agents are configured; add one, for example:")
        print("  parley agents add opencode --default -- opencode acp")
    return Exit.DONE if is_well else Exit.FAILED


async def _ask(configured: Config, names: Iterable[str], within: float) -> list[Finding]:
    """Try agents side by side."""
    progress = ProgressLine()
    progress.wait("the agents are started")
    try:
        return await asyncio.gather(
            *(diagnostics.agent(configured, each, within) for each in names)
        )
    finally:
        progress.wait("")


def _show(found: list[Finding]) -> None:
    width = max((len(each.subject) for each in found), default=0)
    for each in found:
        mark, colour = _MARKS[each.state]
        first, *more = _lines(each.text, width + 4)
        print(f"{painted(mark, colour)} {painted(f'{each.subject:<{width}}', 'bold')}  {first}")
        hint = _lines(f"→ {each.hint}", width + 4) if each.hint else []
        for line in [*more, *hint]:
            print(f"  {'':<{width}}  {line}")


def _lines(text: str, indent: int) -> list[str]:
    """Return inert text as lines that fit the terminal; elsewhere they are as long as they are."""
    first, *more = sanitize_text(text).strip().splitlines() or [""]
    lines = [first, *more[-_MAX_LINES:]]
    if not sys.stdout.isatty():
        return lines
    room = max(40, shutil.get_terminal_size().columns - indent)
    return [part for line in lines for part in textwrap.wrap(line, room) or [""]]
