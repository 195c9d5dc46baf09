"""`parley nes eval`: how often an agent suggests what was really changed next."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace

from parley._argtypes import non_negative_float, positive_float, positive_int
from parley._interpreter import parley_command
from parley.client import ConnectOptions, Process
from parley.errors import AcpError, OptionRefused
from parley.nes._eval.corpus import Selection
from parley.nes._eval.history import GitMissing, History, HistoryError
from parley.nes._eval.instances import ORDERS, VIEWS
from parley.nes._eval.languages import LANGUAGES, language_of
from parley.nes._eval.measure import Measurement, Repository, Work, read_repository
from parley.nes._eval.wire import Agent
from parley.nes.model._keys import KEY_VARIABLE

from .failures import failure_of
from .flags import name_and_value, variables
from .nes_engine import add_engine_arguments, engine_words, names_model
from .nes_results import check_files, describe_unanswered, show_figures, write_files
from .progress_bar import ProgressBar
from .reporting import Exit, Failure, say, write_agent_stderr
from .targets import Resolved, resolve

__all__ = ["EXAMPLES", "WHAT", "add_arguments", "main"]

WHAT = "measure how often suggestions are right, on the commits of a repository"
EXAMPLES = """\
Commits with 2 to 20 changes are replayed to the agent, change by change, and
sometimes it is asked for the next one. `step`: no part of the suggestion has
to be undone; `exact`: it is one of the remaining changes; `loc`: it is at the
place of one. When no change is left, every suggestion is wrong. The same seed
gives the same questions. Ctrl-C stops and shows the results so far.

examples:
  parley nes eval .
  parley nes eval ~/src/flask ~/src/requests --commits 100 --json out.json
  parley nes eval . --order all --view all --set nes_aggressiveness=quiet
  parley nes eval . --language go --since 2025-01-01 -a "other-agent --acp"
  parley nes eval . --set nes_aggressiveness=eager --plot precision.svg
  parley nes eval . --model-url http://localhost:8080 --predictor model

exit codes:
  0  finished                       2    the command line is wrong
  1  failed, or the agent or its model never responded; stderr says why
  5  the agent cannot be started, or offers no suggestions
  130  stopped by Ctrl-C; the results so far are shown
