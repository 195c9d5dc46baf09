"""The protocol versions that Parley speaks.

https://agentclientprotocol.com/protocol/v1/initialization#protocol-version
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

__all__ = ["SUPPORTED", "Version"]

Version: TypeAlias = Literal[1, 2]

SUPPORTED: Final[tuple[Version, ...]] = (1, 2)
"""The supported versions in ascending order; a client proposes the last one first."""
