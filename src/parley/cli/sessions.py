"""`parley sessions`: list, search, show, export and resume the sessions with any agent."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

from msgspec import Raw

from parley import config
from parley.errors import ConfigError, JournalError
from parley.export import to_html, to_jsonl, to_markdown
from parley.journal import Entry, Journal, Record, SqliteJournal
from parley.session.frame_replay import transcript_from_frames

from . import parser_of
from .actions import actions_of
from .agent_sessions import AGENT_ACTIONS, fork_record
from .journal import find_session
from .json_output import print_json
from .reporting import Exit, Failure, say
from .session_views import SessionJson, print_hits, print_list, short, show

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Work with the sessions that are saved on this machine, with any agent. A KEY is
the key that `list` shows, the beginning of one, or the name that you gave the
session. Without an ACTION, the sessions of this directory are listed. With
--agent, the actions list, delete, fork and rename work on the agent's own
sessions, if it supports that; KEY is then the agent's session id.
"""
EXAMPLES = """\
examples:
  parley sessions list --all
  parley sessions search failing test
  parley sessions show 3f9a
  parley sessions export 3f9a -o session.html
  parley sessions resume 3f9a "And now the docs" --allow edit:docs/**
  parley sessions delete 3f9a
  parley sessions --agent opencode
  parley sessions fork --agent opencode ses_41
"""
EXPORT_EXAMPLES = """\
Text that looks like a secret is left out: keys and tokens in known formats,
passwords in addresses and assignments, and the values of environment variables
whose names suggest a secret. Check the file before you publish it.

  jsonl  all frames, one per line; `parley chat --replay` plays it
  md     the conversation as Markdown
  html   the conversation as one self-contained page without scripts

examples:
  parley sessions export 3f9a > session.md
  parley sessions export 3f9a -o session.html
  parley sessions export 3f9a --format jsonl -o session.jsonl
"""
RESUME_EXAMPLES = """\
After the prompt you can give any options of `parley run`.

examples:
  parley sessions resume 3f9a "And now the docs"
  git diff | parley sessions resume 3f9a - --allow read -q
"""
PRUNE_EXAMPLES = """\
Without limits, those of [journal] in config.toml apply. Sessions with a
running turn are kept. If the last session is more than a week old, the clock
may be wrong, so old sessions are kept unless you add --trust-clock.

examples:
  parley sessions prune --older-than 90
  parley sessions prune --keep 500
"""
FORK_EXAMPLES = """\
The agent must support forking. Its id for the new session is printed.

examples:
  parley sessions fork 3f9a
  parley sessions fork --agent opencode ses_41
"""
RENAME_EXAMPLES = """\
examples:
  parley sessions rename 3f9a docs
  parley sessions rename --agent opencode ses_41 "The new parser"
"""
FORMATS = ("jsonl", "md", "html")
DAY_SECONDS = 24 * 60 * 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(all=False, json=False, limit=None, agent=None, verbose=False, env=[])
    _add_agent(parser)
    action = actions_of(parser)
    listing = action("list", "list the sessions, newest first")
    listing.add_argument(
        "--all",
        action="store_true",
        help="list the sessions of all directories, not only of this one",
    )
    _add_listing(listing)
    _add_agent(listing)
    showing = action("show", "show a session as it was shown then")
    _add_key(showing)
    showing.add_argument("--json", action="store_true", help="print one update per line, as JSON")
    searching = action("search", "search the text of all sessions")
    searching.add_argument(
        "words",
        metavar="WORD",
        nargs="+",
        help="a word to find; a session must contain all of them",
    )
    _add_listing(searching)
    _add_export(action("export", "export a session to a file, without secrets", EXPORT_EXAMPLES))
    resuming = action("resume", "resume a session with another prompt", RESUME_EXAMPLES)
    resuming.usage = "parley sessions resume KEY [PROMPT] [options of `parley run`]"
    _add_key(resuming)
    resuming.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    _add_delete(action("delete", "delete sessions from this machine; agents keep their own"))
    forking = action("fork", "start a new session from the conversation of another", FORK_EXAMPLES)
    _add_key(forking)
    _add_agent(forking)
    renaming = action("rename", "name a session; with --agent, set its title", RENAME_EXAMPLES)
    _add_key(renaming)
    renaming.add_argument(
        "name", metavar="NAME", help="the new name; an empty one removes the name"
    )
    _add_agent(renaming)
    _add_prune(action("prune", "delete the oldest sessions", PRUNE_EXAMPLES))


def _add_key(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "key", metavar="KEY", help="the session's key, the beginning of it, or its name"
    )


