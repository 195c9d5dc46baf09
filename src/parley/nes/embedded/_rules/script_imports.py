"""Imports of JavaScript and TypeScript files: what nobody uses any more, and what came into use."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from math import log1p

from parley.nes.embedded._context import Candidate, EditContext, location_features
from parley.nes.embedded._names.scopes import Import
from parley.nes.embedded._names.table import Names
from parley.nes.embedded._source import SourceFile

_LANGUAGES = {"javascript", "typescript", "tsx"}
_MOST_NAMES = 6
_EXPORT = (
    r"^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:const|let|var|function\*?|class|type|interface|enum)\s+{}\b"
)


def script_imports(context: EditContext) -> Iterator[Candidate]:
    """Yield what is to be imported and what no longer is, in the file that is edited now."""
    file = context.file
    mine, old = context.names(file), context.names(context.before(file.uri))
    if file.language not in _LANGUAGES or file.uri not in context.touched or not mine or not old:
        return
    for x in mine.imports:
        gone = [here for _, here in x.names if here not in mine.used and here in old.used]
        lines = _without(file, x, gone) if gone and not x.is_nested else None
        if lines is not None:
            yield _candidate(context, (x.start, x.end, lines), "unused import", gone, {
                "alone": float(not lines), "joint": float(len(gone) > 1),
                "uses_before": log1p(len(old.used[gone[0]])),
            })  # fmt: skip
    yield from _missing(context, file, mine, old)


def _without(file: SourceFile, old: Import, gone: list[str]) -> list[str] | None:
    """Return a statement without some names; None if that is not simple."""
    if len(gone) == len(old.names):
        return []
    lines = file.lines[old.start : old.end]
    for name in gone:
        spec = rf"(?:type\s+)?(?:\w+\s+as\s+)?\b{re.escape(name)}\b"
        alone = [x for x in lines if re.fullmatch(rf"\s*{spec}\s*,?\s*", x)]
        if len(lines) > 1 and len(alone) == 1:
            lines.remove(alone[0])
            continue
        text = re.sub(rf"([{{,]\s*){spec}\s*(?:,\s*|(?=\}}))", r"\1", "\n".join(lines), count=1)
        lines = re.sub(r",\s*\}", " }", text).split("\n")
    return lines if lines != file.lines[old.start : old.end] else None


def _missing(
    context: EditContext, file: SourceFile, mine: Names, old: Names
) -> Iterator[Candidate]:
    """Yield imports for names that came in with an edit, as other files have them."""
    fresh = [x for x in mine.used if x not in mine.bound and x not in old.used and len(x) > 2]
    for name in fresh[:_MOST_NAMES]:
        votes: dict[str, float] = {}
        for other in context.elsewhere(name, 8):
            for module in _modules(context, other, file, name):
                votes[module] = votes.get(module, 0.0) + 1.0
        ranked = sorted(votes, key=lambda module: (-votes[module], module))
        if not ranked:
            continue
        block = _added(file, mine, ranked[0], name)
        yield _candidate(context, block, "missing import", [name], {
            "votes": log1p(votes[ranked[0]]), "share": votes[ranked[0]] / sum(votes.values()),
            "upper": float(name[:1].isupper()), "uses": log1p(len(mine.used[name])),
            "into": float(block[0] < block[1]), "behind": float(block[0] < block[1]),
            "known": float(block[0] < block[1]), "unbound": log1p(len(fresh)),
        })  # fmt: skip


def _modules(context: EditContext, other: SourceFile, file: SourceFile, name: str) -> Iterator[str]:
    """Yield how a file would name the modules from which another one has a name."""
    found = context.names(other) if other.language in _LANGUAGES else None
    if found is None:
        return
    folder = str(other.path.parent)
    for x in found.imports:
        if any(pair == (name, name) for pair in x.names):
            is_near = x.module.startswith(".")
            yield _from(file, posixpath.join(folder, x.module)) if is_near else x.module
    if re.search(_EXPORT.format(re.escape(name)), other.text, re.MULTILINE):
        stem = str(other.path.with_suffix(""))
        endings = {x.module.rpartition(".")[2] for x in _near(context.names(file))} & {
            "js",
            "ts",
            "mjs",
        }
        yield _from(file, f"{stem}.{endings.pop()}" if len(endings) == 1 else stem)


def _near(found: Names | None) -> list[Import]:
    return [x for x in found.imports if x.module.startswith(".")] if found else []


def _from(file: SourceFile, path: str) -> str:
    """Return a path as an import names it."""
    text = posixpath.relpath(posixpath.normpath(path), str(file.path.parent))
    return text if text.startswith(".") else f"./{text}"


def _added(file: SourceFile, mine: Names, module: str, name: str) -> tuple[int, int, list[str]]:
    """Return the lines of a statement with one more name, or a new statement after the last."""
    tops = [x for x in mine.imports if not x.is_nested]
    for x in tops:
        lines = file.lines[x.start : x.end]
        if x.module == module and len(lines) == 1 and re.search(r"\w\s*\}", lines[0]):
            return x.start, x.end, [re.sub(r"(\w),?(\s*\})", rf"\1, {name}\2", lines[0], count=1)]
        if x.module == module and len(lines) > 2 and lines[-2].rstrip().endswith(","):
            blank = lines[-2][: len(lines[-2]) - len(lines[-2].lstrip())]
            return x.end - 1, x.end - 1, [f"{blank}{name},"]
    sample = file.lines[tops[-1].end - 1] if tops else 'from "x";'
    quote = "'" if "'" in sample else '"'
    end = ";" if sample.rstrip().endswith(";") else ""
    is_near = module.startswith(".")
    same = [x for x in tops if x.module.startswith(".") == is_near] or tops
    at = same[-1].end if same else 0
    return at, at, [f"import {{ {name} }} from {quote}{module}{quote}{end}"]


def _candidate(
    context: EditContext,
    block: tuple[int, int, list[str]],
    rule: str,
    said: list[str],
    features: dict[str, float],
) -> Candidate:
    start, end, lines = block
    return Candidate(
        uri=context.file.uri,
        start=start,
        end=end,
        lines=lines,
        rule=rule,
        cause=" ".join(said),
        features=location_features(context, context.file, start, end) | features,
    )
