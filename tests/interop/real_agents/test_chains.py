"""Three built-in proxies before agents that others wrote: a tool, its permission, and a cancel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.interop.chain import either_way, proxies
from tests.interop.host import Host
from tests.peers import Peer

import parley
from parley.journal import SqliteJournal
from parley.proxy import Conductor
from parley.proxy._chain.component import ComponentSpec

from .headless import every_agent
from .launch import Kind
from .model import ANSWER, Model
from .turn import BOUND_SECONDS

RUN = "Please RUN echo hi;"


async def _talk(conductor: Conductor, kind: Kind, work: Path, model: Model) -> dict[str, Any]:
    """Have a turn with a tool, cancel one, have a last one; return what happened."""
    host = Host()
    async with (
        asyncio.timeout(BOUND_SECONDS),
        parley.connect(conductor, work, versions=(kind.protocol,), **host.offers()) as connection,
    ):
        session = await connection.new_session()
        said = (await session.prompt(RUN)).text
        statuses = [str(each.status) for each in session.transcript.tool_calls.values()]
        held = asyncio.ensure_future(session.prompt("Please HOLD"))
        await asyncio.to_thread(model.is_holding.wait, BOUND_SECONDS)
        await session.cancel()
        cancelled = (await held).stop_reason
        model.go_on.set()
        after = (await session.prompt("And now?")).stop_reason
        ends = [cancelled, after]
        return {"said": said, "statuses": statuses, "ends": ends, "asked": host.asked}


@either_way
@every_agent
@pytest.mark.requirement("TR-PRX-09", "TR-PRX-21", "TR-PRX-22")
def test_a_tool_a_permission_and_a_cancel_pass_three_proxies(
    find_peer: Callable[[Peer], Path], tmp_path: Path, model: Model, kind: Kind, way: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    launch = kind.launch(find_peer(kind.peer), tmp_path / "home", model.url)
    agent = ComponentSpec(
        target=launch.command, name=kind.name, options={"env": launch.env, "cwd": work}
    )
    talk = _talk(Conductor(*proxies(way, tmp_path), agent=agent), kind, work, model)
    seen = asyncio.run(talk)
    assert seen["asked"][0] == "permission"
    assert seen["statuses"][-1] == "completed"
    assert seen["said"].strip().endswith(ANSWER)
    assert seen["ends"] == ["cancelled", "end_turn"]
    (record,) = SqliteJournal(tmp_path / "journal.db").list()
    assert (record.state, record.protocol) == ("idle", kind.protocol)