"""
OWN = parley_command("nes", "serve")
_KINDS = ("edit", "jump", "rename", "searchAndReplace")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    parser.add_argument(
        "repositories",
        metavar="DIR",
        nargs="+",
        help="a git repository, bare or not, or a folder in one, for the changes in it",
    )
    parser.add_argument(
        "-a", "--agent", metavar="AGENT", help="the agent to measure; `parley nes serve` by default"
    )
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=[],
        help="a variable for the agent, which by default gets only PATH, HOME and similar",
    )
    parser.add_argument(
        "--set",
        metavar="ID=VALUE",
        action="append",
        default=[],
        help="set an option of the agent, such as --set nes_aggressiveness=quiet",
    )
    parser.add_argument(
        "--kinds",
        metavar="KINDS",
        default="edit,jump",
        help="the kinds of suggestions to accept; edit,jump by default",
    )
    _add_selection(parser)
    _add_results(parser)
    add_engine_arguments(parser)


def _add_selection(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("commits")
    group.add_argument(
        "--commits",
        metavar="N",
        type=positive_int,
        default=200,
        help="the maximum number of commits per repository; 200 by default",
    )
    group.add_argument(
        "--seed",
        metavar="N",
        type=int,
        default=0,
        help="the seed for drawing commits; 0 by default",
    )
    group.add_argument(
        "--order",
        choices=(*ORDERS, "all"),
        default="imports-last",
        help="the order in which a commit's changes are made; imports-last by default",
    )
    group.add_argument(
        "--view",
        choices=(*VIEWS, "all"),
        default="project",
        help="what the agent sees: the edited file or the project; project by default",
    )
    group.add_argument(
        "--language",
        choices=tuple(LANGUAGES),
        action="append",
        help="the language of the files; by default the one with the most files",
    )
    group.add_argument("--since", metavar="DATE", help="replay only commits since then")
    group.add_argument("--tip", metavar="COMMIT", default="HEAD", help="the last commit to replay")
    group.add_argument(
        "--no-chain", action="store_true", help="do not count the keys saved; twice as fast"
    )


def _add_results(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output and timing")
    group.add_argument("--json", metavar="FILE", help="write all results to this file, as JSON")
    group.add_argument(
        "--plot",
        metavar="FILE.svg",
        help="plot precision against speak rate for each score threshold, as SVG",
    )
    group.add_argument(
        "-v", "--verbose", action="store_true", help="show what the agent writes to its stderr"
    )
    group.add_argument(
        "--jobs",
        metavar="N",
        type=positive_int,
        default=1,
        help="the number of agents to run at once; 1 by default",
    )
    group.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=positive_float,
        default=10.0,
        help="how long to wait for each response; 10 by default",
    )
    group.add_argument(
        "--settle",
        metavar="SECONDS",
        type=non_negative_float,
        default=0.3,
        help="time to wait for the project index before the first question; 0.3 by default",
    )


def main(arguments: argparse.Namespace) -> int:
    """Measure, and show the results."""
    heard: deque[bytes] = deque(maxlen=1)
    agent = _agent(arguments, write_agent_stderr if arguments.verbose else heard.append)
    check_files(arguments)
    work = Work(
        orders=ORDERS if arguments.order == "all" else (arguments.order,),
        views=VIEWS if arguments.view == "all" else (arguments.view,),
        seed=arguments.seed,
        has_chain=not arguments.no_chain,
    )
    repositories = _repositories(arguments)
    bar = ProgressBar(sum(len(each.commits) for each in repositories), "commits")
    measurement = Measurement(agent, repositories, work, lambda so_far: _show(bar, so_far))
    bar.show(0)
    failure, is_stopped = _measured(measurement, arguments.jobs)
    bar.clear()
    if measurement.outcomes:
        show_figures(measurement, work)
        write_files(arguments, measurement, repositories, work)
        if heard and not any(each.top or each.model for each in measurement.outcomes):
            say(f"parley: no suggestions; the agent's stderr ends with: {_line(heard[0])}")
    if failure is not None:
        raise failure
    if is_stopped:
        say(f"parley: stopped after {measurement.done} of {measurement.total} commits")
        return Exit.CANCELLED
    return Exit.FAILED if describe_unanswered(measurement) else Exit.DONE


def _measured(measurement: Measurement, jobs: int) -> tuple[Failure | None, bool]:
    """Measure; return the failure, and whether the user interrupted it."""
    try:
        asyncio.run(measurement.run(jobs))
    except OptionRefused as error:
        return Failure(str(error), Exit.USAGE), False
    except AcpError as error:
        return failure_of(error, is_connected=measurement.starts > 0), False
    except HistoryError as error:
        return Failure(str(error)), False
    except OSError as error:
        return Failure(f"a commit cannot be replayed: {error}"), False
    except KeyboardInterrupt:
        return None, True
    return None, False


def _line(data: bytes) -> str:
    return data.decode(errors="replace").strip().rpartition("\n")[2]


def _agent(arguments: argparse.Namespace, on_stderr: Callable[[bytes], None]) -> Agent:
    kinds = frozenset(arguments.kinds.split(","))
    if unknown := sorted(kinds.difference(_KINDS)):
        problem = f"--kinds: there is no {unknown[0]!r}; use {','.join(_KINDS)}"
        raise Failure(problem, Exit.USAGE)
    options = dict(map(name_and_value, arguments.set))
    given = variables(arguments)
    found = _resolved(arguments).merged(env=given.env, inherit=given.inherit)
    connect_options: ConnectOptions = {
        "name": found.label,
        **found.options,
        "process": replace(found.process, on_stderr=on_stderr),
    }
    return Agent(
        target=found.target,
        connect_options=connect_options,
        kinds=kinds,
        options=options,
        response_timeout=arguments.timeout,
        settle_after=arguments.settle,
    )


def _resolved(arguments: argparse.Namespace) -> Resolved:
    """Return the agent to measure: our own, with a model if one is named, or another."""
    if arguments.agent is None:
        process = Process(inherit=[KEY_VARIABLE] if KEY_VARIABLE in os.environ else [])
        target = (*OWN, *engine_words(arguments))
        return Resolved(target=target, name="parley nes serve", options={"process": process})
    if names_model(arguments):
        problem = "the options of a model are for the default agent; pass them within --agent, or"
        raise Failure(f"{problem} leave --agent out", Exit.USAGE)
    return resolve(arguments.agent)


def _repositories(arguments: argparse.Namespace) -> list[Repository]:
    """Return the repositories with their sampled commits; no two have the same name."""
    try:
        histories = list(map(History, arguments.repositories))
        folders = Counter(each.folder.resolve() for each in histories)
        if twice := [each for each in histories if folders[each.folder.resolve()] > 1]:
            raise Failure(f"{twice[0].folder} is named twice", Exit.USAGE)
        names = Counter(each.name for each in histories)
        for each in histories:
            if names[each.name] > 1:
                each.name = str(each.folder)
        return [_repository(each, arguments) for each in histories]
    except GitMissing as error:
        raise Failure(str(error)) from error
    except HistoryError as error:
        raise Failure(str(error), Exit.USAGE) from error


def _repository(history: History, arguments: argparse.Namespace) -> Repository:
    languages = tuple(arguments.language or [_language(history, arguments.tip)])
    selection = Selection(
        languages=languages,
        most=arguments.commits,
        seed=arguments.seed,
        tip=arguments.tip,
        since=arguments.since,
    )
    repository = read_repository(history, selection)
    if not repository.commits:
        since = f" since {arguments.since}" if arguments.since else ""
        problem = f"{history.folder}: there is no commit to replay{since} in files of "
        problem += ", ".join(languages)
        if history.is_shallow:
            problem += "; most commits are not here: `git fetch --unshallow` gets them"
        raise Failure(problem, Exit.USAGE)
    return repository


def _language(history: History, tip: str) -> str:
    """Return the language that has the most files."""
    endings = [ending for files in LANGUAGES.values() for ending in files]
    blobs = history.files(history.resolve(tip), endings)
    found = [language_of(each.path) for each in blobs]
    return max(LANGUAGES, key=found.count)


def _show(bar: ProgressBar, measurement: Measurement) -> None:
    tops = [top for each in measurement.outcomes if (top := each.top)]
    note = f"speaks {100 * len(tops) / max(len(measurement.outcomes), 1):.0f} %"
    if tops:
        note += f", step {100 * sum(each.verdict.step for each in tops) / len(tops):.0f} %"
    bar.show(measurement.done, note)
