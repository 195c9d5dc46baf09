"""A session as Markdown.

What was said stays Markdown, in a quotation, so that no heading and no open fence of it reaches
beyond. In it nothing is left that a page would act on: tags, pictures, and links to other places
than http are escaped, except in code, where they are text. Control characters are made visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parley.inert import inert
from parley.journal import Record
from parley.session.transcript import Transcript

from .outline import Clean, Code, Outline, Picture, Piece, Prose, Remark, Section, Steps

__all__ = ["write_markdown"]

_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_TICKS = re.compile(r"`+")
_ACTIVE = re.compile(r"<|!(?=\[)|(?<=\])[(:](?!\s*+(?:https?://|[\w./#-]++(?:[\s)]|$)|\)))")
"""What begins a tag, a picture, or a link to something else than a page or a file."""
_MARKS = {"completed": "[x]", "cancelled": "[-]"}


def write_markdown(transcript: Transcript, record: Record, clean: Clean) -> str:
    """Return the document; all text passes through `clean`."""
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
            yield from (f"> {line}".rstrip() for line in _harmless(inert(text)))
        case Code(text=text, language=language, caption=caption):
            if caption:
                yield f"{_code(caption)}:"
                yield ""
            fence = "`" * max([3, *(len(each) + 1 for each in _TICKS.findall(text))])
            yield f"{fence}{language}"
            yield from inert(text).splitlines()
            yield fence
        case Picture(mime_type=kind):
            yield f"*(a picture: {_code(kind)})*"
        case Remark(text=text):
            yield f"*({_code(text)})*"
        case Steps(steps=steps):
            yield from (f"- {_MARKS.get(status, '[ ]')} {_line(text)}" for status, text in steps)


def _harmless(text: str) -> Iterator[str]:
    """Yield the lines with everything escaped that a page would act on, code left alone.

    A fence that is indented may be in a list, and then ends with it. Where a line stands further
    left, it is not sure any more what is code, and all that follows is escaped.
    """
    fence, indent = "", 0
    is_sure = True
    lines = iter(text.splitlines())
    for line in lines:
        found = _FENCE.match(line)
        if fence and line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            yield _escaped(line)
            break
        if fence:
            if found is not None and found[1].startswith(fence) and not line[found.end() :].strip():
                fence = ""
            yield line
        elif found is not None:
            fence, indent = found[1], found.start(1)
            yield line
        else:
            is_sure = is_sure or not line.strip()
            escaped, is_sure = _outside_of_code(line, is_sure)
            yield escaped
    yield from map(_escaped, lines)


def _outside_of_code(line: str, is_sure: bool) -> tuple[str, bool]:
    """Escape a line but for its code.

    A code span may go over several lines. As soon as a tick is open at the end of a line, it is not
    sure any more what is code, and all is escaped up to the next blank line. In a table, a `|` ends
    a code span.
    """
    done: list[str] = []
    place = 0
    while is_sure and (opening := _opening(line, place)) is not None:
        begin, ticks = opening
        closing = (each for each in _TICKS.finditer(line, begin + len(ticks)) if each[0] == ticks)
        if (end := next(closing, None)) is None:
            is_sure = False
            break
        span = line[begin : end.end()]
        done += [_escaped(line[place:begin]), _escaped(span) if "|" in span else span]
        place = end.end()
    return "".join(done) + _escaped(line[place:]), is_sure


def _opening(text: str, after: int) -> tuple[int, str] | None:
    """Return where the next code span may begin, and its ticks."""
    for found in _TICKS.finditer(text, after):
        if not _is_escaped(text, found.start()):
            return found.start(), found[0]
        if len(found[0]) > 1:
            return found.start() + 1, found[0][1:]
    return None


def _is_escaped(text: str, place: int) -> bool:
    """Tell whether an odd number of backslashes stands before a place."""
    begin = place
    while begin and text[begin - 1] == "\\":
        begin -= 1
    return (place - begin) % 2 == 1


def _escaped(text: str) -> str:
    def escape(found: re.Match[str]) -> str:
        return found[0] if _is_escaped(text, found.start()) else f"\\{found[0]}"

    return _ACTIVE.sub(escape, text)


def _line(text: str) -> str:
    """Return words for a line of ours, in which nothing is Markdown."""
    return re.sub(r"([\\`*_\[\]<>#!|~$&])", r"\\\1", inert(text, is_line=True))


def _code(text: str) -> str:
    """Return words as they are, on one line."""
    text = inert(text, is_line=True)
    fence = "`" * max([1, *(len(each) + 1 for each in _TICKS.findall(text))])
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
