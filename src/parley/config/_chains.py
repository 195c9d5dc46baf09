"""Chains of proxies with an agent at their end, which are agents to everybody who uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ._check import Wrong, check_entry, checked
from ._entries import AgentEntry, ChainEntry

_TOKEN = "PARLEY_TOKEN"
"""The variable with the token for an agent that is named by its address."""
_TRANSLATES = "v1-v2"
"""The built-in proxy that translates between the versions."""


class _Chain(Struct):
    proxies: list[str] = []
    agent: str | None = None
    inherit: list[str] = []
    description: str = ""


def read_chain(name: str, table: Any) -> ChainEntry:
    """Read `[chains.NAME]`.

    Raises:
        Wrong: Something in it is wrong.
    """
    place = f"chains.{name}"
    check_entry(name, table, place)
    raw = checked(table, _Chain, place)
    if not raw.agent:
        raise Wrong(f"{place}.agent is missing")
    if not all(each.strip() for each in raw.proxies):
        raise Wrong(f"{place}.proxies: one of them is empty")
    return ChainEntry(
        name=name,
        proxies=raw.proxies,
        agent=raw.agent,
        inherit=raw.inherit,
        description=raw.description,
    )


def with_chains(
    agents: Mapping[str, AgentEntry], chains: Mapping[str, ChainEntry]
) -> dict[str, AgentEntry]:
    """Return the agents and, as such, the chains.

    Raises:
        Wrong: A chain has the name of an agent, or ends with itself.
    """
    for name in chains:
        if name in agents:
            raise Wrong(f"chains.{name}: an agent is called {name} already")
    return {
        **agents,
        **{name: _agent(chain, agents, chains) for name, chain in chains.items()},
    }


def _agent(
    chain: ChainEntry, agents: Mapping[str, AgentEntry], chains: Mapping[str, ChainEntry]
) -> AgentEntry:
    """Return a chain as an agent, with what it and its components need."""
    whole, variables, passed = chain, [_TOKEN], list[str]()
    translates = False
    while True:
        if chain.name in passed:
            raise Wrong(f"chains.{passed[0]}: the chain contains itself through {passed[-1]}")
        passed.append(chain.name)
        variables += chain.inherit
        translates |= any(each.split()[:1] == [_TRANSLATES] for each in chain.proxies)
        if chain.agent not in chains:
            break
        chain = chains[chain.agent]
    protocol = None
    if chain.agent in agents:
        variables += agents[chain.agent].variables
        protocol = None if translates else agents[chain.agent].protocol
    return whole.as_agent(dict.fromkeys(variables), protocol)
