"""Content blocks, the parts of prompts, messages and tool call content.

Streamed chunks of messages are in `updates.py`; the content of a tool call, which wraps these
blocks, is in `tools.py`.

Spec: https://agentclientprotocol.com/protocol/v2/content
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from parley.schema.base import U64, Object, Open, Untagged

__all__ = [
    "Annotations",
    "AudioContent",
    "BlobResourceContents",
    "ContentBlock",
    "EmbeddedResource",
    "EmbeddedResourceResource",
    "Icon",
    "IconTheme",
    "ImageContent",
    "MediaType",
    "ResourceLink",
    "Role",
    "TextContent",
    "TextResourceContents",
]

MediaType: TypeAlias = str
"""A MIME type such as `text/markdown`."""

Role: TypeAlias = Literal["assistant", "user"] | str
"""The audience of a content block."""

IconTheme: TypeAlias = Literal["light", "dark"] | str
"""The color theme that an icon is designed for."""


class Annotations(Object):
    """Hints about the audience and the importance of a content block."""

    audience: list[Role] | None = None
    """The intended audience; None if not specified."""
    last_modified: str | None = None
    """The time at which the resource last changed, in ISO 8601."""
    priority: Annotated[float, Meta(ge=0, le=1)] | None = None
    """The importance, from 0 to 1."""


class TextContent(Object, tag_field="type", tag="text"):
    """Plain text or Markdown."""

    text: str
    annotations: Annotations | None = None


class ImageContent(Object, tag_field="type", tag="image"):
    """An image."""

    data: str
    """The image, encoded as base64."""
    mime_type: MediaType
    uri: str | None = None
    """A URI at which the image is available as well."""
    annotations: Annotations | None = None


class AudioContent(Object, tag_field="type", tag="audio"):
    """Audio."""

    data: str
    """The audio, encoded as base64."""
    mime_type: MediaType
    annotations: Annotations | None = None


class Icon(Object):
    """An icon that a client may show next to a resource."""

    src: str
    """The URL or `data:` URI of the image."""
    mime_type: MediaType | None = None
    """The MIME type, if the source does not specify it."""
    sizes: list[str] | None = None
    """The sizes that it is suitable for, such as `48x48` or `any`; None means all."""
    theme: IconTheme | None = None


class ResourceLink(Object, tag_field="type", tag="resource_link"):
    """A link to a resource that the agent can read itself."""

    name: str
    uri: str
    title: str | None = None
    """The name for display."""
    description: str | None = None
    icons: list[Icon] | None = None
    mime_type: MediaType | None = None
    size: U64 | None = None
    """The size in bytes, if known."""
    annotations: Annotations | None = None


class TextResourceContents(Object):
    """The text of a resource."""

    text: str
    uri: str
    mime_type: MediaType | None = None


class BlobResourceContents(Object):
    """The bytes of a resource."""

    blob: str
    """The data, encoded as base64."""
    uri: str
    mime_type: MediaType | None = None


EmbeddedResourceResource: TypeAlias = Untagged[TextResourceContents | BlobResourceContents]
"""The contents of an embedded resource, distinguished by their `text` or `blob` field."""


class EmbeddedResource(Object, tag_field="type", tag="resource"):
    """A resource with its contents."""

    resource: EmbeddedResourceResource
    annotations: Annotations | None = None


ContentBlock: TypeAlias = Open[
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
]
"""A content block; every agent supports text and resource links."""
