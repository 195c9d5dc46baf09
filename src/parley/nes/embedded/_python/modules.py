"""Where Python's names come from: the standard library, and modules of the project."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from parley.nes.embedded._context import EditContext
from parley.nes.embedded._project import Project
from parley.nes.embedded._source import SourceFile

from .imports import imports_of, statements

_MEMBERS = {
    "abc": "ABC ABCMeta abstractmethod",
    "argparse": "ArgumentParser Namespace",
    "base64": "b64decode b64encode",
    "collections": "ChainMap Counter OrderedDict defaultdict deque namedtuple",
    "collections.abc": "AsyncGenerator AsyncIterator Awaitable Callable Coroutine Generator "
    "Iterable Iterator Mapping MutableMapping Sequence",
    "contextlib": "AsyncExitStack ExitStack asynccontextmanager contextmanager suppress",
    "copy": "deepcopy",
    "dataclasses": "asdict dataclass field replace",
    "datetime": "date datetime timedelta timezone",
    "decimal": "Decimal",
    "enum": "Enum Flag IntEnum StrEnum auto",
    "fractions": "Fraction",
    "functools": "cache cached_property lru_cache partial reduce singledispatch total_ordering "
    "update_wrapper wraps",
    "hashlib": "md5 sha1 sha256",
    "importlib": "import_module",
    "importlib.metadata": "PackageNotFoundError",
    "io": "BytesIO StringIO",
    "itertools": "accumulate chain count cycle groupby islice product repeat zip_longest",
    "json": "JSONDecodeError",
    "math": "ceil floor sqrt",
    "operator": "attrgetter itemgetter",
    "pathlib": "Path PurePath PurePosixPath",
    "random": "randint shuffle",
    "re": "Pattern",
    "string": "Template",
    "subprocess": "PIPE CalledProcessError",
    "tempfile": "NamedTemporaryFile TemporaryDirectory",
    "textwrap": "dedent indent",
    "threading": "Event Lock RLock Thread",
    "time": "monotonic perf_counter sleep",
    "types": "MappingProxyType ModuleType SimpleNamespace TracebackType",
    "typing": "Annotated Any ClassVar Dict Final FrozenSet Generic List Literal NamedTuple "
    "NoReturn Optional ParamSpec Protocol Self Set TYPE_CHECKING Tuple Type TypeAlias TypeVar "
    "TypedDict Union cast overload",
    "unittest": "TestCase",
    "unittest.mock": "ANY MagicMock Mock patch",
    "urllib.parse": "parse_qs quote unquote urlencode urljoin urlparse urlsplit urlunsplit",
    "uuid": "UUID uuid4",
    "warnings": "warn",
    "weakref": "WeakKeyDictionary WeakValueDictionary ref",
}
STANDARD = {name: module for module, found in _MEMBERS.items() for name in found.split()}
"""Names that mostly come from one module of the standard library."""
MODULES = frozenset(
    f"{package}.{name}"
    for package, inside in {
        "collections": "abc",
        "concurrent": "futures",
        "email": "utils",
        "html": "parser",
        "http": "client cookies server",
        "importlib": "metadata resources util",
        "json": "decoder",
        "logging": "config handlers",
        "multiprocessing": "pool",
        "unittest": "mock",
        "urllib": "error parse request",
        "xml": "etree sax",
    }.items()
    for name in inside.split()
)
"""Modules of the standard library in others that do not import them."""


def module_of(path: PurePosixPath, project: Project) -> str:
    """Return the dotted name of a file, by the packages that it is in."""
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while project.has(f"{folder}/__init__.py") and folder != folder.parent:
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts) or folder.name


def _package(path: PurePosixPath, project: Project) -> list[str]:
    whole = module_of(path, project).split(".")
    return whole if path.stem == "__init__" else whole[:-1]


def absolute(module: str, path: PurePosixPath, project: Project) -> str:
    """Return the full name of a module that a file names with leading dots."""
    if not module.startswith("."):
        return module
    rest = module.lstrip(".")
    package = _package(path, project)
    ups = len(module) - len(rest) - 1
    base = package[: len(package) - ups] if ups else package
    return ".".join([*base, *([rest] if rest else [])])


def relative(module: str, path: PurePosixPath, project: Project) -> str | None:
    """Return the name of a module with leading dots; None if it is of another project."""
    package, parts = _package(path, project), module.split(".")
    if not package or package[0] != parts[0]:
        return None
    same = 0
    while same < min(len(package), len(parts)) and package[same] == parts[same]:
        same += 1
    return "." * (len(package) - same + 1) + ".".join(parts[same:])


def is_own(package: str, project: Project) -> bool:
    """Return whether a package is of this project, and not installed."""
    return any(
        project.has(f"{folder}{inside}/{package}{ending}")
        for folder in project.folders
        for inside in ("", "/src")
        for ending in ("/__init__.py", ".py")
    )


_MOST_PAGES = 25
_MOST_OPEN = 50
_MOST_MEMBERS = 8
_SHORT = 5
_OWN_NAME = {
    "copy": r"(?<![.\w])copy\(",
    "datetime": r"(?<![.\w])datetime(?:\(|\.(?:utc)?now\b|\.(?:str|from|combine|today|min|max))",
    "glob": r"(?<![.\w])glob\(",
    "pprint": r"(?<![.\w])pprint\(",
    "time": r"(?<![.\w])time\(",
}
"""Modules with a member of their name, and what shows that the member is meant."""
_PART = re.compile(r"[A-Z]*[a-z\d]+|[A-Z\d]+")
_DEFINED = re.compile(r"(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=]+)?=(?!=)")
_CONDITIONS = ("try:", "if ", "elif ", "else:", "except")
_BORROWED = re.compile(r"[ \t]+(?:from[ \t]+\S+[ \t]+)?import[ \t]([^#]*)")
Way: TypeAlias = tuple[str | None, tuple[str, str]]


class Source(NamedTuple):
    """A way to import a name."""

    module: str | None
    """None for `import name`."""
    name: tuple[str, str]
    kind: str
    votes: float


def sources(context: EditContext, file: SourceFile, name: str) -> list[Source]:
    """Return the ways to import a name: as other files do, from where it is defined, by custom."""
    found: dict[Way, Source] = {}
    for module, spelled, kind, votes in _votes(context, file, name):
        way = _as_here(context, file, module), spelled
        if not _is_possible(context, file, module, spelled):
            continue
        before = found.get(way)
        if before is None:
            found[way] = Source(*way, kind, votes)
        else:
            found[way] = before._replace(votes=before.votes + votes)
    return sorted(found.values(), key=lambda x: (-x.votes, str(x.module), x.name))


def _votes(
    context: EditContext, file: SourceFile, name: str
) -> Iterator[tuple[str | None, tuple[str, str], str, float]]:
    for other in [*context.elsewhere(name, _MOST_PAGES), *context.hints]:
        if other.language != "python" or other.uri == file.uri:
            continue
        near = 2.0 if other.path.parent == file.path.parent else 1.0
        for module, spelled in _imported(context, other, name):
            yield module, spelled, "imported", near
        if name in defined_in(other):
            yield module_of(other.path, context.project), (name, name), "defined", 1.5
        elif _borrows(other, name):
            yield module_of(other.path, context.project), (name, name), "defined", 0.8
    for module, spelled in _lost(context, file, name):
        yield module, spelled, "imported", 2.0
    if name in sys.stdlib_module_names and re.search(_OWN_NAME.get(name, "$^"), file.text):
        yield name, (name, name), "standard", 1.0
    elif name in sys.stdlib_module_names:
        yield None, (name, name), "standard", 1.0
    elif name in STANDARD:
        yield STANDARD[name], (name, name), "standard", 1.0
    yield from _by_members(context, file, name)
    yield from _guessed(context, file, name)


def _by_members(
    context: EditContext, file: SourceFile, name: str
) -> Iterator[tuple[str | None, tuple[str, str], str, float]]:
    """Yield modules whose members are used: one by a short name, or one in a package."""
    used = set(re.findall(rf"(?<![.\w]){re.escape(name)}\.(\w+)", file.text))
    known = {STANDARD[x] for x in used if x in STANDARD}
    if len(known) == 1 and name not in sys.stdlib_module_names and len(name) < _SHORT:
        yield None, (min(known), name), "standard", 0.8
    for part in sorted(used)[:_MOST_MEMBERS]:
        inside = f"{name}.{part}"
        if inside in MODULES or _is_imported(context, inside):
            yield None, (inside, name), "standard" if inside in MODULES else "imported", 2.5


def _is_imported(context: EditContext, module: str) -> bool:
    """Return whether a file of the project imports something from a module, or it."""
    first, _, last = module.partition(".")
    found = context.project.files_with(last, near=context.file, most=_MOST_PAGES)
    return context.project.count(first) > 0 and any(
        x.module == module or (x.module is None and (module, first) in x.names)
        for file in found
        if file.language == "python"
        for x in imports_of(file)
    )


def _guessed(
    context: EditContext, file: SourceFile, name: str
) -> Iterator[tuple[str | None, tuple[str, str], str, float]]:
    """Yield modules from which this file imports names of the same make, and modules beside it."""
    parts = _PART.findall(name)
    for statement in imports_of(file):
        if statement.module in (None, "__future__"):
            continue
        shared = any(
            parts[-1] == theirs[-1] or parts[0] == theirs[0]
            for theirs in (_PART.findall(other) for other, _ in statement.names)
            if parts and len(parts) > 1 and len(theirs) > 1
        )
        if shared:
            yield (
                absolute(statement.module, file.path, context.project),
                (name, name),
                "guessed",
                0.4,
            )
    for path in (f"{file.path.parent}/{name}.py", f"{file.path.parent}/{name}/__init__.py"):
        if context.project.has(path):
            module = module_of(PurePosixPath(path), context.project)
            if "." in module:
                yield module.rpartition(".")[0], (name, name), "guessed", 1.0


def _lost(context: EditContext, file: SourceFile, name: str) -> Iterator[Way]:
    """Yield how other files imported a name until it was moved."""
    for hunk in context.hunks:
        other = context.file_of(hunk.uri)
        if other is None or other.uri == file.uri:
            continue
        for statement in statements("\n".join(hunk.old)):
            module = statement.module
            if module is not None:
                module = absolute(module, other.path, context.project)
            for spelled in statement.names:
                if spelled[1] == name:
                    yield module, spelled


def _is_possible(
    context: EditContext, file: SourceFile, module: str | None, spelled: tuple[str, str]
) -> bool:
    """Return whether an import makes sense here: not of itself, not of an unused submodule."""
    if module is not None:
        return module not in ("__future__", module_of(file.path, context.project))
    return "." not in spelled[0] or spelled[0] == spelled[1] or spelled[0] in file.text


def _imported(
    context: EditContext, other: SourceFile, name: str
) -> list[tuple[str | None, tuple[str, str]]]:
    out: list[tuple[str | None, tuple[str, str]]] = []
    for statement in imports_of(other):
        for spelled in statement.names:
            if spelled[1] == name:
                module = statement.module
                if module is not None:
                    module = absolute(module, other.path, context.project)
                out.append((module, spelled))
    return out


def defined_in(file: SourceFile) -> frozenset[str]:
    """Return the names that a file's own statements define, read once."""
    kept: frozenset[str] | None = file.notes.get("defined")
    if kept is None:
        margin = (line for line in file.lines if line[:1].isidentifier())
        found = map(_DEFINED.match, margin)
        kept = file.notes["defined"] = frozenset(x[1] or x[2] for x in found if x)
    return kept


