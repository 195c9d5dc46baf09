from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.nes_agent import RawNesClient, range_at
from tests.unit.proxy.proxied_pair import PARAMS, RESULTS, JsonPeer, request, result

import parley
from parley.agent import Agent, Turn
from parley.client import Session, Workspace
from parley.errors import InternalError, RequestError, Unsupported, UnsupportedProtocolVersion
from parley.nes import (
    ActionProposal,
    EditProposal,
    NesClient,
    Proposal,
    Question,
    Span,
    Spot,
    Suggestions,
    TextEdit,
)
from parley.nes.client import Timing
from parley.nes.serving import ServedSession
from parley.proxy import Conductor, Proxy, builtin
from parley.schema import v2
from parley.testing import Recorder
from parley.testing.demo import demo_agent
from parley.transport import memory_pair

from .command_chain import allow, chain, say_yes

BOTH = pytest.mark.parametrize(("client", "agent"), [(1, 2), (2, 1), (1, 1), (2, 2)])
OTHER = pytest.mark.parametrize(("client", "agent"), [(1, 2), (2, 1)])


def translated(client: int, agent: int, target: Any = None, **options: Any) -> Any:
    """Connect a client of one version with an agent of another."""
    only = builtin.versions(agent=(agent,))
    return chain(only, agent=target or demo_agent(), version=client, **options)


@BOTH
async def test_a_conversation_passes_between_versions(client: int, agent: int) -> None:
    async with translated(client, agent) as connection:
        assert connection.version == client
        assert connection.info.name == "parley-demo"
        session = await connection.new_session()
        assert await session.ask("hello") == "echo: hello"
        assert await session.ask("tool") == "tool:done"
        [call] = session.transcript.tool_calls.values()
        assert call.status == "completed"
        assert call.raw_output == {"count": 3}
        assert await session.ask("plan") == "plan:done"
        [plan] = session.transcript.plans.values()
        assert isinstance(plan, v2.PlanItems)
        assert [each.status for each in plan.entries] == ["completed"] * 3
        assert await session.ask("commands")
        assert "flood" in [each.name for each in session.transcript.commands]


@BOTH
async def test_the_agent_is_spoken_to_in_its_version(client: int, agent: int) -> None:
    spoken: list[int] = []
    witness = Proxy("witness")

    @witness.from_client("session/new")
    def see(request: parley.proxy.Request) -> None:
        spoken.append(request.version)

    only = builtin.versions(agent=(agent,))
    async with chain(only, witness, agent=demo_agent(), version=client) as connection:
        await connection.new_session()
    assert spoken == [agent]


@BOTH
async def test_questions_of_the_agent_reach_the_user(client: int, agent: int) -> None:
    def fill(request: Any, session: Any) -> dict[str, Any]:
        return {"name": "Ada"}

    options: dict[str, Any] = {"permission": say_yes, "elicit": fill}
    async with translated(client, agent, **options) as connection:
        session = await connection.new_session()
        assert '"yes"' in await session.ask("perm")
        assert '"Ada"' in await session.ask("elicit")


@BOTH
async def test_a_cancel_and_an_error_end_a_turn(client: int, agent: int) -> None:
    async with translated(client, agent) as connection:
        session = await connection.new_session()
        turn = session.prompt("slow")
        async for update in turn:
            if isinstance(update, v2.AgentMessageChunk):
                await session.cancel()
        assert (await turn).stop_reason == "cancelled"
        with pytest.raises(RequestError, match="Boom") as refused:
            await session.ask("boom")
        assert (refused.value.code, refused.value.data) == (-32050, {"detail": 42})
        assert await session.ask("hi") == "echo: hi"


@BOTH
async def test_sessions_are_listed_resumed_forked_and_closed(client: int, agent: int) -> None:
    async with translated(client, agent) as connection:
        session = await connection.new_session()
        await session.ask("one")
        copy = await connection.fork_session(session.id)
        assert copy.id != session.id
        assert await copy.ask("two") == "echo: two"
        await session.close()
        again = await connection.resume_session(session.id, replay=True)
        assert [each.text for each in again.transcript.messages] == ["one", "echo: one"]
        assert await again.ask("three") == "echo: three"
        listed = [each.session_id async for each in connection.list_sessions()]
        assert {session.id, copy.id} <= set(listed)


@BOTH
async def test_options_are_set_in_both_words(client: int, agent: int) -> None:
    maker = Agent("maker")

    @maker.open_session
    async def begin(session: Any) -> None:
        values = [v2.SessionConfigSelectOption(value=name, name=name) for name in ("ask", "code")]
        mode = v2.SessionConfigSelect(
            config_id="mode", name="Mode", category="mode", current_value="ask", options=values
        )
        await session.set_config_options([mode])

    @maker.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(str(turn.session.option("mode")))

    async with translated(client, agent, maker) as connection:
        session = await connection.new_session()
        assert await session.ask("?") == "ask"
        await session.set_config_option("mode", "code")
        assert await session.ask("?") == "code"


