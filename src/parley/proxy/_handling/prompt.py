"""A prompt of a proxy's own: what the agent says to it stays here, until the turn has ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from msgspec import Raw

from parley.errors import AcpError, request_error
from parley.proxy._switch.messages import RawNotification
from parley.schema import v2
from parley.session._transcript import Transcript

if TYPE_CHECKING:
    from .connection import ProxyConnection


class ProxyPrompt:
    """One prompt of the proxy's own, and the agent's text."""

    def __init__(self, connection: ProxyConnection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id
        self._transcript = Transcript()
        self._ended = asyncio.get_running_loop().create_future()

    def take(self, note: RawNotification, params: Raw) -> None:
        """Take an update of the session."""
        try:
            updates = self._connection.dialect.updates(self._session_id, params)
        except AcpError:
            return
        for update in updates:
            self._transcript.fold(update)
            if self._connection.dialect.ends_turn(update) and not self._ended.done():
                self._ended.set_result(update)

    async def run(self, prompt: list[v2.ContentBlock]) -> str:
        """Ask, wait for the end of the turn, and return what the agent has said.

        Raises:
            RequestError: The prompt was refused, or the turn has failed.
        """
        params = v2.PromptRequest(session_id=self._session_id, prompt=prompt)
        answer = await self._connection.agent.request("session/prompt", params)
        if isinstance(answer, v2.PromptResponse):
            end = await self._connection.agent.wait(self._ended)
            if end.error is not None:
                raise request_error(end.error.code, end.error.message)
        return self._transcript.text
