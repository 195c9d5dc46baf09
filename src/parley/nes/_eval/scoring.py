"""The judgement of a suggestion, given the changes that are left.

*exact*: the file becomes what it is with one or more of the remaining changes made. *step*: every
token that it changes stays in the end, so nobody would undo it. *location*: it is where a remaining
change is. A jump changes nothing, so only its location counts. A rename counts as the replacement
of all words of that name in its file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from msgspec import Struct

from parley.nes._documents.document import Document
from parley.nes._documents.ends import same_ends
from parley.nes.engine import (
    ActionProposal,
    EditProposal,
    JumpProposal,
    Proposal,
    RenameProposal,
    ReplaceProposal,
    Span,
    Spot,
    TextEdit,
)

from .corpus import Hunk
from .editor_session import EditorSession
from .syntax import errors_in
from .tokens import is_between

_WORD = re.compile(r"\w+")


class Verdict(Struct, frozen=True):
    """The judgement of a suggestion."""

    exact: bool = False
    step: bool = False
    location: bool = False
    next: bool = False
    """Whether it is exact, and is the next change in this order."""
    reverses: bool = False
    """Whether it reverts an earlier change."""
    breaks: bool = False
    """Whether the file has more syntax errors than before."""


class Block(NamedTuple):
    """Lines that a suggestion changes: from, to; and what stands there then."""

    start: int
    end: int
    new: tuple[str, ...]


class Effect(NamedTuple):
    """The effect on a file."""

    lines: list[str]
    blocks: list[Block]
    """Which of its lines change."""
    touched: list[Hunk]
    """The remaining changes that are where lines change."""
    made: list[Hunk]
    """The remaining changes that are made by it, if it makes them and no more."""


def kind_of(proposal: Proposal) -> str:
    """Return the protocol's name for the kind of a suggestion."""
    match proposal:
        case EditProposal():
            return "edit"
        case JumpProposal():
            return "jump"
        case RenameProposal():
            return "rename"
        case ReplaceProposal():
            return "searchAndReplace"
        case ActionProposal():
            return "action"


def judge(
    proposal: Proposal,
    editor: EditorSession,
    path: str | None,
    following: Hunk | None,
    other: Callable[[], Sequence[str] | None] = lambda: None,
) -> Verdict:
    """Judge a suggestion.

    Args:
        proposal: The suggestion.
        editor: The files as they are, and the remaining changes.
        path: Its file, as the commit names it; None if the commit does not have it.
        following: The next change in this order; None if nothing is left.
        other: Returns the lines of a file that the commit does not touch.
    """
    if path is None:
        return Verdict()
    if isinstance(proposal, JumpProposal):
        is_there = hunk_at(proposal.spot.line, editor, path) is not None
        return Verdict(location=is_there, step=is_there)
    lines = other() if editor.lines(path) is None else editor.lines(path)
    if lines is None:
        return Verdict()
    effect = effect_of(proposal, editor, path, lines)
    breaks = errors_in(path, effect.lines) > errors_in(path, lines)
    if editor.lines(path) is None or not effect.blocks:
        return Verdict(breaks=breaks)
    is_step = bool(effect.made) or _is_step(effect, editor, path)
    return Verdict(
        exact=bool(effect.made),
        step=is_step,
        location=bool(effect.made or effect.touched),
        next=following in effect.made,
        reverses=not is_step and _reverses(effect, editor, path),
        breaks=breaks,
    )


def effect_of(proposal: Proposal, editor: EditorSession, path: str, lines: Sequence[str]) -> Effect:
    """Return what becomes of a file if a suggestion is taken."""
    then = _as_lines(proposal, lines)
    blocks = changed_lines(lines, then)
    left = editor.left(path)
    touched = [each for each in left if any(_touches(b, each, editor, lines) for b in blocks)]
    made = touched if touched and then == editor.with_made(path, touched) else []
    if not made and blocks:
        made = [each for each in left if then == editor.with_made(path, [each])][:1]
    return Effect(then, blocks, touched, made)


def hunk_at(line: int, editor: EditorSession, path: str) -> Hunk | None:
    """Return the remaining change that a jump leads to: it changes the line, or adds beside it."""
    for each in editor.left(path):
        start = editor.start(each)
        if start <= line < start + len(each.old) or (not each.old and start - 1 <= line <= start):
            return each
    return None


