"""Content blocks: what prompts, messages and tool results are made of.

Tool calls wrap blocks once more, see `tools.py`; streamed pieces of a message are in `updates.py`.
Spec: https://agentclientprotocol.com/protocol/v1/content
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import I64, Object, Untagged

__all__ = [
    "Annotations",
    "AudioContent",
    "BlobResourceContents",
    "ContentBlock",
    "EmbeddedResource",
    "EmbeddedResourceResource",
    "ImageContent",
    "ResourceLink",
    "Role",
    "TextContent",
    "TextResourceContents",
]

Role: TypeAlias = Literal["assistant", "user"]
"""Who speaks or is spoken to."""


class Annotations(Object):
    """Hints on how a block may be used or shown."""

    audience: list[Role] | None = None
    """Whom the block is meant for."""
    last_modified: str | None = None
    """When the content last changed, as an ISO 8601 time."""
    priority: float | None = None
    """How much the block matters, compared with its neighbours."""


class TextContent(Object, tag_field="type", tag="text"):
    """Plain text or Markdown; every agent takes it."""

    text: str
    annotations: Annotations | None = None


class ImageContent(Object, tag_field="type", tag="image"):
    """A picture; in a prompt only where the agent offers `promptCapabilities.image`."""

    data: str
    """The bytes in base64."""
    mime_type: str
    uri: str | None = None
    """Where the picture came from."""
    annotations: Annotations | None = None


class AudioContent(Object, tag_field="type", tag="audio"):
    """Sound; in a prompt only where the agent offers `promptCapabilities.audio`."""

    data: str
    """The bytes in base64."""
    mime_type: str
    annotations: Annotations | None = None


class ResourceLink(Object, tag_field="type", tag="resource_link"):
    """A pointer to something that the agent can fetch itself; every agent takes it."""

    name: str
    """A short name to show."""
    uri: str
    title: str | None = None
    """A longer name to show."""
    description: str | None = None
    mime_type: str | None = None
    size: I64 | None = None
    """The size in bytes."""
    annotations: Annotations | None = None


class TextResourceContents(Object):
    """The text of a resource."""

    text: str
    uri: str
    mime_type: str | None = None


class BlobResourceContents(Object):
    """The bytes of a resource."""

    blob: str
    """The bytes in base64."""
    uri: str
    mime_type: str | None = None


EmbeddedResourceResource: TypeAlias = Untagged[TextResourceContents | BlobResourceContents]
"""What an embedded resource holds; `text` or `blob` tells which."""


class EmbeddedResource(Object, tag_field="type", tag="resource"):
    """A resource with its contents.

    In a prompt only where the agent offers `promptCapabilities.embeddedContext`.
    """

    resource: EmbeddedResourceResource
    annotations: Annotations | None = None


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
)
"""One piece of content. No other kinds exist in this version."""
