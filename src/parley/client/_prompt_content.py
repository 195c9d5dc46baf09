"""Checks of prompt content and config option values before they are sent.

Spec: https://agentclientprotocol.com/protocol/v2/content
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parley._suggestions import suggest
from parley.errors import LocalProtocolError, OptionRefused, Unsupported
from parley.peer._peer_name import with_article
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._capabilities import AgentFeatures
from parley.session._validation import as_block


def prompt_blocks(
    content: Iterable[str | v2.ContentBlock], features: AgentFeatures, name: str
) -> list[v2.ContentBlock]:
    """Return the content blocks of a prompt; a string becomes a text block.

    Raises:
        TypeError: An item is neither a string nor a content block.
        LocalProtocolError: There is no content.
        Unsupported: The agent does not accept one of the blocks.
    """
    blocks = [as_block(each, "a prompt") for each in content]
    if not blocks:
        raise LocalProtocolError("a prompt must have content")
    offers: dict[type, tuple[bool, str]] = {
        v2.ImageContent: (features.image, "pictures"),
        v2.AudioContent: (features.audio, "sound"),
        v2.EmbeddedResource: (features.embedded_context, "embedded resources"),
    }
    for block in blocks:
        is_offered, kind = offers.get(type(block), (True, ""))
        if not is_offered:
            raise Unsupported(f"{with_article(name)} does not accept {kind} in prompts")
    return blocks


def check_option(
    options: Iterable[v2.SessionConfigOption], config_id: v2.SessionConfigId, value: str | bool
) -> None:
    """Raise if a known config option does not have a value; unknown options pass.

    Raises:
        OptionRefused: The option is a boolean and the value is not, or it lists other values.
    """
    for option in options:
        match option:
            case v2.SessionConfigSelect() if option.config_id == config_id:
                if value not in (known := list(_values(option))):
                    names = ", ".join(map(repr, known))
                    raise OptionRefused(f"{config_id} has no value {value!r}; it has {names}")
            case v2.SessionConfigBoolean() if option.config_id == config_id:
                if not isinstance(value, bool):
                    raise OptionRefused(f"{config_id} is on or off, not {value!r}")
            case _:
                pass


def suggest_option(options: Iterable[v2.SessionConfigOption], config_id: str) -> str:
    """Return a hint for an option that the agent has not offered; empty if there is none."""
    known = [each.config_id for each in options if not isinstance(each, Unknown)]
    return "" if config_id in known or not known else f"; {suggest(config_id, known)}"


def _values(option: v2.SessionConfigSelect) -> Iterator[str]:
    for entry in option.options:
        group = entry.options if isinstance(entry, v2.SessionConfigSelectGroup) else [entry]
        yield from (each.value for each in group)
