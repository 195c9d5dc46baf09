"""What two ends say to each other in the wire tests, whoever they are.

An agent answers these prompts:
    `updates`    sends what `peers/updates_vN.json` holds
    `flood N`    sends the chunks `chunk 0` to `chunk N-1`
    `perm`       announces `call-1`, asks with the options `yes` and `no`, says `perm:<option>`
    `fs PATH`    reads line 2 of a file of the client's, says `read:<text>` (version 1)
    `slow`       says `started` and goes on until it is cancelled
    `ext`        calls the client's `_demo/value`, sends it `_demo/noted` with the text of the last
                 `_demo/note`, says `ext:<value>`
    `unknown`    calls the client's `_demo/nothing`, says `unknown:<code>`
    `boom`       is refused with `ERROR`
It doubles the value of `_demo/double`. `_demo/wait` says `_demo/waiting` to the client and is never
answered by itself; `_demo/withdrawn` returns how often it was withdrawn. Nothing here depends on
the order of a notification and what follows it with another name: not everybody keeps that.

A client goes through all of that and reports what it saw, as JSON, topic by topic. Whichever end is
Parley's, the report is the one that is expected.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.peers import PYTHON_SDK

__all__ = ["ERROR", "FLOOD", "LINE", "PATH", "PEERS", "expected", "known_to_python", "updates"]

PEERS = Path(__file__).parents[1] / "peers"
FLOOD = 300
PATH = "/notes/today.md"
LINE = "zweite Zeile 🦜\n"
ERROR: dict[str, Any] = {"code": -32050, "message": "It went off", "data": {"detail": 42}}


def updates(version: int) -> list[dict[str, Any]]:
    """Return what the prompt `updates` sends."""
    read: list[dict[str, Any]] = json.loads((PEERS / f"updates_v{version}.json").read_text())
    return read


def expected(version: int) -> dict[str, Any]:
    """Return what a client sees."""
    asked = {"toolCallId": "call-1", "options": ["yes", "no"]}
    both = {
        "initialize": {"version": version, "name": "interop-agent"},
        "updates": updates(version),
        "order": [f"chunk {number}" for number in range(FLOOD)],
        "permission": {"asked": asked, "said": ["perm:yes"]},
        "cancel": "cancelled",
        "extension": {"doubled": 42, "noted": ["remember"], "said": ["ext:7"]},
        "withdrawn": 1,
        "unknown": {"code": -32601, "said": ["unknown:-32601"]},
        "error": ERROR,
    }
    if version == 2:  # the user message has the id of the prompt's answer
        return {**both, "states": ["running", "idle end_turn"], "has_message": True}
    file = {"asked": {"path": PATH, "line": 2, "limit": 1}, "said": [f"read:{LINE}"]}
    return {**both, "end": "end_turn", "file": file}


def known_to_python(sdk: str, version: int, report: dict[str, Any]) -> dict[str, Any]:
    """Leave out what is newer than this version of the Python SDK."""
    if sdk == PYTHON_SDK:  # does not know `$/cancel_request`
        report = {topic: seen for topic, seen in report.items() if topic != "withdrawn"}
    if version == 2:  # a command has a type since
        newer = "available_commands_update"
        known = [each for each in report["updates"] if each["sessionUpdate"] != newer]
        report = {**report, "updates": known}
    return report
