"""Import statements of Python files: read them, take a name away.

Only statements without indentation are read, and those that only type checkers see, below
`if TYPE_CHECKING:`; they may span lines in parentheses.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from math import log1p
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from parley.nes.embedded._source import SourceFile
from parley.nes.embedded._tokens import indent

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
"""The lines that are searched for imports."""


class Statement(Struct):
    """An import statement; the lines are `start:end`."""

    start: int
    end: int
    module: str | None
    """None for `import a, b`."""
    names: list[tuple[str, str]]
    """Each imported name, and the name that it gets here."""
    has_brackets: bool = False
    tail: str = ""
    indent: str = ""
    """The indentation of a statement that only type checkers see."""

    @property
    def key(self) -> str:
        """The key to sort by."""
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
    """Return the strings that continue in the next line, and lines continued by a backslash."""
    if not any(mark in text for mark in ('"""', "'''", "\\\n")):
        return []
    found = (x for x in _TEXTS.finditer(text) if "\n" in x[0])
    return [x.span() for x in found]


def imports_of(file: SourceFile) -> list[Statement]:
    """Return a file's import statements, read once."""
    kept: list[Statement] | None = file.notes.get("imports")
    if kept is None:
        kept = file.notes["imports"] = statements("\n".join(file.lines[:HEADER]))
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


_WIDTH = 79
_DOCSTRING = re.compile(rf"(?:[uUrR]?(?:{STRING})(?:[ \t]|\\\n)*+)++(?=[;#\n]|\Z)", re.DOTALL)
Own: TypeAlias = Callable[[str], bool]


def _has_habit(known: list[Statement]) -> bool:
    """Return whether names are sorted where there are several."""
    many = [[name.lower() for name, _ in x.names] for x in known if len(x.names) > 1]
    return bool(many) and all(x == sorted(x) for x in many)


def _by_letters(name: tuple[str, str]) -> tuple[int, str]:
    return 0, name[0].lower()


def _by_order(name: tuple[str, str]) -> tuple[int, str]:
    return 0, name[0]


def _by_kind(name: tuple[str, str]) -> tuple[int, str]:
    """Sort constants, then classes, then the rest."""
    if name[0].isupper() and len(name[0]) > 1:
        return 0, name[0]
    return (1 if name[0][:1].isupper() else 2), name[0]


def _inserted(
    names: list[tuple[str, str]], new: tuple[str, str], has_habit: bool
) -> list[tuple[str, str]]:
    """Put a name where the order of the others asks for it."""
    for key in (_by_letters, _by_order, _by_kind):
        if len(names) > 1 and names == sorted(names, key=key):
            return sorted([*names, new], key=key)
    if len(names) == 1 and has_habit and names[0][0].lower() > new[0].lower():
        return [new, *names]
    return [*names, new]


class Addition(NamedTuple):
    """One way to write one more import."""

    lines: list[str]
    features: dict[str, float]


def add(lines: list[str], module: str | None, name: tuple[str, str]) -> list[str]:
    """Return the lines with one more import, as the others are written."""
    return additions(lines, module, name)[0].lines


def additions(
    lines: list[str],
    module: str | None,
    name: tuple[str, str],
    *,
    is_single: bool | None = None,
    is_typing: bool = False,
    is_own: Own = lambda _: False,
) -> list[Addition]:
    """Return the ways to write one more import, the usual one first.

    Args:
        lines: The file.
        module: Where the name comes from; None for `import name`.
        name: What is imported, and the name that it gets.
        is_single: Whether each name has a statement of its own; None to go by the file.
        is_typing: Whether only type checkers need it.
        is_own: Tells whether a package is of this project.
    """
    every = statements("\n".join(lines[:HEADER]))
    new = Statement(0, 0, module, [name])
    known = [x for x in every if x.indent] if is_typing else []
    if not any(_sort(x, is_own) == _sort(new, is_own) for x in known):
        known = _plain(every)
    named = [x for x in known if x.module is not None]
    own = _has_singles(named)
    is_single = own if own is not None else is_single
    same = [x for x in named if x.module == module and ("*", "*") not in x.names]
    found = list(_into(lines, same[-1], name, _has_habit(named))) if same else []
    fresh = list(_alone(lines, known, new, is_own))
    for x in found + fresh:
        x.features["same"] = float(bool(same))
        x.features["single"] = float(is_single is True)
        x.features["several"] = float(is_single is False)
        x.features["guarded"] = float(any(y.indent for y in known))
    ranked = [*fresh, *found] if is_single or not found else [*found, *fresh]
    out: list[Addition] = []
    for x in ranked:
        x = x._replace(lines=marked(lines, x.lines))
        if x.lines not in [kept.lines for kept in out]:
            out.append(x)
    return out[:4]


def _plain(known: list[Statement]) -> list[Statement]:
    """Return the statements that are not for type checkers only."""
    return [x for x in known if not x.indent]


