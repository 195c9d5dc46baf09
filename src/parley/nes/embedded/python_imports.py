"""Import statements of Python files: read them, take a name away.

Only statements without indentation are read, and those that only type checkers see, below
`if TYPE_CHECKING:`; they may span lines in parentheses.
"""

from __future__ import annotations

import re

from msgspec import Struct

from .page import Page

__all__ = [
    "HEADER",
    "STRING",
    "Statement",
    "imports_of",
    "marked",
    "outline",
    "remove",
    "render",
    "said_in",
    "statements",
]

_STATEMENT = re.compile(
    r"^(?P<indent>[ \t]*+)(?:from[ \t]++(?P<module>\.*+[\w.]*+)[ \t]++)?import[ \t]*+"
    # A bracket inside of brackets ends the attempt: many open ones would be read again and again.
    r"(?P<names>\((?:[^()#]++|#[^\n]*+)*+\)|[^\n\\;#(]*+(?:\\\n[^\n\\;#]*+)*+)"
    r"(?P<tail>[ \t]*+(?:#[^\n]*+)?)$",
    re.MULTILINE,
)
_GUARDED = re.compile(
    r"^if[ \t]++(?:\w+\.)?TYPE_CHECKING:[^\n]*+\n"
    r"(?P<block>(?:(?:[ \t][^\n]*+)?\n)*+(?:[ \t][^\n]*+)?)",
    re.MULTILINE,
)
_LEVEL = re.compile(r"^([ \t]++)[^\s#]", re.MULTILINE)
STRING = (
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)|\'\'\'(?:[^\'\\]++|\\.|\'(?!\'\'))*+(?:\'\'\'|\Z)'
    r'|"(?:[^"\\\n]++|\\.)*+"?|\'(?:[^\'\\\n]++|\\.)*+\'?'
)
"""Matches a string, from its first quote on; with `re.DOTALL`."""
_TEXTS = re.compile(rf"#[^\n]*+|{STRING}|\\\n[^\n]*+", re.DOTALL)
_NAME = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?")
_COMMENT = re.compile(r"#[^\n]*")
_BOM = "\ufeff"
HEADER = 300
"""How many lines are looked at for imports."""


class Statement(Struct):
    """An import statement; the lines are `start:end`."""

    start: int
    end: int
    module: str | None
    """None for `import a, b`."""
    names: list[tuple[str, str]]
    """What is imported, and the name that it gets here."""
    has_brackets: bool = False
    tail: str = ""
    indent: str = ""
    """What is before a statement that only type checkers see."""

    @property
    def key(self) -> str:
        """What it is sorted by."""
        return self.names[0][0] if self.module is None else self.module


def statements(text: str) -> list[Statement]:
    """Return the import statements of a text that are not indented, or for type checkers only."""
    text = text.removeprefix(_BOM)
    out: list[Statement] = []
    blocks = _guarded(text)
    found = [x for x in _STATEMENT.finditer(text) if not x["indent"] or _is_in(blocks, x)]
    texts = _texts(text) if found else []
    for x in found:
        names = outline(x["names"])
        if not names or any(start < x.start() < end for start, end in texts):
            continue
        start = text.count("\n", 0, x.start())
        module = x["module"]
        if module is None:
            names = [(name, here if here != name else name.split(".")[0]) for name, here in names]
        tail = x["tail"].strip()
        out.append(
            Statement(
                start,
                start + x[0].count("\n") + 1,
                module,
                names,
                has_brackets=x["names"].startswith("("),
                tail=tail and f"  {tail}",
                indent=x["indent"],
            )
        )
    return out


def _guarded(text: str) -> list[tuple[int, int, str]]:
    """Return where blocks for type checkers begin and end, and how far they are indented."""
    if "TYPE_CHECKING:" not in text:
        return []
    out: list[tuple[int, int, str]] = []
    for found in _GUARDED.finditer(text):
        level = _LEVEL.search(text, *found.span("block"))
        if level is not None:
            out.append((*found.span("block"), level[1]))
    return out


def _is_in(blocks: list[tuple[int, int, str]], found: re.Match[str]) -> bool:
    """Return whether a statement stands right below a condition, in no block of its own."""
    at, indent = found.start(), found["indent"]
    return any(start <= at < end and indent == level for start, end, level in blocks)


def _texts(text: str) -> list[tuple[int, int]]:
    """Return the strings that go on in the next line, and lines that go on with a backslash."""
    if not any(mark in text for mark in ('"""', "'''", "\\\n")):
        return []
    found = (x for x in _TEXTS.finditer(text) if "\n" in x[0])
    return [x.span() for x in found]


