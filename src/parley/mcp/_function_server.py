"""Plain functions as an MCP server: the schema comes from signature and docstring.

A function may be `async`; one that is not runs in a thread of its own. What it gets and returns may
be anything that pydantic knows, and msgspec's structs; a content block of ACP, such as
`v2.ImageContent`, is sent as the block of MCP that it is. A parameter of the type `Context` of the
`mcp` package gets what reports progress. Where a server is made for a session, a parameter of the
session's type gets the session.

The text of a `ToolError` goes to the model, a `RequestError` is an error of MCP with its code, and
of any other exception the agent learns nothing but that there was one.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import re
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, TypeVar, get_args

import mcp_types
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import InvalidSignature
from mcp.server.mcpserver.exceptions import ToolError as SdkToolError
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from msgspec import UNSET, Struct, to_builtins
from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from parley._user_code import as_exception
from parley.errors import RequestError, ToolError
from parley.schema import v2
from parley.schema.base import Unknown

from ._decorators import PROMPT, decoration_of
from ._msgspec_support import StructSchemas

T = TypeVar("T")

_BLOCKS: tuple[type, ...] = (
    v2.TextContent,
    v2.ImageContent,
    v2.AudioContent,
    v2.ResourceLink,
    v2.EmbeddedResource,
)
_SECTION = re.compile(r"^(Args|Arguments|Returns|Raises|Yields|Example|Examples|Note):\s*$")
_ARGUMENT = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_UNFIT = (InvalidSignature, NameError, PydanticUserError, ValueError)
"""The errors that an unusable signature of a function raises."""
_block: TypeAdapter[Any] = TypeAdapter(mcp_types.ContentBlock)


def function_server(
    functions: Iterable[Callable[..., Any]], *, name: str = "tools", session: object = None
) -> MCPServer:
    """Return a server that has these functions as tools, resources and prompts.

    Args:
        functions: Those that are marked by `resource` or `prompt` are that, all others tools.
        name: What the server is called.
        session: The value of parameters that are annotated with its type. The agent does not see
            them.

    Raises:
        TypeError: One of them cannot be a tool, or two have the same name.
    """
    functions = list(functions)
    tools: dict[str, Tool] = {}
    for function in functions:
        if decoration_of(function) is not None:
            continue
        tool = _tool(function, session)
        if tool.name in tools:
            raise TypeError(f"two tools are called {tool.name}")
        tools[tool.name] = tool
    with _logging_untouched():
        server = MCPServer(name, tools=list(tools.values()))
    for function in functions:
        if decoration_of(function) is not None:
            _add_marked(server, function, session)
    return server


def _add_marked(server: MCPServer, function: Callable[..., Any], session: object) -> None:
    """Add a function that is marked as a resource or a prompt."""
    decoration = decoration_of(function)
    assert decoration is not None
    kind, uri, mime_type = decoration
    text = _described(function)[0] or None
    try:
        called = _wrap(function, session)
        if kind == PROMPT:
            server.prompt(description=text)(called)
        else:
            server.resource(uri, description=text, mime_type=mime_type)(called)
    except _UNFIT as error:
        raise TypeError(f"{function.__name__} cannot be a {kind}: {error}") from error


@contextmanager
def _logging_untouched() -> Generator[None]:
    """Undo what the `mcp` package does to the program's logging when a server is made."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def _tool(function: Any, session: object) -> Tool:
    name = getattr(function, "__name__", "")
    if not callable(function) or isinstance(function, type) or name in {"", "<lambda>"}:
        raise TypeError(f"a tool must be a function that has a name, not {function!r}")
    structs = StructSchemas()
    text, arguments = _described(function)
    try:
        wrapped = _wrap(function, session, structs)
        is_plain = _is_plain(inspect.signature(wrapped).return_annotation)
        tool = Tool.from_function(
            wrapped, description=text, structured_output=None if is_plain else False
        )
    except _UNFIT as error:
        raise TypeError(f"{name} cannot be a tool: {error}") from error
    for parameter, described in arguments.items():
        if parameter in tool.parameters.get("properties", {}):
            tool.parameters["properties"][parameter].setdefault("description", described)
    tool.parameters = structs.finished(tool.parameters)
    return tool


