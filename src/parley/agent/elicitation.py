"""Asking the user for input, in a session or on behalf of a request.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast
from uuid import uuid4

from parley.errors import LocalProtocolError, MalformedValue, RemoteProtocolError, Unsupported
from parley.schema import v2
from parley.schema.base import Unknown
from parley.schema.v2 import methods
from parley.schema.v2.elicitation import FormField
from parley.session.features import ClientFeatures
from parley.session.forms import check_content, check_patterns
from parley.session.surface import AgentSurface

__all__ = ["Form", "UrlElicitation", "fill_in", "form_request", "open_page", "url_request"]

Form: TypeAlias = v2.ElicitationSchema | Mapping[str, FormField | Unknown]
"""A form; a mapping is one whose fields are all required. Its values are what
`v2.ElicitationPropertySchema` lists, typed by what these have in common, so that a dict of
different ones needs no annotation."""


class UrlElicitation:
    """A page that the user was asked to open."""

    def __init__(
        self, surface: AgentSurface, id: str, answer: v2.CreateElicitationResponse
    ) -> None:
        self._surface = surface
        self.id = id
        """Names it."""
        self.answer = answer
        """What the user did; accepting means to have agreed to open the page, nothing more."""

    @property
    def is_accepted(self) -> bool:
        """Whether the user agreed to open the page."""
        return isinstance(self.answer, v2.ElicitationAcceptAction)

    async def complete(self) -> None:
        """Tell the client that what was to be done on the page is done."""
        note = v2.CompleteElicitationNotification(elicitation_id=self.id)
        await self._surface.notify(methods.COMPLETE_ELICITATION, note)


def form_request(
    client: ClientFeatures, message: str, form: Form, scope: Mapping[str, Any]
) -> v2.ElicitationFormMode:
    """Return what asks the user to fill in a form.

    Raises:
        Unsupported: The client shows no forms.
        LocalProtocolError: A pattern in it cannot be evaluated.
    """
    if not client.form_elicitation:
        raise Unsupported("the client does not show forms (capability elicitation.form)")
    if not isinstance(form, v2.ElicitationSchema):
        fields = cast("dict[str, v2.ElicitationPropertySchema]", dict(form))
        form = v2.ElicitationSchema(type="object", properties=fields, required=list(form))
    try:
        check_patterns(form)
    except ValueError as error:
        raise LocalProtocolError(f"answers to the form could not be checked: {error}") from error
    return v2.ElicitationFormMode(message=message, requested_schema=form, **scope)


async def fill_in(
    surface: AgentSurface, request: v2.ElicitationFormMode
) -> v2.CreateElicitationResponse:
    """Ask the user to fill in a form.

    Raises:
        RemoteProtocolError: What the client sends as filled in does not fit the form.
    """
    answer = await surface.request(methods.CREATE_ELICITATION, request)
    if isinstance(answer, v2.ElicitationAcceptAction):
        try:
            check_content(request.requested_schema, answer.content)
        except MalformedValue as error:
            raise RemoteProtocolError(f"the answer does not fit the form: {error}") from error
    return answer


def url_request(
    client: ClientFeatures, message: str, url: str, scope: Mapping[str, Any]
) -> v2.ElicitationUrlMode:
    """Return what asks the user to open a page.

    Raises:
        Unsupported: The client opens no pages.
    """
    if not client.url_elicitation:
        raise Unsupported("the client does not open pages (capability elicitation.url)")
    id = f"elicitation_{uuid4().hex}"
    return v2.ElicitationUrlMode(message=message, url=url, elicitation_id=id, **scope)


async def open_page(surface: AgentSurface, request: v2.ElicitationUrlMode) -> UrlElicitation:
    """Ask the user to open a page."""
    answer = await surface.request(methods.CREATE_ELICITATION, request)
    return UrlElicitation(surface, request.elicitation_id, answer)
