"""`parley policy`: what is allowed, asked and denied, and why."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from parley._display_text import sanitize_text
from parley._user_dirs import config_dir
from parley.client._resolve import resolve
from parley.errors import ConfigError, ConnectFailed
from parley.policy import Policy, RuleSet, Subject, load_policy, parse_flags, subject_of
from parley.policy._remembered import Answer
from parley.policy._subject import KINDS
from parley.schema import v2

from .actions import actions_of
from .json_output import print_json
from .paint import painted
from .reporting import Exit, Failure
from .tool_call_input import permission_request_for, read_permission_request

__all__ = ["DESCRIPTION", "EXAMPLES", "add_arguments", "main"]

DESCRIPTION = """\
Show whether a tool call is allowed, asked or denied, and why. The rules are in
policy.toml in your configuration directory. A project's .parley/policy.toml
can only make them stricter. Without an ACTION, the rules are shown.
"""
EXAMPLES = """\
examples:
  parley policy show
  parley policy test --kind execute --command "git push"
  parley policy test --kind edit --path src/app.py --allow "edit:src/**"
  parley policy forget
"""
TEST_EXAMPLES = """\
With -, a tool call or a permission request is read from stdin: the JSON that
agents send, of either protocol version.

examples:
  parley policy test --kind execute --command "git push"
  parley policy test --kind edit --path src/app.py --allow "edit:src/**"
  echo '{"kind": "read", "rawInput": {"path": ".env"}}' | parley policy test -

exit codes with --exit-code:
  0   it would be allowed
  10  the user would be asked; where nobody can be, it would be denied
  11  it would be denied
