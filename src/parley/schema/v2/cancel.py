"""Taking back a request.

Spec: https://agentclientprotocol.com/protocol/v2/cancellation
"""

from __future__ import annotations

from parley.schema.base import Object

from .ids import RequestId

__all__ = ["CancelRequestNotification"]


class CancelRequestNotification(Object):
    """Give up a request that this side made; it is answered all the same."""

    request_id: RequestId
