"""The drivers of a measurement: of an engine in this process, or of an agent elsewhere."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, Protocol

from parley._languages import language_id_of
from parley.nes._documents import paths
from parley.nes._documents.document import Document
from parley.nes.engine import Engine, Outcome, Predictor, Proposal, Question, Span, Spot, Workspace


class Fault(Exception):
    """A failure of the measured agent or engine."""


class Answer(NamedTuple):
    """The suggestions, best first, and how long they took."""

    proposals: list[Proposal]
    milliseconds: float
    model: str | None = None
    """The reason why its model has not answered; empty if it has, None if it was not asked."""


class Driver(Protocol):
    """Sits in the place of an editor, for one session. All paths are those of the project.

    Every method may raise `Fault`.
    """

    async def start(self, root: Path) -> None:
        """Begin a session in a folder."""
        ...

    async def open(self, path: str, text: str) -> None:
        """Report that a file is open."""
        ...

    async def change(self, path: str, span: Span, text: str) -> None:
        """Report that a file was changed."""
        ...

    async def settle(self) -> None:
        """Give time to read the project, as there is while somebody types."""
        ...

    async def ask(self, path: str, spot: Spot) -> Answer:
        """Ask what comes next."""
        ...

    async def report_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        """Report the outcome of a suggestion."""
        ...

    async def close(self) -> None:
        """End the session."""
        ...


def uri_of(root: Path, path: str) -> str:
    """Return the address of a file of a project."""
    return (root / path).as_uri()


def path_of(root: Path, uri: str) -> str | None:
    """Return the path in a project that an address means; None if it is elsewhere."""
    path = Path(paths.path_of(uri) or "")
    if not path.is_relative_to(root):
        return None
    inside = path.relative_to(root)
    return None if ".." in inside.parts else inside.as_posix()


class EngineDriver:
    """Drives an engine in this process, without the protocol."""

    def __init__(
        self, engine: Engine, kinds: frozenset[str], options: dict[str, str] | None = None
    ) -> None:
        self._engine = engine
        self._kinds = kinds
        self._options = options or {}
        self._root = Path("/")
        self._documents: dict[str, Document] = {}
        self._predictor: Predictor | None = None

    @property
    def _session(self) -> Predictor:
        assert self._predictor is not None, "start first"
        return self._predictor

    async def start(self, root: Path) -> None:
        """Begin a session in a folder."""
        self._root, self._documents = root, {}
        self._predictor = self._engine.begin(Workspace(folders=(str(root),)))
        for name, value in self._options.items():
            self._predictor.set_option(name, value)

    async def open(self, path: str, text: str) -> None:
        """Report that a file is open, and in front."""
        document = Document(uri_of(self._root, path), language_id_of(path), 1, text)
        self._documents[path] = document
        self._session.opened(document)
        self._session.focused(document, Spot(0, 0), Span(Spot(0, 0), document.end))

    async def change(self, path: str, span: Span, text: str) -> None:
        """Change a file and report the change."""
        document = self._documents[path]
        change = document.edit(span, text)
        document.version += 1
        self._session.changed(document, [change])

    async def settle(self) -> None:
        """Wait until the engine has read the project, if it has a method `settled`."""
        settled: Any = getattr(self._session, "settled", None)
        if settled is not None:
            await settled()

    async def ask(self, path: str, spot: Spot) -> Answer:
        """Ask what comes next."""
        document = self._documents[path]
        uris = tuple(each.uri for each in self._documents.values())
        question = Question(
            document=document, spot=document.clamp(spot), kinds=self._kinds, open_uris=uris
        )
        begun = perf_counter()
        proposals = list(await self._session.suggest(question))
        took = (perf_counter() - begun) * 1000
        return Answer(proposals, took, getattr(self._session, "model_state", None))

    async def report_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        """Report the outcome of a suggestion."""
        self._session.on_outcome(proposal, outcome)

    async def close(self) -> None:
        """End the session."""
        if self._predictor is not None:
            self._predictor.close()
            self._predictor = None
