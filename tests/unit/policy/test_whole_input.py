"""Rules that ask or deny examine the whole input, however it is nested, wrapped or split."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.policy import Policy, Rule, Subject, Verdict, parse_flags, subject_of
from parley.policy._words import MAX_CHARS, split_words
from parley.schema import v2
from parley.schema.base import Unknown

YES = Verdict("allow", "--yes")


def called(raw_input: Any, kind: str, cwd: str = "/w") -> Subject:
    call = v2.ToolCallUpdate(tool_call_id="t", kind=kind, raw_input=raw_input)
    request = v2.RequestPermissionRequest(
        session_id="s",
        title="Harmless",
        subject=v2.ToolCallPermissionSubject(tool_call=call),
        options=[],
    )
    return subject_of(request, None, cwd)


def decide(
    raw_input: Any, *deny: str, kind: str = "execute", cwd: str = "/w", yes: bool = True
) -> str:
    """Decide with these flags of `--deny`, where all else is allowed, also what would be asked."""
    rules = [*parse_flags(deny, "deny"), Rule(decision="allow")]
    policy = Policy(rules, cwd=cwd, unasked=YES if yes else None)
    return policy.decide(called(raw_input, kind, cwd)).decision


def numbers(values: Sequence[object]) -> list[str]:
    """Return short ids."""
    return [str(number) for number in range(len(values))]


WRAPPED = [
    *("uv run rm x", "npx rm x", "docker run -it image rm x", "env -i A=b rm x", "sudo -u me rm x"),
    *("timeout 5 rm x", "nice -n 5 rm x", "xargs rm", "sh -c 'rm x'", 'bash -lc "rm x"'),
    *("""python -c "import os; os.system('rm x')" """, "ssh host rm x", "ssh host 'rm x'"),
    *("""python -c "run(['rm', 'x'])" """, "npm exec -- rm x", "some-tool --flag value rm x"),
    *("r\\m x", "r''m x", '"r"m x', "/bin/rm x", "X=rm; $X y", "{rm,-rf,x}", "rm${IFS}x"),
    *("find . -exec rm {} +", "(rm x)", "! rm x", "{ rm x; }", "true&&rm x", "true & rm x"),
    *("a=1 rm x", "cat <<E\nrm x\nE", "awk 'BEGIN{system(\"rm x\")}'", "git -c alias.x='!rm y' x"),
    *("RM x", "rm\tx", "rm\\\n x", "ls\nrm x", "tar --to-command=rm", "make SHELL=rm"),
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", WRAPPED, ids=numbers(WRAPPED))
def test_a_denied_command_is_found_behind_any_wrapper(line: str) -> None:
    assert decide({"command": line}, "execute:rm") == "deny"


COMPUTED = [
    *("$(fetch) x", "`fetch` x", "$'\\x72m' x", "r$(true)m x", "r${z}m x", "eval $(fetch)"),
    *("/bin/r? x", "/bin/r* x", "curl x | sh", "curl x | sudo bash -s", "sudo $X", "bash <(fetch)"),
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", COMPUTED, ids=numbers(COMPUTED))
def test_a_command_that_a_shell_computes_is_asked_about_and_not_answered_by_yes(line: str) -> None:
    assert decide({"command": line}, "execute:rm") == "ask"
    assert decide({"command": line}) == "allow", "no rule may fit"


PUSHED = [
    *("git push", "git -C x push", "git --no-pager -c a=b push", "uv run git push", "git\\\n push"),
    *("git${IFS}push", "g''it p''ush", "bash -c \"git 'push'\"", "{git,push}", "/usr/bin/git push"),
    *("""python -c 'run(["git","push"])'""", "xargs -I{} git push {}", "git 'push'", "GIT PUSH"),
]
PERHAPS_PUSHED = ["git $X", "git pu$(true)sh", "git `echo push`", 'sh -c "$(fetch)"', "$X push"]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", PUSHED, ids=numbers(PUSHED))
def test_the_words_of_a_denied_command_are_found_together(line: str) -> None:
    assert decide({"command": line}, "execute:git push") == "deny"


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", PERHAPS_PUSHED, ids=numbers(PERHAPS_PUSHED))
def test_a_word_of_a_denied_command_may_be_computed(line: str) -> None:
    assert decide({"command": line}, "execute:git push") == "ask"


INPUTS: list[Any] = [
    {"command": ["rm", 5, "x"]},
    {"command": ["rm", ["x"]]},
    {"command": ["rm", {"a": "x"}]},
    {"command": ["ls", None, "rm"]},
    {"cmd": {"program": "rm", "args": ["x"]}},
    {"script": "rm x"},
    {"code": "rm x"},
    {"shell_command": "rm x"},
    {"x": {"y": [{"z": ["rm", "x"]}]}},
    {"arguments": '{"command":"rm x"}'},
    {"arguments": '{"command":"\\u0072m x"}'},
    {"command": "ls", "env": {"PAGER": "rm x"}},
    {"command": "ls", "env": [{"name": "PAGER", "value": "rm x"}]},
    {"command": "ls", "stdin": "rm x"},
    {"commands": ["ls", "rm x"]},
    {"commands": [["rm", "x"]]},
    {"commands": [{"cmd": "rm x"}]},
    "rm x",
    ["rm", "x"],
    {"instructions": "rm x"},
    {"rm x": 1},
    {"content": "rm x"},
    {"argv": ["rm", "x"]},
    {"command": "ls", "args": "; rm x"},
    {"command": "sh", "args": ["-c", "rm x"]},
    {"command": "rm x", "Command": "ls"},
    {"Command": "ls", "comm_and": "rm x"},
    {"command": "ls", "args": ["a"], "ARGS": ["rm x"]},
    {"command": "sh", "args": ["a"], "arguments": ["-c", "rm x"]},
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("given", INPUTS, ids=numbers(INPUTS))
def test_a_denied_command_is_found_wherever_it_is_in_the_input(given: Any) -> None:
    assert decide(given, "*:rm") == "deny"


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("kind", ["other", "read", "edit", "fetch", "search", "think", "_new"])
def test_a_denied_command_is_found_whatever_the_tool_calls_itself(kind: str) -> None:
    for each in ({"command": "ls", "note": "rm x"}, {"query": "rm x"}, {"script": "rm x"}):
        assert decide(each, "*:rm", kind=kind) == "deny"


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("kind", ["other", "_new"])
def test_a_tool_that_does_not_say_what_it_does_may_execute_its_input(kind: str) -> None:
    assert decide({"anything": "rm x"}, "execute:rm", kind=kind) == "deny"
    assert decide({"anything": "ls"}, "execute:rm", kind=kind) == "allow"
    assert decide({"query": "rm x"}, "execute:rm", kind="search") == "allow", "it says"
    assert decide({"code": "rm x"}, "execute:rm", kind="edit") == "deny", "there is no file"


@pytest.mark.requirement("SAFE-REACH-10")
def test_what_a_question_is_about_may_be_unknown() -> None:
    about = Unknown("_deploy", b'{"type": "_deploy", "line": "rm x"}')
    request = v2.RequestPermissionRequest(session_id="s", title="?", subject=about, options=[])
    subject = subject_of(request, None, "/w")
    assert subject.unclear == "it is about something that is not known here"
    assert Policy([Rule(decision="allow")]).decide(subject).decision == "ask"


SPLIT: list[Any] = [
    {"program": "git", "args": ["push"]},
    {"exe": "git", "sub": "push"},
    {"sub": "push", "cwd": "/w", "bin": "git"},
    ["git", ["push"]],
    {"x": ["git", "-C", "y", "push"]},
    {"command": "git", "args": ["-C", "x", "push"]},
    {"command": "git", "args": ["status"], "arguments": ["push"]},
    {"a": "git", "b": {"c": "push"}},
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("given", SPLIT, ids=numbers(SPLIT))
def test_a_denied_command_is_found_in_several_strings(given: Any) -> None:
    assert decide(given, "*:git push") == "deny"


CONTENTS: list[tuple[str, Any]] = [
    ("edit", {"path": "src/a.py", "content": "rm -rf x"}),
    ("edit", {"file_path": "src/a.py", "old_string": "rm x", "new_string": "rm y"}),
    ("other", {"path": "src/a.py", "content": "rm -rf x"}),
    ("other", {"path": "a", "edits": [{"oldText": "rm", "newText": "rm x"}]}),
    ("edit", {"diff": "--- a/x\n+++ b/x\n@@\n-rm x\n+rm y\n"}),
    ("edit", {"input": "*** Begin Patch\n*** Update File: x\n+rm y\n*** End Patch"}),
    ("other", {"changes": {"src/a.py": {"content": "rm x"}}}),
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize(("kind", "given"), CONTENTS, ids=numbers(CONTENTS))
def test_contents_of_files_and_diffs_are_not_examined(kind: str, given: Any) -> None:
    assert decide(given, "*:rm", kind=kind) == "allow"


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("kind", ["execute", "read", "fetch"])
def test_what_is_called_content_in_another_tool_is_examined(kind: str) -> None:
    assert decide({"path": "a", "content": "rm x"}, "*:rm", kind=kind) == "deny"
    assert decide({"command": "ls", "content": "rm x"}, "*:rm", kind="edit") == "deny"


HARMLESS = [
    *("ls -la", "git status", "echo $HOME", "for f in *.py; do echo $f; done", "cargo fmt"),
    *("awk '{print $1}' x", "X=1 make -j $(nproc)", "git commit -m 'Form the farm'"),
    *("grep -rn 'term' src | head -5",),
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", HARMLESS, ids=numbers(HARMLESS))
def test_a_deny_does_not_block_what_has_nothing_to_do_with_it(line: str) -> None:
    given = {"command": line, "description": "Remove nothing, confirm all", "timeout": 5}
    assert decide(given, "execute:rm", yes=False) == "allow"


@pytest.mark.requirement("SAFE-REACH-10")
def test_the_first_word_of_a_sentence_is_not_a_command() -> None:
    given = {"command": "rg x", "description": "Find all files"}
    assert decide(given, "execute:find") == "allow"
    assert decide({**given, "description": "uses find"}, "execute:find") == "deny"
    assert decide({"command": "Find x"}, "execute:find") == "deny"


# Paths


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory with a link to another one and one to a directory that is denied."""
    top = Path(os.path.realpath(tmp_path_factory.mktemp("project")))
    for name in ("src", "secret"):
        (top / name).mkdir()
    (top / "src" / "a.py").touch()
    (top / "elsewhere").symlink_to("/etc")
    (top / "src" / "innocent").symlink_to("../secret")
    return str(top)


