"""Measures an agent: every drawn commit of some repositories, replayed over the protocol.

Several agents of the same kind can work at once, each with the commits that nobody has taken yet;
what comes of a commit does not depend on that. What is done is kept, so that if you stop it half
way has the figures so far. An agent that ends is started again.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec import Struct

from parley.errors import AcpError

from .chain import Chained, chain
from .corpus import Commit, Selection, read_commits
from .history import History, HistoryError
from .instances import Order, View, plan
from .project import laid_out
from .replay import InstanceOutcome, replay
from .wire import Agent, WireDriver, connected


class Repository(Struct, frozen=True, kw_only=True):
    """A repository, and its sampled commits."""

    name: str
    history: History
    selection: Selection
    tip: str
    """The id of the last commit that counts."""
    commits: tuple[Commit, ...]


class Work(Struct, frozen=True, kw_only=True):
    """The way in which commits are replayed."""

    orders: tuple[Order, ...] = ("imports-last",)
    views: tuple[View, ...] = ("project",)
    seed: int = 0
    has_chain: bool = True
    """Whether commits are also replayed accepting suggestions, to count the keys saved."""


def read_repository(history: History, selection: Selection) -> Repository:
    """Draw the commits of a repository.

    Raises:
        HistoryError: There is no such commit, or no such date.
    """
    return Repository(
        name=history.name,
        history=history,
        selection=selection,
        tip=history.resolve(selection.tip),
        commits=tuple(read_commits(history, selection)),
    )


class Measurement:
    """The outcomes of the commits so far."""

    def __init__(
        self,
        agent: Agent,
        repositories: Sequence[Repository],
        work: Work,
        on_commit: Callable[[Measurement], None] = lambda _: None,
    ) -> None:
        """Prepare to measure.

        Args:
            agent: The agent to measure.
            repositories: The repositories to replay.
            work: How.
            on_commit: Called when a commit is done.
        """
        self._agent = agent
        self._todo = deque((each, commit) for each in repositories for commit in each.commits)
        self._work = work
        self._on_commit = on_commit
        self.total = len(self._todo)
        self.done = 0
        self.outcomes: list[InstanceOutcome] = []
        self.chained: list[Chained] = []
        self.peak_bytes = 0
        self.starts = 0
        """The number of times that the agent was started."""

    async def run(self, jobs: int = 1) -> None:
        """Replay everything.

        Raises:
            AcpError: The agent cannot be reached, or does not make suggestions.
            OptionRefused: It does not take an option.
            HistoryError: The repository cannot be read any more.
            OSError: The files of a commit cannot be written.
        """
        failure: BaseException | None = None
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(max(1, min(jobs, self.total))):
                    group.create_task(self._replay_commits())
        except* (AcpError, HistoryError, OSError) as errors:
            failure = errors
        while isinstance(failure, BaseExceptionGroup):
            failure = failure.exceptions[0]
        if failure is not None:
            raise failure

    async def _replay_commits(self) -> None:
        while self._todo:
            async with connected(self._agent, Path()) as driver:
                self.starts += 1
                while self._todo and not driver.is_lost:
                    await self._replay(driver, *self._todo.popleft())
                    self.peak_bytes = max(self.peak_bytes, driver.peak_bytes)
                    self.done += 1
                    self._on_commit(self)

    async def _replay(self, driver: WireDriver, repository: Repository, commit: Commit) -> None:
        languages = repository.selection.languages
        outcomes: list[InstanceOutcome] = []
        chained: list[Chained] = []
        for view in self._work.views:
            history = repository.history if view == "project" else None
            with ExitStack() as folders:
                there = laid_out(commit, history, languages)
                root = await asyncio.to_thread(folders.enter_context, there)
                for order in self._work.orders:
                    todo = plan(commit, order, view, self._work.seed)
                    outcomes += await replay(todo, root, driver)
                    if self._work.has_chain:
                        chained.append(await chain(todo, root, driver))
        self.outcomes += outcomes
        self.chained += chained

    @property
    def faults(self) -> Counter[str]:
        """The failures of the agent, and how often each occurred."""
        faults = [each.fault for each in self.outcomes] + [each.fault for each in self.chained]
        return Counter(each for each in faults if each is not None)
