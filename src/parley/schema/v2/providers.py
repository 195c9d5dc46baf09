"""Unstable: the `providers/*` methods, which configure where the agent's model calls go.

The capability is in `capabilities.py`.

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
    "SetProviderRequest",
    "SetProviderResponse",
]

ProviderId: TypeAlias = str
"""The id of a provider, chosen by the agent."""

LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str
"""The API of a provider."""


class ProviderCurrentConfig(Object):
    """The current configuration of a provider, without secrets."""

    api_type: LlmProtocol
    base_url: str


class ProviderInfo(Object):
    """A provider that can be configured."""

    provider_id: Annotated[ProviderId, Formerly("id")]
    supported: Lenient[list[LlmProtocol]]
    """The APIs that the agent supports for it."""
    required: bool
    """Whether it cannot be disabled."""
    current: Strict[ProviderCurrentConfig | None] = None
    """None if it is disabled."""


class ListProvidersRequest(Object):
    """Ask for the providers."""


class ListProvidersResponse(Object):
    """The providers."""

    providers: list[ProviderInfo]


class SetProviderRequest(Object):
    """Configure a provider; this replaces its previous configuration."""

    provider_id: Annotated[ProviderId, Formerly("id")]
    api_type: LlmProtocol
    base_url: str
    headers: Strict[dict[str, str]] = EMPTY_DICT
    """All headers to send, credentials among them."""


class SetProviderResponse(Object):
    """The provider is configured."""


class DisableProviderRequest(Object):
    """Disable a provider."""

    provider_id: Annotated[ProviderId, Formerly("id")]


class DisableProviderResponse(Object):
    """The provider is disabled."""
