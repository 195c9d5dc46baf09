"""Content blocks, the parts of prompts, messages and tool call content.

Streamed chunks of messages are in `updates.py`; the content of a tool call, which wraps these
blocks, is in `tools.py`.

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
"""The role of a participant in the conversation."""


class Annotations(Object):
    """Hints on how a block may be used or shown."""

    audience: list[Role] | None = None
    """The intended audience."""
    last_modified: str | None = None
    """The time at which the content last changed, in ISO 8601."""
    priority: float | None = None
    """The importance of the block relative to others."""


class TextContent(Object, tag_field="type", tag="text"):
    """Plain text or Markdown; every agent supports it."""

    text: str
    annotations: Annotations | None = None


class ImageContent(Object, tag_field="type", tag="image"):
    """An image; in a prompt only if the agent offers `promptCapabilities.image`."""

    data: str
    """The data, encoded as base64."""
    mime_type: str
    uri: str | None = None
    """The URI that the image came from."""
    annotations: Annotations | None = None


class AudioContent(Object, tag_field="type", tag="audio"):
    """Audio; in a prompt only if the agent offers `promptCapabilities.audio`."""

    data: str
    """The data, encoded as base64."""
    mime_type: str
    annotations: Annotations | None = None


class ResourceLink(Object, tag_field="type", tag="resource_link"):
    """A link to a resource that the agent can read itself; every agent supports it."""

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
    """The data, encoded as base64."""
    uri: str
    mime_type: str | None = None


EmbeddedResourceResource: TypeAlias = Untagged[TextResourceContents | BlobResourceContents]
"""The contents of an embedded resource, distinguished by their `text` or `blob` field."""


class EmbeddedResource(Object, tag_field="type", tag="resource"):
    """A resource with its contents.

    In a prompt only where the agent offers `promptCapabilities.embeddedContext`.
    """

    resource: EmbeddedResourceResource
    annotations: Annotations | None = None


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
)
"""A content block. This version has no other kinds."""