@BOTH
async def test_extensions_pass_as_they_are(client: int, agent: int) -> None:
    maker = Agent("maker")
    told: asyncio.Queue[Any] = asyncio.Queue()

    @maker.request("_x/add")
    async def add(params: dict[str, int], connection: object) -> dict[str, int]:
        return {"sum": params["a"] + params["b"]}

    @maker.notification("_x/tell")
    async def tell(params: dict[str, int], connection: object) -> None:
        told.put_nowait(params)

    @maker.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(str(await turn.session.connection.request("_demo/value", {"q": 1})))

    async def value(params: Any) -> dict[str, Any]:
        return {"got": params["q"]}

    options: dict[str, Any] = {"extensions": {"_demo/value": value}}
    async with translated(client, agent, maker, **options) as connection:
        assert await connection.request("_x/add", {"a": 2, "b": 3}) == {"sum": 5}
        await connection.notify("_x/tell", {"n": 1})
        assert await told.get() == {"n": 1}
        with pytest.raises(RequestError, match="Method not found"):
            await connection.request("_x/none", {})
        session = await connection.new_session()
        assert await session.ask("go") == "{'got': 1}"


@BOTH
async def test_tools_of_the_client_are_called_over_the_connection(client: int, agent: int) -> None:
    pytest.importorskip("mcp")
    maker = Agent("maker", mcp=True)

    @maker.prompt
    async def reply(turn: Turn) -> None:
        result = await turn.session.mcp.call_tool("double", {"number": 21})
        [said] = result.content
        await turn.say(getattr(said, "text", ""))

    def double(number: int) -> int:
        """Take a number twice."""
        return 2 * number

    async with translated(client, agent, maker) as connection:
        session = await connection.new_session(tools=[double])
        assert await session.ask("go") == "42"