def _has_singles(named: list[Statement]) -> bool | None:
    """Return whether each name has a statement of its own; None if the file does not say."""
    modules = [x.module for x in named]
    if any(len(x.names) > 1 for x in named):
        return False
    return True if len(set(modules)) < len(modules) or len(modules) > 4 else None


def _into(
    lines: list[str], old: Statement, name: tuple[str, str], has_habit: bool
) -> Iterator[Addition]:
    """Yield a statement with one more name: in the order of the others, and at the end."""
    ordered, behind = _inserted(old.names, name, has_habit), [*old.names, name]
    for names in [ordered] if ordered == behind else [ordered, behind]:
        grown = _extended(lines, old, name, names)
        if set(said_in(grown, old, len(grown) - len(lines))) != set(names):
            continue
        keys = [x[0].lower() for x in old.names]
        yield Addition(
            grown,
            {
                "into": 1.0,
                "ordered": float(names is ordered and ordered != behind),
                "behind": float(names is behind),
                "agree": float(ordered == behind),
                "in_order": float(len(keys) > 1 and keys == sorted(keys)),
                "names": log1p(len(keys)),
                "habit": float(has_habit),
                "over": max(0, max(map(len, grown[old.start : old.end])) - _WIDTH) / 20,
                "bracketed": float(old.has_brackets),
            },
        )


def _alone(
    lines: list[str], known: list[Statement], new: Statement, is_own: Own
) -> Iterator[Addition]:
    """Yield a new statement: where it fits in best, and after the last one of its kind."""
    text = render(new.names[0], new.module)
    text = f"import {text}" if new.module is None else f"from {new.module} import {text}"
    at, blank_before, blank_after = _spot(lines, known, new, is_own)
    last = _last(known, new, is_own)
    lowest = max((x.end for x in known if x.module == "__future__"), default=0)
    at, last = max(at, lowest), max(last, lowest)
    ways = [(at, blank_before, blank_after), (last, 0, 0)]
    for place, before, after in ways if known or not at else ways[:1]:
        margin = next((x.indent for x in known if place in (x.start, x.end)), "")
        block = [""] * before + [margin + text] + [""] * after
        yield Addition(
            _put(lines, place, block),
            {
                "own": float(before + after > 0),
                "final": float(place == last),
                "fits": float(place == at),
                "in_line": float(place == at and _is_in_line(known, at, new)),
            },
        )


def _put(lines: list[str], at: int, block: list[str]) -> list[str]:
    """Put lines before others; a mark that a file begins with stays at its beginning."""
    if at == 0 and lines:
        return [*block, lines[0].removeprefix("\ufeff"), *lines[1:]]
    return lines[:at] + block + lines[at:]


def _is_in_line(known: list[Statement], at: int, new: Statement) -> bool:
    """Return whether a new statement comes into a block, and that is sorted with it."""
    for block in _blocks(known) if known else ():
        if len(block) > 1 and block[0].start <= at <= block[-1].end:
            row = [*(x for x in block if x.end <= at), new, *(x for x in block if x.start >= at)]
            return any(
                keys == sorted(keys)
                for keys in ([_place(x, is_mixed) for x in row] for is_mixed in (False, True))
            )
    return False


def _last(known: list[Statement], new: Statement, is_own: Own) -> int:
    """Return the line after the last statement of the same kind, or after all."""
    like = [x for x in known if _sort(x, is_own) == _sort(new, is_own)] or known
    same = [x for x in like if (x.module is None) == (new.module is None)] or like
    return same[-1].end if same else 0


def _extended(
    lines: list[str], old: Statement, name: tuple[str, str], names: list[tuple[str, str]]
) -> list[str]:
    """Add a name to a statement."""
    block = lines[old.start : old.end]
    if old.end - old.start == 1 and not old.has_brackets:
        joined = ", ".join(render(x, old.module) for x in names)
        text = f"{old.indent}from {old.module} import {joined}{old.tail}"
        return [*lines[: old.start], text, *lines[old.end :]]
    at = names.index(name)
    text = render(name, old.module)
    each = [x for x in block[1:-1] if re.fullmatch(r"\s+[\w.]+( as \w+)?,?\s*(#.*)?", x)]
    if old.has_brackets and len(each) == len(old.names) == len(block) - 2:
        row = indent(block[1]) + text + ","
        code, mark, comment = block[-2].partition("#")
        if at == len(names) - 1 and not code.rstrip().endswith(","):
            last = old.end - 2
            gap = code[len(code.rstrip()) :]
            ended = f"{code.rstrip()},{gap}{mark}{comment}"
            lines = [*lines[:last], ended, *lines[last + 1 :]]
            row = row[:-1]
        here = old.start + 1 + at
        return [*lines[:here], row, *lines[here:]]
    return _woven(lines, old, (at, text, names))


