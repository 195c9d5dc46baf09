"""Elicitation: the agent asks the user for values in a form, or sends them to a web page.

Each way needs its own part of `clientCapabilities.elicitation`.
Spec: https://agentclientprotocol.com/protocol/v1/elicitation
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

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
"""Names a visit to a web page, until it is completed."""

ElicitationSchemaType: TypeAlias = Literal["object"]
"""A form is always an object."""

# The JSON Schema closes this list, the text of the specification forbids to refuse other formats:
# https://agentclientprotocol.com/rfds/elicitation
StringFormat: TypeAlias = Literal["email", "uri", "date", "date-time"] | str
"""What a text has to look like; a format not known here is kept and not checked."""


class EnumOption(Object):
    """A value to choose, with a title."""

    const: str
    """The value."""
    title: str
    description: str | None = None


class _Property(Object):
    """What all fields of a form have."""

    title: str | None = None
    description: str | None = None


class StringPropertySchema(_Property, tag_field="type", tag="string"):
    """A field for a text, or for one choice out of several."""

    min_length: Strict[U32 | None] = None
    max_length: Strict[U32 | None] = None
    pattern: Strict[str | None] = None
    """A regular expression that comes from the agent; bound its time and memory."""
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
"""What several can be chosen from; one of a `type` not known here must not be shown as another."""


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
"""A field of a form; one of a `type` not known here must not be shown as another."""


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
    """The fields that have to be filled in."""
    title: str | None = None
    description: str | None = None


class ElicitationSessionScope(Bare):
    """A session asks, or one of its tool calls."""

    session_id: SessionId
    tool_call_id: ToolCallId | None = None


class ElicitationRequestScope(Bare):
    """A request of the client's asks that is under way outside of any session."""

    request_id: RequestId


class _Elicitation(Object):
    """What all requests have: a message, and whom they belong to."""

    message: str
    """What to tell the user."""
    session_id: SessionId | None = None
    """The session that asks."""
    tool_call_id: ToolCallId | None = None
    """The tool call of that session that asks."""
    request_id: RequestId | UnsetType = UNSET
    """Outside of a session: the request that is under way. Null is an id too."""

    def __post_init__(self) -> None:
        """Refuse a request that belongs to nobody."""
        if self.session_id is None and self.request_id is UNSET:
            raise ValueError("expected sessionId or requestId")

    @property
    def scope(self) -> ElicitationSessionScope | ElicitationRequestScope:
        """What the request belongs to; with both ids there, the session counts."""
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
"""Ask the user for something; a mode not known here must not be shown as another."""

ElicitationContentValue: TypeAlias = str | int | float | bool | list[str]
"""What the user filled in."""


class ElicitationAcceptAction(Object, tag_field="action", tag="accept"):
    """The user filled in the form, or is willing to visit the page."""

    content: Strict[dict[str, ElicitationContentValue] | None] = None
    """The values, for a form."""


class ElicitationDeclineAction(Object, tag_field="action", tag="decline"):
    """The user said no."""


class ElicitationCancelAction(Object, tag_field="action", tag="cancel"):
    """The user said nothing."""


CreateElicitationResponse: TypeAlias = Open[
    ElicitationAcceptAction | ElicitationDeclineAction | ElicitationCancelAction
]
"""What the user did; an action not known here must not be taken for another."""


class CompleteElicitationNotification(Object):
    """The user is done on the web page."""

    elicitation_id: ElicitationId