async def test_a_client_of_version_1_keeps_its_files_for_an_agent_of_version_1(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("hello")
    options: dict[str, Any] = {"workspace": Workspace(), "permission": allow}
    async with translated(1, 1, cwd=tmp_path, **options) as connection:
        session = await connection.new_session()
        assert await session.ask(f"fs {tmp_path}/a.txt") == "read:hello"
        assert await session.ask("term") == "term:0:hi\n"


@OTHER
async def test_files_of_the_client_are_not_offered_across_versions(
    tmp_path: Path, client: int, agent: int
) -> None:
    async with translated(client, agent, cwd=tmp_path, workspace=Workspace()) as connection:
        session = await connection.new_session()
        assert (await session.ask(f"fs {tmp_path}/a.txt")).startswith("fs: ")


@OTHER
async def test_many_updates_keep_their_order(client: int, agent: int) -> None:
    async with translated(client, agent) as connection:
        session = await connection.new_session()
        said = await session.ask("flood 2000")
    assert said == "".join(f"chunk {number}" for number in range(2000))


async def test_an_agent_that_speaks_no_version_that_is_wanted_is_refused() -> None:
    (client, above), (agent, below) = memory_pair(), memory_pair()
    joined = asyncio.create_task(builtin.versions(agent=(1,)).join(above, below))
    here, there = JsonPeer(client), JsonPeer(agent)
    here.say(request(1, "initialize", PARAMS[1]))
    asked = await there.hear()
    there.say(result(asked["id"], RESULTS[2]))
    refused = (await here.hear())["error"]
    assert refused["code"] == UnsupportedProtocolVersion.code
    assert "supports protocol version 2; we support 1" in refused["message"]
    await client.aclose()
    await joined


async def test_an_agent_that_dies_ends_the_connection() -> None:
    class Dies:
        async def serve(self, transport: Any, /) -> None:
            await transport.aclose()

    with pytest.raises(InternalError, match="gone"):
        async with parley.connect(Conductor(builtin.versions(), agent=Dies())):
            pass


@OTHER
async def test_it_may_be_reached_over_a_pipe_as_a_process_is(client: int, agent: int) -> None:
    class Piped:
        async def serve(self, transport: Any, /) -> None:
            await builtin.versions(agent=(agent,)).serve(transport)

    conductor = Conductor(Piped(), agent=demo_agent())
    async with parley.connect(conductor, versions=(client,), permission=say_yes) as talk:
        session = await talk.new_session()
        assert '"yes"' in await session.ask("perm")
        assert (await session.ask("flood 100")).endswith("chunk 99")


@BOTH
async def test_it_is_a_component_of_a_chain_of_its_own(client: int, agent: int) -> None:
    recorder = Recorder()

    class Served:
        async def serve(self, transport: Any, /) -> None:
            await builtin.versions(agent=(agent,)).serve(transport, agent=demo_agent())

    async with parley.connect(Served(), versions=(client,), observer=recorder) as connection:
        assert await (await connection.new_session()).ask("hi") == "echo: hi"
    assert not [name for name in recorder.methods() if "proxy" in name]


async def test_an_extension_that_takes_long_holds_nothing_up() -> None:
    (client, above), (agent, below) = memory_pair(), memory_pair()
    joined = asyncio.create_task(builtin.versions().join(above, below))
    here, there = JsonPeer(client), JsonPeer(agent)
    here.say(request(1, "initialize", PARAMS[1]))
    there.say(result((await there.hear())["id"], RESULTS[1]))
    await here.hear()
    there.say(request(5, "_slow", {}), request(6, "_quick", {}))
    slow, quick = await here.hear(), await here.hear()
    assert (slow["method"], quick["method"]) == ("_slow", "_quick")
    here.say(result(quick["id"], {}), result(slow["id"], {}))
    assert [(await there.hear())["id"] for _ in range(2)] == [6, 5]
    await client.aclose()
    await joined


def test_there_are_two_versions() -> None:
    with pytest.raises(ValueError, match="the versions are 1 and 2"):
        builtin.versions(client=(3,))


def suggesting_agent(**wanted: Any) -> tuple[Agent, list[Any]]:
    """An agent that suggests edits and nothing else, and keeps what it hears."""
    agent, heard = Agent("suggests"), list[Any]()
    quiet = v2.SessionConfigBoolean(config_id="quiet", name="Quiet", current_value=False)
    nes = Suggestions(agent, options=[quiet], **wanted)

    @nes.suggest
    async def guess(session: ServedSession, question: Question) -> list[Proposal]:
        heard.append(("asked", question.document.text, session.option("quiet")))
        lines = enumerate(question.document.lines)
        places = [(number, line.find("bbb")) for number, line in lines]
        number, at = next(each for each in places if each[1] >= 0)
        edit = TextEdit(Span(Spot(number, at), Spot(number, at + 3)), "ccc")
        return [EditProposal(uri=question.document.uri, edits=(edit,)), ORGANIZE]

    @nes.accepted
    async def took(session: ServedSession, proposal: Proposal) -> None:
        heard.append(("accepted", proposal))

    @nes.closed
    async def end(session: ServedSession) -> None:
        heard.append("closed")

    return agent, heard


ORGANIZE = ActionProposal(action_id="organizeImports")


@pytest.mark.parametrize("events", [None, ()], ids=["events", "context"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@BOTH
async def test_next_edits_pass_between_versions(
    client: int, agent: int, encoding: str, events: Any
) -> None:
    target, heard = suggesting_agent(**({} if events is None else {"events": events}))
    conductor = Conductor(builtin.versions(agent=(agent,)), agent=target)
    options: Any = {"position_encodings": (encoding,), "timing": Timing(debounce_after=1000)}
    options |= {"versions": (client,), "actions": ["organizeImports"]}
    uri = "file:///project/a.py"
    async with NesClient.connect(conductor, "/", **options) as nes:
        assert nes.session.encoding == encoding
        await nes.session.set_config_option("quiet", True)
        document = await nes.open(uri, "python", "aaa bbb\n")
        await nes.change(uri, TextEdit(Span(Spot(0, 0), Spot(0, 0)), "😀é "))
        assert await nes.ask() is not None
        assert await nes.accept() is not None
        assert document.text == "😀é aaa ccc\n"
    assert heard[0] == ("asked", "😀é aaa bbb\n", True)
    assert [each[0] for each in heard if "accepted" in each] == ["accepted"]
    assert heard[-1] == "closed"


@OTHER
async def test_a_change_that_cannot_be_read_is_noticed_behind_the_translation(
    client: int, agent: int
) -> None:
    target, heard = suggesting_agent()
    conductor = Conductor(builtin.versions(agent=(agent,)), agent=target)
    near, far = memory_pair()
    serving = asyncio.create_task(conductor.serve(far))
    raw = RawNesClient(near)
    await raw.initialize(client)
    await raw.begin()
    raw.open("bbb")
    assert len(await raw.suggest()) == 1
    raw.change(2, {"text": 7})
    raw.change(3, {"range": range_at(0, 0, 0), "text": "x"})
    assert await raw.suggest(3) == []
    raw.change(4, {"text": "xbbb"})
    assert len(await raw.suggest(4)) == 1
    await near.aclose()
    await serving
    assert [each[1] for each in heard if each[0] == "asked"] == ["bbb", "xbbb"]


class Editor:
    def open_documents(self, session: Session) -> list[v2.WorkspaceDocument]:
        return [v2.WorkspaceDocument(uri=f"file://{session.cwd}/a", language_id="x")]

    def recent_documents(self, limit: int | None, session: Session) -> list[v2.WorkspaceDocument]:
        return [v2.WorkspaceDocument(uri=f"file:///{limit}", language_id="x")]

    def active_document(self, session: Session) -> None:
        return None


@pytest.mark.parametrize("editor", [None, Editor()], ids=["none", "editor"])
@BOTH
async def test_the_editor_is_asked_between_versions(client: int, agent: int, editor: Any) -> None:
    target = Agent("asks")

    @target.prompt
    async def reply(turn: Turn) -> None:
        asked = turn.session.editor
        try:
            (opened,), (recent,) = await asked.open_documents(), await asked.recent_documents(7)
            assert await asked.active_document() is None
            await turn.say(f"{opened.uri} {recent.uri}")
        except Unsupported:
            await turn.say("not offered")

    async with translated(client, agent, target, editor=editor) as connection:
        session = await connection.new_session("/project")
        expected = "not offered" if editor is None else "file:///project/a file:///7"
        assert await session.ask("what is open?") == expected
