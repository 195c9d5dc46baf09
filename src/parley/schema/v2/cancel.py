"""Cancellation of a single JSON-RPC request, in either direction: `$/cancel_request`.

`session/cancel`, which cancels a whole turn, is in `prompt.py`.

Spec: https://agentclientprotocol.com/protocol/v2/cancellation
"""

from __future__ import annotations

from parley.schema.base import Object

from .ids import RequestId

__all__ = ["CancelRequestNotification"]


class CancelRequestNotification(Object):
    """Cancel a request that the sender made earlier; it still gets a response."""

    request_id: RequestId
