"""Requests to a model and its responses: four JSON APIs, without I/O.

`/v1/completions` and `/v1/chat/completions` are what OpenAI began and everybody speaks;
`/v1/edit/completions` is a chat that is about edits alone, and decides itself how it samples;
`/api/generate` is Ollama's own, which leaves a prompt as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec
from msgspec import Struct

from parley.errors import ConfigError, ModelFailed

Api: TypeAlias = Literal["completions", "chat", "edit", "generate"]

EDIT_PATH = "/edit/completions"
_CHAT_PATH = "/chat/completions"
_PLAIN_PATH = "/completions"
_PATHS: dict[str, Api] = {
    EDIT_PATH: "edit",
    _CHAT_PATH: "chat",
    _PLAIN_PATH: "completions",
    "/api/generate": "generate",
}
_CHATS = ("chat", "edit")


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt."""

    text: str
    system: str = ""
    """The task, for a chat."""
    stop: tuple[str, ...] = ()
    """Where it stops; at most four, for more are refused by some."""
    max_tokens: int


class Completion(NamedTuple):
    """The response of a model."""

    text: str
    is_cut: bool
    """Whether it had more to say than it might."""


def api_at(url: str, *, is_chat: bool, ending: str = "") -> tuple[str, Api]:
    """Return where to post, and how it is spoken there.

    Args:
        url: The whole address, or one that the usual path is added to.
        is_chat: Whether a chat is wanted.
        ending: What to add instead of the usual path.

    Raises:
        ConfigError: The address is none, or is for something else.
    """
    parts = _parts(url)
    path = parts.path.rstrip("/")
    found: Api | None = next((api for end, api in _PATHS.items() if path.endswith(end)), None)
    wanted = ending or (_CHAT_PATH if is_chat else _PLAIN_PATH)
    if found is None:
        path = f"{path if path.endswith('/v1') else f'{path}/v1'}{wanted}"
        found = _PATHS.get(wanted, "chat" if is_chat else "completions")
    elif is_chat != (found in _CHATS) or (found == "edit" and ending != EDIT_PATH):
        raise ConfigError(f"this prompt format needs /v1{wanted}, not {path}")
    return urlunsplit(parts._replace(path=path)), found


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigError(f"the address of the model cannot be read: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            "the address of a model begins with http:// or https://, as http://localhost:8080"
        )
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            "a name or a password does not belong into an address; give api_key= (--api-key-file)"
        )
    return parts


def body_of(api: Api, model: str, prompt: Prompt, extra: Mapping[str, Any]) -> bytes:
    """Return the body of a request; what is None in `extra` is left out."""
    body: dict[str, Any] = {"model": model, "stream": False}
    sampling = {"temperature": 0, "stop": list(prompt.stop)} if prompt.stop else {"temperature": 0}
    if api == "generate":
        options = {"num_predict": prompt.max_tokens, **sampling}
        body |= {"prompt": prompt.text, "raw": True, "options": options}
    elif api != "edit":
        body |= {"max_tokens": prompt.max_tokens, **sampling}
    if api == "completions":
        body["prompt"] = prompt.text
    elif api in _CHATS:
        system = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body["messages"] = [*system, {"role": "user", "content": prompt.text}]
    body |= extra
    return msgspec.json.encode({name: value for name, value in body.items() if value is not None})


class _Message(Struct):
    content: str | None = None


class _Choice(Struct):
    text: str | None = None
    message: _Message | None = None
    finish_reason: str | None = None


class _Answer(Struct):
    choices: list[_Choice] = []
    response: str | None = None
    done_reason: str | None = None


_DECODER = msgspec.json.Decoder(_Answer)


def completion_of(body: bytes) -> Completion:
    """Read an answer, whichever way it is said.

    Raises:
        ModelFailed: It is none.
    """
    try:
        response = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelFailed("the answer is not what an OpenAI-compatible server says") from error
    if response.response is not None:
        return Completion(response.response, response.done_reason == "length")
    if not response.choices:
        raise ModelFailed("the answer has no choices")
    choice = response.choices[0]
    text = choice.text if choice.message is None else choice.message.content
    return Completion(text or "", choice.finish_reason == "length")
