"""Replays a commit as an editor would report it, and requests suggestions on the way.

One session has one commit or, in the file view, one file of it. A file is opened when something is
changed in it, so that nobody learns from it where the rest of the commit is. What is suggested is
judged and then replaced: nothing is to be learned from that either.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from parley.nes._documents.document import split_lines
from parley.nes.engine import Proposal

from .corpus import Hunk
from .driver import Answer, Driver, Fault, path_of
from .editor_session import EditorSession, Made
from .instances import Plan
from .scoring import Verdict, judge, kind_of


class Offer(Struct, frozen=True):
    """A suggestion and its verdict."""

    kind: str
    rule: str
    score: float
    verdict: Verdict
    meta: dict[str, object] = {}


class InstanceOutcome(Struct, frozen=True, kw_only=True):
    """The outcome of one instance."""

    repository: str
    commit: str
    order: str
    view: str
    made: int
    """The changes of the commit that are made."""
    left: int
    """The changes that are left; with none, every suggestion is false."""
    path: str
    milliseconds: float = 0.0
    offers: tuple[Offer, ...] = ()
    """The suggestions, best first; the first one counts."""
    fault: str | None = None
    """The reason why there is no answer; None if there is one."""
    model: str | None = None
    """The reason why its model has not answered; empty if it has, None if it was not asked."""

    @property
    def top(self) -> Offer | None:
        """The suggestion that counts."""
        return self.offers[0] if self.offers else None


class Sitting:
    """A session of a replay: the files, and the driver that follows them."""

    def __init__(self, plan: Plan, path: str | None, root: Path, driver: Driver) -> None:
        """Prepare a session.

        Args:
            plan: The plan to replay.
            path: The one file that is known; None for the project.
            root: The folder of the project.
            driver: The driver.
        """
        self.plan = plan
        self.editor = EditorSession(plan.commit, None if path is None else [path])
        self.hunks = [each for each in plan.hunks if path in (None, each.path)]
        self.root = root
        self.driver = driver
        self._open: set[str] = set()
        self._last: Made | None = None

    async def begin(self) -> None:
        """Begin the session."""
        await self.driver.start(self.root)

    async def make(self, hunk: Hunk) -> None:
        """Make a change."""
        await self.open(hunk.path)
        await self.show(self.editor.make(hunk))

    async def open(self, path: str) -> None:
        """Open a file, unless it is open."""
        if path not in self._open:
            self._open.add(path)
            await self.driver.open(path, "".join(self.editor.files[path]))

    async def show(self, made: Made) -> None:
        """Report a change."""
        self._last = made
        await self.driver.change(made.path, made.span, made.text)

    async def ask(self) -> Answer:
        """Ask what comes after the last change."""
        assert self._last is not None, "make something first"
        return await self.driver.ask(self._last.path, self._last.cursor)

    def judged(self, proposal: Proposal, following: Hunk | None) -> Verdict:
        """Judge a suggestion."""
        path = path_of(self.root, proposal.uri)
        return judge(proposal, self.editor, path, following, lambda: self._read(path or ""))

    def _read(self, path: str) -> list[str] | None:
        try:
            lines = split_lines((self.root / path).read_bytes().decode())
        except (OSError, ValueError):
            return None
        return lines if lines[-1] else lines[:-1]


def sittings(plan: Plan, root: Path, driver: Driver) -> Iterator[Sitting]:
    """Return the sessions of a plan: one, or one for each file."""
    if plan.view == "project":
        yield Sitting(plan, None, root, driver)
    else:
        for path in plan.commit.files:
            yield Sitting(plan, path, root, driver)


async def replay(plan: Plan, root: Path, driver: Driver) -> list[InstanceOutcome]:
    """Make the changes of a commit, and request suggestions where the plan does."""
    outcomes: list[InstanceOutcome] = []
    for sitting in sittings(plan, root, driver):
        questions = [k for k in plan.questions if plan.hunks[k - 1] in sitting.hunks]
        if not questions:
            continue
        done: list[InstanceOutcome] = []
        try:
            await _ask(sitting, questions, done)
        except Fault as fault:
            rest = questions[len(done) :]
            done += [_outcome(sitting, k, fault=str(fault)) for k in rest]
        finally:
            await driver.close()
        outcomes += done
    return outcomes


async def _ask(sitting: Sitting, questions: list[int], outcomes: list[InstanceOutcome]) -> None:
    """Make the changes and request suggestions; earlier outcomes are kept if something fails."""
    hunks = sitting.plan.hunks
    await sitting.begin()
    for number, hunk in enumerate(hunks[: questions[-1]], 1):
        if hunk not in sitting.hunks:
            continue
        await sitting.make(hunk)
        if number not in questions:
            continue
        if not outcomes:
            await sitting.driver.settle()
        try:
            reply = await sitting.ask()
        except Fault as fault:
            outcomes.append(_outcome(sitting, number, fault=str(fault)))
            continue
        following = next((each for each in hunks[number:] if each in sitting.hunks), None)
        outcomes.append(_outcome(sitting, number, reply, following))
        for proposal in reply.proposals[:1]:
            await sitting.driver.report_outcome(proposal, "replaced")


def _outcome(
    sitting: Sitting,
    made: int,
    reply: Answer | None = None,
    following: Hunk | None = None,
    fault: str | None = None,
) -> InstanceOutcome:
    plan = sitting.plan
    return InstanceOutcome(
        repository=plan.commit.repository,
        commit=plan.commit.id,
        order=plan.order,
        view=plan.view,
        made=made,
        left=len([each for each in plan.hunks[made:] if each in sitting.hunks]),
        path=plan.hunks[made - 1].path,
        milliseconds=0.0 if reply is None else reply.milliseconds,
        offers=tuple(
            Offer(
                kind=kind_of(each),
                rule=each.rule,
                score=each.score,
                verdict=sitting.judged(each, following),
                meta=each.meta,
            )
            for each in ([] if reply is None else reply.proposals)
        ),
        fault=fault,
        model=None if reply is None else reply.model,
    )