def _is_plain(annotation: Any) -> bool:
    """Return whether the result is sent as structured content, with a schema of pydantic's."""
    if annotation in (inspect.Signature.empty, str):  # a text would be sent twice
        return False
    return not any(_is_struct(each) for each in (annotation, *_inside(annotation)))


def _inside(annotation: Any) -> Iterable[Any]:
    for each in getattr(annotation, "__args__", ()):
        yield each
        yield from _inside(each)


def _is_struct(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Struct | Unknown)


def _wrap(
    function: Callable[..., Any], session: object, structs: StructSchemas | None = None
) -> Callable[..., Any]:
    """Return a function that calls this one, with results and errors as MCP has them.

    Its signature lacks the parameters that get the session.
    """
    signature = inspect.signature(function, eval_str=True)
    injected: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for each in signature.parameters.values():
        if _is_for_session(each.annotation, session):
            injected[each.name] = session
        elif structs is None:
            parameters.append(each)
        else:
            parameters.append(each.replace(annotation=structs.adapted(each.annotation)))
    signature = signature.replace(parameters=parameters)
    wrap = _awaited if inspect.iscoroutinefunction(function) else _run
    call: Any = wrap(function, injected)
    call.__dict__.pop("__wrapped__", None)  # it would be looked at instead of this one
    call.__annotations__ = {
        **{each.name: each.annotation for each in signature.parameters.values()},
        "return": signature.return_annotation,
    }
    call.__signature__ = signature
    return call  # type: ignore[no-any-return]


def _is_for_session(annotation: Any, session: object) -> bool:
    """Return whether a parameter is annotated with the session's type, or with that or None."""
    if session is None:
        return False
    return annotation is type(session) or type(session) in get_args(annotation)


def _awaited(function: Callable[..., Any], injected: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    async def call(*args: Any, **keywords: Any) -> Any:
        with _errors():
            return _sent(await function(*args, **keywords, **injected))

    return call


def _run(function: Callable[..., Any], injected: dict[str, Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        with _errors():
            try:
                return _sent(function(*args, **keywords, **injected))
            except asyncio.CancelledError as error:  # a function in a thread cannot be cancelled
                raise RuntimeError("the function was cancelled by itself") from error

    return call


@contextmanager
def _errors() -> Generator[None]:
    try:
        yield
    except ToolError as error:
        raise SdkToolError(str(error)) from error
    except RequestError as error:
        data: Any = None if error.data is UNSET else error.data
        raise MCPError(code=error.code, message=error.message, data=data) from error
    except Exception:
        raise
    except BaseException as error:  # `SystemExit` in a task would end the event loop
        raise as_exception(error) from error


def _sent(value: Any) -> Any:
    """Return what a function has returned as the `mcp` package takes it."""
    if isinstance(value, _BLOCKS):
        return _block.validate_python(to_builtins(value))
    if isinstance(value, Struct):
        return to_builtins(value)
    if isinstance(value, list | tuple):
        return [_sent(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _described(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return the descriptions in a docstring: of the function, and of its parameters by name."""
    text: list[str] = []
    arguments: dict[str, list[str]] = {}
    section, latest, indent = "", "", 0
    for line in (inspect.getdoc(function) or "").splitlines():
        if (heading := _SECTION.match(line)) is not None:
            section, indent = heading[1], 0
        elif not section:
            text.append(line)
        elif section in {"Args", "Arguments"} and line.strip():
            depth = len(line) - len(line.lstrip())
            indent = indent or depth
            named = _ARGUMENT.match(line.strip()) if depth == indent else None
            if named is not None:
                latest = named[1].lstrip("*")
                arguments[latest] = [named[2]]
            elif latest:
                arguments[latest].append(line.strip())
    described = {name: " ".join(lines).strip() for name, lines in arguments.items()}
    return "\n".join(text).strip(), described
