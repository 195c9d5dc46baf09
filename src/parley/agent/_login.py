"""`Login`: the argument of a login handler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parley.schema import v2
from parley.schema.base import JsonObject

from ._elicitation import Form, UrlElicitation
from ._typed_form import T

if TYPE_CHECKING:
    from ._connection import AgentConnection


class Login:
    """A login in progress; the argument of an `@agent.login` handler.

    ```python
    @agent.login("browser", name="Log in with the browser")
    async def log_in(login: Login) -> None:
        page = await login.elicit_url("Please log in", "https://example.com/login")
        if not page.is_accepted:
            raise AuthRequired("You need to log in first")
        ...  # wait until your server knows that the user has logged in
        await page.complete()
    ```

    The handler returns when the user is logged in, and raises otherwise. `elicit_url` sends the
    user to a web page, `ask_form` and `elicit` ask for input that is not secret, and `connection`
    is the connection to the client.
    """

    def __init__(self, connection: AgentConnection, params: v2.LoginAuthRequest) -> None:
        self.connection = connection
        """The connection to the client."""
        self.method_id = params.method_id
        """The id of the login method that the user has chosen."""
        self.meta: JsonObject | None = params.meta
        """The `_meta` of the request."""

    async def ask_form(
        self, message: str, form: type[T], *, meta: JsonObject | None = None
    ) -> T | None:
        """Ask the user to fill in a form for a Python type; never ask for secrets in one.

        Args:
            message: The question.
            form: A dataclass, a `TypedDict` or a `msgspec.Struct`; see `turn.ask_form`.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The client does not support forms.
            RemoteProtocolError: The client's response does not match the form.
            TypeError: A form cannot show a value of this type.
            ValueError: The type itself refuses the values.
        """
        return await self.connection.ask_form(message, form, meta=meta)

    async def elicit(
        self, message: str, form: Form, *, meta: JsonObject | None = None
    ) -> v2.CreateElicitationResponse:
        """Ask the user to fill in a form; never ask for secrets in one.

        Args:
            message: The question.
            form: The form; a mapping is a form whose fields are all required.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The client does not support forms.
            RemoteProtocolError: The client's response does not match the form.
        """
        return await self.connection.elicit(message, form, meta=meta)

    async def elicit_url(
        self, message: str, url: str, *, meta: JsonObject | None = None
    ) -> UrlElicitation:
        """Ask the user to open a web page.

        Args:
            message: What the user should do there.
            url: The address of the page.
            meta: The `_meta` of the request.

        Raises:
            Unsupported: The client does not support opening pages.
        """
        return await self.connection.elicit_url(message, url, meta=meta)