def _add_agent(parser: argparse.ArgumentParser) -> None:
    """Add `--agent` to a parser or to one of its actions, whose defaults must not win."""
    parser.add_argument(
        "-a",
        "--agent",
        metavar="AGENT",
        default=argparse.SUPPRESS,
        help="use the sessions of this agent: a name, a command line or an address",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        default=argparse.SUPPRESS,
        help="with --agent: show what the agent writes to its stderr",
    )
    parser.add_argument(
        "--env",
        metavar="NAME[=VALUE]",
        action="append",
        default=argparse.SUPPRESS,
        help="with --agent: a variable for the agent; may be given several times",
    )


def _add_listing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the sessions as JSON")
    parser.add_argument("--limit", metavar="N", type=_count, help="maximum number; 20 by default")


def _add_export(parser: argparse.ArgumentParser) -> None:
    _add_key(parser)
    parser.add_argument(
        "--format", choices=FORMATS, help="the format; by default from the file name, else md"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the file to write; stdout by default"
    )
    parser.add_argument("--no-redact", action="store_true", help="include secrets")


def _add_delete(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("keys", metavar="KEY", nargs="*", help="a session to delete")
    parser.add_argument(
        "--all-of-project", action="store_true", help="delete all sessions of this directory"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    _add_agent(parser)


def _add_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--older-than",
        metavar="DAYS",
        type=_count,
        help="delete sessions not used for this many days",
    )
    parser.add_argument(
        "--keep", metavar="N", type=_count, help="delete all but the newest N sessions"
    )
    parser.add_argument(
        "--max-bytes",
        metavar="N",
        type=_count,
        help="delete sessions until the rest is at most this size",
    )
    parser.add_argument(
        "--trust-clock",
        action="store_true",
        help="delete old sessions even if the clock seems to be wrong",
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def main(arguments: argparse.Namespace) -> int:
    """Run the action on the journal, or on the sessions of an agent."""
    if arguments.agent is not None:
        if arguments.action not in AGENT_ACTIONS:
            names = ", ".join(name for name in AGENT_ACTIONS if name)
            raise Failure(
                f"`parley sessions {arguments.action}` does not take --agent; only {names} do",
                Exit.USAGE,
            )
        return AGENT_ACTIONS[arguments.action](arguments)
    action = {
        None: _list,
        "list": _list,
        "show": _show,
        "search": _search,
        "export": _export,
        "resume": _resume,
        "delete": _delete,
        "fork": _fork,
        "rename": _rename,
        "prune": _prune,
    }[arguments.action]
    journal = SqliteJournal()
    try:
        return action(arguments, journal)
    except JournalError as error:
        raise Failure(str(error)) from error
    finally:
        asyncio.run(journal.aclose())


def _list(arguments: argparse.Namespace, journal: Journal) -> int:
    limit = 20 if arguments.limit is None else arguments.limit
    cwd = None if arguments.all else str(Path.cwd())
    found = journal.list(role="client", cwd=cwd, limit=limit + 1)
    is_elsewhere = not found and cwd is not None
    if is_elsewhere:
        found = journal.list(role="client", limit=limit + 1)
    if arguments.json:
        print_json([SessionJson.of(each) for each in found[:limit]])
        return Exit.DONE
    if not found:
        say('parley: no session is saved yet; begin one, for example with `parley run "help"`')
        return Exit.DONE
    if is_elsewhere:
        say("parley: no session was started in this directory; showing those of all directories")
    print_list(found[:limit], has_directories=cwd is None or is_elsewhere)
    if len(found) > limit:
        say(f"parley: there are more; show them with --limit {5 * limit or 20}")
    return Exit.DONE


def _found(journal: Journal, key: str) -> Record:
    found = find_session(journal, key, ".", must_exist=True, anywhere=True)
    assert found is not None
    return found


def _show(arguments: argparse.Namespace, journal: Journal) -> int:
    record = _found(journal, arguments.key)
    show(record, journal.entries(record.key), is_json=arguments.json)
    return Exit.DONE


def _search(arguments: argparse.Namespace, journal: Journal) -> int:
    words = " ".join(arguments.words)
    limit = 20 if arguments.limit is None else arguments.limit
    hits = journal.search(words, limit=limit)
    if arguments.json:
        print_json([SessionJson.of(hit.record, hit.text, hit.number) for hit in hits])
        return Exit.DONE
    if not hits:
        say(f"parley: {words!r} was never said; all of the words must be in one message")
        return Exit.FAILED
    print_hits(hits)
    return Exit.DONE


def _export(arguments: argparse.Namespace, journal: Journal) -> int:
    record = _found(journal, arguments.key)
    suffix = Path(arguments.output or "").suffix.removeprefix(".")
    form = arguments.format or (suffix if suffix in FORMATS else "md")
    if arguments.output and suffix and not arguments.format and suffix != form:
        raise Failure(
            f"{arguments.output}: .{suffix} is not a known format; give --format jsonl, md or html",
            Exit.USAGE,
        )
    entries = list(journal.entries(record.key))
    data = _exported(form, record, entries, is_redacted=not arguments.no_redact)
    if arguments.output is None:
        if form == "jsonl" and sys.stdout.isatty():
            for line in data.splitlines():
                print_json(Raw(line), is_line=True)
        else:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        return Exit.DONE
    try:
        place = os.open(arguments.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(place, "wb") as file:
            file.write(data)
    except OSError as error:
        raise Failure(f"cannot write {arguments.output}: {error.strerror}") from error
    secrets = "with all secrets in it" if arguments.no_redact else "without secrets, as far as seen"
    say(f"parley: {short(record)} is written to {arguments.output}, {secrets}")
    return Exit.DONE


def _exported(form: str, record: Record, entries: list[Entry], *, is_redacted: bool) -> bytes:
    if form == "jsonl":
        return to_jsonl(entries, redact=is_redacted)
    write = to_html if form == "html" else to_markdown
    return write(transcript_from_frames(entries), record, redact=is_redacted).encode(
        errors="replace"
    )


def _resume(arguments: argparse.Namespace, journal: Journal) -> int:
    record = _found(journal, arguments.key)
    asyncio.run(journal.aclose())
    run, parser = parser_of("run")
    return run.main(parser.parse_args([*arguments.rest, "--session", record.key]))


def _delete(arguments: argparse.Namespace, journal: Journal) -> int:
    records = [_found(journal, key) for key in arguments.keys]
    if arguments.all_of_project:
        records += journal.list(role="client", cwd=str(Path.cwd()))
    chosen = {each.key: each for each in records}
    if not chosen:
        raise Failure(
            "name a session: a KEY from `parley sessions list`, or --all-of-project", Exit.USAGE
        )
    if not arguments.yes:
        _confirm(list(chosen.values()))
    for key in chosen:
        journal.delete(key)
    asyncio.run(journal.commit())
    say(f"parley: {_sessions(len(chosen))} forgotten")
    return Exit.DONE


def _confirm(records: list[Record]) -> None:
    """Ask whether to delete; no answer is no."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Failure("there is no terminal to ask on; add --yes to delete", Exit.USAGE)
    print_list(records, has_directories=False)
    sys.stdout.flush()
    sys.stderr.write(f"Delete {_sessions(len(records))} for good? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Failure("nothing was deleted", Exit.CANCELLED)


def _fork(arguments: argparse.Namespace, journal: Journal) -> int:
    record = _found(journal, arguments.key)
    asyncio.run(journal.aclose())
    return fork_record(record, arguments)


def _rename(arguments: argparse.Namespace, journal: Journal) -> int:
    record = _found(journal, arguments.key)
    record.name = arguments.name.strip() or None
    journal.put(record, "name")
    asyncio.run(journal.commit())
    name = "has no name" if record.name is None else f"is called {record.name!r}"
    say(f"parley: {short(record)} {name} now")
    return Exit.DONE


def _prune(arguments: argparse.Namespace, journal: Journal) -> int:
    try:
        settings = config.load().journal
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    days, keep, size = arguments.older_than, arguments.keep, arguments.max_bytes
    if (days, keep, size) == (None, None, None):
        days, keep, size = settings.max_age_days, settings.max_sessions, settings.max_bytes
    if (days, keep, size) == (None, None, None):
        raise Failure(
            "give a limit: --older-than DAYS, --keep N or --max-bytes N; or set "
            "max_age_days, max_sessions or max_bytes below [journal] in config.toml",
            Exit.USAGE,
        )
    age = None if days is None else days * DAY_SECONDS
    gone = journal.prune(
        max_age=age,
        max_sessions=keep,
        max_bytes=size,
        role="client",
        trust_clock=arguments.trust_clock or _was_used_lately(journal),
    )
    asyncio.run(journal.commit())
    say(f"parley: {_sessions(gone)} forgotten")
    return Exit.DONE


def _was_used_lately(journal: Journal) -> bool:
    """Return whether the clock agrees with the last session, so that it can be believed."""
    newest = journal.list(role="client", limit=1)
    return bool(newest) and abs(time.time() - newest[0].updated_at) < 7 * DAY_SECONDS


def _sessions(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"
