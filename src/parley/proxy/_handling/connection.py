"""A connection through a proxy: its two sides, its state, and the messages of its own.

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
from msgspec import Raw, Struct

from parley._user_code import as_exception, reraise_if_ending
from parley.errors import (
    AcpError,
    ConnectionClosed,
    InternalError,
    InvalidRequest,
    MethodNotFound,
    RequestError,
    UnsupportedProtocolVersion,
    request_error,
)
from parley.proxy._switch.disconnect import disconnect_error
from parley.proxy._switch.messages import (
    DirectResponse,
    PendingRequest,
    RawMessage,
    RawNotification,
    Route,
)
from parley.proxy._switch.patching import patch_object, set_path
from parley.proxy._switch.port import Port, PortOptions
from parley.proxy._switch.splice import has_duplicate_keys
from parley.proxy._switch.switch import Switch
from parley.proxy._transports.mux import MuxTransport, ids_for
from parley.proxy._transports.timeout import ComponentTimeout
from parley.proxy._transports.wrapping import CONDUCTOR_METHODS, INITIALIZE
from parley.rpc import _codec as codec
from parley.rpc._codec import DECODE_ERRORS
from parley.rpc._message import ErrorObject, Success
from parley.rpc._message import Request as RpcRequest
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema._session_methods import CLOSES
from parley.session._dialect import dialect_of, dialect_of_response
from parley.session._mcp_capabilities import MCP_ACP, mcp_capabilities
from parley.session._transcript import Transcript
from parley.transport._base import Transport
from parley.transport._frame_head import peek_params

from .direction import Direction, InternalRoute, cancel_soon, params_of
from .message import Message, Request
from .peer import ProxyPeer
from .tools import ConnectionTools

if TYPE_CHECKING:
    from parley.proxy._proxy import Proxy


logger = logging.getLogger(__name__)

_END_GRACE = 2.0


class _Update(Struct, frozen=True):
    kind: str = msgspec.field(name="sessionUpdate", default="")
    state: str = ""


class _UpdateParams(Struct):
    update: _Update = _Update()


class ConnectionOptions(Struct, frozen=True, kw_only=True):
    """The place of a proxy: its neighbors, and what a chain wants to know about it."""

    agent_name: str = "the agent"
    """The name of the agent in errors."""
    is_proxied: bool = False
    """Whether the client sends `proxy/initialize` where a plain client sends `initialize`."""
    mux: MuxTransport | None = None
    """The pipe that carries both sides, if one does."""
    timeout: ComponentTimeout | None = None
    """Runs until the proxy has begun, and until it has answered initialize."""
    stays_open: bool = False
    """Whether the connection stays when the agent is lost, until it is closed."""
    on_failed: Callable[[], None] | None = None
    """Called when the proxy cannot begin, before both sides are closed."""
    explain: Callable[[str, ConnectionClosed], RequestError] = disconnect_error
    """Returns the error of requests that a lost agent leaves unanswered."""


DEFAULT_OPTIONS = ConnectionOptions()


class ProxyConnection:
    """A client and an agent, with a proxy in between."""

    def __init__(
        self,
        proxy: Proxy,
        client: Transport,
        agent: Transport,
        *,
        options: ConnectionOptions = DEFAULT_OPTIONS,
    ) -> None:
        """Prepare to stand between two transports; nothing is read before `run`.

        Args:
            proxy: The proxy whose handlers are called.
            client: The transport to the client.
            agent: The transport to the agent.
            options: The place of the proxy.
        """
        self.proxy = proxy
        self.name = proxy.name
        self.state: dict[str, Any] = {}
        """For handlers: anything that they want to keep about this connection."""
        self.dialect = dialect_of(max(proxy.versions))
        """The translation between version 2 and the version on the wire."""
        self.prompts: dict[str, ProxyPrompt] = {}
        self.busy_sessions: set[str] = set()
        """The sessions in which the agent works on a prompt of the client."""
        self._options = options
        self._shows_initialize = options.is_proxied
        """Whether the watcher has yet to see how the connection begins."""
        self._switch = Switch()
        self._over = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()
        client_port, agent_port = self._add_ports(client, agent)
        self._to_agent = Direction(self, client_port, agent_port)
        self._to_client = self._to_agent.opposite
        self.client: ProxyPeer = self._to_client.peer
        """The client, for requests and notifications of the proxy's own."""
        self.agent: ProxyPeer = self._to_agent.peer
        """The agent, for requests and notifications of the proxy's own."""
        self.tools = ConnectionTools(self)
        """The MCP servers that the proxy offers."""
        self._use_handlers()

    def _add_ports(self, client: Transport, agent: Transport) -> tuple[Port, Port]:
        client_options = PortOptions(
            tap=None if self.proxy.watcher is None else self._watch,
            on_response_sent=None if self._options.timeout is None else self._client_response_sent,
            on_lost=self._lost,
        )
        agent_options = PortOptions(
            skips_noise=True, on_lost=self._lost, explain=self._options.explain
        )
        client_name = f"the client of {self.name}"
        return (
            self._switch.add(client, client_name, options=client_options, ids=ids_for(client)),
            self._switch.add(
                agent, self._options.agent_name, options=agent_options, ids=ids_for(agent)
            ),
        )

    def _watch(self, is_from_client: bool, frame: bytes, session_id: str) -> None:
        """Show a watcher a frame; one that fails is logged, and harms nothing."""
        assert self.proxy.watcher is not None
        if self._shows_initialize:
            frame = self._as_from_client(frame)
        try:
            self.proxy.watcher(self, is_from_client, frame, session_id)
        except BaseException as error:  # of the program: a watcher only looks
            reraise_if_ending(error)
            logger.exception("%s: its watcher failed", self.name)

    def _as_from_client(self, frame: bytes) -> bytes:
        """Return a first frame as a client sends it, whose initialize has no other name."""
        message = codec.decode(frame)
        if isinstance(message, RpcRequest) and message.method in INITIALIZE:
            self._shows_initialize = False
            return codec.encode_request(message.id, "initialize", bytes(message.params) or None)
        return frame

    @property
    def version(self) -> int:
        """The version of the protocol on the wire."""
        return self.dialect.version

    @property
    def is_over(self) -> bool:
        """Return whether one of its sides has disconnected."""
        return self._over.done()

    async def run(self) -> None:
        """Forward messages until one side disconnects, then close the other."""
        try:
            await self._open()
            self._switch.start(self._to_agent.source, self._to_agent.route)
            self._switch.start(self._to_client.source, self._to_client.route)
            await self._over
        finally:
            await self._end()

    async def _open(self) -> None:
        if self._options.timeout is not None:
            self._options.timeout.begin()
        try:
            for hook in self.proxy.openers:
                await hook(self)
        except BaseException as error:  # of the program
            failure = as_exception(error)
            if self._options.on_failed is not None:
                self._options.on_failed()
            raise failure from error
        finally:
            if self._options.timeout is not None:
                self._options.timeout.end()

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
        if port is self.agent.port and self._options.stays_open:
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
            return DirectResponse(InvalidRequest("The message has a duplicate key"))
        is_proxy = message.method in INITIALIZE
        if is_proxy and not self._options.is_proxied:
            return _refuse_proxy(message)
        if not is_proxy and self._options.is_proxied:
            return DirectResponse(InvalidRequest(self.proxy.not_an_agent))
        if self._options.mux is not None:
            self._options.mux.use_spelling(message.method)
        offered = peek_params(message.params).protocol_version
        version = 1 if offered is None else offered
        spoken = min(version, 2)
        if spoken not in self.proxy.versions:
            return DirectResponse(self._wrong_version(version))
        self.dialect = dialect_of(spoken)
        self._use_handlers()
        if is_proxy:
            message.method = "initialize"
            message.frame = patch_object(message.frame, {"method": b'"initialize"'})
        if self._options.timeout is not None:
            self._options.timeout.begin()
        self._to_agent.handle(self.proxy.client.get("initialize", self._to_agent.fallback), message)
        return None

    def _client_response_sent(self, call: PendingRequest, frame: bytes) -> None:
        """Stop waiting for the response to initialize when the client gets it."""
        if self._options.timeout is not None and call.method == "initialize":
            self._options.timeout.end()

    def _wrong_version(self, version: int) -> UnsupportedProtocolVersion:
        spoken = " and ".join(map(str, self.proxy.versions))
        return UnsupportedProtocolVersion(
            f"The proxy {self.name} speaks version {spoken} of the protocol, not {version}"
        )

    def read_initialize_response(self, call: PendingRequest, frame: bytes) -> bytes:
        """Read the version from the response to initialize, and offer MCP over ACP in it."""
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
        """Run a handler in a task, which is cancelled when its request is."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if isinstance(message, Request):
            message.call.on_cancel = lambda _: cancel_soon(task)

    def check(self) -> None:
        """Pause or resume reading from both sides, by how much waits."""
        self._to_agent.queues.on_change()
        self._to_client.queues.on_change()

    async def ask(self, session_id: str, prompt: str | Sequence[v2.ContentBlock]) -> str:
        """Send the agent a prompt of the proxy's own, and return its text.

        The client sees neither the updates nor the response. Its own messages in the session wait
        until the turn is over.

        Raises:
            RequestError: The prompt was rejected, or the turn failed.
            InvalidRequest: Another prompt is running in the session, of the proxy or of the client.
        """
        if session_id in self.prompts:
            raise InvalidRequest("A prompt of the proxy is under way in this session")
        if session_id in self.busy_sessions:  # updates of the two prompts could not be told apart
            raise InvalidRequest(
                "The agent works on a prompt of the client in this session; ask when it has ended"
            )
        text = [v2.TextContent(text=prompt)] if isinstance(prompt, str) else list(prompt)
        own_prompt = self.prompts[session_id] = ProxyPrompt(self, session_id)
        queues = self._to_agent.queues
        slot = None if session_id in queues.occupied else queues.hold(session_id)
        try:
            return await own_prompt.run(list(text))
        finally:
            del self.prompts[session_id]
            if slot is not None:
                slot.end()

    def track_turn(self, direction: Direction, message: RawMessage) -> None:
        """Note the end of a turn, or of its session, in a busy session."""
        if message.method in CLOSES:
            self.busy_sessions.discard(message.session_id)
        if direction is self._to_client and b'"state_update"' in message.frame:
            with suppress(*DECODE_ERRORS):
                update = msgspec.json.decode(params_of(message), type=_UpdateParams).update
                if (update.kind, update.state) == ("state_update", "idle"):
                    self.busy_sessions.discard(message.session_id)

    def capture(self, direction: Direction, note: RawNotification) -> bool:
        """Return whether an update belongs to a prompt of the proxy's own, and is kept here."""
        own_prompt = self.prompts.get(note.session_id)
        if own_prompt is None:
            return False
        if direction is self._to_client and note.method == "session/update":
            own_prompt.take(note, params_of(note))
            return True
        if direction is self._to_agent and note.method == "session/cancel":
            self.agent.send(note.frame, note.session_id)
        return False

    async def update(self, session_id: str, update: v2.SessionUpdate) -> None:
        """Send the client an update of a session, as if the agent had sent it."""
        for lowered in self.dialect.downgrade_update(session_id, update):
            body = b'{"sessionId":%b,"update":%b}' % (encode(session_id), encode(lowered))
            self.client.send(codec.encode_notification("session/update", body), session_id)
        await self.client.drained()

    def __repr__(self) -> str:
        return f"Link({self.name!r}, version {self.version})"