"""
CODES = {"allow": 0, "ask": 10, "deny": 11}
_COLOURS = {"allow": "green", "ask": "yellow", "deny": "red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add = actions_of(parser)

    def action(name: str, what: str, examples: str = "") -> argparse.ArgumentParser:
        added = add(name, what, examples)
        added.add_argument(
            "--cwd", metavar="DIR", default=".", help="the project directory; this one by default"
        )
        return added

    showing = action("show", "show the rules that apply here, and the remembered answers")
    showing.add_argument("--json", action="store_true", help="print the rules as JSON")
    _add_testing(
        action("test", "show what would be decided about a tool call, and why", TEST_EXAMPLES)
    )
    forgetting = action("forget", "delete the remembered answers of this project")
    forgetting.add_argument("--all", action="store_true", help="delete those of all projects")
    parser.set_defaults(cwd=".", json=False)


def _add_testing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "call", metavar="-", nargs="?", choices=["-"], help="read the tool call from stdin"
    )
    parser.add_argument("--kind", metavar="KIND", help="the kind of the tool call, such as edit")
    parser.add_argument("--tool", metavar="NAME", help="the name of the tool")
    for name, what in (("command", "a command it runs"), ("path", "a file it uses")):
        parser.add_argument(
            f"--{name}", metavar=name.upper(), action="append", default=[], help=what
        )
    parser.add_argument(
        "--agent", metavar="AGENT", default="", help="the agent's name or command line"
    )
    parser.add_argument("--session", metavar="ID", default="", help="the id of the session")
    for name, what in (("allow", "permit"), ("deny", "refuse")):
        parser.add_argument(
            f"--{name}",
            metavar="RULE",
            action="append",
            default=[],
            help=f"{what} this, like the flag of `parley run`",
        )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--exit-code", action="store_true", help="report the decision in the exit code too"
    )


def main(arguments: argparse.Namespace) -> int:
    """Run the action on the policy."""
    if not Path(arguments.cwd).is_dir():
        raise Failure(f"--cwd: there is no directory {arguments.cwd}", Exit.USAGE)
    action = {None: _show, "show": _show, "test": _test, "forget": _forget}[arguments.action]
    try:
        return action(arguments)
    except ConfigError as error:
        raise Failure(str(error)) from error


# test


def _test(arguments: argparse.Namespace) -> int:
    subject = _subject(arguments)
    try:
        allow = parse_flags(arguments.allow, "allow")
        deny = parse_flags(arguments.deny, "deny")
    except ConfigError as error:
        raise Failure(str(error), Exit.USAGE) from error
    policy = load_policy(arguments.cwd, allow=allow, deny=deny)
    steps = policy.explain(subject)
    verdict = steps[-1].verdict
    if arguments.json:
        explained = [
            {"part": each.part, "says": each.says, "decision": each.verdict.decision}
            for each in steps
        ]
        about = msgspec.to_builtins(subject)
        print_json({**msgspec.to_builtins(verdict), "subject": about, "steps": explained})
    else:
        print(painted(verdict.decision, _COLOURS[verdict.decision]) + f": {_line(verdict.reason)}")
        lines = [*_about(subject), *((each.part, each.says) for each in steps)]
        width = max(len(_line(name)) for name, _ in lines)
        for name, what in lines:
            print(f"  {_line(name):<{width}}  {_line(what)}")
    return CODES[verdict.decision] if arguments.exit_code else Exit.DONE


def _subject(arguments: argparse.Namespace) -> Subject:
    given = [arguments.kind, arguments.tool, *arguments.command, *arguments.path]
    if arguments.call is None and not any(given):
        raise Failure(
            "describe the tool call with --kind, --command or --path, or give - for stdin",
            Exit.USAGE,
        )
    if arguments.call is not None:
        if any(given):
            raise Failure(
                "- reads the whole tool call from stdin; leave the other options out", Exit.USAGE
            )
        try:
            question = read_permission_request(sys.stdin.buffer.read())
        except ValueError as error:
            raise Failure(f"stdin is not a tool call: {error}", Exit.USAGE) from error
    else:
        question = permission_request_for(_call(arguments), arguments.session)
    return subject_of(
        question,
        None,
        arguments.cwd,
        agent=arguments.agent,
        session=arguments.session or question.session_id,
        agent_id=_identity(arguments.agent),
    )


def _identity(agent: str) -> str:
    """Return what answers for an agent are remembered under; empty if it is not known here."""
    try:
        resolved = resolve(agent) if agent else None
        return "" if resolved is None else resolved.identity
    except (ConfigError, ConnectFailed):
        return ""


def _call(arguments: argparse.Namespace) -> v2.ToolCallUpdate:
    kind = arguments.kind or ("execute" if arguments.command else "other")
    if kind not in KINDS and not kind.startswith("_"):
        raise Failure(f"--kind: there is no {kind!r}; use {', '.join(KINDS)}", Exit.USAGE)
    paths: list[str] = arguments.path
    return v2.ToolCallUpdate(
        tool_call_id="call",
        kind=kind,
        name=arguments.tool,
        locations=[v2.ToolCallLocation(path=each) for each in paths],
        raw_input={"commands": arguments.command} if arguments.command else None,
    )


def _about(subject: Subject) -> list[tuple[str, str]]:
    """Return what was understood of a tool call, by name."""
    fields = {
        "kind": (" and ".join(subject.kinds),),
        "tool": (subject.tool,),
        "command": subject.commands,
        "in": (subject.cwd,),
        "path": subject.paths,
        "may be a path": subject.possible,
        "text": subject.texts,
        "unknown key": subject.unknown,
        "not understood": (subject.unclear,),
    }
    return [(name, each) for name, values in fields.items() for each in values if each]


def _line(text: str) -> str:
    return sanitize_text(text, is_line=True)


# show and forget


def _show(arguments: argparse.Namespace) -> int:
    policy = load_policy(arguments.cwd)
    sets = [policy.rules, *policy.project]
    answers = policy.remembered.answers(policy.root)
    if arguments.json:
        remembered = [msgspec.to_builtins(each) for each in answers]
        print_json({"rules": [_as_json(each) for each in sets], "remembered": remembered})
        return Exit.DONE
    print(f"your rules, from {_line(str(config_dir() / 'policy.toml'))}")
    for rules in sets:
        if rules is not policy.rules:
            print(f"{_line(rules.name)}, which can only make it stricter")
        for number, rule in enumerate(rules.rules, 1):
            print(f"  {number}. {_line(str(rule))}")
        if rules.default is not None:
            print(f"  default: {rules.default}")
    print(f"remembered for {_line(policy.root)}" if answers else "nothing is remembered")
    for answer in answers:
        print(f"  {_line(_describe(answer))}")
    return Exit.DONE


def _as_json(rules: RuleSet) -> dict[str, Any]:
    return {
        "name": rules.name,
        "default": rules.default,
        "rules": [msgspec.to_builtins(each) for each in rules.rules],
    }


def _describe(answer: Answer) -> str:
    subject = answer.subject
    day = time.strftime("%Y-%m-%d", time.localtime(answer.at))
    what = "; ".join((*subject.commands, *subject.paths)) or subject.tool
    whose = f" ({subject.agent})" if subject.agent else ""
    if not answer.is_bound:
        whose = " (not used: it was kept by an earlier version, which did not say for which agent)"
    return f"{day} {answer.decision} {subject.kind} {what}{whose}"


def _forget(arguments: argparse.Namespace) -> int:
    policy: Policy = load_policy(arguments.cwd)
    try:
        count = policy.remembered.forget(None if arguments.all else policy.root)
    except OSError as error:
        raise Failure(f"the answers cannot be changed: {error}") from error
    print(f"{count} {'answer is' if count == 1 else 'answers are'} forgotten")
    return Exit.DONE