def _woven(
    lines: list[str], old: Statement, new: tuple[int, str, list[tuple[str, str]]]
) -> list[str]:
    """Put a name after another one in a statement of many lines."""
    at, text, names = new
    if at == 0:
        near, form = names[1][0], f"{text}, {names[1][0]}"
    else:
        near = render(names[at - 1], old.module)
        form = f"{near}, {text}"
    out = list(lines)
    for i in range(old.end - 1, old.start - 1, -1):
        head, mark, rest = out[i].partition(" import ") if i == old.start else ("", "", out[i])
        fresh = re.sub(rf"(?<![\w.]){re.escape(near)}(?![\w.])", form, rest, count=1)
        if fresh != rest:
            out[i] = f"{head}{mark}{fresh}"
            break
    return out


def _sort(statement: Statement, is_own: Own) -> int:
    """Return the group of an import: future, standard library, others, this project, near."""
    if statement.key == "__future__":
        return 0
    if statement.key.startswith("."):
        return 4
    top = statement.key.split(".")[0]
    if top in sys.stdlib_module_names:
        return 1
    return 3 if is_own(top) else 2


def _spot(
    lines: list[str], known: list[Statement], new: Statement, is_own: Own
) -> tuple[int, int, int]:
    """Return where a new statement goes, and how many blank lines go before and after it."""
    if not known:
        return _top(lines), 0, 1
    blocks = _blocks(known)
    sorts = {_sort(x, is_own) for x in known}
    if _sort(new, is_own) not in sorts and (len(sorts) == 1 or len(blocks) > 1):
        return _own_block(blocks, new, is_own)
    cost, at = min(
        (_cost(block, i, new, is_own), block[i].start if i < len(block) else block[-1].end)
        for block in blocks
        for i in range(len(block) + 1)
    )
    del cost
    return at, 0, 0


def is_tidy(known: list[Statement]) -> bool:
    """Return whether statements are sorted in their groups, so that a new one has one place."""
    known = _plain(known)
    blocks = _blocks(known) if known else []
    return all(
        _is_mixed(block)
        or [_place(x, False) for x in block] == sorted(_place(x, False) for x in block)
        for block in blocks
    )


def _blocks(known: list[Statement]) -> list[list[Statement]]:
    """Return the statements in groups, as blank lines and other code part them."""
    out = [[known[0]]]
    for last, statement in pairwise(known):
        if statement.start == last.end:
            out[-1].append(statement)
        else:
            out.append([statement])
    return out


def _own_block(blocks: list[list[Statement]], new: Statement, is_own: Own) -> tuple[int, int, int]:
    before = [
        block for block in blocks if max(_sort(x, is_own) for x in block) < _sort(new, is_own)
    ]
    if before:
        return before[-1][-1].end, 1, 0
    return blocks[0][0].start, 0, 1


def _cost(block: list[Statement], at: int, new: Statement, is_own: Own) -> tuple[float, int]:
    """Return how little a statement fits at a place of a block; of equal places, the last one."""
    sorts = [_sort(x, is_own) for x in block]
    has_groups = sorts == sorted(sorts)
    is_mixed = _is_mixed(block)
    cost = 0.0
    for i, is_above in ((at - 1, True), (at, False)):
        if not 0 <= i < len(block):
            cost += 0.6
            continue
        near = block[i]
        if has_groups:
            cost += 2.0 * (sorts[i] != _sort(new, is_own))
        cost -= 0.8 * _affinity(near, new)
        one, other = _place(near, is_mixed), _place(new, is_mixed)
        if one[0] != other[0]:
            cost += 0.5
        cost += 1.2 * (one > other if is_above else one < other)
    return cost, -block[0].start - at


def _is_mixed(block: list[Statement]) -> bool:
    """Return whether a block is sorted by modules, whichever way they are imported."""
    kinds = [x.module is None for x in block]
    keys = [x.key.lower() for x in block]
    return kinds != sorted(kinds, reverse=True) and keys == sorted(keys)


def _place(statement: Statement, is_mixed: bool) -> tuple[int, str, str]:
    kind = 0 if is_mixed or statement.module is None else 1
    return kind, statement.key.lower(), statement.names[0][0].lower()


def _affinity(one: Statement, other: Statement) -> float:
    """Return which part of their modules' names two statements share."""
    a, b = one.key.lstrip(".").split("."), other.key.lstrip(".").split(".")
    same = 0
    while same < min(len(a), len(b)) and a[same] == b[same]:
        same += 1
    return same / max(len(a), len(b))


def _top(lines: list[str]) -> int:
    """Return the first line after comments and the docstring."""
    at = 0
    head = [x.removeprefix("\ufeff") for x in lines[:HEADER]]
    while at < len(head) and (head[at].startswith("#") or not head[at].strip()):
        at += 1
    found = _DOCSTRING.match("\n".join(head[at:]))
    if found is not None:
        at += found[0].count("\n") + 1
        while at < len(lines) and not lines[at].strip():
            at += 1
    return at