def _as_lines(proposal: Proposal, lines: Sequence[str]) -> list[str]:
    """Return the lines that a file has once a suggestion is taken."""
    document = Document("", "", 0, "".join(lines))
    for each in sorted(_edits(proposal, document), key=lambda each: each.span, reverse=True):
        document.edit(each.span, each.text)
    return document.lines if document.lines[-1] else document.lines[:-1]


def _edits(proposal: Proposal, document: Document) -> Iterable[TextEdit]:
    match proposal:
        case EditProposal(edits=edits):
            return edits
        case RenameProposal(spot=spot, new_name=name):
            line = document.lines[document.clamp(spot).line]
            for found in _WORD.finditer(line):
                if found.start() <= spot.column <= found.end():
                    return _replaced(document, rf"\b{re.escape(found[0])}\b", lambda _: name)
            return ()
        case ReplaceProposal(search=search, replace=replace, is_regex=is_regex):
            if not is_regex:
                return _replaced(document, re.escape(search), lambda _: replace)
            return _replaced(document, search, lambda found: found.expand(replace))
        case JumpProposal() | ActionProposal():
            return ()


def _replaced(
    document: Document, pattern: str, by: Callable[[re.Match[str]], str]
) -> list[TextEdit]:
    """Return the edits that replace what is found on each line; none for a broken pattern."""
    try:
        return [
            TextEdit(Span(Spot(at, found.start()), Spot(at, found.end())), by(found))
            for at, line in enumerate(document.lines)
            for found in re.finditer(pattern, line)
        ]
    except (re.error, IndexError):
        return []


def changed_lines(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return which lines differ, from top to bottom."""
    top, tail = same_ends(list(old), list(new))
    a, b = old[top : len(old) - tail], new[top : len(new) - tail]
    if not a or not b:
        return [Block(top, top + len(a), tuple(b))] if a or b else []
    codes = SequenceMatcher(None, a, b, False).get_opcodes()
    return [
        Block(top + a_start, top + a_end, tuple(b[b_start:b_end]))
        for what, a_start, a_end, b_start, b_end in codes
        if what != "equal"
    ]


def _touches(block: Block, hunk: Hunk, editor: EditorSession, lines: Sequence[str]) -> bool:
    """Return whether a change is where a remaining one is."""
    start, end = editor.start(hunk), editor.start(hunk) + len(hunk.old)
    if not hunk.old:
        start, end = _slid(start, hunk.new, lines)
    if start == end or block.start == block.end or not hunk.old:
        return block.start <= end and start <= block.end
    return block.start < end and start < block.end


def _slid(at: int, new: Sequence[str], lines: Sequence[str]) -> tuple[int, int]:
    """Return the first and the last line before which lines can come with the same outcome."""
    first = last = at
    while first > 0 and at - first < len(new) and lines[first - 1] == new[~(at - first)]:
        first -= 1
    while last < len(lines) and last - at < len(new) and lines[last] == new[last - at]:
        last += 1
    return first, last


def _is_step(effect: Effect, editor: EditorSession, path: str) -> bool:
    now, touched = editor.files[path], effect.touched
    for block in effect.blocks:
        if not any(_touches(block, each, editor, now) for each in touched):
            return False
    if is_between(now, effect.lines, editor.with_made(path, touched)):
        return True
    gone = [line for block in effect.blocks for line in now[block.start : block.end]]
    come = [line for block in effect.blocks for line in block.new]
    return any(_is_part(gone, come, each) for each in touched)


def _is_part(gone: Sequence[str], come: Sequence[str], hunk: Hunk) -> bool:
    """Return whether a change is made of lines of a remaining one, and takes none that it keeps."""
    if not any(line.strip() for line in (*gone, *come)):
        return False
    is_kept = any(line in hunk.new and line not in come for line in gone)
    return not is_kept and _is_within(gone, hunk.old) and _is_within(come, hunk.new)


def _is_within(lines: Iterable[str], others: Iterable[str]) -> bool:
    """Return whether lines are found among others in their order."""
    rest = iter(others)
    return all(line in rest for line in lines)


def _reverses(effect: Effect, editor: EditorSession, path: str) -> bool:
    now = editor.files[path]
    for each in editor.made:
        start = editor.start(each)
        end = start + len(each.new)
        is_there = any(block.start <= end and start <= block.end for block in effect.blocks)
        if each.path == path and is_there and is_between(now, effect.lines, editor.without(each)):
            return True
    return False
