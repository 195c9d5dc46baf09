"""`AgentConnection`: the program's view of a connection; `ConnectionServer` serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parley.schema import v2
from parley.schema._custom_values import check_custom_method
from parley.schema.base import JsonObject, Kind, Method
from parley.schema.v2 import methods
from parley.session._capabilities import AgentFeatures, ClientFeatures

from ._elicitation import (
    Form,
    UrlElicitation,
    form_request,
    request_scope,
    send_form_request,
    send_url_request,
    url_request,
)
from ._typed_form import T, TypedForm

if TYPE_CHECKING:
    from ._agent import Agent
    from ._connection_server import ConnectionServer


class AgentConnection:
    """A connection from a client to an agent.

    You get one as `session.connection`, as `login.connection`, and as the last argument of handlers
    that work outside of sessions, such as `@agent.logout` and `@agent.request`:

    ```python
    @agent.request("_example.com/add")
    async def add(params: Add, connection: AgentConnection) -> int:
        await connection.notify("_example.com/log", {"text": "adding"})
        return params.left + params.right
    ```

    `request` and `notify` send extension methods to the client. `ask_form`, `elicit` and
    `elicit_url` ask the user on behalf of the request that is being handled. `report_auth_status`
    reports a login or logout.
    """

    def __init__(self, agent: Agent, server: ConnectionServer) -> None:
        self.agent = agent
        """The agent that serves it."""
        self._server = server

    @property
    def name(self) -> str:
        """The name of the client in logs and errors."""
        return self._server.name

    @property
    def features(self) -> AgentFeatures:
        """The features that the agent offers to this client."""
        return self._server.features

    @property
    def client(self) -> ClientFeatures:
        """The features that the client offers."""
        return self._server.adapter.client

    @property
    def client_info(self) -> v2.Implementation | None:
        """The name and version of the client, if it sent them."""
        return self._server.adapter.client_info

    async def request(self, method: str, params: Any = None, result: Any = Any) -> Any:
        """Send an extension request to the client and return its result.

        Args:
            method: The method name, which starts with an underscore.
            params: Anything that can be encoded as JSON.
            result: The type to decode the result as; plain JSON values by default.

        Raises:
            LocalProtocolError: The method name does not start with an underscore.
            RequestError: The client returned an error; `MethodNotFound` if it does not know the
                method.
        """
        return await self._server.adapter.request(_extension(method, "request", result), params)

    async def notify(self, method: str, params: Any = None) -> None:
        """Send an extension notification to the client.

        Args:
            method: The method name, which starts with an underscore.
            params: Anything that can be encoded as JSON.

        Raises:
            LocalProtocolError: The method name does not start with an underscore.
        """
        await self._server.adapter.notify(_extension(method, "notification", None), params)

    async def ask_form(
        self, message: str, form: type[T], *, meta: JsonObject | None = None
    ) -> T | None:
        """Ask the user to fill in a form for a Python type, as `turn.ask_form` does.

        The form belongs to the request that is being handled. None means that the user declined or
        dismissed it.

        Args:
            message: The question.
            form: A dataclass, a `TypedDict` or a `msgspec.Struct`.
            meta: The `_meta` of the request.

        Raises:
            LocalProtocolError: No request from this client is being handled here.
            Unsupported: The client does not support forms.
            RemoteProtocolError: The client's response does not match the form.
            TypeError: A form cannot show a value of this type.
            ValueError: The type itself refuses the values.
        """
        typed = TypedForm[T](form)
        return typed.read(await self.elicit(message, typed.schema, meta=meta))

    async def elicit(
        self, message: str, form: Form, *, meta: JsonObject | None = None
    ) -> v2.CreateElicitationResponse:
        """Ask the user to fill in a form, on behalf of the request that is being handled.

        Use it outside of sessions: in handlers for `open_session`, logins, providers and extension
        requests. In a session, use `turn.elicit` or `session.elicit`.

        Args:
            message: The question.
            form: The form; a mapping is a form whose fields are all required.
            meta: The `_meta` of the request.

        Raises:
            LocalProtocolError: No request from this client is being handled here.
            Unsupported: The client does not support forms.
            RemoteProtocolError: The client's response does not match the form.
        """
        adapter = self._server.adapter
        scope = {**request_scope(self._server), "meta": meta}
        return await send_form_request(adapter, form_request(adapter.client, message, form, scope))

    async def elicit_url(
        self, message: str, url: str, *, meta: JsonObject | None = None
    ) -> UrlElicitation:
        """Ask the user to open a web page, on behalf of the request that is being handled.

        Args:
            message: What the user should do there.
            url: The address of the page.
            meta: The `_meta` of the request.

        Raises:
            LocalProtocolError: No request from this client is being handled here.
            Unsupported: The client does not support opening pages.
        """
        adapter = self._server.adapter
        scope = {**request_scope(self._server), "meta": meta}
        return await send_url_request(adapter, url_request(adapter.client, message, url, scope))

    async def report_auth_status(self, status: v2.AuthStatusResponse) -> None:
        """Notify the client that the login state has changed."""
        note = v2.AuthStatusUpdateNotification(
            state=status.state, accounts=status.accounts, meta=status.meta
        )
        await self._server.adapter.notify(methods.AUTH_STATUS_UPDATE, note)

    def __repr__(self) -> str:
        return f"AgentConnection({self._server.summary()})"


def _extension(name: str, kind: Kind, result: Any) -> Method[Any, Any]:
    check_custom_method(name)
    return Method(name=name, to="client", kind=kind, params=Any, result=result)
