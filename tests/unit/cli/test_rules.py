"""Rules give permission where it is plain, and deny in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.cli.exits import Failure
from parley.cli.rules import Rules, Subject, choose, read_rule, subject_of
from parley.schema import v2
from parley.session.diffs import make_diff
from parley.session.entries import ToolCall


def decide(subject: Subject, *, allow: str = "", deny: str = "", cwd: str = "/w") -> str | None:
    allowing, denying = ([read_rule(each)] if each else [] for each in (allow, deny))
    return Rules(allowing, denying, cwd).decide(subject)


def run(command: str) -> Subject:
    return Subject("execute", commands=(command,))


def touch(*paths: str, kind: str = "edit") -> Subject:
    return Subject(kind, paths=paths)


def test_without_rules_nothing_is_decided() -> None:
    assert decide(run("ls")) is None


def test_a_kind_is_allowed_or_denied_and_deny_counts_first() -> None:
    assert decide(touch("/w/a"), allow="edit") == "allow"
    assert decide(touch("/w/a"), allow="read") is None
    assert decide(touch("/w/a"), allow="*") == "allow"
    assert decide(touch("/w/a"), allow="*", deny="edit") == "deny"
    assert decide(run("ls"), allow="*", deny="edit") == "allow"


def test_paths_are_counted_from_the_directory_and_all_must_fit() -> None:
    assert decide(touch("/w/src/a.py"), allow="edit:src/*") == "allow"
    assert decide(touch("/w/src/a.py", "/w/x"), allow="edit:src/*") is None
    assert decide(touch("/w/src/a.py", "/w/x"), allow="edit", deny="edit:x") == "deny"
    assert decide(touch("/etc/passwd"), allow="edit:*") is None
    assert decide(touch("/etc/passwd"), allow="edit:/etc/*") == "allow"
    assert decide(touch("/w[1]/a"), allow="edit:*", cwd="/w[1]") == "allow"


@pytest.mark.parametrize(
    "tail", ["; rm -rf /", "&& curl x | sh", "$(id)", "`id`", "> /etc/x", "\nid"]
)
def test_a_pattern_allows_no_command_that_a_shell_takes_apart(tail: str) -> None:
    assert decide(run("git status"), allow="execute:git *") == "allow"
    assert decide(run(f"git status {tail}"), allow="execute:git *") is None
    assert decide(run(f"git status {tail}"), allow=f"execute:git status {tail}") == "allow"


def test_a_pattern_denies_every_part_of_a_command() -> None:
    assert decide(run("cd /x && rm -rf ."), allow="execute", deny="execute:rm *") == "deny"
    assert decide(run("ls"), allow="execute", deny="execute:rm *") == "allow"


@pytest.mark.parametrize(
    "command", ["rm\t-rf .", "bash -c 'rm -rf .'", '"rm" -rf .', "r\\m -rf .", 'bash -lc "rm ."']
)
def test_blanks_and_quotes_do_not_hide_a_command_that_is_denied(command: str) -> None:
    assert decide(run(command), allow="execute", deny="execute:rm *") == "deny"


def test_only_a_star_and_a_question_mark_stand_for_something_else() -> None:
    page = touch("/w/app/[id]/page.tsx")
    assert decide(page, allow="edit", deny="edit:app/[id]/*") == "deny"
    assert decide(touch("/w/app/i/page.tsx"), allow="edit:app/[id]/*") is None
    assert decide(run("ls [ab]"), allow="execute:ls [ab]*") == "allow"


def test_where_a_command_works_does_not_stand_for_the_command() -> None:
    nameless = Subject("execute", paths=("/w/git status",))
    assert decide(nameless, allow="execute:git *") is None
    assert decide(nameless, allow="execute", deny="execute:rm *") == "deny"
    named = Subject("execute", commands=("cat x",), paths=("/w/secret",))
    assert decide(named, allow="execute", deny="execute:secret") == "deny"


def test_what_the_agent_does_not_name_is_not_allowed_by_a_pattern_but_denied() -> None:
    assert decide(Subject("execute"), allow="execute:git *") is None
    assert decide(Subject("execute"), allow="execute", deny="execute:rm *") == "deny"
    assert decide(Subject("execute"), allow="execute") == "allow"


def test_a_rule_of_no_kind_is_refused() -> None:
    with pytest.raises(Failure, match="there is no kind 'eat' in the rule 'eat:x'; use "):
        read_rule("eat:x")
    with pytest.raises(Failure, match="the rule 'execute:' has no pattern"):
        read_rule("execute:")  # as of "execute:$UNSET", which must not mean everything


def option(id: str, kind: str) -> v2.PermissionOption:
    return v2.PermissionOption(option_id=id, name=id, kind=kind)


def asked(subject: v2.RequestPermissionSubject | None = None) -> v2.RequestPermissionRequest:
    options = [option("yes", "allow_once")]
    return v2.RequestPermissionRequest(
        session_id="s", title="Run `ls`", subject=subject, options=options
    )


def test_what_is_asked_about_is_the_real_input_and_not_the_title(tmp_path: Path) -> None:
    command = v2.CommandPermissionSubject(command="rm -rf /", cwd="/w")
    assert subject_of(asked(command), None) == Subject("execute", commands=("rm -rf /",))
    call = ToolCall("t")
    call.title, call.kind = "Run `ls`", "execute"
    assert subject_of(asked(), call).commands == ()
    call.raw_input = {"command": ["rm", "-rf", "/"]}
    assert subject_of(asked(), call).commands == ("rm -rf /",)
    call.raw_input = {"command": "rm x"}
    assert subject_of(asked(), call).commands == ("rm x",)
    (tmp_path / "link").symlink_to("/etc")
    call.kind, call.locations = "edit", [v2.ToolCallLocation(path=f"{tmp_path}/link/passwd")]
    assert subject_of(asked(), call) == touch("/etc/passwd")
    assert subject_of(asked(), None) == Subject("other")


def test_a_list_of_words_is_told_apart_from_their_blanks() -> None:
    call = ToolCall("t")
    call.kind, call.raw_input = "execute", {"command": ["bash", "-lc", "rm x"]}
    assert subject_of(asked(), call).commands == ("bash -lc 'rm x'",)


def test_what_a_diff_changes_counts_like_the_places_that_are_named() -> None:
    call = ToolCall("t")
    call.kind, call.locations = "edit", [v2.ToolCallLocation(path="/w/src/a.py")]
    moved = v2.DiffMove(old_path="/w/old", path="/w/new")
    call.content = [make_diff("/w/b", "old", "new"), v2.Diff(changes=[moved])]
    assert subject_of(asked(), call) == touch("/w/src/a.py", "/w/b", "/w/new", "/w/old")


def test_a_path_that_is_not_absolute_begins_where_the_agent_works(tmp_path: Path) -> None:
    call = ToolCall("t")
    call.kind = "edit"
    call.locations = [v2.ToolCallLocation(path=each) for each in ("a", "../b", "file:///c")]
    work = tmp_path / "w"
    assert subject_of(asked(), call, str(work)) == touch(f"{work}/a", f"{tmp_path}/b", "/c")


def test_a_rule_never_says_always_for_the_user() -> None:
    always = [option("1", "allow_always"), option("2", "reject_always")]
    once = [option("3", "allow_once"), option("4", "reject_once")]
    assert choose([*always, *once], "allow") == "3"
    assert choose(always, "allow") is None
    assert choose([*always, *once], "deny") == "4"
    assert choose(always, "deny") == "2"
    assert choose([option("5", "_new")], "deny") is None
