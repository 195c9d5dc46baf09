"""The state of a live session between two other programs, for clients that attach to it.

`SessionFollower` reads the frames between the client that owns a session and its agent, as
`frame_replay.py` reads a recording, and so knows the conversation as version 2 types. The messages
of attached clients are converted to the version that the agent speaks. Nothing is sent here: the
methods return frames, or a method name and its params.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from parley.errors import InvalidRequest, RequestError
from parley.rpc._codec import encode_notification
from parley.rpc._message import Id
from parley.schema import v1, v2
from parley.schema._codec import decode, encode
from parley.schema.base import Method
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

from ._adapter import ProtocolAdapter
from ._content_blocks import downgrade_prompt
from ._transcript import Transcript
from ._v1_method_translations import TRANSLATIONS, V1_TRANSLATIONS, translation_of
from .frame_replay import FrameReplay

QUESTIONS = frozenset({methods2.REQUEST_PERMISSION.name, methods2.CREATE_ELICITATION.name})
"""Requests of an agent to the user, which any attached client can answer."""


class _LiveFrame(Struct, frozen=True):
    """A `RecordedFrame` of the live connection; the time is not used."""

    kind: str
    data: bytes
    at: float = 0.0


class _Mode(Struct):
    mode_id: str = msgspec.field(name="modeId")


class _Options(Struct):
    options: Raw = msgspec.field(name="configOptions", default=Raw(b"[]"))


class SessionFollower:
    """One live session: its transcript, and conversions to and from its agent's version."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._replay = FrameReplay(session_id)

    @property
    def transcript(self) -> Transcript:
        """The conversation so far."""
        return self._replay.transcript

    @property
    def prompt_response_ends_turn(self) -> bool:
        """Whether the response to a prompt ends its turn, as in version 1."""
        return self._replay.upgrader is not None

    def feed(self, *, from_agent: bool, frame: bytes) -> list[v2.SessionUpdate]:
        """Process a frame; return its updates, which are in the transcript already."""
        return self._replay.feed(_LiveFrame("to_client" if from_agent else "to_agent", frame))

    def history(self, *, replays: bool) -> list[v2.SessionUpdate]:
        """Return the updates that bring a newly attached client up to date.

        Without `replays` that is only the state.
        """
        transcript = self.transcript
        # The last update of a replay is the state, which is replaced by the live one.
        history = list(transcript.replay())[:-1] if replays else []
        is_busy = transcript.state in ("running", "requires_action")
        state: Any = transcript.state if is_busy else "idle"
        return [*history, v2.StateUpdated(state=state, background=transcript.background)]

    def inherit(self, source: SessionFollower) -> None:
        """Start with the conversation of another session, from which this one was forked."""
        for update in source.transcript.replay():
            self.transcript.fold(update)
        self.transcript.cancel_unfinished()

    def forget_history(self) -> None:
        """Drop the conversation, and keep the options, commands, plans, title and state."""
        settings = self._settings()
        transcript = self._replay.transcript = Transcript()
        for update in settings:
            transcript.fold(update)

    def _settings(self) -> list[v2.SessionUpdate]:
        transcript = self.transcript
        return [
            v2.ConfigOptionUpdate(config_options=transcript.config_options),
            v2.AvailableCommandsUpdate(available_commands=transcript.commands),
            *(v2.PlanUpdate(plan=plan) for plan in transcript.plans.values()),
            v2.SessionInfoUpdate(title=transcript.title),
            *self.history(replays=False),
        ]

    # Requests from attached clients

    def prompt(self, params: v2.PromptRequest) -> tuple[str, bytes]:
        """Return the method and params that send a prompt in the agent's version.

        Raises:
            Unsupported: Version 1 does not have one of its blocks.
        """
        return self._request(methods2.PROMPT, params)

    def _request(self, method: Method[Any, Any], params: Any) -> tuple[str, bytes]:
        """Return the name and the params of a request in the agent's version."""
        upgrader = self._replay.upgrader
        if upgrader is None:
            return method.name, encode(params)
        row = translation_of("request", method.name, params, upgrader)
        return row.v1.name, encode(row.downgrade(params, upgrader))

    def message_of(self, prompt: Id) -> str | None:
        """Return the id of the user message for a pending version 1 prompt."""
        return self._replay.message_of(prompt)

    def prompt_echo(self, params: v2.PromptRequest) -> list[bytes]:
        """Return the frames that show an attached client's prompt to the owner.

        Return an empty list in version 2, where the agent reports every message.
        """
        if not self.prompt_response_ends_turn:
            return []
        return [
            self._update(encode(v1.UserMessageChunk(content=block)))
            for block in downgrade_prompt(params.prompt)
        ]

    def set_option(self, params: v2.SetSessionConfigOptionRequest) -> tuple[str, bytes]:
        """Return the method and params that set an option in the agent's version.

        Raises:
            Unsupported: Version 1 has no value of this type.
            InvalidParams: The value for a mode is a boolean.
        """
        return self._request(methods2.SET_SESSION_CONFIG_OPTION, params)

    def option_echo(self, method: str, params: bytes, result: bytes) -> bytes:
        """Return the frame that reports to the owner that an attached client set an option."""
        if method == methods1.SET_SESSION_MODE.name:
            mode = msgspec.json.decode(params, type=_Mode).mode_id
            return self._update(encode(v1.CurrentModeUpdate(current_mode_id=mode)))
        options = bytes(msgspec.json.decode(result, type=_Options).options)
        return self._update(
            b'{"sessionUpdate":"config_option_update","configOptions":%b}' % options
        )

    def v2_request(self, method: Method[Any, Any], params: Any) -> tuple[str, bytes]:
        """Return the method and params of a request that only version 2 has.

        Raises:
            InvalidRequest: The agent speaks version 1.
        """
        if self.prompt_response_ends_turn:
            raise InvalidRequest(f"The agent of this session does not support {method.name}")
        return method.name, encode(params)

    def _update(self, update: bytes) -> bytes:
        body = b'{"sessionId":%b,"update":%b}' % (encode(self._session_id), update)
        return encode_notification(methods2.UPDATE_SESSION.name, body)

    def failure_echo(self, error: RequestError) -> bytes | None:
        """Return the frame that reports a failed turn to the owner.

        Return None in version 1, where the response to the prompt is the error.
        """
        if self.prompt_response_ends_turn:
            return None
        return self._update(encode(failed_turn(error)))

    # Requests from the agent

    def question(self, method: str, params: Raw) -> tuple[Method[Any, Any], Any]:
        """Return an agent's request to the user, one of `QUESTIONS`, as version 2 types.

        Raises:
            MalformedValue: The params are malformed.
        """
        upgrader = self._replay.upgrader
        method2 = methods2.TABLE.requests("client")[method]
        if upgrader is None:
            return method2, decode(method2.params, params)
        row = V1_TRANSLATIONS["request", method]
        return method2, row.upgrade(decode(row.v1.params, params), upgrader)

    def encode_response(self, method: Method[Any, Any], result: Any) -> bytes:
        """Return the result of an agent's request, encoded in the agent's version."""
        upgrader = self._replay.upgrader
        if upgrader is None:
            return encode(result)
        (row,) = TRANSLATIONS["request", method.name]
        return encode(row.downgrade_result(result, upgrader))


def failed_turn(error: RequestError) -> v2.StateUpdated:
    """Return the update for the end of a failed turn."""
    data = None if error.data is msgspec.UNSET else error.data
    details = v2.Error(code=error.code, message=error.message, data=data)
    return v2.StateUpdated(state="idle", stop_reason="error", error=details)


def prompt_response_ends_turn(adapter: ProtocolAdapter) -> bool:
    """Return whether the response to a prompt ends its turn on this connection."""
    return adapter.version == 1
