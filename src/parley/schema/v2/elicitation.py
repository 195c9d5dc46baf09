"""Asking the user for input, with a form or behind a URL.

Spec: https://agentclientprotocol.com/protocol/v2/elicitation
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import I64, U32, U64, Bare, Object, Open, Strict, Untagged

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
"""Names one elicitation behind a URL."""

ElicitationSchemaType: TypeAlias = Literal["object"]
"""What a form describes; closed."""

ElicitationContentValue: TypeAlias = Any
"""What the user put in one field: a string, a number, a boolean, a list of strings, or more one
day."""

StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"] | str
"""What a string should look like."""


class EnumOption(Object):
    """One choice and its label."""

    const: str
    """The value."""
    title: str
    """The label."""
    description: str | None = None


class FormField(Object):
    """What every field of a form has."""

    title: str | None = None
    description: str | None = None


class StringPropertySchema(FormField, tag_field="type", tag="string"):
    """A text field, or a choice of one."""

    min_length: Strict[U32 | None] = None
    max_length: Strict[U32 | None] = None
    pattern: Strict[str | None] = None
    """A regular expression."""
    format: Strict[StringFormat | None] = None
    default: str | None = None
    enum: Strict[Annotated[list[str], Meta(min_length=1)] | None] = None
    """The choices, where there are any."""
    one_of: Strict[Annotated[list[EnumOption], Meta(min_length=1)] | None] = None
    """The choices with labels, where there are any."""


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
    """A switch."""

    default: bool | None = None


class StringMultiSelectItems(Object, tag_field="type", tag="string"):
    """Choices that are their own labels."""

    enum: Annotated[list[str], Meta(min_length=1)]


class TitledMultiSelectItems(Object):
    """Choices with labels; they have no `type`."""

    any_of: Annotated[list[EnumOption], Meta(min_length=1)]


MultiSelectItems: TypeAlias = Open[Untagged[StringMultiSelectItems | TitledMultiSelectItems]]
"""What can be chosen."""


class MultiSelectPropertySchema(FormField, tag_field="type", tag="array"):
    """A choice of several."""

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
    """The names that must be filled in."""
    description: str | None = None


class ElicitationSessionScope(Bare):
    """The question belongs to a session."""

    session_id: SessionId
    tool_call_id: ToolCallId | None = None


class ElicitationRequestScope(Bare):
    """The question belongs to a pending request of the client's, outside any session."""

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
        """What the question belongs to."""
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
    """Ask the user to go to a URL; what happens there stays between the user and the agent."""

    elicitation_id: ElicitationId
    url: str


CreateElicitationRequest: TypeAlias = Open[ElicitationFormMode | ElicitationUrlMode]
"""Ask the user for input. One in an unknown mode is kept, whatever its scope."""


class ElicitationAcceptAction(Object, tag_field="action", tag="accept"):
    """The user answered, or agreed to go to the URL."""

    content: Strict[dict[str, ElicitationContentValue] | None] = None
    """What was filled in, by field."""


class ElicitationDeclineAction(Object, tag_field="action", tag="decline"):
    """The user said no."""


class ElicitationCancelAction(Object, tag_field="action", tag="cancel"):
    """The user did not answer."""


CreateElicitationResponse: TypeAlias = Open[
    ElicitationAcceptAction | ElicitationDeclineAction | ElicitationCancelAction
]
"""What the user did; an unknown action is no consent."""


class CompleteElicitationNotification(Object):
    """What was asked for behind a URL is done."""

    elicitation_id: ElicitationId
