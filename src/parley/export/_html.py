"""HTML export: a session as one self-contained file.

The page has no scripts and no URL that a browser would fetch, and its style is allowed by hash. As
a second line of defense, the content security policy in the head forbids everything else. All text
is escaped, and control characters are made visible; fenced code is the only Markdown that is
rendered. Images are shown only in raster formats that cannot contain anything active.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from html import escape

from parley._display_text import sanitize_text
from parley.journal import Record
from parley.session._transcript import Transcript

from ._outline import (
    Clean,
    Code,
    Outline,
    Picture,
    Piece,
    Prose,
    Remark,
    Section,
    Steps,
)

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --paper: #fff; --soft: #f4f5f7; --line: #d8dce1;
  --faint: #59636e; --blue: #0b57d0; --green: #1a6e34; --red: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e6ea; --paper: #14161a; --soft: #1f2228;
  --line: #363b43; --faint: #9aa4af; --blue: #8ab4f8; --green: #7ad197; --red: #f2958d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 56rem; color: var(--ink);
  background: var(--paper); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 2rem;
  color: var(--faint); font-size: .875rem; }
dd { margin: 0; }
section { margin: 0 0 1rem; padding: .75rem 1rem; border: 1px solid var(--line);
  border-radius: .5rem; }
section.user { background: var(--soft); border-left: .25rem solid var(--blue); }
section.agent { border-color: transparent; padding-left: 0; padding-right: 0; }
section.thought { color: var(--faint); }
h2 { margin: 0 0 .5rem; font-size: .8125rem; font-weight: 600; color: var(--faint); }
section.tool h2, section.other h2 { font-size: .9375rem; color: inherit; margin: 0; }
summary { cursor: pointer; }
summary h2 { display: inline; }
.status { font-weight: 400; color: var(--faint); }
.completed { color: var(--green); }
.failed { color: var(--red); }
p { margin: .5rem 0; white-space: pre-wrap; }
.remark { color: var(--faint); font-style: italic; }
pre { margin: .5rem 0; padding: .75rem; background: var(--soft); border-radius: .375rem;
  overflow-x: auto; font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; }
.caption { margin: .5rem 0 -.25rem; font: 13px/1.45 ui-monospace, monospace; color: var(--faint); }
ins { color: var(--green); text-decoration: none; }
del { color: var(--red); text-decoration: none; }
img { max-width: 100%; border-radius: .375rem; }
ul { list-style: none; margin: .5rem 0; padding: 0; }
"""
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "img-src data:",
        f"style-src 'sha256-{base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
)
_PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
"""The image formats that are shown, and the first bytes of each."""
_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)\n(.*?)(?:^ {0,3}\1[`~]*\s*?$|\Z)", re.M | re.S)
_MARKS = {"completed": "☑", "cancelled": "☒"}


def write_page(transcript: Transcript, record: Record, clean: Clean) -> str:
    """Return a session as an HTML page; all text passes through `clean`."""
    outline = Outline(transcript, record, clean)
    title = _text(outline.title, is_line=True)
    facts = "".join(f"<dt>{name}</dt><dd>{_text(value)}</dd>" for name, value in outline.facts)
    body = "\n".join(_section(section) for section in outline.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1 dir="auto">{title}</h1>
<dl>{facts}</dl>
{body}
</body>
</html>
"""


def _text(text: str, *, is_line: bool = False) -> str:
    """Return text escaped for HTML, with control characters made visible."""
    return escape(sanitize_text(text, is_line=is_line))


def _section(section: Section) -> str:
    kind = section.kind if section.kind in ("user", "agent", "thought", "tool") else "other"
    title = _text(section.title, is_line=True)
    if section.status:
        word = section.status if section.status in ("completed", "failed") else ""
        title += f' <span class="status {word}">{_text(section.status, is_line=True)}</span>'
    inside = "".join(each for piece in section.pieces for each in _piece(piece))
    head = f'<h2 dir="auto">{title}</h2>'
    if kind not in ("tool", "thought"):
        return f'<section class="{kind}">{head}{inside}</section>'
    shown = f"<details><summary>{head}</summary>{inside}</details>" if inside else head
    return f'<section class="{kind}">{shown}</section>'


def _piece(piece: Piece) -> Iterator[str]:
    match piece:
        case Prose(text=text):
            yield from _prose(text)
        case Code(text=text, language=language, caption=caption):
            if caption:
                yield f'<p class="caption">{_text(caption)}</p>'
            lines = _diff(text) if language == "diff" else _text(text)
            yield f"<pre>{lines}</pre>" if text.strip() else ""
        case Picture():
            yield _picture(piece)
        case Remark(text=text):
            yield f'<p class="remark">{_text(text)}</p>'
        case Steps(steps=steps):
            items = (f"<li>{_MARKS.get(status, '☐')} {_text(text)}</li>" for status, text in steps)
            yield f"<ul>{''.join(items)}</ul>"


def _prose(text: str) -> Iterator[str]:
    """Yield a paragraph for each stretch of text and a `<pre>` for each fenced code block."""
    position = 0
    for found in _FENCED.finditer(text):
        yield _paragraph(text[position : found.start()])
        yield f"<pre>{_text(found[3].rstrip())}</pre>"
        position = found.end()
    yield _paragraph(text[position:])


def _paragraph(text: str) -> str:
    text = text.strip("\n")
    return f'<p dir="auto">{_text(text)}</p>' if text.strip() else ""


def _diff(text: str) -> str:
    tags = {"+": "ins", "-": "del"}
    lines = [(tags.get(line[:1], ""), _text(line)) for line in text.splitlines()]
    return "\n".join(f"<{tag}>{line}</{tag}>" if tag else line for tag, line in lines)


def _picture(picture: Picture) -> str:
    """Return an `<img>` if the data matches its media type, else a remark."""
    kind = picture.mime_type.lower()
    try:
        data = base64.b64decode(picture.data, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    begin = _PICTURES.get(kind)
    if begin is None or not data.startswith(begin):
        return f'<p class="remark">a picture that is not shown: {_text(kind)}</p>'
    source = base64.b64encode(data).decode()
    return f'<p><img alt="a picture" src="data:{kind};base64,{source}"></p>'
