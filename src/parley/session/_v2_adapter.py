"""Adapters for version 2 connections, which send a program's messages as they are.

`session/load`, which an earlier draft of version 2 had, is supported on both sides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Raw
from msgspec.structs import replace

from parley.errors import Unsupported
from parley.peer import Peer, RequestContext, RequestHandler, TypedHandler
from parley.peer._initialize import Negotiated
from parley.rpc._framing import Frame
from parley.schema import v2
from parley.schema.base import JsonObject, Method, MethodTable, Unknown
from parley.schema.v2 import methods

from ._adapter import (
    AgentAdapter,
    AgentDescription,
    CapabilityCheck,
    HandlerTable,
    ResumeAttempt,
    extended_table,
)
from ._capabilities import AgentFeatures, ClientFeatures

P = TypeVar("P")
R = TypeVar("R")

H = TypeVar("H")


def initialize_request(
    info: v2.Implementation, features: ClientFeatures, meta: JsonObject | None = None
) -> v2.InitializeRequest:
    """Return the params of a client's `initialize` request."""
    return v2.InitializeRequest(
        protocol_version=2, info=info, capabilities=features.to_v2(), meta=meta
    )


def client_features(
    params: v2.InitializeRequest,
) -> tuple[ClientFeatures, v2.Implementation | None]:
    """Return the features and the name of a client, from its `initialize` params."""
    return ClientFeatures.from_v2(params.capabilities), params.info


def initialize_response(
    agent: AgentDescription, params: v2.InitializeRequest
) -> v2.InitializeResponse:
    """Return the result of `initialize`, which does not depend on the client's params."""
    del params
    return v2.InitializeResponse(
        protocol_version=2,
        info=agent.info,
        capabilities=agent.features.to_v2(),
        auth_methods=agent.auth_methods,
        meta=agent.meta,
    )


class _V2Adapter:
    """A version 2 connection: checks capabilities and translates nothing."""

    version = 2

    def __init__(self, peer: Peer, table: MethodTable, capabilities: Any) -> None:
        self.peer = peer
        self._table = table
        self._peer_capabilities = CapabilityCheck(peer.name, capabilities)
        self._checked_methods: set[str] = set()

    def request(
        self,
        method: Method[P, R],
        params: P,
        *,
        on_result: Callable[[R], None] | None = None,
    ) -> Coroutine[Any, Any, R]:
        self._check(method)
        return self.peer.request(method, params, on_result=on_result)

    def notify(self, method: Method[P, None], params: P) -> Coroutine[Any, Any, None]:
        self._check(method)
        return self.peer.notify(method, params)

    def register(self, program: HandlerTable) -> None:
        """Register the program's handlers, without those for methods that only version 1 has."""
        self._table = extended_table(self._table, program)
        requests = _supported_handlers(program.requests, self._table.requests(self.peer.role))
        notifications = _supported_handlers(
            program.notifications, self._table.notifications(self.peer.role)
        )
        self.peer.set_handlers(self._table, requests=requests, notifications=notifications)

    def _check(self, method: Method[Any, Any]) -> None:
        if method.name in self._checked_methods:
            return
        if method.name.startswith(("fs/", "terminal/")) and method.to == "client":
            raise Unsupported(f"{method.name} does not exist in version 2 of the protocol")
        self._peer_capabilities.check(method)
        self._checked_methods.add(method.name)


def _supported_handlers(handlers: Mapping[str, H], methods: Mapping[str, Any]) -> dict[str, H]:
    return {name: each for name, each in handlers.items() if name in methods or name[0] == "_"}


