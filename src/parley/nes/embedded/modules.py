"""Where Python's names come from: the standard library, and modules of the project."""

from __future__ import annotations

from pathlib import PurePosixPath

from .index import Project

__all__ = ["MODULES", "STANDARD", "absolute", "is_own", "module_of", "relative"]

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
