"""Every capability of the protocol with the methods that it stands for, and a call of each.

Which capabilities there are is read from the schema's types, and which methods belong to them from
the method tables. What has neither a method nor a reason here fails `test_advertised.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias, cast

from msgspec import inspect

from parley.schema import v1, v2
from parley.schema.base import Method, MethodTable
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

TABLES: dict[int, MethodTable] = {
    1: methods1.TABLE.extended(
        methods1.NES_METHODS + methods1.DOCUMENT_METHODS + methods1.WORKSPACE_METHODS
    ),
    2: methods2.TABLE.extended(
        methods2.NES_METHODS + methods2.DOCUMENT_METHODS + methods2.WORKSPACE_METHODS
    ),
}
TYPES: dict[tuple[int, str], Any] = {
    (1, "agent"): v1.AgentCapabilities,
    (1, "client"): v1.ClientCapabilities,
    (2, "agent"): v2.AgentCapabilities,
    (2, "client"): v2.ClientCapabilities,
}
WITHOUT_METHOD: dict[str, str] = {
    "promptCapabilities": "blocks of session/prompt",
    "session.prompt": "blocks of session/prompt",
    "mcpCapabilities.http": "servers of session/new",
    "mcpCapabilities.sse": "servers of session/new",
    "session.mcp.http": "servers of session/new",
    "session.mcp.stdio": "servers of session/new",
    "sessionCapabilities.additionalDirectories": "a field of session/new",
    "session.additionalDirectories": "a field of session/new",
    "sessionCapabilities.systemPrompt": "a field of session/new",
    "session.systemPrompt": "a field of session/new",
    "nes.context": "fields of nes/suggest",
    "nes.events.document.didChange.syncKind": "what document/didChange carries",
    "nes.jump": "a kind of suggestions",
    "nes.rename": "a kind of suggestions",
    "nes.searchAndReplace": "a kind of suggestions",
    "nes.ideActions": "a kind of suggestions",
    "positionEncoding": "what positions count",
    "positionEncodings": "what positions count",
    "general": "where older clients listed positionEncodings",
    "auth.terminal": "the client runs a command",
    "elicitation.form": "a mode of elicitation/create",
    "plan": "an update",
    "subagents": "updates",
    "session.compaction": "updates",
    "session.configOptions": "a kind of options",
    "session.notices": "an update",
}
"""Capabilities that stand for something else than a method, with everything below them."""


def paths_of(capabilities: Any) -> set[str]:
    """Return the paths of everything that can be offered, by a type of capabilities."""
    return set(_paths(inspect.type_info(capabilities), ""))


def _paths(kind: Any, above: str) -> Iterator[str]:
    if isinstance(kind, inspect.Metadata):
        yield from _paths(kind.type, above)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _paths(each, above)
    elif isinstance(kind, inspect.StructType):
        for field in kind.fields:
            if field.encode_name != "_meta":
                path = f"{above}.{field.encode_name}".strip(".")
                yield path
                yield from _paths(field.type, path)


def offered_paths(capabilities: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Return the paths of what is offered, as it is on the wire."""
    for name, value in capabilities.items():
        if name != "_meta" and value is not None and value is not False:
            path = f"{above}.{name}".strip(".")
            yield path
            if isinstance(value, dict):
                yield from offered_paths(cast("dict[str, Any]", value), path)


def methods_of(version: int, to: str, path: str) -> list[Method[Any, Any]]:
    """Return the methods that a capability stands for."""
    return [each for each in TABLES[version].methods if each.to == to and each.capability == path]


def is_explained(version: int, to: str, path: str) -> bool:
    """Return whether a capability has methods, or is above or below something that is listed."""
    known = {each.capability or "" for each in TABLES[version].methods if each.to == to}
    is_above = any(each.startswith(f"{path}.") for each in (*known, *WITHOUT_METHOD))
    is_without = any(path == each or path.startswith(f"{each}.") for each in WITHOUT_METHOD)
    return path in known or is_above or is_without


class Caller:
    """One side that calls the methods of the other, as they are on the wire."""

    def __init__(self, peer: Any, version: int, cwd: str) -> None:
        self.peer = peer
        self.version = version
        self.cwd = cwd
        self.session = ""
        """A session that is open."""
        self.nes = ""
        """A session of suggestions that is open."""
        self.terminal = ""

    async def request(self, method: str, params: Any) -> Any:
        way: Method[Any, Any] = Method(
            name=method, to="either", kind="request", params=Any, result=Any
        )
        return await self.peer.request(way, params)

    async def notify(self, method: str, params: Any) -> None:
        way: Method[Any, None] = Method(name=method, to="either", kind="notification", params=Any)
        await self.peer.notify(way, params)

    @property
    def setup(self) -> dict[str, Any]:
        """How a session is opened."""
        return {"cwd": self.cwd, "mcpServers": []}

    async def another(self) -> str:
        """Open one more session, and return its id."""
        opened = await self.request("session/new", self.setup)
        return str(opened["sessionId"])

    async def closed(self) -> str:
        """Open a session, say something in it, close it, and return its id."""
        id = await self.another()
        await self.request("session/prompt", {"sessionId": id, **PROMPT})
        await self.request("session/close", {"sessionId": id})
        return id