class _V2ClientAdapter(_V2Adapter):
    def __init__(self, peer: Peer, negotiated: Negotiated, table: MethodTable) -> None:
        result: v2.InitializeResponse = negotiated.result
        super().__init__(peer, table, result.capabilities)
        features = AgentFeatures.from_v2(
            result.capabilities, has_auth_methods=bool(result.auth_methods)
        )
        self.agent = AgentDescription(
            info=result.info,
            features=features,
            auth_methods=list(result.auth_methods),
            meta=result.meta,
        )

    def begin_prompt(
        self,
        params: v2.PromptRequest,
        *,
        on_accepted: Callable[[v2.PromptResponse], None],
        on_failed: Callable[[BaseException], None],
    ) -> None:
        """Send a prompt before returning."""
        self._check(methods.PROMPT)

        def settled(response: asyncio.Future[Raw]) -> None:
            error = response.exception()
            if error is not None:
                on_failed(error)

        response = self.peer.begin_request(methods.PROMPT, params, on_result=on_accepted)
        response.add_done_callback(settled)

    def notify_now(self, method: Method[P, None], params: P) -> None:
        """Send a notification before returning."""
        self._check(method)
        self.peer.notify_now(method, params)

    def resume_fallback(self, request: v2.ResumeSessionRequest) -> ResumeAttempt | None:
        """Return `session/load`, which an earlier draft of version 2 had for a resume with replay.

        Return None for unknown replay positions and for system prompts, which it did not have.
        """
        if isinstance(request.replay_from, Unknown) or request.system_prompt is not None:
            return None
        params = v2.LoadSessionRequest(
            session_id=request.session_id,
            cwd=request.cwd,
            additional_directories=request.additional_directories,
            mcp_servers=request.mcp_servers,
            meta=request.meta,
        )
        return ResumeAttempt(method=methods.LOAD_SESSION, request=params, replays=True)

    def unknown_content(self, frame: Frame) -> Sequence[Unknown]:
        """Return an empty sequence: version 2 updates keep content of unknown types."""
        return ()


class _V2AgentAdapter(_V2Adapter):
    def __init__(self, peer: Peer, negotiated: Negotiated, table: MethodTable) -> None:
        params: v2.InitializeRequest = negotiated.params
        super().__init__(peer, table, params.capabilities)
        self.client, self.client_info = client_features(params)

    def register(self, program: HandlerTable) -> None:
        """Register the program's handlers; the one for resume also serves `session/load`."""
        resume = program.requests.get(methods.RESUME_SESSION.name)
        if resume is not None:
            assert not isinstance(resume, TypedHandler)  # programs take the table's type
            self._table = self._table.extended((methods.LOAD_SESSION,))
            requests = {**program.requests, methods.LOAD_SESSION.name: _load_handler(resume)}
            program = replace(program, requests=requests)
        super().register(program)

    def update(self, session_id: str, update: v2.SessionUpdate) -> Coroutine[Any, Any, None]:
        return self.peer.notify_update(methods.UPDATE_SESSION, session_id, update)


def _load_handler(resume: RequestHandler) -> RequestHandler:
    """Return a handler of `session/load` that resumes with a replay from the start."""

    async def load(params: v2.LoadSessionRequest, request: RequestContext) -> Any:
        request.params = v2.ResumeSessionRequest(
            session_id=params.session_id,
            cwd=params.cwd,
            additional_directories=params.additional_directories,
            mcp_servers=params.mcp_servers,
            replay_from=v2.ReplayFromStart(),
            meta=params.meta,
        )
        return await resume(request.params, request)

    return load


def client_adapter(peer: Peer, negotiated: Negotiated, program: HandlerTable) -> _V2ClientAdapter:
    """Return the adapter for a client, and register the program's handlers."""
    adapter = _V2ClientAdapter(peer, negotiated, negotiated.table)
    adapter.register(program)
    return adapter


def agent_adapter(
    peer: Peer, negotiated: Negotiated, begin: Callable[[AgentAdapter], HandlerTable]
) -> _V2AgentAdapter:
    """Return the adapter for an agent; register the handlers that `begin` returns for it."""
    adapter = _V2AgentAdapter(peer, negotiated, negotiated.table)
    adapter.register(begin(adapter))
    return adapter
