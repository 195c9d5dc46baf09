"""The policy decides first, then the user."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from parley.client import Session, Workspace, connect
from parley.client._permission_handler import (
    Decide,
    PermissionDecision,
    PermissionHandler,
    subject_in,
)
from parley.errors import InvalidRequest
from parley.journal import MemoryJournal
from parley.policy import Policy, Rule, Subject, Verdict
from parley.policy._remembered import Remembered
from parley.schema import v2
from parley.testing.demo import demo_agent

from .scripted_agent import Message, ScriptedAgent, opened

ALLOW_ONCE = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
ALLOW_ALWAYS = {"optionId": "always", "name": "Always", "kind": "allow_always"}
REJECT_ONCE = {"optionId": "no", "name": "No", "kind": "reject_once"}
REJECT_ALWAYS = {"optionId": "never", "name": "Never", "kind": "reject_always"}
EVERY = [ALLOW_ALWAYS, REJECT_ALWAYS, ALLOW_ONCE, REJECT_ONCE]
CANCELLED = {"outcome": "cancelled"}


def selected(option: str) -> Message:
    return {"outcome": "selected", "optionId": option}


def ask(
    remote: ScriptedAgent,
    call: Message,
    *,
    options: list[Any] | None = None,
    id: int = 1,
    title: str = "?",
) -> None:
    subject = {"type": "tool_call", "toolCall": {"toolCallId": "call", **call}}
    params = {"sessionId": "s", "title": title, "subject": subject, "options": options or EVERY}
    remote.call(id, "session/request_permission", params)


async def outcome(remote: ScriptedAgent) -> Message:
    result: Message = (await remote.take())["result"]["outcome"]
    return result


ALLOWS = Policy([Rule(decision="allow")])
DENIES = Policy([Rule(decision="deny")])
ASKS = Policy()


def nobody(*_: object) -> str:
    raise AssertionError("nobody should be asked")


def yes(request: v2.RequestPermissionRequest, _: Session) -> str:
    return next(each.option_id for each in request.options if each.kind == "allow_once")


@pytest.mark.parametrize(
    ("policy", "options", "response"),
    [
        (ALLOWS, EVERY, selected("yes")),
        (DENIES, EVERY, selected("no")),
        (DENIES, [ALLOW_ONCE, REJECT_ALWAYS], CANCELLED),
        (DENIES, [ALLOW_ONCE], CANCELLED),
    ],
)
@pytest.mark.requirement("SAFE-REACH-04")
async def test_a_rule_answers_once_and_never_always(
    policy: Policy, options: list[Any], response: Message
) -> None:
    async with opened(policy=policy, permission=nobody) as (_, remote):
        ask(remote, {"kind": "read"}, options=options)
        assert await outcome(remote) == response


async def test_the_user_is_asked_where_no_option_says_only_what_the_rule_says() -> None:
    titles: list[str] = []

    def permission(request: v2.RequestPermissionRequest, _: Session) -> str:
        titles.append(request.title)
        return "always"

    async with opened(policy=ALLOWS, permission=permission) as (_, remote):
        ask(remote, {"kind": "read"}, options=[ALLOW_ALWAYS, REJECT_ONCE])
        assert await outcome(remote) == selected("always")
    assert titles == ["?"]
    twice = [ALLOW_ONCE, {**REJECT_ONCE, "optionId": "yes"}, REJECT_ALWAYS]
    async with opened(policy=ALLOWS, permission=lambda request, session: None) as (_, remote):
        ask(remote, {"kind": "read"}, options=twice)
        assert await outcome(remote) == CANCELLED, "the id says two things"


async def test_what_would_be_asked_is_refused_where_nobody_can_be() -> None:
    async with opened(policy=ASKS) as (_, remote):
        ask(remote, {"kind": "read"})
        assert await outcome(remote) == selected("no")
        ask(remote, {"kind": "read"}, options=[ALLOW_ONCE], id=2)
        assert await outcome(remote) == CANCELLED


@pytest.mark.requirement("SAFE-REACH-04")
async def test_the_policy_sees_the_input_joined_with_the_announcement() -> None:
    policy = Policy([Rule(decision="deny", command="rm"), Rule(decision="allow")])
    async with opened(policy=policy) as (_, remote):
        announced = {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "call",
            "kind": "execute",
            "rawInput": {"command": "rm x"},
        }
        remote.send({"method": "session/update", "params": {"sessionId": "s", "update": announced}})
        ask(remote, {"title": "ls"}, title="ls")
        assert await outcome(remote) == selected("no")
        ask(remote, {"rawInput": {"command": "ls"}}, id=2)
        assert await outcome(remote) == selected("yes")


async def test_a_rule_may_be_for_an_agent_and_a_session() -> None:
    rule = Rule(decision="allow", agent="painter", session="s")
    async with opened(policy=Policy([rule]), name="painter") as (_, remote):
        ask(remote, {"kind": "read"})
        assert await outcome(remote) == selected("yes")
    async with opened(policy=Policy([rule]), name="poet") as (_, remote):
        ask(remote, {"kind": "read"})
        assert await outcome(remote) == selected("no")


async def test_a_policy_does_not_answer_for_a_turn_that_is_cancelled() -> None:
    async with opened(policy=ALLOWS) as (session, remote):
        turn = asyncio.ensure_future(session.prompt("Go."))
        await remote.accept()
        await session.cancel()
        await remote.take("session/cancel")
        ask(remote, {"kind": "read"})
        assert await outcome(remote) == CANCELLED
        remote.idle("cancelled")
        await turn


@pytest.mark.requirement("SAFE-REACH-04")
async def test_every_decision_is_written_down_with_its_reason() -> None:
    seen: list[PermissionDecision] = []
    policy, journal = Policy([Rule(decision="deny", kind="execute")]), MemoryJournal()
    async with opened(
        policy=policy,
        permission=yes,
        on_decision=lambda decided, _: seen.append(decided),
        journal=journal,
    ) as (_, remote):
        ask(remote, {"kind": "execute", "rawInput": {"command": "ls"}})
        await outcome(remote)
        ask(remote, {"kind": "read", "rawInput": {"path": "/a"}}, id=2)
        await outcome(remote)
    rule = {"kind": "execute", "tool": "", "commands": ["ls"], "paths": []}
    rule |= {"decision": "deny", "reason": "rule 1: deny kind=execute", "option": "no"}
    user = {"kind": "read", "tool": "", "commands": [], "paths": ["/a"], "decision": "allow"}
    user |= {"reason": "no rule fits: the default is to ask", "option": "yes"}
    (record,) = journal.list()
    entries = journal.entries(record.key)
    notes = [json.loads(each.data) for each in entries if each.kind == "note"]
    assert [each for each in notes if each["note"] == "permission"] == [
        {"note": "permission", **rule, "by": "policy"},
        {"note": "permission", **user, "by": "user"},
    ]
    assert [(each.by, each.is_allowed) for each in seen] == [("policy", False), ("user", True)]


async def test_a_failure_of_the_callback_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("no screen")

    async with opened(policy=ALLOWS, on_decision=fails) as (_, remote):
        ask(remote, {"kind": "read"})
        assert await outcome(remote) == selected("yes")
    assert "on_decision failed" in caplog.text


class WatchedPolicy(Policy):
    """A policy that knows in which threads it has decided."""

    def __init__(self, rules: list[Rule]) -> None:
        super().__init__(rules)
        self.threads: list[bool] = []

    def decide(self, subject: Subject) -> Verdict:
        self.threads.append(threading.current_thread() is threading.main_thread())
        return super().decide(subject)


@pytest.mark.requirement("SAFE-REACH-11")
async def test_a_large_question_is_not_decided_on_the_event_loop() -> None:
    policy = WatchedPolicy([Rule(decision="deny", command="rm"), Rule(decision="allow")])
    requests: list[str] = []

    def permission(request: v2.RequestPermissionRequest, _: Session) -> str:
        requests.append(request.title)
        return "no"

    async with opened(policy=policy, permission=permission) as (_, remote):
        ask(remote, {"kind": "execute", "rawInput": {"command": "echo " + "a " * 150_000}})
        assert await outcome(remote) == selected("no")
        assert (requests, policy.threads) == (["?"], [False]), "it was too much to be examined"
        ask(remote, {"kind": "execute", "rawInput": {"command": "ls"}}, id=2)
        assert await outcome(remote) == selected("yes")
        assert policy.threads == [False, True], "a small one stays in order with what comes next"


# The guard of a workspace


@pytest.mark.requirement("SAFE-REACH-12")
@pytest.mark.parametrize("name", [".envrc", "link", "sub/../.ENVRC"])
async def test_a_file_that_is_executed_later_is_not_written_by_a_general_rule(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(".envrc")
    (tmp_path / ".envrc").write_text("old")
    requests: list[str] = []

    def permission(request: v2.RequestPermissionRequest, _: Session) -> str:
        requests.append(request.title)
        return "no"

    workspace = Workspace(tmp_path)
    policy = Policy([Rule(decision="allow", kind="edit")], cwd=tmp_path)
    async with opened(workspace=workspace, policy=policy, permission=permission) as (session, _):
        await workspace.files.write_text_file(f"{tmp_path}/a.txt", "new", session)
        with pytest.raises(InvalidRequest):
            await workspace.files.write_text_file(f"{tmp_path}/{name}", "new", session)
    assert len(requests) == 1
    assert (tmp_path / ".envrc").read_text() == "old"
    assert (tmp_path / "a.txt").read_text() == "new"


@asynccontextmanager
async def desk(
    policy: Policy = ASKS, permission: Decide | None = None
) -> AsyncGenerator[tuple[PermissionHandler, Session, ScriptedAgent]]:
    async with opened() as (session, remote):
        yield (
            PermissionHandler(session.connection._state, permission, policy=policy),
            session,
            remote,
        )


WRITE = Subject(kind="edit", paths=("/w/a",))
READ = Subject(kind="read", paths=("/w/a",))
RUN = Subject(kind="execute", commands=("make all",), cwd="/w")


async def test_what_is_read_is_allowed_unless_it_is_denied() -> None:
    async with desk(ASKS, nobody) as (guard, session, _):
        assert await guard.is_permitted(READ, session)
    async with desk(Policy([Rule(decision="deny", path="/w/a")]), nobody) as (guard, session, _):
        assert not await guard.is_permitted(READ, session)


@pytest.mark.parametrize("subject", [WRITE, RUN], ids=["write", "run"])
async def test_what_changes_something_is_allowed_by_the_policy_or_by_the_user(
    subject: Subject,
) -> None:
    async with desk(ALLOWS, nobody) as (guard, session, _):
        assert await guard.is_permitted(subject, session)
    async with desk(DENIES, nobody) as (guard, session, _):
        assert not await guard.is_permitted(subject, session)
    async with desk(ASKS, yes) as (guard, session, _):
        assert await guard.is_permitted(subject, session)
    async with desk(ASKS, lambda request, session: None) as (guard, session, _):
        assert not await guard.is_permitted(subject, session)
    async with desk(ASKS) as (guard, session, _):
        assert not await guard.is_permitted(subject, session), "there is nobody to ask"


async def test_a_rule_may_name_what_the_client_does_by_its_method() -> None:
    policy = Policy([Rule(decision="allow", tool="fs/write_text_file")])
    async with desk(policy) as (guard, session, _):
        assert await guard.is_permitted(WRITE, session)
        assert not await guard.is_permitted(RUN, session)


async def test_our_own_question_says_what_would_be_done() -> None:
    requests: list[v2.RequestPermissionRequest] = []

    async with desk(ASKS, lambda request, _: requests.append(request)) as (guard, session, _):
        assert not await guard.is_permitted(WRITE, session)
        assert not await guard.is_permitted(RUN, session)
        about = [subject_in(session, each) for each in requests]
    assert requests[0].title == "Write /w/a?"
    assert requests[1].subject == v2.CommandPermissionSubject(command="make all", cwd="/w")
    assert [(each.kind, each.commands, each.cwd, each.paths) for each in about] == [
        ("edit", (), "", ("/w/a",)),
        ("execute", ("make all",), "/w", ()),
    ]
    kinds = [each.kind for each in requests[0].options]
    assert kinds == ["allow_once", *["allow_always"] * 3, "reject_once"]


@pytest.mark.parametrize("scope", ["session", "project"])
async def test_an_answer_for_longer_is_remembered_for_exactly_this(scope: str) -> None:
    responses = iter([scope, "no", "no"])
    async with desk(Policy(), lambda request, session: next(responses)) as (guard, session, _):
        assert await guard.is_permitted(WRITE, session)
        assert await guard.is_permitted(WRITE, session), "nobody was asked again"
        assert not await guard.is_permitted(Subject(kind="edit", paths=("/w/b",)), session)
        assert not await guard.is_permitted(RUN, session)


@pytest.mark.requirement("SAFE-REACH-09")
@pytest.mark.parametrize("scope", ["session", "project"])
async def test_another_agent_with_the_same_name_and_session_id_inherits_no_answer(
    scope: str,
) -> None:
    policy = Policy()
    async with desk(policy, lambda request, session: scope) as (guard, session, _):
        assert await guard.is_permitted(WRITE, session)
    async with desk(policy, lambda request, session: "no") as (guard, again, _):
        assert (again.id, again.connection.name) == (session.id, session.connection.name)
        assert not await guard.is_permitted(WRITE, again), "it was asked"


@pytest.mark.requirement("SAFE-REACH-09")
async def test_a_session_that_is_opened_again_inherits_only_what_holds_for_the_project() -> None:
    responses = iter(["session", "project", "no"])
    async with desk(Policy(), lambda request, session: next(responses)) as (guard, session, remote):
        assert await guard.is_permitted(WRITE, session)
        assert await guard.is_permitted(RUN, session)
        opening = asyncio.ensure_future(session.connection.new_session())
        remote.respond(
            await remote.take("session/new"), {"sessionId": session.id, "configOptions": []}
        )
        again = await opening
        assert again.id == session.id, "the agent has chosen the id of another session"
        assert await guard.is_permitted(RUN, again)
        assert not await guard.is_permitted(WRITE, again), "it was asked"


async def test_an_answer_that_cannot_be_written_down_still_counts_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    policy = Policy(remembered=Remembered(Path("/dev/null/permissions.jsonl")))
    async with desk(policy, lambda request, session: "project") as (guard, session, _):
        with caplog.at_level(logging.WARNING):
            assert await guard.is_permitted(WRITE, session)
    assert "cannot remember the decision" in caplog.text


async def test_a_name_that_is_not_text_can_be_decided_about() -> None:
    journal = MemoryJournal()
    async with opened(journal=journal) as (session, _):
        guard = PermissionHandler(
            session.connection._state, lambda request, _: "session", policy=Policy()
        )
        assert await guard.is_permitted(Subject(kind="edit", paths=("/w/\udcff",)), session)
        (record,) = journal.list()
        notes = [each.data for each in journal.entries(record.key) if each.kind == "note"]
    assert b'"/w/?"' in notes[-1]


@pytest.mark.requirement("SAFE-REACH-05")
async def test_the_values_of_variables_are_not_noted() -> None:
    journal = MemoryJournal()
    async with opened(journal=journal) as (session, _):
        guard = PermissionHandler(
            session.connection._state, lambda request, _: "once", policy=Policy()
        )
        for line in ("A='it'\"'\"'s marker' B=marker PATH=/marker make C=3", "make A=b"):
            assert await guard.is_permitted(Subject(kind="execute", commands=(line,)), session)
        (record,) = journal.list()
        notes = [each.data for each in journal.entries(record.key) if each.kind == "note"]
    assert b'"A=[redacted] B=[redacted] PATH=[redacted] make C=3"' in notes[-2]
    assert b'"make A=b"' in notes[-1]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([Rule(decision="allow", command="echo hi")], "term:0:hi\n"),
        ([Rule(decision="allow", command="echo bye")], "Permission to execute echo hi was denied"),
        ([Rule(decision="deny", tool="terminal/create"), Rule(decision="allow")], "was denied"),
    ],
)
async def test_a_workspace_asks_the_policy(
    rules: list[Rule], expected: str, tmp_path: Path
) -> None:
    seen: list[PermissionDecision] = []
    async with connect(
        demo_agent(),
        tmp_path,
        versions=(1,),
        workspace=Workspace(),
        policy=Policy(rules, cwd=tmp_path),
        on_decision=lambda decided, _: seen.append(decided),
    ) as connection:
        session = await connection.new_session()
        try:
            reported = await session.ask("term")
        except InvalidRequest as error:
            reported = str(error)
    assert expected in reported
    assert [each.subject.commands for each in seen] == [("echo hi",)]
