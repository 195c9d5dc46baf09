"""What a client of others does with the demo agent, and what it sees then.

The programs are `peers/*_demo_client*`. In one session each goes through the prompts of
`peers/demo.json`; it chooses `yes`, then `no`, then nothing, and fills in the name `Ada`, then
declines, then cancels. It cancels `slow` by `session/cancel`, and where it can by
`$/cancel_request`, and counts the chunks of `flood 300`. With another session, in which it said
`tool`, it does all that can be done with sessions: it lists it, closes it, loads it with a replay,
closes it, resumes it without one, forks it, deletes it and tries to load it again. A third one it
closes while it is busy. At last it says `crash`. What it saw is one JSON object;
`expected_v1.json` and `expected_v2.json` hold it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from parley import __version__
from parley.testing.demo import COMMANDS, HELP

from .golden import read_golden

__all__ = ["FLOOD", "expected", "tidy", "without_deletion", "without_news"]

FLOOD = [f"chunk {number}" for number in range(300)]

_NAMES = {"accepted": "message", "messageId": "message", "toolCallId": "call"}
_ID = re.compile(rf'"({"|".join(_NAMES)})": "([^"]+)"')


def expected(version: int, cwd: Path) -> dict[str, Any]:
    """Return what a client sees that speaks this version."""
    kind = {"type": "command"} if version == 2 else {}
    commands = [{**kind, "name": each.name, "description": each.description} for each in COMMANDS]
    seen = read_golden(f"expected_v{version}.json", cwd=str(cwd), help=HELP, version=__version__)
    _update(seen, "commands", "available_commands_update")["availableCommands"] = commands
    seen["flood"] = FLOOD
    return seen


def without_news(seen: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is newer than version 2 in the official Python SDK."""
    for command in _update(seen, "commands", "available_commands_update")["availableCommands"]:
        del command["type"]
    del seen["turns"]["boom"]["updates"][-1]["error"]
    return seen


def without_deletion(seen: dict[str, Any]) -> dict[str, Any]:
    """Leave out what an SDK without `session/delete` cannot see."""
    del seen["sessions"]["is_listed_after_delete"], seen["sessions"]["load_after_delete"]
    return seen


def tidy(report: dict[str, Any]) -> dict[str, Any]:
    """Give the ids of a report names, turn by turn."""
    return {
        topic: {each: _named(seen) for each, seen in part.items()}
        if topic in ("turns", "sessions")
        else part
        for topic, part in report.items()
    }


def _update(seen: dict[str, Any], prompt: str, kind: str) -> dict[str, Any]:
    updates: list[dict[str, Any]] = seen["turns"][prompt]["updates"]
    return next(each for each in updates if each["sessionUpdate"] == kind)


def _named(seen: Any) -> Any:
    """Replace ids by names, numbered as they come."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        key, id = found.groups()
        kind = _NAMES[key]
        number = sum(each.startswith(kind) for each in names.values()) + 1
        return f'"{key}": "{names.setdefault(id, f"{kind}-{number}")}"'

    return json.loads(_ID.sub(name, json.dumps(seen, sort_keys=True)))
