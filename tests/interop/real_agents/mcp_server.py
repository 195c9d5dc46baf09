"""A small MCP server on stdin and stdout with one tool; agents start it in tests.

`mcp_server.py WORD FILE`: what the tool says of itself tells how the server was started, without
telling a secret, and the file appears when the tool has been listed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

WORD, LISTED = sys.argv[1:]
TOOL: dict[str, Any] = {
    "name": "speak",
    "description": f"{WORD}, {len(os.environ.get('PARROT_TOKEN', ''))} letters",
    "inputSchema": {"type": "object", "properties": {}},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "parrot", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "ping":
            return {}
        case _:
            raise LookupError(method)


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    told: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    try:
        told["result"] = answer(request["method"], request.get("params") or {})
    except LookupError as error:
        told["error"] = {"code": -32601, "message": str(error)}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    if request["method"] == "tools/list":
        Path(LISTED).touch()
