"""`think`: send one prompt and return the result as text or as a value of a type.

The agent returns a value by calling a tool whose parameter has the type, so it learns at once if
the value does not fit. An agent that does not use tools replies with JSON. In both cases it is
prompted a second time if it gave no value; after that, `NoResult` is raised.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar, Unpack, cast, overload

from parley.errors import NoResult
from parley.peer._peer_name import with_article
from parley.schema import v2
from parley.transport._target import Target

from ._connect import connect
from ._connect_options import ConnectOptions
from ._connection import Connection
from ._result_type import ResultType
from ._session import Session
from ._session_options import SessionOptions

T = TypeVar("T")

TOOL = "give_result"
"""The name of the tool that the agent calls to return a value."""
ATTEMPTS = 2
"""Maximum number of prompts for a value."""

_BY_TOOL = f"When you know the result, give it by calling the tool {TOOL}."
_BY_JSON = "Answer with nothing but JSON that fits this JSON Schema:\n"


@overload
async def think(
    target: Target | Connection,
    prompt: str | v2.ContentBlock,
    *,
    cwd: str | Path = ".",
    result: None = None,
    **options: Unpack[ConnectOptions],
) -> str: ...
@overload
async def think(
    target: Target | Connection,
    prompt: str | v2.ContentBlock,
    *,
    cwd: str | Path = ".",
    result: type[T],
    **options: Unpack[ConnectOptions],
) -> T: ...
async def think(
    target: Target | Connection,
    prompt: str | v2.ContentBlock,
    *,
    cwd: str | Path = ".",
    result: type[T] | None = None,
    **options: Unpack[ConnectOptions],
) -> T | str:
    """Send one prompt to an agent, in a new session, and return its text or a typed value.

        summary = await think("opencode acp", "Summarize README.md.")
        bugs = await think("opencode acp", "List the bugs in main.py.", result=list[str])

    Args:
        target: Anything that `connect` accepts, or an open connection, which stays open.
        prompt: The text or content block to send.
        cwd: The working directory.
        result: The type of the value to return: a msgspec struct, a dataclass, a pydantic model, or
            anything else that can be decoded from JSON. Without it, the agent's text is returned.
        options: The options of `connect`, such as `tools`, `permission` and `policy`. If the target
            is a connection, only `tools` and `mcp_servers`.

    Raises:
        NoResult: The agent did not give a value that fits the type.
        TypeError: The type cannot be decoded from JSON, or there is no such option.
        AcpError: Anything that `connect` and `new_session` raise.
    """
    result_type = None if result is None else ResultType(result)
    async with _connection(target, cwd, options) as (connection, session_options):
        if result_type is None:
            session = await connection.new_session(cwd, **session_options)
            try:
                return await session.ask(prompt)
            finally:
                await _close(session)
        return await _ask_for(result_type, connection, cwd, session_options, prompt)


@asynccontextmanager
async def _connection(
    target: Target | Connection, cwd: str | Path, options: ConnectOptions
) -> AsyncGenerator[tuple[Connection, SessionOptions]]:
    """Yield a connection, and the options that its sessions still need."""
    if not isinstance(target, Connection):
        async with connect(target, cwd, **options) as connection:
            yield connection, {}
        return
    session_options: SessionOptions = {
        "tools": options.get("tools", ()),
        "mcp_servers": options.get("mcp_servers", ()),
    }
    if wrong := set(options) - set(session_options):
        raise TypeError(f"an open connection does not accept {', '.join(sorted(wrong))}=")
    yield target, session_options


async def _ask_for(
    result_type: ResultType[T],
    connection: Connection,
    cwd: str | Path,
    session_options: SessionOptions,
    prompt: str | v2.ContentBlock,
) -> T:
    """Prompt until the agent gives a value, at most `ATTEMPTS` times."""
    results: list[T] = []
    has_tool = _can_use_tools(connection)
    if has_tool:
        tool = _tool(result_type, results)
        session_options = cast(
            "SessionOptions",
            {**session_options, "tools": [*session_options.get("tools", ()), tool]},
        )
    instructions = _BY_TOOL if has_tool else _BY_JSON + json.dumps(result_type.schema)
    session = await connection.new_session(cwd, **session_options)
    try:
        content = [prompt, instructions]
        for left in reversed(range(ATTEMPTS)):
            turn = await session.prompt(*content)
            if results:
                return results[-1]
            try:
                return result_type.find(turn.text)
            except ValueError as error:
                if left and turn.stop_reason == "end_turn":
                    content = [f"That is not a valid result: {error}. {instructions}"]
                    continue
                raise NoResult(
                    f"{with_article(connection.name)} returned no valid result: {error}; "
                    f"its turn ended with {turn.stop_reason}",
                    text=turn.text,
                    stop_reason=turn.stop_reason,
                ) from error
        raise AssertionError("unreachable")
    finally:
        await _close(session)


def _can_use_tools(connection: Connection) -> bool:
    """Return whether the agent can use a tool of ours and the `mcp` package is installed."""
    features = connection.features
    if not (features.mcp_acp or features.mcp_http or features.mcp_stdio):
        return False
    try:
        import mcp as _  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


def _tool(result_type: ResultType[T], results: list[T]) -> Callable[..., Any]:
    """Return the tool that the agent calls to return a value."""

    # The docstring below is the description of the tool that the agent reads.
    async def give_result(result: Any) -> str:
        """Give the result. Call it once, when the work is done."""
        results.append(result)
        return "The result is taken."

    give_result.__annotations__["result"] = result_type.type
    return give_result


async def _close(session: Session) -> None:
    """Close a session that is no longer needed, if the agent supports that."""
    if session.connection.features.close and not session.is_closed:
        await session.close()
