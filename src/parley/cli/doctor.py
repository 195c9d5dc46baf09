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
from .paint import painted, print_json
from .progress_line import ProgressLine
from .reporting import Exit, Failure

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Look at what Parley needs and at what you have configured, start each configured
agent to see what it answers, and say what is wrong and what to do. Nothing is
changed. With AGENT only these agents are started.
"""
EXAMPLES = """\
marks:
  ✓  well    ·  not there, not needed    !  look at it    ✗  wrong

examples:
  parley doctor
  parley doctor opencode codex
  parley doctor --no-agents --json

exit codes:
  0  nothing is wrong (there may be a !)    1  something is
"""
_MARKS: dict[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("·", "dim"),
    "warning": ("!", "yellow"),
    "problem": ("✗", "red"),
}
_MAX_LINES = 6
"""How much is shown of what went wrong."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("agents", metavar="AGENT", nargs="*", help="start only these agents")
    parser.add_argument("--no-agents", action="store_true", help="start no agent")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=20.0,
        help="how long an agent may take to answer; 20 by default",
    )
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def main(arguments: argparse.Namespace) -> int:
    """Look at everything and say what was found."""
    if arguments.timeout <= 0:
        raise Failure("--timeout: give a number of seconds above 0", Exit.USAGE)
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
        print("\nno agents are configured; add one, as with")
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
