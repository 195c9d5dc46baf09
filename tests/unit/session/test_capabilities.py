"""Features of each side from and to the capabilities of both versions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.session._capabilities import AgentFeatures, ClientFeatures
from parley.session._v1_capabilities import (
    agent_from_v1,
    agent_to_v1,
    client_from_v1,
    client_to_v1,
)

SUGGESTIONS: dict[type[Any], dict[str, st.SearchStrategy[Any]]] = {
    ClientFeatures: {
        "nes": st.none()
        | st.just(v2.ClientNesCapabilities())
        | st.just(v2.ClientNesCapabilities(jump=v2.NesJumpCapabilities())),
        "nes_actions": st.just(()),
        "position_encodings": st.just(()) | st.just(("utf-8", "utf-16")),
    },
    AgentFeatures: {
        "nes": st.none()
        | st.just(v2.NesCapabilities())
        | st.just(v2.NesCapabilities(context=v2.NesContextCapabilities())),
        "position_encoding": st.none() | st.just("utf-32"),
    },
}


def flags(features: type[Any]) -> list[str]:
    return [name for name in features.__struct_fields__ if name != "meta"]


def some(features: type[Any]) -> st.SearchStrategy[Any]:
    values = {name: st.booleans() for name in flags(features)} | SUGGESTIONS[features]
    meta = st.none() | st.just({"k": 1})
    return st.fixed_dictionaries({**values, "meta": meta}).map(lambda all: features(**all))


@given(some(ClientFeatures))
def test_a_client_can_say_all_its_flags_in_version_1(features: ClientFeatures) -> None:
    capabilities = decode(v1.ClientCapabilities, encode(client_to_v1(features)))
    assert client_from_v1(capabilities) == features


@given(some(ClientFeatures))
def test_a_client_of_version_2_takes_all_updates_and_serves_no_files(
    features: ClientFeatures,
) -> None:
    capabilities = decode(v2.ClientCapabilities, encode(features.to_v2()))
    taken = ("compaction", "notices", "plans", "subagents", "boolean_options")
    gone = ("read_files", "write_files", "terminals")
    expected = structs.replace(features, **dict.fromkeys(taken, True), **dict.fromkeys(gone, False))
    assert ClientFeatures.from_v2(capabilities) == expected


def sensible(features: AgentFeatures) -> AgentFeatures:
    """Leave out what no agent can mean: another system prompt without any."""
    override = features.system_prompt and features.system_prompt_override
    return structs.replace(features, system_prompt_override=override)


@given(some(AgentFeatures).map(sensible))
def test_an_agent_can_say_its_flags_in_version_1_but_for_what_is_always_there(
    features: AgentFeatures,
) -> None:
    capabilities = decode(v1.AgentCapabilities, encode(agent_to_v1(features)))
    assert agent_from_v1(capabilities) == structs.replace(features, sessions=True, mcp_stdio=True)


@given(some(AgentFeatures).map(sensible))
def test_an_agent_of_version_2_has_all_of_sessions_or_nothing(features: AgentFeatures) -> None:
    capabilities = decode(v2.AgentCapabilities, encode(features.to_v2()))
    read = AgentFeatures.from_v2(capabilities, has_auth_methods=features.logout)
    always = ("load", "resume", "list", "close")
    if features.sessions:
        expected = structs.replace(features, mcp_sse=False, **dict.fromkeys(always, True))
    else:
        kept = ("logout", "auth_status", "providers", "nes", "position_encoding", "meta")
        never: dict[str, Any] = dict.fromkeys((*always, "delete"), False)
        lacking = AgentFeatures(**never)
        expected = structs.replace(lacking, **{name: getattr(features, name) for name in kept})
    assert read == expected


@pytest.mark.parametrize("features", [ClientFeatures, AgentFeatures])
def test_nothing_is_offered_by_default(features: type[Any]) -> None:
    assert not any(getattr(features(), name) for name in flags(features))
    assert encode(features().to_v2()) == b"{}"
    assert client_from_v1(v1.ClientCapabilities()) == ClientFeatures()


@pytest.mark.parametrize("actions", [["rename", "own"], {"rename": {}, "own": {}}])
def test_an_older_client_says_by_actions_which_suggestions_it_shows(actions: Any) -> None:
    capabilities = decode(v1.ClientCapabilities, encode({"nes": {"ideActions": actions}}))
    assert client_from_v1(capabilities).nes == v2.ClientNesCapabilities(
        jump=v2.NesJumpCapabilities(),
        rename=v2.NesRenameCapabilities(),
        ide_actions={"own": {}},
    )


def test_agents_of_the_older_text_find_renames_among_the_actions() -> None:
    shown = v2.ClientNesCapabilities(
        rename=v2.NesRenameCapabilities(), ide_actions={"own": {"type": "object"}}
    )
    written = client_to_v1(ClientFeatures(nes=shown))
    assert written.nes is not None
    assert written.nes.ide_actions == {"rename": {}, "own": {"type": "object"}}
    assert client_from_v1(written) == ClientFeatures(nes=shown)


def test_older_sides_name_their_position_encodings_elsewhere() -> None:
    older = decode(
        v1.InitializeRequest, b'{"protocolVersion":1,"general":{"positionEncodings":["utf-8"]}}'
    )
    capabilities = client_from_v1(older.client_capabilities, older.general)
    assert capabilities.position_encodings == ("utf-8",)
    within = decode(v1.ClientCapabilities, b'{"general":{"positionEncodings":["utf-32"]}}')
    assert client_from_v1(within).position_encodings == ("utf-32",)
    assert agent_from_v1(v1.AgentCapabilities(), "utf-8").position_encoding == "utf-8"