def imports_of(page: Page) -> list[Statement]:
    """Return a page's import statements, read once."""
    kept: list[Statement] | None = page.notes.get("imports")
    if kept is None:
        kept = page.notes["imports"] = statements("\n".join(page.lines[:HEADER]))
    return kept


def outline(text: str) -> list[tuple[str, str]]:
    """Read a list of imported names, each with the name that it gets."""
    return [(x[1], x[2] or x[1]) for x in _NAME.finditer(_COMMENT.sub("", text))]


def render(name: tuple[str, str], module: str | None) -> str:
    """Write an imported name as a statement has it."""
    plain = name[0] == name[1] or (module is None and name[0].split(".")[0] == name[1])
    return name[0] if plain else f"{name[0]} as {name[1]}"


def remove(lines: list[str], old: Statement, here: str) -> list[str]:
    """Return the lines without one imported name; as they are, if it cannot be taken away."""
    left = [name for name in old.names if name[1] != here]
    if not left:
        return marked(lines, _dropped(lines, old))
    block = lines[old.start : old.end]
    if len(block) == 1:
        joined = ", ".join(render(x, old.module) for x in left)
        head = old.indent + ("import " if old.module is None else f"from {old.module} import ")
        if old.has_brackets:
            joined = f"({joined})"
        fresh = [*lines[: old.start], head + joined + old.tail, *lines[old.end :]]
        return marked(lines, fresh)
    fresh = _without(lines, old, here)
    return fresh if said_in(fresh, old, len(fresh) - len(lines)) == left else lines


def marked(lines: list[str], fresh: list[str]) -> list[str]:
    """Keep the mark that some files begin with."""
    if lines and fresh and lines[0].startswith(_BOM) and not fresh[0].startswith(_BOM):
        return [_BOM + fresh[0], *fresh[1:]]
    return fresh


def said_in(lines: list[str], old: Statement, grown: int) -> list[tuple[str, str]]:
    """Return what a statement imports after it was changed."""
    block = [x.removeprefix(old.indent) for x in lines[old.start : old.end + grown]]
    return [name for x in statements("\n".join(block)) for name in x.names]


def _dropped(lines: list[str], old: Statement) -> list[str]:
    """Take a whole statement away, and the condition above it with its last one."""
    start, end = old.start, old.end
    if old.indent:
        top = next(x for x in range(start - 1, -1, -1) if _is_margin(lines[x]))
        bottom = next((x for x in range(end, len(lines)) if _is_margin(lines[x])), len(lines))
        others = [x.strip() for x in (*lines[top + 1 : start], *lines[end:bottom]) if x.strip()]
        if all(x.startswith("#") for x in others):
            below = lines[bottom] if bottom < len(lines) else ""
            if others or below.startswith(("else", "elif")):
                return lines
            start = top
    above = lines[start - 1] if start else ""
    if not above.strip() and end < len(lines) and not lines[end].strip():
        end += 1
    return lines[:start] + lines[end:]


def _is_margin(line: str) -> bool:
    """Return whether a statement begins at the margin."""
    return bool(line[:1].strip("#").strip())


def _without(lines: list[str], old: Statement, here: str) -> list[str]:
    """Take a name out of a statement of several lines."""
    pattern = re.compile(rf"(?<![\w.])(?:[\w.]+\s+as\s+)?{re.escape(here)}(?![\w.])[ \t]*,?[ \t]?")
    for i in range(old.start, old.end):
        head, word, listed = lines[i].partition("import") if i == old.start else ("", "", lines[i])
        code, mark, comment = listed.partition("#")
        fewer = pattern.sub("", code, count=1)
        if fewer == code:
            continue
        # What is said about a name alone goes with it.
        said = mark + comment if fewer.strip() else ""
        fresh = f"{head}{word}{fewer}{said}"
        if i == old.end - 1:
            fresh = re.sub(r",\s*\)", ")", fresh)
            fresh = fresh if old.has_brackets else fresh.rstrip().rstrip(",")
        block, text = [fresh.rstrip()], fresh.strip()
        above = lines[i - 1].rstrip()
        if text in ("", ")") and i == old.end - 1 and above.endswith((",", ",\\", ", \\")):
            return [*lines[: i - 1], above.rstrip(", \\") + text, *lines[i + 1 :]]
        if text.endswith("import \\") and i + 1 < old.end:
            return [*lines[:i], fresh.rstrip("\\ ") + " " + lines[i + 1].strip(), *lines[i + 2 :]]
        return lines[:i] + (block if text else []) + lines[i + 1 :]
    return lines
