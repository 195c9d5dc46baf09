"""Files and terminals of the client, which only version 1 lets an agent use.

Spec: https://agentclientprotocol.com/protocol/v1/file-system and
https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from parley.errors import ResourceNotFound
from parley.peer import RequestContext, RequestHandler

from .calling import called

__all__ = ["TERMINAL_METHODS", "file_handlers", "terminal_handlers"]

TERMINAL_METHODS = {
    "terminal/create": "create_terminal",
    "terminal/output": "terminal_output",
    "terminal/wait_for_exit": "wait_for_terminal_exit",
    "terminal/kill": "kill_terminal",
    "terminal/release": "release_terminal",
}
"""What a program's terminals are asked for, by method name."""


def file_handlers(files: object) -> Mapping[str, RequestHandler]:
    """Return the handlers for what a file system offers, by method name.

    It may have `read_text_file(path, line, limit)`, which returns the text, and
    `write_text_file(path, content)`; either may be missing, and is then not offered.
    """

    async def read_text_file(request: Any, context: RequestContext) -> Any:
        del context
        text = await _found(files.read_text_file, request.path, request.line, request.limit)  # type: ignore[attr-defined]
        return {"content": text}

    async def write_text_file(request: Any, context: RequestContext) -> Any:
        del context
        await _found(files.write_text_file, request.path, request.content)  # type: ignore[attr-defined]
        return {}

    known = {each.__name__: each for each in (read_text_file, write_text_file)}
    return {f"fs/{name}": handler for name, handler in known.items() if hasattr(files, name)}


async def _found(function: Callable[..., Any], path: str, *arguments: Any) -> Any:
    try:
        return await called(function, path, *arguments)
    except FileNotFoundError as error:
        raise ResourceNotFound(data={"path": path}) from error


def terminal_handlers(terminals: object) -> Mapping[str, RequestHandler]:
    """Return the handlers for terminals, by method name.

    Each method of `TERMINAL_METHODS` gets version 1's request and returns its response.
    """
    return {method: _handler(getattr(terminals, name)) for method, name in TERMINAL_METHODS.items()}


def _handler(function: Callable[[Any], Any]) -> Callable[[Any, RequestContext], Awaitable[Any]]:
    async def handle(request: Any, context: RequestContext) -> Any:
        del context
        result = await called(function, request)
        return {} if result is None else result

    return handle
