"""The engine that asks a model: any server that speaks OpenAI's way, local or hosted.

A question becomes a window around the cursor and what belongs to it, a prompt format makes words of
it, and of the answer only the smallest edits are left, if there are any that are wanted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from parley.errors import ConfigError
from parley.nes.engine import Workspace
from parley.transport.http._extra import require_http_extra

from ._api import api_at
from ._formats import PromptFormat, format_named
from ._predictor import ModelPredictor, Reach
from ._source import Server, Source

_TIMEOUT = 1.5
_RETRY_AFTER = 10.0
_LINES = 21
_TOKENS = 350
_CONTEXT = frozenset({"recentFiles", "relatedSnippets", "editHistory", "openFiles", "diagnostics"})


class ModelOptions(TypedDict, total=False):
    """The options of a model engine."""

    timeout: float
    """The seconds that an answer may take."""
    retry_after: float
    """For how many seconds it is not asked again after it took longer, or failed."""
    window_lines: int
    """The lines that it may rewrite."""
    window_tokens: int
    """The tokens that these may have."""
    headers: Mapping[str, str]
    """Further headers of each request."""
    ca_file: str | Path | None
    """Certificates to trust instead of the system's."""
    allows_plain_token: bool
    """Whether the key may go to another machine without TLS."""
    extra: Mapping[str, Any]
    """More members for the body of each request; None removes one."""
    clock: Callable[[], float]
    """Returns seconds, as `time.monotonic` does."""


class ModelEngine:
    """Predicts with a model."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        format: str | PromptFormat = "infer",
        api_key: str | None = None,
        **options: Unpack[ModelOptions],
    ) -> None:
        """Prepare an engine; nothing is sent yet.

        Args:
            url: Where the server is; `/v1/completions` or what else is usual is added if needed.
            model: Its name there.
            format: How the model is asked: a name, `infer` by the model's name, or your own.
            api_key: Goes with each request as `Authorization: Bearer`.
            **options: How it is asked.

        Raises:
            ConfigError: The format is unknown or is not for this address, the address is none, or
                there are no certificates.
            ConnectFailed: Something is wrong with the host, the certificates or the key.
        """
        self.format = format_named(format, model) if isinstance(format, str) else format
        self.model = model
        self._clock = options.get("clock", time.monotonic)
        self._source = Source(
            _server(url, model, self.format, api_key, options),
            timeout=options.get("timeout", _TIMEOUT),
            retry_after=options.get("retry_after", _RETRY_AFTER),
            clock=self._clock,
        )
        self._reach = Reach(
            options.get("window_lines", _LINES), options.get("window_tokens", _TOKENS)
        )
        self._sessions = 0

    @property
    def context(self) -> frozenset[str]:
        """The context that it wants with each question."""
        return _CONTEXT

    def options(self) -> Sequence[Any]:
        """Return its config options: it has none."""
        return ()

    def begin(self, workspace: Workspace) -> ModelPredictor:
        """Start a session."""
        self._sessions += 1
        return ModelPredictor(
            self._source,
            self.format,
            workspace,
            reach=self._reach,
            clock=self._clock,
            on_close=self._ended,
        )

    def _ended(self) -> None:
        """Close the connections with the last session."""
        self._sessions -= 1
        if not self._sessions:
            self._source.server.close()


def _server(
    url: str, model: str, format: PromptFormat, api_key: str | None, options: ModelOptions
) -> Server:
    where, api = api_at(url, is_chat=format.is_chat, ending=getattr(format, "path", ""))
    ca_file = options.get("ca_file")
    if ca_file is not None and not Path(ca_file).is_file():
        raise ConfigError(f"there is no file {ca_file} with certificates")
    with require_http_extra("a model"):
        from parley.transport.http._client.address import RemoteOptions

        from ._endpoint import Endpoint
    remote = RemoteOptions(
        token=api_key,
        headers=options.get("headers", {}),
        ca_file=ca_file,
        allows_plain_token=options.get("allows_plain_token", False),
    )
    return Endpoint(where, api, model, options=remote, extra=options.get("extra", {}))
