"""What stands between a client and an agent and passes on what they say: the raw switchboard."""

from __future__ import annotations

from .port import Port, Routing
from .switch import Switch
from .traffic import Answer, Call, Note

__all__ = ["Answer", "Call", "Note", "Port", "Routing", "Switch"]
