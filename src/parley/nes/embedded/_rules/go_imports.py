"""Imports of Go files: packages that nobody uses any more, and those that came into use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log1p
from typing import NamedTuple

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._source import SourceFile

_SPEC = re.compile(r'^(?:import)?[ \t]+(?:([\w.]+)[ \t]+)?"([^"\s]+)"[ \t]*(?://.*)?$')
_USE = re.compile(r"(?<![\w.\"])([a-z]\w*)\.[A-Z]")
_HEADER = 80
_MOST_NAMES = 6
_PACKAGES = """
bufio bytes context crypto/sha256 embed encoding/base64 encoding/binary encoding/hex encoding/json
errors flag fmt html io io/fs log maps math math/big net net/http net/url os os/exec os/signal path
path/filepath reflect regexp runtime slices sort strconv strings sync sync/atomic testing time
unicode unicode/utf8
"""
_STANDARD = {path.rpartition("/")[2]: path for path in _PACKAGES.split()}


class Spec(NamedTuple):
    """One imported package."""

    line: int
    name: str
    path: str


def go_imports(context: EditContext) -> Iterator[Candidate]:
    """Yield what is to be imported and what no longer is, in the file that is edited now."""
    file, old = context.file, context.before(context.file.uri)
    if file.language != "go" or file.uri not in context.touched or old is None:
        return
    known = _specs(file)
    for spec in known:
        if spec.name not in "_." and not _uses(file, spec.name) and _uses(old, spec.name):
            yield _candidate(context, (spec.line, spec.line + 1, []), "unused import", spec.name, {
                "alone": 1.0, "uses_before": log1p(_uses(old, spec.name)),
            })  # fmt: skip
    yield from _missing(context, file, old, {x.name for x in known})


def _specs(file: SourceFile) -> list[Spec]:
    found = ((i, _SPEC.match(line)) for i, line in enumerate(file.lines[:_HEADER]))
    return [Spec(i, x[1] or _name(x[2]), x[2]) for i, x in found if x]


def _name(path: str) -> str:
    """Return what a package is called by default: its last part that is no version."""
    parts = [x for x in path.split("/") if not re.fullmatch(r"v\d+", x)]
    return re.sub(r"^go-|\.v\d+$", "", parts[-1] if parts else path)


def _uses(file: SourceFile, name: str) -> int:
    return len(re.findall(rf"(?<![\w.\"/]){re.escape(name)}\.", file.text))


def _missing(
    context: EditContext, file: SourceFile, old: SourceFile, known: set[str]
) -> Iterator[Candidate]:
    lines = [line for hunk in context.touched[file.uri] for line in hunk.new]
    used = dict.fromkeys(x for line in lines for x in _USE.findall(line))
    names = [x for x in used if x not in known and not _uses(old, x)]
    for name in names[:_MOST_NAMES]:
        if re.search(rf"\b{name}\b\s*(?:,[^=\n]*)?:?=|\b(?:var|func)\s+{name}\b", file.text):
            continue
        votes: dict[str, int] = {}
        for other in context.elsewhere(name, 8):
            for spec in _specs(other) if other.language == "go" else ():
                if spec.name == name:
                    votes[spec.path] = votes.get(spec.path, 0) + 1
        if name in _STANDARD:
            votes[_STANDARD[name]] = votes.get(_STANDARD[name], 0) + 1
        ranked = sorted(votes, key=lambda path: (-votes[path], path))
        at = _spot(file, ranked[0]) if ranked else None
        if at is not None:
            share = votes[ranked[0]] / sum(votes.values())
            text = f'\t"{ranked[0]}"'
            yield _candidate(context, (at, at, [text]), "missing import", name, {
                "votes": log1p(votes[ranked[0]]), "share": share, "tidy": 1.0, "fits": 1.0,
                "standard": float(ranked[0] == _STANDARD.get(name)), "uses": 1.0,
            })  # fmt: skip


def _spot(file: SourceFile, path: str) -> int | None:
    """Return where a package goes: sorted, in the group of its kind; None without a group."""
    known = [x for x in _specs(file) if file.lines[x.line].startswith("\t")]
    is_foreign = "." in path.split("/")[0]
    same = [x for x in known if ("." in x.path.split("/")[0]) == is_foreign]
    if not same:
        return None
    return next((x.line for x in same if x.path > path), same[-1].line + 1)


def _candidate(
    context: EditContext,
    block: tuple[int, int, list[str]],
    rule: str,
    name: str,
    features: dict[str, float],
) -> Candidate:
    start, end, lines = block
    return Candidate(
        uri=context.file.uri,
        start=start,
        end=end,
        lines=lines,
        rule=rule,
        cause=name,
        features=location_features(context, context.file, start, end) | features,
    )
