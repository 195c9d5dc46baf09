"""A small MCP server on stdin and stdout, quick to start: `stdio_server.py NAME`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

TOOLS = ("whoami", "variables", "die", "process", "shout", "scream")


def call(tool: str) -> Any:
    match tool:
        case "whoami":
            return f"{sys.argv[1]} in {Path.cwd().name}"
        case "variables":
            return [*sorted(os.environ), os.environ.get("DECLARED", "")]
        case "process":
            return os.getpid()
        case "shout":
            sys.stderr.write("\x1b]0;mine\x07 one\n\n\u202etwo")
            sys.stderr.flush()
            os._exit(3)
        case "scream":
            for _ in range(200):
                sys.stderr.write(("x" * 99 + "\n") * 1000)
            return "done"
        case _:
            os._exit(3)


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": sys.argv[1], "version": "1"},
            }
        case "tools/list":
            schema = {"type": "object"}
            return {"tools": [{"name": name, "inputSchema": schema} for name in TOOLS]}
        case "tools/call":
            result = call(params["name"])
            text = {"type": "text", "text": json.dumps(result)}
            return {"content": [text], "structuredContent": {"result": result}}
        case _:
            raise LookupError(method)


if __name__ == "__main__":
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
