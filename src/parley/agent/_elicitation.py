"""Elicitation: asking the user for input, in a session or on behalf of a request.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, cast
from uuid import uuid4

import msgspec

from parley.errors import LocalProtocolError, MalformedValue, RemoteProtocolError, Unsupported
from parley.schema import v2
from parley.schema._codec import decode, encode
from parley.schema.base import JsonObject, Unknown
from parley.schema.v2 import methods
from parley.schema.v2.elicitation import FormField
from parley.session._adapter import AgentAdapter
from parley.session._capabilities import ClientFeatures
from parley.session._forms import check_own_content, compile_patterns
from parley.session._validation import check_text

Form: TypeAlias = v2.ElicitationSchema | Mapping[str, FormField | Unknown]
"""A form; a mapping is a form whose fields are all required. The values of the mapping are the
members of `v2.ElicitationPropertySchema`, typed by their common base class, so that a dict with
fields of different types needs no annotation."""


class _HandledRequest:
    """A request from the client that is being handled."""

    def __init__(self, connection: object, id: int | str | None) -> None:
        self.connection = connection
        self.id = id
        self.is_handled = False


_current_request: ContextVar[_HandledRequest | None] = ContextVar("current_request", default=None)
"""The request that is being handled in the current context. Tasks started by the handler inherit
it, so `is_handled` marks requests whose handler has returned."""


@contextmanager
def handling(connection: object, request_id: int | str | None) -> Generator[None]:
    """Make this request the scope of elicitations made inside the block."""
    request = _HandledRequest(connection, request_id)
    token = _current_request.set(request)
    try:
        yield
    finally:
        request.is_handled = True
        _current_request.reset(token)


def request_scope(connection: object) -> dict[str, Any]:
    """Return the scope of an elicitation that belongs to the request being handled.

    Raises:
        LocalProtocolError: No request from this client is being handled here.
        Unsupported: The id of the request is null, which an elicitation cannot refer to.
    """
    request = _current_request.get()
    if request is None or request.is_handled or request.connection is not connection:
        raise LocalProtocolError(
            "no request from this client is being handled here, so there is nothing that the "
            "question could belong to; use turn.elicit or session.elicit"
        )
    if request.id is None:
        raise Unsupported("the client's request has the id null, which a question cannot refer to")
    return {"request_id": request.id}


class UrlElicitation:
    """A web page that the user was asked to open; returned by `elicit_url`.

    ```python
    page = await turn.elicit_url("Please connect your account", "https://example.com/connect")
    if page.is_accepted:
        ...  # wait for the user to finish, for example for an OAuth callback
        await page.complete()
    ```

    `is_accepted` says only that the user agreed to open the page. Your program finds out when the
    user has finished there, and then calls `complete`.
    """

    def __init__(
        self, adapter: AgentAdapter, id: str, response: v2.CreateElicitationResponse
    ) -> None:
        self._adapter = adapter
        self.id = id
        """The id of the elicitation."""
        self.response = response
        """The client's response; accepting means that the user agreed to open the page, no more."""

    @property
    def is_accepted(self) -> bool:
        """Whether the user agreed to open the page."""
        return isinstance(self.response, v2.ElicitationAcceptAction)

    async def complete(self, *, meta: JsonObject | None = None) -> None:
        """Notify the client that the user has finished on the page."""
        note = v2.CompleteElicitationNotification(elicitation_id=self.id, meta=meta)
        await self._adapter.notify(methods.COMPLETE_ELICITATION, note)


def form_request(
    client: ClientFeatures, message: str, form: Form, scope: Mapping[str, Any]
) -> v2.ElicitationFormMode:
    """Return a request that asks the user to fill in a form.

    Args:
        client: The features of the client.
        message: The question.
        form: The form.
        scope: The session or request that the elicitation belongs to, and its `meta`, as fields of
            the request.

    Raises:
        Unsupported: The client does not support forms.
        LocalProtocolError: A pattern in the form is not a valid regular expression.
        TypeError: The message, the form or one of its fields has the wrong type.
    """
    check_text(message, "the message of a form")
    if not client.form_elicitation:
        raise Unsupported("the client does not support forms (capability elicitation.form)")
    unchecked: object = form
    if not isinstance(form, v2.ElicitationSchema):
        if not isinstance(unchecked, Mapping):
            kind = type(unchecked).__name__
            raise TypeError(
                f"a form must be a dict of fields or a v2.ElicitationSchema, not {kind}; "
                "for a form from a Python type, use ask_form"
            )
        fields = cast("dict[str, v2.ElicitationPropertySchema]", dict(form))
        form = v2.ElicitationSchema(type="object", properties=fields, required=list(form))
    for name, field in form.properties.items():
        _check_field(name, field)
    try:
        compile_patterns(form)
    except ValueError as error:
        raise LocalProtocolError(f"the form cannot be used: {error}") from error
    return v2.ElicitationFormMode(message=message, requested_schema=form, **scope)


def _check_field(name: str, field: object) -> None:
    """Raise `TypeError` for a field that the client would reject or decode differently.

    The field is encoded and decoded again: every member must come back unchanged.
    """
    check_text(name, "the name of a form field")
    if isinstance(field, Unknown):
        return
    if not isinstance(field, FormField):
        kind = type(field).__name__
        raise TypeError(
            f"the form field {name!r} must be a field such as v2.StringPropertySchema(), not {kind}"
        )
    encoded = encode(field)
    try:
        reencoded = encode(decode(type(field), encoded, name))
    except MalformedValue as error:
        raise TypeError(f"the form field {name!r} cannot be used: {error}") from error
    sent, received = msgspec.json.decode(encoded), msgspec.json.decode(reencoded)
    for member in sent:
        if received.get(member) != sent[member]:
            raise TypeError(f"the form field {name!r}: {member} has a value of the wrong type")


async def send_form_request(
    adapter: AgentAdapter, request: v2.ElicitationFormMode
) -> v2.CreateElicitationResponse:
    """Send a form request, and check that the response matches the form.

    Raises:
        RemoteProtocolError: The response does not match the form.
    """
    response = await adapter.request(methods.CREATE_ELICITATION, request)
    if isinstance(response, v2.ElicitationAcceptAction):
        try:
            check_own_content(request.requested_schema, response.content)
        except MalformedValue as error:
            raise RemoteProtocolError(
                f"the client's response does not match the form: {error}"
            ) from error
    return response


def url_request(
    client: ClientFeatures, message: str, url: str, scope: Mapping[str, Any]
) -> v2.ElicitationUrlMode:
    """Return a request that asks the user to open a web page.

    Raises:
        Unsupported: The client does not support opening pages.
        TypeError: The message or the URL is not a string.
    """
    if not client.url_elicitation:
        raise Unsupported(
            "the client does not support opening web pages (capability elicitation.url)"
        )
    check_text(message, "the message of a page")
    check_text(url, "the URL of a page")
    id = f"elicitation_{uuid4().hex}"
    return v2.ElicitationUrlMode(message=message, url=url, elicitation_id=id, **scope)


async def send_url_request(adapter: AgentAdapter, request: v2.ElicitationUrlMode) -> UrlElicitation:
    """Send a request to open a web page."""
    response = await adapter.request(methods.CREATE_ELICITATION, request)
    return UrlElicitation(adapter, request.elicitation_id, response)