PROMPT: Any = {"prompt": [{"type": "text", "text": "hello"}]}
URI = "file:///project/a.py"
START = {"line": 0, "character": 0}
SUGGESTION = "suggestion"
Params: TypeAlias = Callable[[Caller], Awaitable[Any]]


def given(**params: Any) -> Params:
    async def make(caller: Caller) -> Any:
        return params

    return make


def here(**params: Any) -> Params:
    """Return params with the open session."""

    async def make(caller: Caller) -> Any:
        return {"sessionId": caller.session, **params}

    return make


def fresh(**params: Any) -> Params:
    """Return params with a session that was opened for this call."""

    async def make(caller: Caller) -> Any:
        return {"sessionId": await caller.another(), **params}

    return make


def saved(**params: Any) -> Params:
    """Return params with a session that was closed."""

    async def make(caller: Caller) -> Any:
        return {"sessionId": await caller.closed(), **caller.setup, **params}

    return make


def suggesting(**params: Any) -> Params:
    """Return params with the session of suggestions."""

    async def make(caller: Caller) -> Any:
        return {"sessionId": caller.nes, **params}

    return make


async def _setup(caller: Caller) -> Any:
    return caller.setup


async def _fork(caller: Caller) -> Any:
    return {"sessionId": caller.session, **caller.setup}


async def _archived(caller: Caller) -> Any:
    id = await caller.closed()
    await caller.request("session/archive", {"sessionId": id})
    return {"sessionId": id}


async def _suggestion(caller: Caller) -> Any:
    answer = await caller.request("nes/suggest", await CALLS["nes/suggest"](caller))
    name = "id" if caller.version == 1 else "suggestionId"
    return {"sessionId": caller.nes, name: answer["suggestions"][0][name]}


async def _option(caller: Caller) -> Any:
    id = await caller.another()
    kind = {} if caller.version == 1 else {"type": "boolean"}
    return {"sessionId": id, "configId": "quiet", "value": True, **kind}


async def _started(caller: Caller) -> Any:
    started = await caller.request("nes/start", {})
    return {"sessionId": started["sessionId"]}


async def _file(caller: Caller) -> Any:
    return {"sessionId": caller.session, "path": f"{caller.cwd}/file.txt", "content": "text"}


async def _terminal(caller: Caller) -> Any:
    if not caller.terminal:
        made = await caller.request("terminal/create", await CALLS["terminal/create"](caller))
        caller.terminal = made["terminalId"]
    return {"sessionId": caller.session, "terminalId": caller.terminal}


FORM: Any = {"type": "object", "properties": {"name": {"type": "string"}}}
DOCUMENT: Any = {"uri": URI, "languageId": "python", "version": 1, "text": "bbb"}
FOCUS: Any = {"uri": URI, "version": 2, "position": START}
PROVIDER: Any = {"providerId": "main", "apiType": "openai", "baseUrl": "https://example.org"}
CALLS: dict[str, Params] = {
    "session/new": _setup,
    "session/prompt": fresh(**PROMPT),
    "session/cancel": here(),
    "session/set_config_option": _option,
    "session/load": saved(),
    "session/resume": saved(),
    "session/close": fresh(),
    "session/delete": saved(),
    "session/list": given(),
    "session/fork": _fork,
    "session/archive": saved(),
    "session/unarchive": _archived,
    "session/status": here(),
    "session/set_title": here(title="A title"),
    "tool_call/cancel": here(toolCallId="unknown"),
    "terminal/cancel": here(terminalId="unknown"),
    "auth/status": given(),
    "logout": given(),
    "providers/list": given(),
    "providers/set": given(**PROVIDER),
    "providers/disable": given(providerId="spare"),
    "mcp/message": given(serverId="unknown", method="notifications/initialized"),
    "nes/start": given(),
    "document/didOpen": suggesting(**DOCUMENT),
    "document/didChange": suggesting(uri=URI, version=2, contentChanges=[{"text": "bbb\n"}]),
    "document/didFocus": suggesting(**FOCUS, visibleRange={"start": START, "end": START}),
    "document/didSave": suggesting(uri=URI),
    "nes/suggest": suggesting(uri=URI, version=2, position=START, triggerKind="manual"),
    "nes/accept": _suggestion,
    "nes/reject": _suggestion,
    "document/didClose": suggesting(uri=URI),
    "nes/close": _started,
    "elicitation/create": here(mode="form", message="Who?", requestedSchema=FORM),
    "elicitation/complete": given(elicitationId="unknown"),
    "fs/write_text_file": _file,
    "fs/read_text_file": _file,
    "terminal/create": here(command="true", args=[], env=[]),
    "terminal/output": _terminal,
    "terminal/wait_for_exit": _terminal,
    "terminal/kill": _terminal,
    "terminal/release": _terminal,
    "workspace/open_documents": here(),
    "workspace/recent_documents": here(limit=2),
    "workspace/active_document": here(),
}
"""The params of a call of each method, in the order in which they are called."""

REFUSED = frozenset({"tool_call/cancel", "terminal/cancel"})
"""What is refused for a reason of its own: there is no such call or terminal."""
