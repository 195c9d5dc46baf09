"""A login under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parley.schema import v2
from parley.schema.base import JsonObject

from .elicitation import Form, UrlElicitation, fill_in, form_request, open_page, url_request

if TYPE_CHECKING:
    from .connection import Connection

__all__ = ["Login"]


class Login:
    """What a login handler gets; it returns when the user is logged in, and raises otherwise."""

    def __init__(
        self, connection: Connection, request_id: int | str | None, params: v2.LoginAuthRequest
    ) -> None:
        self.connection = connection
        """The connection, and with it the client."""
        self.method_id = params.method_id
        """Which way to log in the user has chosen."""
        self.meta: JsonObject | None = params.meta
        """The `_meta` of the request."""
        self._request_id = request_id

    async def elicit(self, message: str, form: Form) -> v2.CreateElicitationResponse:
        """Ask the user to fill in a form; never ask for secrets in one.

        Raises:
            Unsupported: The client shows no forms.
            RemoteProtocolError: What it sends as filled in does not fit.
        """
        surface = self.connection.surface
        request = form_request(surface.client, message, form, {"request_id": self._request_id})
        return await fill_in(surface, request)

    async def elicit_url(self, message: str, url: str) -> UrlElicitation:
        """Ask the user to open a page.

        Raises:
            Unsupported: The client opens no pages.
        """
        surface = self.connection.surface
        request = url_request(surface.client, message, url, {"request_id": self._request_id})
        return await open_page(surface, request)
