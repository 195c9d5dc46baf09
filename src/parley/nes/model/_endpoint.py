"""A server that runs a model, and the connections to it.

HTTP/1.1, one request at a time on a connection; TLS is verified, redirects are not followed, what
is too long is not read to its end, and cancelling the caller cancels the request too.
The key is a secret: it is in no log, no error and no `repr`, and goes to no other machine without
TLS. Needs the extra `http`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from parley._redaction import MASK, redact
from parley.errors import ModelFailed, RemoteProtocolError, TransportError
from parley.transport.http._client.address import Address, RemoteOptions
from parley.transport.http._client.connection_pool import dial, start_protocol
from parley.transport.http._client.h1 import H1Client
from parley.transport.http._client.response import RequestInterrupted, Response

from ._api import Api, Completion, Prompt, body_of, completion_of

MAX_ANSWER_BYTES = 1024 * 1024
"""A longer answer is none: what is asked for is a few lines."""
_MAX_ERROR_BYTES = 16 * 1024
_MAX_SAID = 200
_SECONDS = re.compile(r"\d{1,6}")


class Endpoint:
    """A server and its model."""

    def __init__(
        self,
        url: str,
        api: Api,
        model: str,
        *,
        options: RemoteOptions,
        extra: Mapping[str, Any],
    ) -> None:
        """Prepare an endpoint; nothing is sent yet.

        Raises:
            ConnectFailed: Something is wrong with the address or the key.
        """
        self._address = Address(url, options)
        self._key = options.get("token") or ""
        self._api: Api = api
        self._model = model
        self._extra = extra
        self._connections: list[H1Client] = []

    @property
    def shown(self) -> str:
        """The address as it may be shown."""
        return self._address.shown

    async def complete(self, prompt: Prompt) -> Completion:
        """Ask the model.

        Raises:
            ModelFailed: It does not answer as it should.
            TransportError: It cannot be reached, or hangs up.
        """
        body = body_of(self._api, self._model, prompt, self._extra)
        response = await self._post(body)
        try:
            if response.status != 200:
                raise await self._failure(response)
            return completion_of(await response.read(MAX_ANSWER_BYTES))
        except RemoteProtocolError as error:
            raise ModelFailed(str(error)) from error
        finally:
            response.cancel()

    def close(self) -> None:
        """End all connections; what is under way fails."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    async def _post(self, body: bytes) -> Response:
        """Return the answer as it begins; a connection that lay idle may be gone by now."""
        idle = next((each for each in self._connections if each.is_available()), None)
        if idle is not None:
            try:
                return await self._begin(idle, body).head()
            except RequestInterrupted:
                pass
        return await self._begin(await self._connect(), body).head()

    def _begin(self, connection: H1Client, body: bytes) -> Response:
        headers = [
            (b"content-type", b"application/json"),
            (b"accept", b"application/json"),
            *self._address.headers,
        ]
        return connection.send_request(b"POST", self._address.path, headers, body)

    async def _connect(self) -> H1Client:
        for each in self._connections:
            if each.is_idle and not each.is_available():
                each.close()  # it lay idle for too long
        self._connections = [each for each in self._connections if each.close_reason is None]
        transport = await dial(self._address, ["http/1.1"])
        connection = H1Client(self._address.authority, on_change=_ignore)
        start_protocol(transport, connection)
        self._connections.append(connection)
        return connection

    async def _failure(self, response: Response) -> ModelFailed:
        try:
            detail = (await response.read(_MAX_ERROR_BYTES)).decode(errors="replace")
        except (RemoteProtocolError, TransportError):
            detail = ""
        if self._key:
            detail = detail.replace(self._key, MASK)
        detail = " ".join(redact(detail).split())[:_MAX_SAID]
        seconds = _SECONDS.fullmatch(response.header(b"retry-after").strip())
        return ModelFailed(
            f"{self.shown} responds with {response.status}{_mend(response.status)}"
            f"{detail and ': '}{detail}",
            status=response.status,
            retry_after=float(seconds[0]) if seconds else None,
        )


def _mend(status: int) -> str:
    if status in (401, 403):
        return " (give it a key that it takes)"
    if status == 404:
        return " (is the path right, and the name of the model?)"
    if 300 <= status < 400:
        return " (give the address that it leads to; redirects are not followed)"
    return ""


def _ignore() -> None:
    """Do nothing: nobody waits for room."""