class ProxyPrompt:
    """A prompt of the proxy's own, and the agent's text."""

    def __init__(self, connection: ProxyConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id
        self._transcript = Transcript()
        self._ended = asyncio.get_running_loop().create_future()

    def take(self, note: RawNotification, params: Raw) -> None:
        """Take an update of the session."""
        try:
            updates = self._connection.dialect.updates(self._session_id, params)
        except AcpError:
            return
        for update in updates:
            self._transcript.fold(update)
            if self._connection.dialect.ends_turn(update) and not self._ended.done():
                self._ended.set_result(update)

    async def run(self, prompt: list[v2.ContentBlock]) -> str:
        """Ask, wait for the end of the turn, and return the agent's text.

        Raises:
            RequestError: The prompt was refused, or the turn has failed.
        """
        params = v2.PromptRequest(session_id=self._session_id, prompt=prompt)
        response = await self._connection.agent.request("session/prompt", params)
        if isinstance(response, v2.PromptResponse):
            end = await self._connection.agent.wait(self._ended)
            if end.error is not None:
                raise request_error(end.error.code, end.error.message)
        return self._transcript.text


def _as_error(error: RequestError) -> ErrorObject:
    return ErrorObject(error.code, error.message)


def _refuse_proxy(message: RawMessage) -> DirectResponse | None:
    """Reject the methods that only a conductor and its proxies send to each other."""
    return DirectResponse(MethodNotFound()) if isinstance(message, PendingRequest) else None
