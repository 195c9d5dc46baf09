"""Unstable: the `providers/*` methods, which configure where the agent's model calls go.

Spec: https://agentclientprotocol.com/rfds/custom-llm-endpoint
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from parley.schema.base import EMPTY_DICT, Formerly, Lenient, Object, Strict

__all__ = [
    "DisableProviderRequest",
    "DisableProviderResponse",
    "ListProvidersRequest",
    "ListProvidersResponse",
    "LlmProtocol",
    "ProviderCurrentConfig",
    "ProviderId",
    "ProviderInfo",
    "ProvidersCapabilities",
    "SetProviderRequest",
    "SetProviderResponse",
]

ProviderId: TypeAlias = str
"""Unstable: the id of a provider, chosen by the agent."""

LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str
"""Unstable: the API of a provider."""


class ProvidersCapabilities(Object):
    """Unstable: the client can configure the agent's model providers."""


class ProviderCurrentConfig(Object):
    """Unstable: the current configuration of a provider, without secrets."""

    api_type: LlmProtocol
    base_url: str


class ProviderInfo(Object):
    """Unstable: a provider that can be configured."""

    provider_id: Annotated[ProviderId, Formerly("id")]
    supported: Lenient[list[LlmProtocol]]
    """The APIs that the agent supports for it."""
    required: bool
    """Whether it cannot be disabled."""
    current: Strict[ProviderCurrentConfig | None] = None
    """None if it is disabled."""


class ListProvidersRequest(Object):
    """Unstable: ask for the providers."""


class ListProvidersResponse(Object):
    """Unstable: the providers."""

    providers: list[ProviderInfo]


class SetProviderRequest(Object):
    """Unstable: configure a provider; this replaces its previous configuration."""

    provider_id: Annotated[ProviderId, Formerly("id")]
    api_type: LlmProtocol
    base_url: str
    headers: Strict[dict[str, str]] = EMPTY_DICT
    """All headers to send, credentials among them."""


class SetProviderResponse(Object):
    """Unstable: the provider is configured."""


class DisableProviderRequest(Object):
    """Unstable: disable a provider."""

    provider_id: Annotated[ProviderId, Formerly("id")]


class DisableProviderResponse(Object):
    """Unstable: the provider is disabled."""
