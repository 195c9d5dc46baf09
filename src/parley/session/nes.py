"""Next edit suggestions in both versions, which differ in the name of a suggestion's id.

Older agents of version 1 have suggestions of the kind `action`, which name something that the
client does: those with a standard name are the renames and replacements of today.

Spec: https://agentclientprotocol.com/rfds/next-edit-suggestions
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast, get_args

from msgspec import structs

from parley.errors import Unsupported
from parley.schema.base import Method, Unknown
from parley.schema.v1 import former_methods as methods1
from parley.schema.v1 import nes as nes1
from parley.schema.v2 import former_methods as methods2
from parley.schema.v2 import nes as nes2

from .features import ClientFeatures
from .options import lift_options, lower_options
from .pairs import Pair
from .recode import recode

__all__ = [
    "NES_NOTIFICATIONS",
    "NES_REQUESTS",
    "lift_suggestion",
    "lower_suggestion",
    "lower_suggestions",
]

_ACTIONS = ("rename", "searchAndReplace")
"""The actions that are kinds of their own today."""
_REASONS: tuple[str, ...] = get_args(nes1.NesRejectReason)


def lift_suggestion(suggestion: nes1.NesSuggestion) -> nes2.NesSuggestion | None:
    """Return a suggestion in version 2's words; None for an action that is none of today's."""
    fields: dict[str, Any] = recode(suggestion, dict[str, Any])
    fields["suggestionId"] = fields.pop("id")
    if isinstance(suggestion, nes1.NesActionSuggestion):
        if suggestion.action_id not in _ACTIONS:
            return None
        fields = {**(suggestion.arguments or {}), **fields, "kind": suggestion.action_id}
    try:
        lifted: nes2.NesSuggestion = recode(fields, nes2.NesSuggestion)
    except Unsupported:  # an action that lacks an argument, an edit without edits
        return None
    return lifted


def lower_suggestion(
    suggestion: nes2.NesSuggestion, actions: Sequence[str] = ()
) -> nes1.NesSuggestion | None:
    """Return a suggestion in version 1's words; None for one of an unknown kind.

    Args:
        suggestion: What to say.
        actions: The kinds that the client takes as an action.
    """
    if isinstance(suggestion, Unknown):
        return None
    fields: dict[str, Any] = recode(suggestion, dict[str, Any])
    id, meta = fields.pop("suggestionId"), fields.pop("_meta", None)
    if fields["kind"] in actions:
        kind = fields.pop("kind")
        return nes1.NesActionSuggestion(id=id, action_id=kind, arguments=fields, meta=meta)
    fields |= {"id": id, "_meta": meta}
    lowered: nes1.NesSuggestion = recode(fields, nes1.NesSuggestion)
    return lowered


def _lift_started(answer: nes1.StartNesResponse) -> nes2.StartNesResponse:
    options = lift_options(answer.config_options or ())
    return nes2.StartNesResponse(
        session_id=answer.session_id, config_options=options, meta=answer.meta
    )


def _lower_started(answer: nes2.StartNesResponse) -> nes1.StartNesResponse:
    options = lower_options(answer.config_options, ClientFeatures(boolean_options=True))
    return nes1.StartNesResponse(
        session_id=answer.session_id, config_options=options or None, meta=answer.meta
    )


def _lift_suggestions(answer: nes1.SuggestNesResponse) -> nes2.SuggestNesResponse:
    lifted = [lift_suggestion(each) for each in answer.suggestions]
    return nes2.SuggestNesResponse(
        suggestions=[each for each in lifted if each is not None], meta=answer.meta
    )


def lower_suggestions(
    answer: nes2.SuggestNesResponse, actions: Sequence[str] = ()
) -> nes1.SuggestNesResponse:
    """Return the answer to `nes/suggest` in version 1's words."""
    lowered = [lower_suggestion(each, actions) for each in answer.suggestions]
    return nes1.SuggestNesResponse(
        suggestions=[each for each in lowered if each is not None], meta=answer.meta
    )


def _lower_accept(note: nes2.AcceptNesNotification) -> nes1.AcceptNesNotification:
    return nes1.AcceptNesNotification(
        session_id=note.session_id, id=note.suggestion_id, meta=note.meta
    )


def _lift_accept(note: nes1.AcceptNesNotification) -> nes2.AcceptNesNotification:
    return nes2.AcceptNesNotification(
        session_id=note.session_id, suggestion_id=note.id, meta=note.meta
    )


def _lower_reject(note: nes2.RejectNesNotification) -> nes1.RejectNesNotification:
    reason = cast("nes1.NesRejectReason", note.reason) if note.reason in _REASONS else None
    return nes1.RejectNesNotification(
        session_id=note.session_id, id=note.suggestion_id, reason=reason, meta=note.meta
    )


def _lift_reject(note: nes1.RejectNesNotification) -> nes2.RejectNesNotification:
    return nes2.RejectNesNotification(
        session_id=note.session_id, suggestion_id=note.id, reason=note.reason, meta=note.meta
    )


def _alike(
    name: Method[Any, Any], types: Method[Any, Any], **ways: Callable[[Any], Any]
) -> tuple[str, Pair]:
    """Pair two methods; what no way is for is read as version 2's type."""
    params = name.params if "lift" in ways else types.params
    result = name.result if "lift_result" in ways else types.result
    return name.name, Pair(v1=structs.replace(name, params=params, result=result), **ways)


NES_REQUESTS: dict[str, Pair] = dict(
    [
        _alike(
            methods1.START_NES,
            methods2.START_NES,
            lift_result=_lift_started,
            lower_result=_lower_started,
        ),
        _alike(
            methods1.SUGGEST_NES,
            methods2.SUGGEST_NES,
            lift_result=_lift_suggestions,
            lower_result=lower_suggestions,
        ),
        _alike(methods1.CLOSE_NES, methods2.CLOSE_NES),
    ]
)
"""The requests of next edit suggestions, which have the same names in both versions."""

NES_NOTIFICATIONS: dict[str, Pair] = dict(
    [
        _alike(methods1.ACCEPT_NES, methods2.ACCEPT_NES, lower=_lower_accept, lift=_lift_accept),
        _alike(methods1.REJECT_NES, methods2.REJECT_NES, lower=_lower_reject, lift=_lift_reject),
        *(
            _alike(*pair)
            for pair in zip(methods1.DOCUMENT_METHODS, methods2.DOCUMENT_METHODS, strict=True)
        ),
    ]
)
"""The notifications of next edit suggestions and of documents."""
