"""Content blocks: what prompts, messages and tool calls are made of.

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
"""Whom a piece of content is meant for."""

IconTheme: TypeAlias = Literal["light", "dark"] | str
"""The background that an icon is drawn for."""


class Annotations(Object):
    """Hints about who should see a piece of content and how much it matters."""

    audience: list[Role] | None = None
    """Whom it is meant for; None where that is not said."""
    last_modified: str | None = None
    """When the underlying resource changed, as ISO 8601."""
    priority: Annotated[float, Meta(ge=0, le=1)] | None = None
    """From 0, least important, to 1."""


class TextContent(Object, tag_field="type", tag="text"):
    """Plain text or Markdown."""

    text: str
    annotations: Annotations | None = None


class ImageContent(Object, tag_field="type", tag="image"):
    """A picture."""

    data: str
    """The picture as base64."""
    mime_type: MediaType
    uri: str | None = None
    """Where the picture can be found as well."""
    annotations: Annotations | None = None


class AudioContent(Object, tag_field="type", tag="audio"):
    """A piece of sound."""

    data: str
    """The sound as base64."""
    mime_type: MediaType
    annotations: Annotations | None = None


class Icon(Object):
    """A picture that a client may show next to a resource."""

    src: str
    """Where the picture is: a URL or a `data:` URI."""
    mime_type: MediaType | None = None
    """What the picture is, where its source does not tell."""
    sizes: list[str] | None = None
    """The sizes it is good for, `48x48` or `any`; None means all."""
    theme: IconTheme | None = None


class ResourceLink(Object, tag_field="type", tag="resource_link"):
    """A pointer to something that the agent can read itself."""

    name: str
    uri: str
    title: str | None = None
    """A name for people."""
    description: str | None = None
    icons: list[Icon] | None = None
    mime_type: MediaType | None = None
    size: U64 | None = None
    """Its length in bytes, where known."""
    annotations: Annotations | None = None


class TextResourceContents(Object):
    """The text of a resource."""

    text: str
    uri: str
    mime_type: MediaType | None = None


class BlobResourceContents(Object):
    """The bytes of a resource."""

    blob: str
    """The bytes as base64."""
    uri: str
    mime_type: MediaType | None = None


EmbeddedResourceResource: TypeAlias = Untagged[TextResourceContents | BlobResourceContents]
"""What an embedded resource holds; `text` or `blob` tells which."""


class EmbeddedResource(Object, tag_field="type", tag="resource"):
    """A resource that travels whole inside the message."""

    resource: EmbeddedResourceResource
    annotations: Annotations | None = None


ContentBlock: TypeAlias = Open[
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
]
"""One piece of content; text and resource links are understood by every agent."""
