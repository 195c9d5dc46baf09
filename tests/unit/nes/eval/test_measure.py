"""The measure where the machine fails: what is done is kept, and what has failed is told."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conformance.nes_agent import ScriptedEngine, agent_of

from parley.cli.nes_eval import _measured
from parley.nes._eval import measure
from parley.nes._eval.corpus import Commit, Selection
from parley.nes._eval.history import History, HistoryError
from parley.nes._eval.measure import Measurement, Repository, Work
from parley.nes._eval.wire import Agent

from . import made_repository as made

OLD = made.numbered(12)
FIRST = made.commit_of("first", a=(OLD, made.numbered(12, _1="b = 1", _8="b = 8")))
SECOND = made.commit_of("second", a=(OLD, made.numbered(12, _2="b = 2", _9="b = 9")))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    folder = made.Repository(tmp_path / "project").folder
    return Repository(
        name="project",
        history=History(folder),
        selection=Selection(languages=("python",)),
        tip="",
        commits=(FIRST, SECOND),
    )


def failing(error: Exception, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Have the files of the second commit not laid out."""

    @contextmanager
    def laid_out(commit: Commit, history: object, languages: Sequence[str]) -> Generator[Path]:
        if commit is SECOND:
            raise error
        yield folder

    monkeypatch.setattr(measure, "laid_out", laid_out)


def measured(repository: Repository) -> Measurement:
    agent = Agent(target=agent_of(ScriptedEngine(has_options=False)), settle_after=0)
    return Measurement(agent, [repository], Work(has_chain=False))


@pytest.mark.parametrize("error", [HistoryError("no such commit"), OSError(28, "No space left")])
@pytest.mark.parametrize("jobs", [1, 2])
async def test_files_that_cannot_be_laid_out_end_it_with_what_there_is(
    error: Exception,
    jobs: int,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    failing(error, monkeypatch, tmp_path)
    measurement = measured(repository)
    with pytest.raises(type(error)) as caught:
        await measurement.run(jobs)
    assert caught.value is error
    if jobs == 1:
        assert measurement.done == 1
        assert {each.commit for each in measurement.outcomes} == {"first"}


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (HistoryError("no such commit"), "no such commit"),
        (OSError(28, "No space left"), "a commit cannot be replayed: [Errno 28] No space left"),
    ],
)
def test_that_is_told_in_a_sentence(
    error: Exception,
    told: str,
    repository: Repository,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    failing(error, monkeypatch, tmp_path)
    failure, is_stopped = _measured(measured(repository), 1)
    assert (str(failure), is_stopped) == (told, False)
