"""Elicitation: requests for user input, with a form or on a web page.

Capabilities are in `capabilities.py`. Submitted forms are validated in `parley.session`, not here.

Spec: https://agentclientprotocol.com/protocol/v1/elicitation
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from parley.schema.base import I64, U32, U64, BaseStruct, Object, Open, Strict, Untagged

from .ids import RequestId, SessionId, ToolCallId

__all__ = [
    "BooleanPropertySchema",
    "CompleteElicitationNotification",
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "ElicitationAcceptAction",
    "ElicitationCancelAction",
    "ElicitationContentValue",
    "ElicitationDeclineAction",
    "ElicitationFormMode",
    "ElicitationId",
    "ElicitationPropertySchema",
    "ElicitationRequestScope",
    "ElicitationSchema",
    "ElicitationSchemaType",
    "ElicitationSessionScope",
    "ElicitationUrlMode",
    "EnumOption",
    "IntegerPropertySchema",
    "MultiSelectItems",
    "MultiSelectPropertySchema",
    "NumberPropertySchema",
    "StringFormat",
    "StringMultiSelectItems",
    "StringPropertySchema",
    "TitledMultiSelectItems",
]

ElicitationId: TypeAlias = str
"""The id of a URL elicitation."""

ElicitationSchemaType: TypeAlias = Literal["object"]
"""A form is always an object."""

# The JSON Schema closes this list, the text of the specification forbids to refuse other formats:
# https://agentclientprotocol.com/rfds/elicitation
StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"] | str
"""The format of a string; an unknown format is kept and not checked."""


class EnumOption(Object):
    """A value to choose, with a title."""

    const: str
    """The value."""
    title: str
    description: str | None = None


class _Property(Object):
    """The properties that all fields of a form have."""

    title: str | None = None
    description: str | None = None


class StringPropertySchema(_Property, tag_field="type", tag="string"):
    """A text field, or a single choice."""

    min_length: Strict[U32 | None] = None
    max_length: Strict[U32 | None] = None
    pattern: Strict[str | None] = None
    """A regular expression from the agent; evaluate it with bounded time and memory."""
    format: Strict[StringFormat | None] = None
    default: str | None = None
    enum: Strict[list[str] | None] = None
    """The choices."""
    one_of: Strict[list[EnumOption] | None] = None
    """The choices, with titles."""


class NumberPropertySchema(_Property, tag_field="type", tag="number"):
    """A field for a number."""

    minimum: Strict[float | None] = None
    maximum: Strict[float | None] = None
    default: float | None = None


class IntegerPropertySchema(_Property, tag_field="type", tag="integer"):
    """A field for a whole number."""

    minimum: Strict[I64 | None] = None
    maximum: Strict[I64 | None] = None
    default: I64 | None = None


class BooleanPropertySchema(_Property, tag_field="type", tag="boolean"):
    """A field for yes or no."""

    default: bool | None = None


class StringMultiSelectItems(Object, tag_field="type", tag="string"):
    """The choices."""

    enum: list[str]


class TitledMultiSelectItems(Object):
    """The choices, with titles."""

    any_of: list[EnumOption]


MultiSelectItems: TypeAlias = Open[Untagged[StringMultiSelectItems | TitledMultiSelectItems]]
"""The choices of a multiple choice; one of an unknown `type` must not be shown as another."""


class MultiSelectPropertySchema(_Property, tag_field="type", tag="array"):
    """A field for several choices."""

    items: MultiSelectItems
    min_items: Strict[U64 | None] = None
    max_items: Strict[U64 | None] = None
    default: list[str] | None = None


ElicitationPropertySchema: TypeAlias = Open[
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema
]
"""A field of a form; one of an unknown `type` must not be shown as another."""


def _object() -> ElicitationSchemaType:
    return "object"


class ElicitationSchema(Object):
    """The fields of a form, as a flat JSON Schema."""

    # Two factories that are not `dict` or a value: both keys are always written, as they must be.
    type: ElicitationSchemaType = field(default_factory=_object)
    properties: Strict[dict[str, ElicitationPropertySchema]] = field(
        default_factory=dict[str, ElicitationPropertySchema]
    )
    required: Strict[list[str] | None] = None
    """The required fields."""
    title: str | None = None
    description: str | None = None


class ElicitationSessionScope(BaseStruct):
    """The request belongs to a session, or to one of its tool calls."""

    session_id: SessionId
    tool_call_id: ToolCallId | None = None


class ElicitationRequestScope(BaseStruct):
    """The request belongs to a pending request of the client outside any session."""

    request_id: RequestId


class _Elicitation(Object):
    """The fields that all requests have: a message and the scope."""

    message: str
    """The message for the user."""
    session_id: SessionId | None = None
    """The session that the request belongs to."""
    tool_call_id: ToolCallId | None = None
    """The tool call that the request belongs to."""
    request_id: RequestId | UnsetType = UNSET
    """Outside a session: the pending request that it belongs to. Null is a valid id."""

    def __post_init__(self) -> None:
        """Reject a request that has neither a session nor a request id."""
        if self.session_id is None and self.request_id is UNSET:
            raise ValueError("expected sessionId or requestId")

    @property
    def scope(self) -> ElicitationSessionScope | ElicitationRequestScope:
        """The session or the request that it belongs to; the session if both ids are present."""
        if self.session_id is not None:
            return ElicitationSessionScope(
                session_id=self.session_id, tool_call_id=self.tool_call_id
            )
        assert self.request_id is not UNSET
        return ElicitationRequestScope(request_id=self.request_id)


class ElicitationFormMode(_Elicitation, tag_field="mode", tag="form"):
    """Ask the user to fill in a form; never for secrets."""

    requested_schema: ElicitationSchema


class ElicitationUrlMode(_Elicitation, tag_field="mode", tag="url"):
    """Ask the user to visit a web page, and to do there what the client must not see."""

    elicitation_id: ElicitationId
    url: str


CreateElicitationRequest: TypeAlias = Open[ElicitationFormMode | ElicitationUrlMode]
"""Ask the user for input; an unknown mode must not be shown as another."""

ElicitationContentValue: TypeAlias = str | int | float | bool | list[str]
"""The values of a form, by field name."""


class ElicitationAcceptAction(Object, tag_field="action", tag="accept"):
    """The user submitted the form, or agreed to visit the page."""

    content: Strict[dict[str, ElicitationContentValue] | None] = None
    """The values, for a form."""


class ElicitationDeclineAction(Object, tag_field="action", tag="decline"):
    """The user declined."""


class ElicitationCancelAction(Object, tag_field="action", tag="cancel"):
    """The user dismissed the request."""


CreateElicitationResponse: TypeAlias = Open[
    ElicitationAcceptAction | ElicitationDeclineAction | ElicitationCancelAction
]
"""The user's response; an unknown action must not be treated as another."""


class CompleteElicitationNotification(Object):
    """The interaction on the web page is complete."""

    elicitation_id: ElicitationId