def _borrows(file: SourceFile, name: str) -> bool:
    """Return whether a file imports a name for others, in a condition."""
    if any(here == name for x in imports_of(file) for _, here in x.names):
        return False
    for number in file.lines_with(name):
        found = _BORROWED.match(file.lines[number])
        listed = found[1].split(",") if found else ()
        if any(part.split()[-1:] == [name] for part in listed):
            above = next((x for x in reversed(file.lines[:number]) if x[:1].strip()), "")
            return above.startswith(_CONDITIONS)
    return False


def has_singles(context: EditContext, file: SourceFile) -> bool | None:
    """Return whether neighbouring files have a statement for each imported name."""
    kept = (context.before(file.uri) or file).notes
    if "singles" not in kept:
        files = islice(context.files.values(), _MOST_OPEN)
        found = [x for x in files if x is not file and x.language == "python"]
        found += context.project.files_with("import", near=file, but=set(context.files), most=6)
        counts = [len(x.names) > 1 for other in found for x in imports_of(other) if x.module]
        kept["singles"] = None if len(counts) < 5 else not any(counts)
    is_single: bool | None = kept["singles"]
    return is_single


def _as_here(context: EditContext, file: SourceFile, module: str | None) -> str | None:
    """Spell a module as this file spells those of its own package."""
    if module is None:
        return None
    inside = relative(module, file.path, context.project)
    own = [x.module for x in imports_of(file) if x.module is not None]
    if inside is None or not (any(x.startswith(".") for x in own) or not own):
        return module
    return inside
