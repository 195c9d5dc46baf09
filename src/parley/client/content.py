"""The content of prompts: what the agent does not take is refused before it is sent.

Spec: https://agentclientprotocol.com/protocol/v2/content
"""

from __future__ import annotations

from collections.abc import Iterable

from parley.errors import LocalProtocolError, Unsupported
from parley.schema import v2
from parley.session.features import AgentFeatures

__all__ = ["prompt_blocks"]


def prompt_blocks(
    content: Iterable[str | v2.ContentBlock], features: AgentFeatures, name: str
) -> list[v2.ContentBlock]:
    """Return the blocks of a prompt; a string is a text.

    Raises:
        LocalProtocolError: There are none.
        Unsupported: The agent does not take one of them.
    """
    blocks = [v2.TextContent(text=each) if isinstance(each, str) else each for each in content]
    if not blocks:
        raise LocalProtocolError("a prompt needs some content")
    offers: dict[type, tuple[bool, str]] = {
        v2.ImageContent: (features.image, "pictures"),
        v2.AudioContent: (features.audio, "sound"),
        v2.EmbeddedResource: (features.embedded_context, "embedded resources"),
    }
    for block in blocks:
        is_offered, kind = offers.get(type(block), (True, ""))
        if not is_offered:
            raise Unsupported(f"the {name} takes no {kind} in prompts")
    return blocks
