"""Edits a project of 500 files and asks what comes next; prints what the answers took as JSON.

The project is made of the standard library's own modules, and what is edited in it are files of
about 2,000 lines. A question follows each change at once: nobody thinks or types in between. The
engine is asked in this process and, as an editor does, over the protocol: `parley nes serve`.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from parley.nes._documents.document import Document
from parley.nes._documents.store import Documents
from parley.nes._eval.driver import Driver, EngineDriver
from parley.nes._eval.wire import Agent, connected
from parley.nes.embedded import EmbeddedEngine
from parley.nes.engine import Span, Spot, Workspace
from parley.schema import v2

FILES, LINES = 500, range(1_400, 2_800)
DEFINED = 40
"""Fewer functions has a file of data."""
OPEN = 6
"""How many files are open in a session."""
LONG, KEYS = 100_000, 2_000
KINDS = frozenset({"edit", "jump"})
COMMAND = (sys.executable, "-m", "parley", "nes", "serve")
Step = tuple[Span, str]


def main() -> None:
    visits = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        long = _lay_out(root)[:visits]
        sample = asyncio.run(_measure(root, long))
    sys.stdout.write(json.dumps(sample))


def _lay_out(root: Path) -> list[str]:
    """Copy 500 modules, those of the wanted length among them; return the paths of these."""
    library = Path(sysconfig.get_path("stdlib"))
    skipped = {"test", "idlelib", "lib2to3", "site-packages", "turtledemo"}
    found: list[tuple[bool, str, str]] = []
    for file in sorted(library.rglob("*.py")):
        inside = file.relative_to(library)
        text = file.read_bytes().decode("utf-8", "replace")
        if not skipped & set(inside.parts):
            is_long = text.count("\n") in LINES and text.count("def ") > DEFINED
            found.append((is_long, inside.as_posix(), text))
    chosen = sorted(found, key=lambda each: not each[0])[:FILES]
    for _, name, text in chosen:
        path = root / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    long = [name for is_long, name, _ in chosen if is_long]
    random.Random(1).shuffle(long)
    return long


async def _measure(root: Path, long: list[str]) -> dict[str, float]:
    cpu, wall, told = list[float](), list[float](), list[int]()
    driver = EngineDriver(EmbeddedEngine(), KINDS)
    await _work(driver, root / "project", long, (cpu, wall, told))
    over, spoke = list[float](), list[int]()
    async with connected(Agent(target=COMMAND, settle_after=1.0), root) as wired:
        await _work(wired, root / "project", long, ([], over, spoke))
    sample = {"asked": float(len(wall)), "told": float(sum(told)), "changed": _changed()}
    for name, found in (("cpu", cpu), ("wall", wall), ("wire", over)):
        sample |= {f"{name} p50": _quantile(found, 0.5), f"{name} p99": _quantile(found, 0.99)}
    return sample


def _quantile(found: list[float], share: float) -> float:
    return sorted(found)[int(len(found) * share)]


async def _work(
    driver: Driver, root: Path, long: list[str], out: tuple[list[float], list[float], list[int]]
) -> None:
    """Visit one file after the other, with a session for a few of them."""
    noise = random.Random(2)
    for number, path in enumerate(long):
        if number % OPEN == 0:
            await driver.close()
            await driver.start(root)
        text = (root / path).read_text()
        document = Document(path, "python", 1, text)
        await driver.open(path, text)
        await driver.settle()
        for span, new in _steps(document, noise):
            await driver.change(path, span, new)
            document.edit(span, new)
            began, used = time.perf_counter(), time.process_time()
            answer = await driver.ask(path, Spot(span.start.line, span.start.column + len(new)))
            out[0].append((time.process_time() - used) * 1000)
            out[1].append((time.perf_counter() - began) * 1000)
            out[2].append(len(answer.proposals))
    await driver.close()


def _steps(document: Document, noise: random.Random) -> Iterator[Step]:
    """Yield changes as people make them, each to be made before the next one is asked for."""
    yield from _renaming(document, noise)
    yield from _extending(document, noise)
    yield from _typing(document, noise)
    line = noise.randrange(len(document.lines) // 2, len(document.lines) - 1)
    yield Span(Spot(line, 0), Spot(line + 1, 0)), ""
    used = noise.choice(("OrderedDict", "contextmanager", "dataclass", "namedtuple", "suppress"))
    yield Span(Spot(line, 0), Spot(line, 0)), f"value = {used}(value)\n"


def _renaming(document: Document, noise: random.Random) -> Iterator[Step]:
    """Give a name another one, at the first places where it stands."""
    words = Counter(re.findall(r"\b[a-z_]{4,}\b", document.text))
    name = noise.choice(sorted(word for word, count in words.items() if 4 <= count < 40))
    for _ in range(3):
        place = _find(document, rf"\b{name}\b")
        if place is not None:
            yield place, f"{name}_other"


def _extending(document: Document, noise: random.Random) -> Iterator[Step]:
    """Give calls of one function a further argument."""
    called = Counter(re.findall(r"\b([a-z_]{4,})\([^()\n]+\)", document.text))
    name = noise.choice(sorted(word for word, count in called.items() if count > 2))
    for _ in range(3):
        place = _find(document, rf"\b{name}\([^()\n]+(?<!=True)(?=\))")
        if place is not None:
            yield Span(place.end, place.end), ", flag=True"


def _typing(document: Document, noise: random.Random) -> Iterator[Step]:
    """Write a line, key by key."""
    line = noise.randrange(len(document.lines) // 4, len(document.lines) // 2)
    margin = re.match(r"\s*", document.lines[line])
    blanks = margin[0].strip("\n") if margin else ""
    yield Span(Spot(line, 0), Spot(line, 0)), f"{blanks}\n"
    for at, key in enumerate("other = value"):
        spot = Spot(line, len(blanks) + at)
        yield Span(spot, spot), key


def _find(document: Document, pattern: str) -> Span | None:
    for line, text in enumerate(document.lines):
        found = re.search(pattern, text)
        if found:
            return Span(Spot(line, found.start()), Spot(line, found.end()))
    return None


def _changed() -> float:
    """Return how many milliseconds a key takes in a document of 100,000 lines, p99."""
    uri, noise = "file:///long.py", random.Random(3)
    predictor = EmbeddedEngine().begin(Workspace())
    documents = Documents("utf-16")
    document = documents.open(uri, "python", 1, "value = other(1)\n" * LONG)
    assert document is not None
    predictor.opened(document)
    took: list[float] = []
    for number in range(KEYS):
        where = v2.Position(line=noise.randrange(LONG), character=5)
        event = v2.TextDocumentContentChangeEvent(text="x", range=v2.Range(start=where, end=where))
        began = time.process_time()
        made = documents.change(uri, number + 2, [event])
        predictor.changed(document, made or ())
        took.append((time.process_time() - began) * 1000)
    return _quantile(took, 0.99)


if __name__ == "__main__":
    main()
