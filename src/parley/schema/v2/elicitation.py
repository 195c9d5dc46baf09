"""Elicitation: requests for user input, with a form or on a web page.

Capabilities are in `capabilities.py`. Submitted forms are validated in `parley.session`, not here.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

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
"""The type of a form, which is always an object."""

ElicitationContentValue: TypeAlias = Any
"""The value of a field: a string, a number, a boolean or a list of strings; others may follow."""

StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"] | str
"""The format of a string."""


class EnumOption(Object):
    """A choice with a label."""

    const: str
    """The value."""
    title: str
    """The label."""
    description: str | None = None


class FormField(Object):
    """The properties that all fields of a form have."""

    title: str | None = None
    description: str | None = None


class StringPropertySchema(FormField, tag_field="type", tag="string"):
    """A text field, or a single choice."""

    min_length: Strict[U32 | None] = None
    max_length: Strict[U32 | None] = None
    pattern: Strict[str | None] = None
    """A regular expression."""
    format: Strict[StringFormat | None] = None
    default: str | None = None
    enum: Strict[Annotated[list[str], Meta(min_length=1)] | None] = None
    """The choices, if it is a single choice."""
    one_of: Strict[Annotated[list[EnumOption], Meta(min_length=1)] | None] = None
    """The choices with labels, if it is a single choice."""


class NumberPropertySchema(FormField, tag_field="type", tag="number"):
    """A number field."""

    minimum: Strict[float | None] = None
    maximum: Strict[float | None] = None
    default: float | None = None


class IntegerPropertySchema(FormField, tag_field="type", tag="integer"):
    """A field for whole numbers."""

    minimum: Strict[I64 | None] = None
    maximum: Strict[I64 | None] = None
    default: I64 | None = None


class BooleanPropertySchema(FormField, tag_field="type", tag="boolean"):
    """A yes-or-no field."""

    default: bool | None = None


class StringMultiSelectItems(Object, tag_field="type", tag="string"):
    """Choices that are their own labels."""

    enum: Annotated[list[str], Meta(min_length=1)]


class TitledMultiSelectItems(Object):
    """Choices with labels; they have no `type`."""

    any_of: Annotated[list[EnumOption], Meta(min_length=1)]


MultiSelectItems: TypeAlias = Open[Untagged[StringMultiSelectItems | TitledMultiSelectItems]]
"""The choices of a multiple choice."""


class MultiSelectPropertySchema(FormField, tag_field="type", tag="array"):
    """A multiple choice."""

    min_items: Strict[U64 | None] = None
    max_items: Strict[U64 | None] = None
    items: MultiSelectItems
    default: list[str] | None = None


ElicitationPropertySchema: TypeAlias = Open[
    StringPropertySchema
    | NumberPropertySchema
    | IntegerPropertySchema
    | BooleanPropertySchema
    | MultiSelectPropertySchema
]
"""One field of a form."""


class ElicitationSchema(Object):
    """A form: a flat JSON Schema."""

    type: ElicitationSchemaType
    title: str | None = None
    properties: dict[str, ElicitationPropertySchema]
    """The fields by name."""
    required: Strict[list[str] | None] = None
    """The names of the required fields."""
    description: str | None = None


class ElicitationSessionScope(BaseStruct):
    """The request belongs to a session."""

    session_id: SessionId
    tool_call_id: ToolCallId | None = None


class ElicitationRequestScope(BaseStruct):
    """The request belongs to a pending request of the client outside any session."""

    request_id: RequestId


class _Elicitation(Object):
    message: str
    """The question."""
    session_id: Strict[SessionId | None] = None
    tool_call_id: ToolCallId | None = None
    """Only with a session."""
    request_id: Strict[RequestId | None] = None

    def __post_init__(self) -> None:
        """Refuse a question that belongs to nothing, or to two things."""
        if (self.session_id is None) == (self.request_id is None):
            raise ValueError("expected either sessionId or requestId")

    @property
    def scope(self) -> ElicitationSessionScope | ElicitationRequestScope:
        """The session or the request that it belongs to."""
        if self.session_id is not None:
            return ElicitationSessionScope(
                session_id=self.session_id, tool_call_id=self.tool_call_id
            )
        assert self.request_id is not None
        return ElicitationRequestScope(request_id=self.request_id)


class ElicitationFormMode(_Elicitation, tag_field="mode", tag="form"):
    """Ask with a form."""

    requested_schema: ElicitationSchema


class ElicitationUrlMode(_Elicitation, tag_field="mode", tag="url"):
    """Ask the user to open a URL; the client does not see what happens there."""

    elicitation_id: ElicitationId
    url: str


CreateElicitationRequest: TypeAlias = Open[ElicitationFormMode | ElicitationUrlMode]
"""Ask the user for input; a request in an unknown mode is kept, whatever its scope."""


class ElicitationAcceptAction(Object, tag_field="action", tag="accept"):
    """The user submitted the form, or agreed to open the URL."""

    content: Strict[dict[str, ElicitationContentValue] | None] = None
    """The values of the form, by field name."""


class ElicitationDeclineAction(Object, tag_field="action", tag="decline"):
    """The user declined."""


class ElicitationCancelAction(Object, tag_field="action", tag="cancel"):
    """The user dismissed the request."""


CreateElicitationResponse: TypeAlias = Open[
    ElicitationAcceptAction | ElicitationDeclineAction | ElicitationCancelAction
]
"""The user's response; an unknown action is not consent."""


class CompleteElicitationNotification(Object):
    """The interaction at the URL is complete."""

    elicitation_id: ElicitationId
