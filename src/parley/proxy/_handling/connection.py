"""One connection through a proxy: a client's side and an agent's side, and what passes between.

It begins with `initialize`, which negotiates the version and with it the names under which handlers
find their messages. It ends when one of its sides disconnects.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from parley._user_code import as_exception, reraise_if_ending
from parley.errors import (
    AcpError,
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    MethodNotFound,
    RequestError,
    UnsupportedProtocolVersion,
)
from parley.proxy._switch.messages import (
    DirectResponse,
    PendingRequest,
    RawMessage,
    RawNotification,
    Route,
)
from parley.proxy._switch.patching import patch_object, set_path
from parley.proxy._switch.port import Port
from parley.proxy._switch.splice import has_duplicate_keys
from parley.proxy._switch.switch import Switch
from parley.proxy._transports.mux import MuxTransport, ids_for
from parley.proxy._transports.timeout import ComponentTimeout
from parley.proxy._transports.wrapping import CONDUCTOR_METHODS, INITIALIZE, successor_for
from parley.rpc import _codec as codec
from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._message import ErrorObject, Success
from parley.rpc._message import Request as RpcRequest
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema._session_methods import CLOSES
from parley.session._dialect import dialect_of, dialect_of_response
from parley.session._mcp_capabilities import MCP_ACP, mcp_capabilities
from parley.transport._base import Transport

from .direction import Direction, InternalRoute, cancel_soon, params_of
from .message import Message, Request
from .peer import ProxyPeer
from .prompt import ProxyPrompt
from .tools import ConnectionTools

if TYPE_CHECKING:
    from parley.proxy._proxy import Proxy


logger = logging.getLogger(__name__)

_END_GRACE = 2.0


class _Asked(Struct):
    version: int = msgspec.field(name="protocolVersion")


class _Update(Struct, frozen=True):
    kind: str = msgspec.field(name="sessionUpdate", default="")
    state: str = ""


class _Told(Struct):
    update: _Update = _Update()


class ProxyConnection:
    """One client and one agent, with a proxy in between."""

    def __init__(
        self,
        proxy: Proxy,
        client: Transport,
        agent: Transport,
        *,
        agent_name: str = "the agent",
        is_proxied: bool = False,
        split: MuxTransport | None = None,
    ) -> None:
        """Stand between two.

        Args:
            proxy: Whose handlers are called.
            client: Leads to the client.
            agent: Leads to the agent.
            agent_name: What that one is called in errors.
            is_proxied: Whether the client says `proxy/initialize` where a plain one says
                `initialize`.
            split: What both are sides of, to be told how things are spelled.
        """
        self.proxy = proxy
        self.name = proxy.name
        self.state: dict[str, Any] = {}
        """Whatever handlers want to remember of this connection."""
        self.dialect = dialect_of(max(proxy.versions))
        """The version on the wire, and what everything is called in it."""
        self.asks: dict[str, ProxyPrompt] = {}
        self.busy: set[str] = set()
        """The sessions in which the agent works on a prompt of the client's."""
        self.patience: ComponentTimeout | None = None
        """Waits for the proxy to begin, and to answer initialize."""
        self.outlives = False
        """Whether it stays when the agent is gone, until it is closed."""
        self.on_failed: Callable[[], None] | None = None
        """Is told when the proxy cannot begin, before both sides are closed."""
        self._split = split
        self._is_proxied = is_proxied
        self._switch = Switch()
        self._over = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._to_agent, self._to_client = Direction(self, "agent"), Direction(self, "client")
        client_port = self._add(client, f"the client of {proxy.name}", self._to_agent)
        agent_port = self._add(agent, agent_name, self._to_client)
        agent_port.skips_noise = True
        self.client = ProxyPeer(self, "client", client_port)
        """The client, to ask and to tell it something by yourself."""
        self.agent = ProxyPeer(self, "agent", agent_port)
        """The agent, to ask and to tell it something by yourself."""
        self._to_agent.source, self._to_agent.destination = client_port, agent_port
        self._to_client.source, self._to_client.destination = agent_port, client_port
        self._to_agent.opposite, self._to_client.opposite = self._to_client, self._to_agent
        self._to_agent.end, self._to_client.end = self.agent, self.client
        self.tools = ConnectionTools(self)
        """The MCP servers that the proxy offers."""
        self._use_handlers()
        if proxy.watcher is not None:
            client_port.tap = self._watch_beginning if is_proxied else self._watch

    def _add(self, transport: Transport, name: str, direction: Direction) -> Port:
        port = self._switch.add(transport, name, direction.route)
        port.ids = ids_for(transport)
        port.on_lost = self._lost
        return port

    def _watch_beginning(self, is_from_client: bool, frame: bytes, session_id: str) -> None:
        """Show a watcher how the conversation begins, in the words of a client."""
        message = codec.decode(frame)
        if isinstance(message, RpcRequest) and message.method in INITIALIZE:
            frame = codec.encode_request(message.id, "initialize", bytes(message.params) or None)
            self.client.port.tap = self._watch
        self._watch(is_from_client, frame, session_id)

    def _watch(self, is_from_client: bool, frame: bytes, session_id: str) -> None:
        """Show a watcher a frame; one that fails is logged, and harms nothing."""
        assert self.proxy.watcher is not None
        try:
            self.proxy.watcher(self, is_from_client, frame, session_id)
        except BaseException as error:  # of the program: a watcher only looks
            reraise_if_ending(error)
            logger.exception("%s: its watcher failed", self.name)

    @property
    def version(self) -> int:
        """The version of the protocol on the wire."""
        return self.dialect.version

    @property
    def is_over(self) -> bool:
        """Whether one of its sides is gone."""
        return self._over.done()

    async def run(self) -> None:
        """Pass on until one side is gone; then the other one is closed."""
        try:
            await self._open()
            self._switch.start(self._to_agent.source)
            self._switch.start(self._to_client.source)
            await self._over
        finally:
            await self._end()

    async def _open(self) -> None:
        if self.patience is not None:
            self.patience.begin()
        try:
            for hook in self.proxy.openers:
                await hook(self)
        except BaseException as error:  # of the program
            failure = as_exception(error)
            if self.on_failed is not None:
                self.on_failed()
            raise failure from error
        finally:
            if self.patience is not None:
                self.patience.end()

    async def _end(self) -> None:
        if not self._over.done():
            self._over.cancel()
        for task in self._tasks:
            cancel_soon(task)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_END_GRACE)
        await self.tools.aclose()
        await self._switch.aclose()
        for hook in self.proxy.closers:
            await hook(self)

    def _lost(self, port: Port, reason: ConnectionClosed) -> None:
        if port is self.agent.port and self.outlives:
            return
        if not self._over.done():
            self._over.set_result(reason)

    # The beginning

    def _use_handlers(self) -> None:
        """Find the handlers by the names that their methods have on the wire."""
        for direction, registered in (
            (self._to_agent, self.proxy.client),
            (self._to_client, self.proxy.agent),
        ):
            direction.handlers = {
                wire: handler
                for name, handler in registered.items()
                for wire in self.dialect.wire_names(name)
            }
            direction.fallback = registered.get("*")
            for name in CONDUCTOR_METHODS:
                direction.handlers[name] = InternalRoute(_refuse_proxy)
        for name in ("initialize", *INITIALIZE):
            self._to_agent.handlers[name] = InternalRoute(self._initialize)
        self.tools.use(self._to_agent, self._to_client)

    def _initialize(self, message: RawMessage) -> Route:
        if isinstance(message, RawNotification):
            return None
        if has_duplicate_keys(message.frame):
            return DirectResponse(InvalidRequest("A member of the message is there twice"))
        is_proxy = message.method in INITIALIZE
        if is_proxy and not self._is_proxied:
            return _refuse_proxy(message)
        if not is_proxy and self._is_proxied:
            return DirectResponse(InvalidRequest(self.proxy.not_an_agent))
        if self._split is not None:
            self._split.successor = successor_for(message.method)
        try:
            version = msgspec.json.decode(message.params, type=_Asked).version
        except DECODE_ERRORS:
            version = 1
        spoken = min(version, 2)
        if spoken not in self.proxy.versions:
            return DirectResponse(self._wrong_version(version))
        self.dialect = dialect_of(spoken)
        self._use_handlers()
        if is_proxy:
            message.method = "initialize"
            message.frame = patch_object(message.frame, {"method": b'"initialize"'})
        if self.patience is not None:
            self.patience.begin()
            self.client.port.on_answered = self._greeted
        self._to_agent.handle(self.proxy.client.get("initialize", self._to_agent.fallback), message)
        return None

    def _greeted(self, call: PendingRequest, frame: bytes) -> None:
        """Record that the client has an answer; the one to initialize is waited for."""
        if self.patience is not None and call.method == "initialize":
            self.patience.end()
            self.client.port.on_answered = None

    def _wrong_version(self, version: int) -> UnsupportedProtocolVersion:
        spoken = " and ".join(map(str, self.proxy.versions))
        return UnsupportedProtocolVersion(
            f"The proxy {self.name} speaks version {spoken} of the protocol, not {version}"
        )

    def welcome(self, call: PendingRequest, frame: bytes) -> bytes:
        """Learn from the agent's answer what is spoken, and offer MCP over ACP in it."""
        message = codec.decode(frame)
        assert isinstance(message, Success)
        try:
            dialect = dialect_of_response(message.result)
            path, value = MCP_ACP[dialect.version]
            has_sessions = dialect.has_sessions(message.result)
            if has_sessions and self.proxy.offers_mcp:
                frame = patch_object(
                    frame, {"result": set_path(bytes(message.result), path, value)}
                )
        except AcpError as error:
            text = f"The answer to initialize cannot be used: {error}"
            return codec.encode_failure(message.id, _as_error(InternalError(text)))
        if dialect.version not in self.proxy.versions:
            wrong = self._wrong_version(dialect.version)
            return codec.encode_failure(message.id, _as_error(wrong))
        try:
            dialect.initialize(call.params)
        except AcpError:
            logger.debug("%s: what the client offers cannot be read", self.name)
        self.dialect = dialect
        self._use_handlers()
        self.tools.is_taken = mcp_capabilities(bytes(message.result))[0].mcp_acp
        return frame

    # What handlers do

    def spawn(self, work: Coroutine[Any, Any, None], message: Message) -> None:
        """Have a handler run beside; it is cancelled when its request is."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if isinstance(message, Request):
            message.call.on_cancel = lambda _: cancel_soon(task)

    def check(self) -> None:
        """Look again whether both sides are to be read."""
        self._to_agent.queues.edit_params()
        self._to_client.queues.edit_params()

    async def ask(self, session_id: str, prompt: str | Sequence[v2.ContentBlock]) -> str:
        """Prompt the agent by yourself and return what it says.

        Its updates and its answer stay here; when the turn is over, everything of the session
        passes again. What the client says in the session waits until then.

        Raises:
            RequestError: The prompt was refused, or the turn has failed.
            InvalidRequest: Another prompt is under way in the session, of yours or the client's.
        """
        if session_id in self.asks:
            raise InvalidRequest("A prompt of the proxy is under way in this session")
        if session_id in self.busy:  # nobody could tell whose updates are whose
            raise InvalidRequest(
                "The agent works on a prompt of the client in this session; ask when it has ended"
            )
        text = [v2.TextContent(text=prompt)] if isinstance(prompt, str) else list(prompt)
        asking = self.asks[session_id] = ProxyPrompt(self, session_id)
        queues = self._to_agent.queues
        slot = None if session_id in queues.held else queues.hold(session_id)
        try:
            return await asking.run(list(text))
        finally:
            del self.asks[session_id]
            if slot is not None:
                slot.end()

    def look(self, direction: Direction, message: RawMessage) -> None:
        """See in a session in which the agent works whether it has ended that, or the session."""
        if message.method in CLOSES:
            self.busy.discard(message.session_id)
        if direction is self._to_client and b'"state_update"' in message.frame:
            with suppress(*DECODE_ERRORS):
                update = msgspec.json.decode(params_of(message), type=_Told).update
                if (update.kind, update.state) == ("state_update", "idle"):
                    self.busy.discard(message.session_id)

    def capture(self, direction: Direction, note: RawNotification) -> bool:
        """Take an update that belongs to a prompt of the proxy's own; it goes no further."""
        asking = self.asks.get(note.session_id)
        if asking is None:
            return False
        if direction is self._to_client and note.method == "session/update":
            asking.take(note, params_of(note))
            return True
        if direction is self._to_agent and note.method == "session/cancel":
            self.agent.tell(note.frame, note.session_id)
        return False

    async def update(self, session_id: str, update: v2.SessionUpdate) -> None:
        """Tell the client something in a session, as if the agent had said it."""
        for told in self.dialect.downgrade_update(session_id, update):
            body = b'{"sessionId":%b,"update":%b}' % (encode(session_id), encode(told))
            self.client.tell(codec.encode_notification("session/update", body), session_id)
        await self.client.room()

    def __repr__(self) -> str:
        return f"Link({self.name!r}, version {self.version})"


def _as_error(error: RequestError) -> ErrorObject:
    return ErrorObject(error.code, error.message)


def _refuse_proxy(message: RawMessage) -> DirectResponse | None:
    """Let nothing pass that is between a conductor and its proxies."""
    return DirectResponse(MethodNotFound()) if isinstance(message, PendingRequest) else None