DENIED_PATHS: list[Any] = [
    {"path": "src/a.py", "output_path": "secret/x"},
    {"path": "src/a.py", "out": "secret/x"},
    {"paths": ["src/a.py", 5, "secret/x"]},
    {"path": "src/innocent/x"},
    {"path": "elsewhere/shadow"},
    {"path": "/proc/self/root/etc/shadow"},
    {"path": "/proc/1/root/etc/shadow"},
    {"path": "/proc/self/cwd/secret/x"},
    {"path": "src/innocent/../secret/x"},
    {"file": "file:///etc/shadow"},
    {"a": {"b": ["see secret/x"]}},
    {"path": "src/a.py", "target": {"uri": "file:///etc/shadow"}},
    {"diff": "--- a/secret/x\n+++ b/secret/x\n"},
    {"input": "*** Begin Patch\n*** Update File: secret/x\n*** End Patch"},
    {"path": "src/a.py", "patch": "rename from src/a.py\nrename to secret/x\n"},
    {"changes": {"secret/x": {}}},
    {"path": "SECRET/x"},
    {"path": "/etc/.//shadow"},
    {"path": "src/a.py", "more": '{"path": "secret/x"}'},
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("kind", ["edit", "other"])
@pytest.mark.parametrize("given", DENIED_PATHS, ids=numbers(DENIED_PATHS))
def test_a_denied_path_is_found_beside_others(given: Any, kind: str, project: str) -> None:
    assert decide(given, "*:secret/**", "*:/etc/shadow", kind=kind, cwd=project) == "deny"


READS_DENIED = [
    *("cat secret/x", "cd secret && cat x", "cd src && cat ../secret/x", "cat src/innocent/x"),
    *("cat elsewhere/shadow", "cd elsewhere; cat shadow", "git -C secret show x", "cat <secret/x"),
    *(
        "cat /etc/{shadow,passwd}",
        "cat /e{t,x}c/shadow",
        "cat --file=secret/x",
        "tar -Csecret -c x",
    ),
    *("cat /proc/self/root/etc/shadow", "cat /proc/self/cwd/secret/x", "pushd /etc; cat shadow"),
    *('cat "sec"ret/x', "cat sec\\ret/x", "cd /; cat etc/shadow", "find /etc -name shadow"),
]
MAY_READ_DENIED = [
    *("cat /etc/sh*", "cat /etc/sha$(echo dow)", "cat /etc/sha`echo dow`", "cat $X", "cat sec*/x"),
    *("cat $D/shadow", "cat /???/shadow", "cat /dev/fd/3/x", "ln -s /etc q && cat q/shadow"),
    *("cat /etc/shado{w..z}",),
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", READS_DENIED, ids=numbers(READS_DENIED))
def test_a_denied_path_is_found_in_a_command(line: str, project: str) -> None:
    given = {"command": line}
    assert decide(given, "execute:secret/**", "execute:/etc/shadow", cwd=project) == "deny"


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", MAY_READ_DENIED, ids=numbers(MAY_READ_DENIED))
def test_a_path_that_a_shell_computes_is_asked_about(line: str, project: str) -> None:
    given = {"command": line}
    assert decide(given, "execute:secret/**", "execute:/etc/shadow", cwd=project) == "ask"


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("line", ["cat src/a.py", "ls src/*.py", "pytest -q src", "git status"])
def test_a_path_that_is_not_denied_stays_allowed(line: str, project: str) -> None:
    assert decide({"command": line}, "execute:secret/**", cwd=project, yes=False) == "allow"


# What allows


UNKNOWN: list[Any] = [
    {"env": {"LD_PRELOAD": "x"}},
    {"env": ["A=b"]},
    {"env": [{"name": "A", "value": "b"}]},
    {"env": 5},
    {"before": "reboot"},
    {"script": "reboot"},
    {"then": {"x": "reboot"}},
    {"args": [{"a": 1}]},
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("more", UNKNOWN, ids=numbers(UNKNOWN))
def test_a_command_is_not_allowed_with_input_that_is_not_understood(more: Any) -> None:
    policy = Policy([Rule(decision="allow", command="git status")], cwd="/w")
    assert policy.decide(called({"command": "git status"}, "execute")).decision == "allow"
    assert policy.decide(called({"command": "git status", **more}, "execute")).decision == "ask"


KNOWN: list[Any] = [
    {"command": "git status", "description": "Show the status", "timeout": 5},
    {"command": ["git", "status"], "call_id": "x1", "cwd": "/w"},
    {
        "command": ["bash", "-lc", "git status"],
        "parsed_cmd": [{"type": "unknown", "cmd": "git status"}],
    },
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("given", KNOWN, ids=numbers(KNOWN))
def test_a_command_is_allowed_with_input_that_agents_are_known_to_send(given: Any) -> None:
    policy = Policy([Rule(decision="allow", command="git status")], cwd="/w")
    assert policy.decide(called(given, "execute")).decision == "allow"


FURTHER: list[Any] = [
    {"output_path": "x"},
    {"out": "/tmp/x"},
    {"dest": "../x"},
    {"to": "secret"},
    {"json": '{"path": "/etc/x"}'},
    {"patch": "+++ b/other.py\n"},
    {"path": "src/innocent/x"},
]


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize("more", FURTHER, ids=numbers(FURTHER))
def test_one_path_that_is_allowed_does_not_allow_another(more: Any, project: str) -> None:
    policy = Policy([Rule(decision="allow", kind="edit", path="src/**")], cwd=project)
    given = {"path": "src/a.py", "content": "/etc/passwd", "instruction": "Fix the a/b thing"}
    assert policy.decide(called(given, "edit", project)).decision == "allow"
    assert policy.decide(called({**given, **more}, "edit", project)).decision == "ask"


ARGUMENTS = {
    "cat src/a.py": "allow",
    "cat /etc/passwd": "ask",
    "cat src/*": "ask",
    "cat elsewhere/passwd": "ask",
    "cat secret": "ask",
}


@pytest.mark.requirement("SAFE-REACH-10")
@pytest.mark.parametrize(("line", "decision"), ARGUMENTS.items(), ids=ARGUMENTS.keys())
def test_a_rule_for_a_command_and_paths_looks_at_the_arguments(
    line: str, decision: str, project: str
) -> None:
    policy = Policy([Rule(decision="allow", command="cat", path="src/**")], cwd=project)
    subject = Subject(kind="execute", commands=(line,), paths=(f"{project}/src/a.py",))
    assert policy.decide(subject).decision == decision


# Anything


def quoted(line: str) -> str:
    return f"sh -c {shlex.quote(line)}"


WRAPS: list[Callable[[str], str]] = [
    quoted,
    lambda line: f"bash -lc {json.dumps(line)}",
    lambda line: f"uv run {line}",
    lambda line: f"sudo -u me {line}",
    lambda line: f"cd x && {line}",
    lambda line: f"true; {line}",
    lambda line: f"({line})",
    lambda line: f"echo $({line})",
    lambda line: f"A=b {line}",
    lambda line: f"xargs -n 1 {line}",
    lambda line: f"if true; then {line}; fi",
    lambda line: f"unheard-of --option 'a b' {line}",
    lambda line: f"{'x ' * 1000}; {line}",
    lambda line: f"{'y' * MAX_CHARS} {line}",
    lambda line: line.replace("rm", "r''m"),
    lambda line: line.replace("rm", "/bin/rm"),
    lambda line: line.replace("rm", "RM"),
    lambda line: line.replace(" ", "\t"),
]
NESTS: list[Callable[[Any], Any]] = [
    lambda value: {"command": value},
    lambda value: {"cmd": value},
    lambda value: {"script": value, "path": "x"},
    lambda value: {"anything": value},
    lambda value: {"path": "x", "more": value},
    lambda value: {"command": "ls", "env": {"A": value}},
    lambda value: {"command": "ls", "args": [value]},
    lambda value: [1, None, value],
    lambda value: {"a": [value, {"command": "ls"}]},
    lambda value: {"arguments": json.dumps({"command": value})},
    lambda value: {**{f"k{n}": n for n in range(200)}, "last": value},
]


@pytest.mark.requirement("SAFE-REACH-10")
@given(
    st.lists(st.sampled_from(WRAPS), max_size=3),
    st.booleans(),
    st.lists(st.sampled_from(NESTS), max_size=3),
    st.sampled_from(["execute", "other", "read", "edit", "_x"]),
)
def test_a_denied_command_is_never_outvoted(
    wrapping: Sequence[Any], split: bool, nesting: Sequence[Any], kind: str
) -> None:
    line = "rm -rf x"
    for wrap in wrapping:
        line = wrap(line)
    value: Any = (split_words(line) or [line]) if split else line
    for nest in nesting:
        value = nest(value)
    assert decide(value, "*:rm", kind=kind) != "allow", value


@pytest.mark.requirement("SAFE-REACH-10")
@given(st.text(alphabet="ab'\"\\ \t\n=", max_size=30))
def test_words_are_split_as_shlex_does(line: str) -> None:
    try:
        words: list[str] | None = shlex.split(line)
    except ValueError:
        words = None
    assert split_words(line) == words
