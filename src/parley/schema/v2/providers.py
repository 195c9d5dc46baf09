"""Unstable: which model providers an agent uses, and pointing it to others.

Spec: https://agentclientprotocol.com/rfds/custom-llm-endpoint
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

ProviderId: TypeAlias = str
"""Names a provider of the agent's."""

LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str
"""How a provider is spoken to."""


class ProviderCurrentConfig(Object):
    """Where a provider's requests go; secrets are never told."""

    api_type: LlmProtocol
    base_url: str


class ProviderInfo(Object):
    """A provider that can be configured."""

    provider_id: ProviderId
    supported: Lenient[list[LlmProtocol]]
    """What it could be set to."""
    required: bool
    """Whether it cannot be disabled."""
    current: Strict[ProviderCurrentConfig | None] = None
    """None: it is disabled."""


class ListProvidersRequest(Object):
    """Ask for the providers."""


class ListProvidersResponse(Object):
    """The providers."""

    providers: list[ProviderInfo]


class SetProviderRequest(Object):
    """Point a provider somewhere else; replaces what was set before."""

    provider_id: ProviderId
    api_type: LlmProtocol
    base_url: str
    headers: Strict[dict[str, str]] = NO_ENTRIES
    """All headers to send, credentials among them."""


class SetProviderResponse(Object):
    """The provider is set."""


class DisableProviderRequest(Object):
    """Use a provider no longer."""

    provider_id: ProviderId


class DisableProviderResponse(Object):
    """The provider is disabled."""
