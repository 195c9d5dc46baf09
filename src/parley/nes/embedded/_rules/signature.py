"""Call sites of a function whose parameters changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from math import log1p
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._names.scopes import Call, Function
from parley.nes.embedded._names.table import Names
from parley.nes.embedded._source import SourceFile

_MOST_FUNCTIONS = 6
_MOST_PAGES = 8
_MOST_CALLS = 6
_NAME = re.compile(r"\**\s*(\w+)")
_KEYWORD = re.compile(r"(\w+)\s*=(?!=)")


class Reshaped(NamedTuple):
    """A function before and now."""

    old: Function
    new: Function
    home: SourceFile
    removed: list[str]
    """The parameters that are gone."""
    added: list[str]
    """The parameters that are new, as they are written."""

    @property
    def called(self) -> str:
        """By what name it is called."""
        return self.old.owner if self.old.name == "__init__" else self.old.name


def _bare(parameter: str) -> str:
    found = _NAME.match(parameter)
    return found[1] if found else parameter


def signature(context: EditContext) -> Iterator[Candidate]:
    """Yield the calls that no longer fit."""
    for uri in context.lately:
        file = context.files.get(uri)
        mine, old = context.names(file), context.names(context.before(uri))
        if file is None or mine is None or old is None or context.is_late():
            continue
        shapes = file.since(context.before(uri), "shapes", partial(_reshaped, file, old, mine))
        for shape in shapes[:_MOST_FUNCTIONS]:
            name = shape.called
            for other in chain([file], context.elsewhere(name, _MOST_PAGES)):
                if context.is_late():
                    return
                yield from _calls(context, other, shape, name)


def _reshaped(file: SourceFile, old: Names, new: Names) -> list[Reshaped]:
    known = {(x.owner, x.name): x for x in old.functions}
    counts: dict[tuple[str, str], int] = {}
    for x in [*old.functions, *new.functions]:
        counts[x.owner, x.name] = counts.get((x.owner, x.name), 0) + 1
    out: list[Reshaped] = []
    for function in new.functions:
        key = (function.owner, function.name)
        before = known.get(key)
        if before is None or counts[key] != 2 or before.parameters == function.parameters:
            continue
        were = [_bare(x) for x in before.parameters]
        are = [_bare(x) for x in function.parameters]
        removed = [x for x in were if x not in are]
        added = [x for x, name in zip(function.parameters, are, strict=True) if name not in were]
        if removed or added:
            out.append(Reshaped(before, function, file, removed, added))
    return out


def _calls(
    context: EditContext, file: SourceFile, shape: Reshaped, name: str
) -> Iterator[Candidate]:
    found = context.names(file)
    if found is None:
        return
    every = found.calls(name)
    calls = [x for x in every if not context.is_edited(file.uri, x.start.line, x.end.line + 1)]
    done = len(every) - len(calls)
    near = context.spot.line if file is context.file else 0
    for call in sorted(calls, key=lambda call: abs(call.start.line - near))[:_MOST_CALLS]:
        yield _candidate(context, file, shape, (call, len(calls), done))


def _candidate(
    context: EditContext, file: SourceFile, shape: Reshaped, found: tuple[Call, int, int]
) -> Candidate:
    call, count, done = found
    arguments = _fitted(shape, call)
    start, end = call.start.line, call.end.line + 1
    lines = file.lines[start:end]
    is_sure = arguments is not None and arguments != list(call.arguments) and end == start + 1
    if arguments is not None and is_sure:
        data = lines[0].encode()
        text = f"({', '.join(arguments)})"
        lines = [(data[: call.start.column] + text.encode() + data[call.end.column :]).decode()]
    keyword = {x.split("=")[0].strip() for x in call.arguments if "=" in x}
    about = context.once(("signature", id(shape)), partial(_of_shape, context, shape))
    features = location_features(context, file, start, end) | about
    features |= {
        "keyword": float(bool(keyword & set(shape.removed))),
        "method": float(call.is_method),
        "done": log1p(done),
        "places": log1p(count),
        "fits": float(_fits(shape, call)),
        "mid": float(_is_in_function(shape, file, call)),
    }
    return Candidate(
        uri=file.uri,
        start=start,
        end=end,
        lines=lines,
        rule="signature" if is_sure else "call",
        cause=f"{shape.new.name}({', '.join(shape.new.parameters)})",
        features=features,
        is_sure=is_sure,
        column=file.column_of(start, call.start.column),
    )


def _of_shape(context: EditContext, shape: Reshaped) -> dict[str, float]:
    """Describe what became of a function, wherever it is called."""
    return {
        "removed": float(bool(shape.removed)),
        "added": float(bool(shape.added)),
        "required": float(any("=" not in x and not x.startswith("*") for x in shape.added)),
        "owned": float(bool(shape.old.owner)),
        "common": log1p(context.project.count(shape.called)),
        "age": log1p(context.hunks[0].turn - max(x.turn for x in context.touched[shape.home.uri])),
    }


def _is_in_function(shape: Reshaped, file: SourceFile, call: Call) -> bool:
    return file.uri == shape.home.uri and shape.new.line <= call.start.line < shape.new.end


def _own(parameters: tuple[str, ...]) -> tuple[str, ...]:
    return parameters[1:] if parameters and _bare(parameters[0]) in ("self", "cls") else parameters


def _fits(shape: Reshaped, call: Call) -> bool:
    """Return whether a call has as many plain arguments as the function takes at least."""
    plain = [x for x in call.arguments if not x.startswith("*") and not _KEYWORD.match(x)]
    taken = [x for x in _own(shape.new.parameters) if not x.startswith("*")]
    needed = [x for x in taken if "=" not in x]
    named = {x.split("=")[0].strip() for x in call.arguments if _KEYWORD.match(x)}
    missing = [x for x in needed[len(plain) :] if _bare(x) not in named]
    return not missing and len(plain) <= len(taken)


def _fitted(shape: Reshaped, call: Call) -> list[str] | None:
    """Return the arguments without what is gone, and with parameters' new names."""
    removed, added = shape.removed, shape.added
    old = [_bare(x) for x in _own(shape.old.parameters)]
    if any(x.startswith("*") for x in (*call.arguments, *added)):
        return None
    pairs: dict[str, str] = {}
    if len(removed) == len(added) and len(shape.old.parameters) == len(shape.new.parameters):
        pairs = {
            _bare(a): _bare(b)
            for a, b in zip(shape.old.parameters, shape.new.parameters, strict=True)
            if _bare(a) in removed
        }
    out: list[str] = []
    for i, argument in enumerate(call.arguments):
        keyword = _KEYWORD.match(argument)
        name = keyword[1] if keyword else old[i] if i < len(old) else ""
        if name not in removed:
            out.append(argument)
        elif name in pairs:
            out.append(pairs[name] + argument[len(name) :] if keyword else argument)
    return out
