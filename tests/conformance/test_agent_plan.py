"""Plans: reported as a whole, kept by id.

https://agentclientprotocol.com/protocol/v1/agent-plan
https://agentclientprotocol.com/protocol/v2/agent-plan
"""

from __future__ import annotations

from typing import Any

import pytest

from parley.schema import v1, v2
from parley.schema.base import Unknown
from parley.session._v1_session_upgrader import MAIN_PLAN

from .raw_client import initialized
from .transcripts import TranscriptReader, transcript_after
from .wire_values import is_refused, read, update, write

requirement = pytest.mark.requirement
in_both_versions = pytest.mark.parametrize("version", [1, 2])


def entry(content: str, status: str = "pending", priority: str = "high") -> Any:
    return {"content": content, "priority": priority, "status": status}


def plan(version: int, *entries: Any, id: str = MAIN_PLAN) -> Any:
    if version == 1:
        return update("plan", entries=list(entries))
    return update("plan_update", plan={"type": "items", "planId": id, "entries": list(entries)})


def entries_of(known: Any) -> list[str]:
    assert isinstance(known, v2.PlanItems)
    return [each.content for each in known.entries]


@requirement("V1-PLAN-04", "V1-PLAN-06", "V2-PLAN-01")
@in_both_versions
def test_a_plan_replaces_the_one_before(version: int) -> None:
    client = TranscriptReader(version)
    for names in (["a", "b", "c"], ["c"], [], ["d", "a"]):
        plans = client.receive(plan(version, *map(entry, names))).plans
        assert entries_of(plans[MAIN_PLAN]) == names


@requirement("V1-PLAN-05", "V1-PLAN-07")
@in_both_versions
def test_a_broken_entry_is_left_out(version: int) -> None:
    wrong: list[Any] = [{"content": "x", "status": "pending"}, {"priority": "low"}, 5, None]
    known = transcript_after(version, plan(version, wrong[0], entry("a"), *wrong[1:], entry("b")))
    assert entries_of(known.plans[MAIN_PLAN]) == ["a", "b"]


@requirement("V1-PLAN-05")
def test_version_1_knows_three_priorities_and_three_statuses() -> None:
    for priority in ("high", "medium", "low"):
        for status in ("pending", "in_progress", "completed"):
            value = entry("a", status, priority)
            assert write(read(v1.PlanEntry, value)) == value
    assert is_refused(v1.PlanEntry, entry("a", "paused"))
    assert is_refused(v1.PlanEntry, entry("a", priority="urgent"))


@requirement("V1-PLAN-10", "V2-PLAN-02")
@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "content", [{"type": "items", "entries": []}, {"type": "markdown", "content": "x"}]
)
def test_a_plan_update_has_a_type_and_an_id(version: int, content: dict[str, Any]) -> None:
    tp: Any = v1.PlanUpdateContent if version == 1 else v2.PlanUpdateContent
    whole = {**content, "planId": "p"}
    assert write(read(tp, whole)) == whole
    assert is_refused(tp, content)
    assert is_refused(tp, {key: value for key, value in whole.items() if key != "type"})


@requirement("V1-PLAN-11", "V2-PLAN-03", "V2-PLAN-06")
@in_both_versions
def test_plans_are_kept_by_id(version: int) -> None:
    def named(id: str, *names: str) -> Any:
        return plan(2, *map(entry, names), id=id)

    client = TranscriptReader(version)
    known = client.receive(named("a", "1"), named("b", "2"), named("a", "3", "4")).plans
    assert {id: entries_of(each) for id, each in known.items()} == {"a": ["3", "4"], "b": ["2"]}
    known = client.receive(update("plan_removed", planId="zzz")).plans
    assert list(known) == ["a", "b"]
    known = client.receive(update("plan_removed", planId="a")).plans
    assert list(known) == ["b"]
    document = {"type": "markdown", "planId": "b", "content": "# Plan"}
    file = {"type": "file", "planId": "c", "uri": "file:///plan.md"}
    relative = {"type": "file", "planId": "d", "uri": "plan.md"}
    kinds = (document, file, relative)
    known = client.receive(*(update("plan_update", plan=each) for each in kinds)).plans
    assert [write(each) for each in known.values()] == [document, file, relative]


@requirement("V2-PLAN-02", "V2-ENUM-01", "V2-ENUM-02")
@pytest.mark.parametrize("word", ["_tree", "tree"])
def test_unknown_plans_priorities_and_statuses_are_kept(word: str) -> None:
    value = {"type": word, "planId": "p", "root": {"a": [None]}}
    known = transcript_after(2, update("plan_update", plan=value)).plans["p"]
    assert isinstance(known, Unknown)
    assert write(known) == value
    shown = transcript_after(2, plan(2, entry("a", word, word))).plans[MAIN_PLAN]
    assert write(shown)["entries"] == [entry("a", word, word)]


@requirement("V2-PLAN-05")
def test_a_plan_of_version_1_is_no_plan_in_version_2() -> None:
    assert transcript_after(2, plan(1, entry("a"))).plans == {}


@requirement("V2-DUAL-10")
@requirement("V1-PLAN-01", "V1-PLAN-02", "V1-PLAN-03", "V1-PLAN-08", "V1-PLAN-09", "V2-PLAN-01")
@requirement("V1-PLAN-05", "V1-PLAN-10", "V2-PLAN-02")
@pytest.mark.parametrize(("version", "offered"), [(1, {}), (1, {"plan": {}}), (2, {})])
async def test_a_plan_is_sent_whole_in_the_form_that_the_client_takes(
    version: int, offered: dict[str, Any]
) -> None:
    async with initialized(version, capabilities=offered) as client:
        turn = await client.turn(await client.new_session(), "plan")
        sent = turn.of("plan", "plan_update")
        kind = "plan" if version == 1 and not offered else "plan_update"
        assert [each["sessionUpdate"] for each in sent] == [kind, kind]
        bodies = [each if kind == "plan" else each["plan"] for each in sent]
        steps = [
            [(entry["content"], entry["status"]) for entry in body["entries"]] for body in bodies
        ]
        assert steps[0] == [("a", "pending"), ("b", "pending"), ("c", "pending")]
        assert steps[1] == [("a", "completed"), *steps[0][1:], ("d", "pending")]
        priorities = {entry["priority"] for body in bodies for entry in body["entries"]}
        assert priorities <= {"high", "medium", "low"}
        if kind == "plan_update":
            assert {(body["type"], body["planId"]) for body in bodies} == {("items", "main")}
