"""Content blocks of messages, tool calls and summaries as lines, except for Markdown.

An image or a sound is one line that describes it. Unknown content is shown with its name and its
JSON.
"""

from __future__ import annotations

from typing import Any

import msgspec
from rich.style import Style

from parley._display_text import sanitize_text
from parley.schema import v2
from parley.schema._codec import encode
from parley.schema.base import Unknown

from .blocks import MAX_CHARS, one_line, truncate_text
from .lines import Line, Run, plain_rows, wrap
from .theme import Theme

__all__ = ["content_lines", "content_text", "json_lines", "json_text", "text_lines"]

_NONE = Style.null()
_SHORT_BYTES = 60
"""The maximum length of JSON that stays on one line."""


def content_lines(block: v2.ContentBlock, width: int, theme: Theme) -> list[Line]:
    """Paint a content block; text as it is."""
    match block:
        case v2.TextContent():
            return text_lines(block.text, width, _NONE)
        case v2.ImageContent() | v2.AudioContent() | v2.ResourceLink():
            return wrap(_label(block, theme), width)
        case v2.EmbeddedResource(resource=v2.TextResourceContents() as resource):
            head = wrap(_label(block, theme), width)
            return head + text_lines(resource.text, width, theme.faint)
        case v2.EmbeddedResource():
            return wrap(_label(block, theme), width)
        case Unknown(tag):
            head = wrap([(f"content: {one_line(tag)}", theme.warning)], width)
            return head + json_lines(block, width, theme)


def content_text(block: v2.ContentBlock) -> str:
    """Return the text of a content block."""
    match block:
        case v2.TextContent():
            return sanitize_text(block.text)
        case v2.EmbeddedResource(resource=v2.TextResourceContents(text=text)):
            return sanitize_text(text)
        case v2.ImageContent() | v2.AudioContent() | v2.ResourceLink() | v2.EmbeddedResource():
            return " ".join(_words(block))
        case _:
            return json_text(block)


def _label(block: v2.ContentBlock, theme: Theme) -> list[Run]:
    name, *others = _words(block)
    if isinstance(block, v2.ImageContent):
        others.append("/pictures opens it")
    return [(name, theme.accent), *((f"  {each}", theme.faint) for each in others)]


def _words(block: v2.ContentBlock) -> list[str]:
    """Return the kind of the content and its properties, each on one line."""
    words: list[str | None]
    match block:
        case v2.ImageContent():
            words = ["▣ image", block.mime_type, _size(block.data), block.uri]
        case v2.AudioContent():
            words = ["♪ sound", block.mime_type, _size(block.data)]
        case v2.ResourceLink():
            title = block.title or block.name
            words = [f"@ {title}", block.uri, block.description]
        case v2.EmbeddedResource(resource=v2.BlobResourceContents() as blob):
            words = [f"@ {blob.uri}", blob.mime_type, _size(blob.blob)]
        case v2.EmbeddedResource(resource=resource):
            words = [f"@ {resource.uri}", resource.mime_type]
        case _:
            words = ["content"]
    return [one_line(word) for word in words if word]


def _size(data: str) -> str:
    count = len(data) * 3 // 4 - data[-2:].count("=")
    return f"{count:,} bytes" if count < 10_000 else f"{count // 1000:,} kB"


def text_lines(text: str, width: int, style: Style) -> list[Line]:
    """Paint text as it is, broken at blanks."""
    rows = plain_rows(truncate_text(text).rstrip("\n"), style)
    return [line for row in rows for line in wrap(row, width)]


def json_text(value: Any) -> str:
    """Return a value as formatted JSON, cut if it is too long."""
    raw = value.raw if isinstance(value, Unknown) else encode(value)
    if _SHORT_BYTES < len(raw) <= MAX_CHARS:
        raw = msgspec.json.format(raw, indent=2)
    return truncate_text(raw.decode("utf-8", "replace"))


def json_lines(value: Any, width: int, theme: Theme) -> list[Line]:
    """Paint a value as JSON."""
    rows = plain_rows(json_text(value), theme.faint)
    return [line for row in rows for line in wrap(row, width)]
