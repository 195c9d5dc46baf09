"""A program that suggests edits, with nothing of Parley in it: JSON lines, version 1.

It proposes the last replacement of one line again, at the next line that looks as the old one did.
Its argument says what else it does: `jump` there instead; answer no questions (`slow`), or none of
the second session (`hang`); `crash` in that; answer with an `error`; offer no suggestions (`none`);
know of none and `mutter` to stderr; suggest `nonsense`, another with each question.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
LOG = os.environ.get("NES_LOG")
texts: dict[str, list[str]] = {}
last: dict[str, Any] = {}
state: dict[str, Any] = {"sessions": 0, "level": "default", "asked": 0}
FAR = {"start": {"line": 900, "character": 7}, "end": {"line": 10**9, "character": 10**9}}
BACK = {"start": {"line": 3, "character": 4}, "end": {"line": 1, "character": 0}}
NONSENSE: list[dict[str, Any]] = [
    {"kind": "edit", "edits": [{"range": FAR, "newText": "far\x1b[31m"}]},
    {"kind": "edit", "edits": [{"range": BACK, "newText": "back"}] * 2},
    {"kind": "edit", "edits": []},
    {"kind": "edit", "uri": "file:///etc/passwd", "edits": [{"range": FAR, "newText": "x"}]},
    {"kind": "edit", "uri": "no address at all", "edits": [{"range": FAR, "newText": "x"}]},
    {"kind": "jump", "position": {"line": 10**9, "character": 0}, "_meta": {"score": "high"}},
    {"kind": "rename", "position": {"line": 0, "character": 0}, "newName": ""},
    {"kind": "song", "text": "la"},
    {"kind": "edit", "edits": [{"range": {}, "newText": 7}]},
]


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def initialize(params: dict[str, Any]) -> dict[str, Any]:
    events = {"didOpen": {}, "didChange": {"syncKind": "incremental"}, "didFocus": {}}
    nes = {"events": {"document": events}, "context": {"editHistory": {"maxCount": 2}}}
    capabilities = {"nes": nes, "positionEncoding": "utf-16"}
    info = {"name": "repeats", "version": "0"}
    return {
        "protocolVersion": 1,
        "agentInfo": info,
        "agentCapabilities": {} if MODE == "none" else capabilities,
        "authMethods": [],
    }


def start(params: dict[str, Any]) -> dict[str, Any]:
    state["sessions"] += 1
    texts.clear()
    last.clear()
    return {"sessionId": f"s{state['sessions']}"}


def opened(params: dict[str, Any]) -> None:
    texts[params["uri"]] = params["text"].split("\n")


def changed(params: dict[str, Any]) -> None:
    lines = texts[params["uri"]]
    for change in params["contentChanges"]:
        start, end = change["range"]["start"], change["range"]["end"]
        last["old"], last["new"] = lines[start["line"]], change["text"].rstrip("\n")
        before: str = lines[int(start["line"])][: int(start["character"])]
        behind: str = lines[int(end["line"])][int(end["character"]) :]
        block = f"{before}{change['text']}{behind}"
        lines[start["line"] : end["line"] + 1] = block.split("\n")


def suggest(params: dict[str, Any]) -> dict[str, Any]:
    lines = texts[params["uri"]]
    if MODE == "nonsense":
        state["asked"] += 1
        strange: dict[str, Any] = NONSENSE[int(state["asked"]) % len(NONSENSE)]
        return {"suggestions": [{"id": "1", "uri": params["uri"], **strange}] * 2}
    if MODE == "mutter":
        sys.stderr.write("let me see\nhm, \x1b[31mno\n")
        return {"suggestions": []}
    if "\n" in last["new"] or last["old"] not in lines:
        return {"suggestions": []}
    at = lines.index(last["old"])
    whole = {
        "start": {"line": at, "character": 0},
        "end": {"line": at, "character": len(lines[at].encode("utf-16-le")) // 2},
    }
    told = {"id": "1", "uri": params["uri"], "_meta": {"score": 0.75, "rule": state["level"]}}
    if MODE == "jump":
        return {"suggestions": [{**told, "kind": "jump", "position": whole["start"]}]}
    edit = {"range": whole, "newText": last["new"]}
    return {"suggestions": [{**told, "kind": "edit", "edits": [edit]}]}


def set_option(params: dict[str, Any]) -> dict[str, Any]:
    state["level"] = params["value"]
    return {"configOptions": []}


def close(params: dict[str, Any]) -> dict[str, Any]:
    return {}


HANDLERS: dict[str, Any] = {
    "initialize": initialize,
    "nes/start": start,
    "nes/suggest": suggest,
    "nes/close": close,
    "session/set_config_option": set_option,
    "document/didOpen": opened,
    "document/didChange": changed,
}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params", {})
        if LOG:
            with open(LOG, "a", encoding="utf-8") as log:  # noqa: PTH123
                log.write(line)
        if method == "nes/suggest" and MODE == "crash" and state["sessions"] == 2:
            sys.exit(3)
        if method == "nes/suggest" and (
            MODE == "slow" or (MODE == "hang" and state["sessions"] == 2)
        ):
            continue
        if method == "nes/suggest" and MODE == "error":
            send({"id": message["id"], "error": {"code": -32603, "message": "out of ideas"}})
            continue
        handler = HANDLERS.get(method)
        result = None if handler is None else handler(params)
        if "id" in message and method:
            send({"id": message["id"], "result": result or {}})


main()
