"""Markdown export of a session.

Messages stay Markdown, inside a block quote, so that their headings and open fences cannot affect
the rest of the document. Anything that a renderer would act on is escaped: tags, images, and links
with schemes other than http and https. Code is left alone, because it is only text. Control
characters are made visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_TICKS = re.compile(r"`+")
_ACTIVE = re.compile(r"<|!(?=\[)|(?<=\])[(:](?!\s*+(?:https?://|[\w./#-]++(?:[\s)]|$)|\)))")
"""The start of a tag, an image, or a link to anything other than a web page or a file."""
_MARKS = {"completed": "[x]", "cancelled": "[-]"}


def write_markdown(transcript: Transcript, record: Record, clean: Clean) -> str:
    """Return a session as a Markdown document; all text passes through `clean`."""
    outline = Outline(transcript, record, clean)
    lines = [f"# {_line(outline.title)}", ""]
    lines += [f"- {name}: {_code(value)}" for name, value in outline.facts]
    for section in outline.sections:
        lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    status = f" ({section.status})" if section.status else ""
    yield f"## {_line(section.title + status)}"
    for piece in section.pieces:
        yield ""
        yield from _piece(piece)


def _piece(piece: Piece) -> Iterator[str]:
    match piece:
        case Prose(text=text):
            yield from (f"> {line}".rstrip() for line in _escape_prose(sanitize_text(text)))
        case Code(text=text, language=language, caption=caption):
            if caption:
                yield f"{_code(caption)}:"
                yield ""
            fence = "`" * max([3, *(len(each) + 1 for each in _TICKS.findall(text))])
            yield f"{fence}{language}"
            yield from sanitize_text(text).splitlines()
            yield fence
        case Picture(mime_type=kind):
            yield f"*(a picture: {_code(kind)})*"
        case Remark(text=text):
            yield f"*({_code(text)})*"
        case Steps(steps=steps):
            yield from (f"- {_MARKS.get(status, '[ ]')} {_line(text)}" for status, text in steps)


def _escape_prose(text: str) -> Iterator[str]:
    """Yield the lines with everything escaped that a renderer would act on, except code.

    An indented fence may be part of a list, and then ends with the list. After a line that is
    indented less, it is uncertain what is code, so everything that follows is escaped.
    """
    fence, indent = "", 0
    is_certain = True
    lines = iter(text.splitlines())
    for line in lines:
        found = _FENCE.match(line)
        if fence and line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            yield _escape(line)
            break  # uncertain from here on; the rest is escaped after the loop
        if fence:
            if found is not None and found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
            yield line
        elif found is not None:
            fence, indent = found[1], found.start(1)
            yield line
        else:
            is_certain = is_certain or not line.strip()
            escaped, is_certain = _escape_outside_code(line, is_certain)
            yield escaped
    yield from map(_escape, lines)


def _escape_outside_code(line: str, is_certain: bool) -> tuple[str, bool]:
    """Escape a line except for its code spans.

    Return the line, and whether it is still certain where code begins. A code span may extend over
    several lines: once a backtick is unclosed at the end of a line, everything is escaped up to
    the next blank line. In a table, a `|` ends a code span, so spans that contain one are escaped.
    """
    done: list[str] = []
    position = 0
    while is_certain and (opening := _find_code_span(line, position)) is not None:
        begin, ticks = opening
        closing = (each for each in _TICKS.finditer(line, begin + len(ticks)) if each[0] == ticks)
        if (end := next(closing, None)) is None:
            is_certain = False
            break
        span = line[begin : end.end()]
        done += [_escape(line[position:begin]), _escape(span) if "|" in span else span]
        position = end.end()
    return "".join(done) + _escape(line[position:]), is_certain


def _find_code_span(text: str, after: int) -> tuple[int, str] | None:
    """Return the start of the next possible code span, and its backticks."""
    for found in _TICKS.finditer(text, after):
        if not _is_escaped(text, found.start()):
            return found.start(), found[0]
        if len(found[0]) > 1:
            return found.start() + 1, found[0][1:]
    return None


def _is_escaped(text: str, position: int) -> bool:
    """Return whether an odd number of backslashes precedes a position."""
    begin = position
    while begin and text[begin - 1] == "\\":
        begin -= 1
    return (position - begin) % 2 == 1


def _escape(text: str) -> str:
    def escape(found: re.Match[str]) -> str:
        return found[0] if _is_escaped(text, found.start()) else f"\\{found[0]}"

    return _ACTIVE.sub(escape, text)


def _line(text: str) -> str:
    """Return text as a single line in which all Markdown is escaped."""
    return re.sub(r"([\\`*_\[\]<>#!|~$&])", r"\\\1", sanitize_text(text, is_line=True))


def _code(text: str) -> str:
    """Return text as a code span on one line."""
    text = sanitize_text(text, is_line=True)
    fence = "`" * max([1, *(len(each) + 1 for each in _TICKS.findall(text))])
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
