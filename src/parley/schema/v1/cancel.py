"""Cancelling a request of JSON-RPC, in either direction.

Stopping a turn is `CancelNotification` in `prompt.py`.
Spec: https://agentclientprotocol.com/protocol/v1/cancellation
"""

from __future__ import annotations

from parley.schema.base import Object

from .ids import RequestId

__all__ = ["CancelRequestNotification"]


class CancelRequestNotification(Object):
    """The sender no longer needs the answer to a request of its own."""

    request_id: RequestId
