"""The content of prompts and the values of options: what does not fit is refused unsent.

Spec: https://agentclientprotocol.com/protocol/v2/content
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parley.errors import LocalProtocolError, Unsupported
from parley.schema import v2
from parley.session.features import AgentFeatures
from parley.session.given import as_block

__all__ = ["check_option", "prompt_blocks"]


def prompt_blocks(
    content: Iterable[str | v2.ContentBlock], features: AgentFeatures, name: str
) -> list[v2.ContentBlock]:
    """Return the blocks of a prompt; a string is a text.

    Raises:
        TypeError: One is neither a text nor a block.
        LocalProtocolError: There are none.
        Unsupported: The agent does not take one of them.
    """
    blocks = [as_block(each, "a prompt") for each in content]
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


def check_option(
    options: Iterable[v2.SessionConfigOption], config_id: v2.SessionConfigId, value: str | bool
) -> None:
    """Refuse a value that a known option does not have.

    Raises:
        LocalProtocolError: The option is on or off, or lists other values.
    """
    for option in options:
        match option:
            case v2.SessionConfigSelect() if option.config_id == config_id:
                if value not in (known := list(_values(option))):
                    raise LocalProtocolError(f"{config_id} has no value {value!r}; it has {known}")
            case v2.SessionConfigBoolean() if option.config_id == config_id:
                if not isinstance(value, bool):
                    raise LocalProtocolError(f"{config_id} is on or off, not {value!r}")
            case _:
                pass


def _values(option: v2.SessionConfigSelect) -> Iterator[str]:
    for entry in option.options:
        group = entry.options if isinstance(entry, v2.SessionConfigSelectGroup) else [entry]
        yield from (each.value for each in group)
