"""`redact`: what looks like a secret goes neither to the agent nor to the client.

To the agent: prompts, and what the client answers to reading a file, to a terminal's output and to
an MCP call. To the client: updates and questions for permission. What is to be used as it is stays:
environments and headers of MCP servers, files that are written, commands that are run, answers to
forms. `parley._redaction` decides what looks like a secret.

An agent's text comes in pieces. The word at the end of a piece, up to `HELD_CHARS`, is held back
until the next piece or anything else comes, for `HELD_SECONDS` at most, so a secret that is one
word is found across pieces.
What takes several words to recognise (`password: …`, a key of several lines), a longer word, and
the output of a terminal are only found within one message.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct

from parley._redaction import MASK, SHORTEST, redactor
from parley.proxy._handling.connection import ProxyConnection
from parley.proxy._handling.message import Message, Notification, Request, Response
from parley.proxy._proxy import Proxy
from parley.proxy.builtin._json_strings import rewrite_strings
from parley.rpc import _codec as codec
from parley.rpc._codec import DECODE_ERRORS

HELD_CHARS = 512
"""The maximum length of an unfinished word that is held back."""
HELD_SECONDS = 5.0
"""The seconds after which it is sent if nothing follows."""
MAX_HELD = 1000
"""The maximum number of sessions in which text is held back."""
_ANSWERED = ("fs/read_text_file", "terminal/output", "mcp/message")
_TEXTS = ("agent_message_chunk", "agent_thought_chunk")
_LAST_WORD = re.compile(r"\S*\Z")


class _HeldText(Struct):
    """The end of an unfinished text, held back until more follows."""

    key: tuple[str, Any]
    text: str
    params: dict[str, Any]
    """The chunk that it came with."""
    timer: asyncio.TimerHandle
    """Sends the text if nothing more follows."""


class _Redaction:
    """The secrets that are hidden."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words, key=len, reverse=True)
        self._known = redactor()

    def clean(self, text: str) -> str:
        """Hide secrets in a text."""
        for word in self._words:
            text = text.replace(word, MASK)
        return self._known(text)

    def string(self, names: tuple[str, ...], text: str) -> str:
        """Hide secrets in a string of a message, unless it is a name."""
        if names and names[-1].endswith("Id"):
            return text
        if names[-2:] in (("update", "data"), ("output", "data")):
            return self._output(text)
        return self.clean(text)

    def _output(self, text: str) -> str:
        try:
            plain = base64.b64decode(text, validate=True).decode(errors="surrogateescape")
        except (binascii.Error, ValueError):
            return text
        cleaned = self.clean(plain)
        if cleaned == plain:
            return text
        return base64.b64encode(cleaned.encode(errors="surrogateescape")).decode()

    def message(self, message: Message | Response) -> None:
        """Hide secrets in a message."""
        body = rewrite_strings(message.raw, self.string)
        if body is not message.raw:
            message.replace(body)


def redact(*words: str, to_agent: bool = True, to_client: bool = True) -> Proxy:
    """Return a proxy that hides secrets.

    Args:
        words: Secrets besides those of the environment and those that look like one.
        to_agent: Whether they are hidden in what goes to the agent.
        to_client: Whether they are hidden in what goes to the client.

    Raises:
        ValueError: A word is too short to be a secret, or nothing would be hidden.
    """
    if any(len(word) < SHORTEST for word in words):
        raise ValueError(f"a secret has at least {SHORTEST} characters")
    if not to_agent and not to_client:
        raise ValueError("nothing would be hidden")
    proxy = Proxy("redact")
    hidden = _Redaction(words)
    if to_agent:
        _hide_from_agent(proxy, hidden)
    if to_client:
        _hide_from_client(proxy, hidden)

    async def prompt(request: Request) -> Response:
        if to_agent and request.method == "session/prompt":
            hidden.message(request)
        reply = await request.forward()
        _release(request.connection, request.session_id, hidden.clean)
        return reply

    proxy.from_client("session/prompt")(prompt)
    proxy.from_client("session/resume")(prompt)
    return proxy


def _hide_from_agent(proxy: Proxy, hidden: _Redaction) -> None:
    async def answer(request: Request | Notification) -> Response | None:
        if not isinstance(request, Request):
            return None
        reply = await request.forward()
        hidden.message(reply)
        return reply

    for method in _ANSWERED:
        proxy.from_agent(method)(answer)


def _hide_from_client(proxy: Proxy, hidden: _Redaction) -> None:
    @proxy.from_agent("session/update")
    def update(note: Notification) -> None:
        if note.kind in _TEXTS and _hold(note, hidden.clean):
            return
        _release(note.connection, note.session_id, hidden.clean)
        hidden.message(note)

    @proxy.from_agent("session/request_permission")
    def permission(request: Request) -> None:
        _release(request.connection, request.session_id, hidden.clean)
        hidden.message(request)


def _hold(note: Notification, clean: Callable[[str], str]) -> bool:
    """Pass a piece of text except for its last word; return False if it is not a text."""
    try:
        params: dict[str, Any] = msgspec.json.decode(note.raw, type=dict[str, Any])
        update = params["update"]
        text = update["content"]["text"]
        key = (update["sessionUpdate"], update.get("messageId"))
    except (KeyError, TypeError, *DECODE_ERRORS):
        return False
    if not isinstance(text, str):
        return False
    waiting: dict[str, _HeldText] = note.connection.state.setdefault("held", {})
    pending = waiting.get(note.session_id)
    if pending is not None and pending.key == key:
        text = pending.text + text
        pending.timer.cancel()
        del waiting[note.session_id]
    elif pending is not None:
        _release(note.connection, note.session_id, clean)
    found = _LAST_WORD.search(text)
    word = "" if found is None else found[0]
    if len(word) > HELD_CHARS or len(waiting) >= MAX_HELD:
        word = ""
    if word:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(HELD_SECONDS, _release, note.connection, note.session_id, clean)
        waiting[note.session_id] = _HeldText(key, word, params, timer)
    shown = clean(text[: len(text) - len(word)])
    if not shown:
        note.drop()
    elif shown != update["content"]["text"]:
        note.replace(_with_text(params, shown))
    return True


def _with_text(params: dict[str, Any], text: str) -> dict[str, Any]:
    update = params["update"]
    return {**params, "update": {**update, "content": {**update["content"], "text": text}}}


def _release(connection: ProxyConnection, session_id: str, clean: Callable[[str], str]) -> None:
    """Send the text that was held back in a session."""
    pending = connection.state.get("held", {}).pop(session_id, None)
    if pending is not None:
        pending.timer.cancel()
        body = msgspec.json.encode(_with_text(pending.params, clean(pending.text)))
        connection.client.send(codec.encode_notification("session/update", body), session_id)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the command line."""
    parser.add_argument("words", nargs="*", metavar="SECRET", help="to be hidden besides others")
    side = parser.add_mutually_exclusive_group()
    side.add_argument("--to-agent", action="store_true", help="only in what goes to the agent")
    side.add_argument("--to-client", action="store_true", help="only in what goes to the client")


def from_options(options: Namespace) -> Proxy:
    """Return the component that parsed options describe."""
    return redact(*options.words, to_agent=not options.to_client, to_client=not options.to_agent)
