"""The `_meta` of the responses that a program sends.

Most handlers do not see the response that is built from their return value: they return an option,
or nothing. A single function, called for every response, attaches metadata for the program.

Spec: https://agentclientprotocol.com/protocol/v1/extensibility
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from parley.peer import RequestContext, RequestHandler
from parley.schema.base import JsonObject, Object, Patch

logger = logging.getLogger(__name__)

ResponseMeta: TypeAlias = Callable[[str, Any, Any], JsonObject | None]
"""Called with the method, the params and the result of a request before the response is sent;
returns the keys to add to the `_meta` of the response, or None."""


def with_response_meta(handler: RequestHandler, response_meta: ResponseMeta) -> RequestHandler:
    """Wrap a handler so that `response_meta` adds to the `_meta` of its results.

    Keys that the result already has are kept. If the function fails, the exception is logged and
    nothing is added.
    """

    async def handle(params: Any, request: RequestContext) -> Any:
        result = await handler(params, request)
        try:
            added = response_meta(request.method, params, result)
        except Exception:  # a bug in the program: the response is valid without the metadata
            logger.exception("response_meta failed for %s", request.method)
            return result
        return _with_meta(result, added) if added else result

    return handle


def _with_meta(result: Any, added: JsonObject) -> Any:
    if isinstance(result, Object | Patch):
        return replace(result, meta={**added, **(result.meta or {})})
    if result is not None and not isinstance(result, dict):
        return result  # not an object, so it cannot have `_meta`
    members = cast("JsonObject", result or {})
    present: JsonObject = members.get("_meta") or {}
    return {**members, "_meta": {**added, **present}}
