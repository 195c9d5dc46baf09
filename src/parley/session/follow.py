"""A live session of somebody else's, followed frame by frame, and spoken to in its own version.

What passes between the client that owns a session and its agent is heard as `retell.py` hears a
record, and so known in version 2's words. What another client says is told to the agent in the
version that the agent speaks. Nothing is sent here: the frames' bodies are returned.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from parley.errors import InvalidRequest, RequestError
from parley.rpc.codec import encode_notification
from parley.rpc.message import Id
from parley.schema import v1, v2
from parley.schema.base import Method
from parley.schema.codec import decode, encode
from parley.schema.v1 import methods as methods1
from parley.schema.v2 import methods as methods2

from .blocks import lower_prompt
from .pairs import REQUESTS, lower_permission_answer, lower_prompt_request
from .retell import Retelling
from .surface import Surface
from .transcript import Transcript

__all__ = ["QUESTIONS", "Following", "failed_turn", "is_answered_at_the_end"]

QUESTIONS = frozenset({methods2.REQUEST_PERMISSION.name, methods2.CREATE_ELICITATION.name})
"""What an agent asks the user, whoever of the clients answers."""


class _Heard(Struct, frozen=True):
    kind: str
    data: bytes
    at: float = 0.0


class _Mode(Struct):
    mode_id: str = msgspec.field(name="modeId")


class _Options(Struct):
    options: Raw = msgspec.field(name="configOptions", default=Raw(b"[]"))


class Following:
    """One session."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._retelling = Retelling(session_id)

    @property
    def transcript(self) -> Transcript:
        """What was said so far."""
        return self._retelling.transcript

    @property
    def is_answered_at_the_end(self) -> bool:
        """Whether the agent answers a prompt when its turn is over, as in version 1."""
        return self._retelling.lifting is not None

    def hear(self, *, from_agent: bool, frame: bytes) -> list[v2.SessionUpdate]:
        """Take a frame; returns what it says, folded already."""
        return self._retelling.hear(_Heard("to_client" if from_agent else "to_agent", frame))

    def history(self, *, replays: bool) -> list[v2.SessionUpdate]:
        """Return what tells the session as it is now to somebody who begins to follow."""
        said = self.transcript
        told = list(said.replay())[:-1] if replays else []
        state: Any = said.state if said.state in ("running", "requires_action") else "idle"
        return [*told, v2.StateUpdated(state=state, background=said.background)]

    def inherit(self, source: Following) -> None:
        """Begin with what was said in another session."""
        said = self.transcript
        for update in source.transcript.replay():
            said.fold(update)
        said.cancel_unfinished()

    def cut(self) -> None:
        """Forget what was said, and keep what the session is like."""
        essence = self._essence()
        kept = self._retelling.transcript = Transcript()
        for update in essence:
            kept.fold(update)

    def _essence(self) -> list[v2.SessionUpdate]:
        said = self.transcript
        return [
            v2.ConfigOptionUpdate(config_options=said.config_options),
            v2.AvailableCommandsUpdate(available_commands=said.commands),
            *(v2.PlanUpdate(plan=plan) for plan in said.plans.values()),
            v2.SessionInfoUpdate(title=said.title),
            *self.history(replays=False),
        ]

    # What another client says

    def prompt(self, params: v2.PromptRequest) -> tuple[str, bytes]:
        """Return a prompt as the agent takes it: the method and the params.

        Raises:
            Unsupported: Version 1 does not have one of its blocks.
        """
        lowered = lower_prompt_request(params) if self.is_answered_at_the_end else params
        return methods2.PROMPT.name, encode(lowered)

    def message_of(self, prompt: Id) -> str | None:
        """Return the id of the message that a prompt of version 1 became."""
        return self._retelling.message_of(prompt)

    def echo(self, params: v2.PromptRequest) -> list[bytes]:
        """Return the frames by which the owner learns of another's prompt.

        None in version 2, where the agent reports every message.
        """
        if not self.is_answered_at_the_end:
            return []
        return [
            self._update(encode(v1.UserMessageChunk(content=block)))
            for block in lower_prompt(params.prompt)
        ]

    def set_option(self, params: v2.SetSessionConfigOptionRequest) -> tuple[str, bytes]:
        """Return the setting of an option as the agent takes it: the method and the params.

        Raises:
            Unsupported: Version 1 has no value of this type.
            InvalidParams: A mode is not on or off.
        """
        lifting = self._retelling.lifting
        if lifting is None:
            return methods2.SET_SESSION_CONFIG_OPTION.name, encode(params)
        lowered = lifting.set_option(params)
        if isinstance(lowered, v1.SetSessionModeRequest):
            return methods1.SET_SESSION_MODE.name, encode(lowered)
        return methods1.SET_SESSION_CONFIG_OPTION.name, encode(lowered)

    def option_echo(self, method: str, params: bytes, result: bytes) -> bytes:
        """Return the frame by which the owner learns that another has set an option."""
        if method == methods1.SET_SESSION_MODE.name:
            mode = msgspec.json.decode(params, type=_Mode).mode_id
            return self._update(encode(v1.CurrentModeUpdate(current_mode_id=mode)))
        options = bytes(msgspec.json.decode(result, type=_Options).options)
        return self._update(
            b'{"sessionUpdate":"config_option_update","configOptions":%b}' % options
        )

    def plain(self, method: Method[Any, Any], params: Any) -> tuple[str, bytes]:
        """Return a request that only version 2 has.

        Raises:
            InvalidRequest: The agent speaks version 1.
        """
        if self.is_answered_at_the_end:
            raise InvalidRequest(f"The agent of this session does not know {method.name}")
        return method.name, encode(params)

    def _update(self, update: bytes) -> bytes:
        body = b'{"sessionId":%b,"update":%b}' % (encode(self._session_id), update)
        return encode_notification(methods2.UPDATE_SESSION.name, body)

    def failure(self, error: RequestError) -> bytes | None:
        """Return the frame by which the owner learns that the agent has failed in a turn.

        None in version 1, where the prompt itself fails.
        """
        if self.is_answered_at_the_end:
            return None
        return self._update(encode(failed_turn(error)))

    # What the agent asks

    def question(self, method: str, params: Raw) -> tuple[Method[Any, Any], Any]:
        """Return what the agent asks, in version 2's words.

        Raises:
            MalformedValue: It cannot be read.
        """
        lifting = self._retelling.lifting
        asked = methods2.TABLE.requests("client")[method]
        if lifting is None:
            return asked, decode(asked.params, params)
        if method == methods1.REQUEST_PERMISSION.name:
            return asked, lifting.permission(decode(v1.RequestPermissionRequest, params))
        pair = REQUESTS[method]
        return asked, pair.lift(decode(pair.v1.params, params))

    def answer(self, method: Method[Any, Any], result: Any) -> bytes:
        """Return what the user said as the agent takes it."""
        if not self.is_answered_at_the_end:
            return encode(result)
        if method is methods2.REQUEST_PERMISSION:
            return encode(lower_permission_answer(result))
        return encode(REQUESTS[method.name].lower_result(result))


def failed_turn(error: RequestError) -> v2.StateUpdated:
    """Return the end of a turn that an error has ended."""
    data = None if error.data is msgspec.UNSET else error.data
    described = v2.Error(code=error.code, message=error.message, data=data)
    return v2.StateUpdated(state="idle", stop_reason="error", error=described)


def is_answered_at_the_end(surface: Surface) -> bool:
    """Tell whether a prompt on this connection is answered when its turn is over."""
    return surface.version == 1
