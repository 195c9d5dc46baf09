"""Providers: where the agent's model calls go. Unstable.

Needs `agentCapabilities.providers`. Spec: https://agentclientprotocol.com/rfds/custom-llm-endpoint
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from parley.schema.base import NO_ENTRIES, Lenient, Object, Strict

__all__ = [
    "DisableProviderRequest",
    "DisableProviderResponse",
    "ListProvidersRequest",
    "ListProvidersResponse",
    "LlmProtocol",
    "ProviderCurrentConfig",
    "ProviderId",
    "ProviderInfo",
    "SetProviderRequest",
    "SetProviderResponse",
]

LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str
"""The API that a model is called with."""

ProviderId: TypeAlias = str
"""Names a provider; the agent chooses it."""


class ProviderCurrentConfig(Object):
    """Where a provider's calls go now; headers are never told."""

    api_type: LlmProtocol
    base_url: str


class ProviderInfo(Object):
    """A provider that the agent knows."""

    provider_id: ProviderId
    supported: Lenient[list[LlmProtocol]]
    """The APIs that the agent can call it with."""
    required: bool
    """Whether it cannot be disabled."""
    current: Strict[ProviderCurrentConfig | None] = None
    """None when it is disabled."""


class ListProvidersRequest(Object):
    """Which providers are there?"""


class ListProvidersResponse(Object):
    """The providers that are there."""

    providers: list[ProviderInfo]


class SetProviderRequest(Object):
    """Send a provider's calls elsewhere; everything that was set before is replaced."""

    provider_id: ProviderId
    api_type: LlmProtocol
    base_url: str
    headers: Strict[dict[str, str]] = NO_ENTRIES
    """All headers to send; may hold secrets."""


class SetProviderResponse(Object):
    """The calls go elsewhere."""


class DisableProviderRequest(Object):
    """Do not use this provider."""

    provider_id: ProviderId


class DisableProviderResponse(Object):
    """The provider is not used."""
