"""A program's function adds to the `_meta` of responses."""

from __future__ import annotations

from typing import Any, cast

import pytest

from parley.peer import RequestContext
from parley.schema import v2
from parley.session._response_meta import with_response_meta


class HookArguments:
    """The part of a request that the hook uses."""

    method = "session/close"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, {"_meta": {"x": 1}}),
        ({}, {"_meta": {"x": 1}}),
        ({"a": 2, "_meta": {"x": 3, "y": 4}}, {"a": 2, "_meta": {"x": 3, "y": 4}}),
        (v2.CloseSessionResponse(), v2.CloseSessionResponse(meta={"x": 1})),
        (v2.CloseSessionResponse(meta={"y": 2}), v2.CloseSessionResponse(meta={"x": 1, "y": 2})),
        ([5], [5]),
    ],
    ids=["none", "empty", "dict", "typed", "own", "list"],
)
async def test_a_result_that_can_have_meta_gets_what_the_function_adds(
    result: Any, expected: Any
) -> None:
    async def handle(params: Any, request: RequestContext) -> Any:
        return result

    handler = with_response_meta(handle, lambda method, params, result: {"x": 1})
    assert await handler({}, cast("RequestContext", HookArguments())) == expected
