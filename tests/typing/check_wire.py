"""What a type checker knows about the wire; read by mypy and pyright, never run."""

from __future__ import annotations

from typing import assert_never, assert_type

from msgspec import UnsetType

from parley.peer import Peer
from parley.schema import v1, v2
from parley.schema.base import Method, Unknown
from parley.schema.v1 import methods as v1_methods
from parley.schema.v2 import methods as v2_methods


async def requests_know_their_results(peer: Peer) -> None:
    prompt = v1.PromptRequest(session_id="s", prompt=[v1.TextContent(text="hello")])
    assert_type(await peer.request(v1_methods.PROMPT, prompt), v1.PromptResponse)
    session = v2.NewSessionRequest(cwd="/")
    assert_type(await peer.request(v2_methods.NEW_SESSION, session), v2.NewSessionResponse)


def rows_know_their_types() -> None:
    assert_type(v2_methods.CLOSE_SESSION, Method[v2.CloseSessionRequest, v2.CloseSessionResponse])
    assert_type(v2_methods.CANCEL_SESSION, Method[v2.CancelSessionNotification, None])
    assert_type(
        v1_methods.CREATE_ELICITATION,
        Method[v1.CreateElicitationRequest, v1.CreateElicitationResponse],
    )


def drafts_are_one_class_in_both_versions(usage: v1.Usage) -> v2.Usage:
    return usage


async def wrong_params_are_an_error(peer: Peer) -> None:
    prompt = v1.PromptRequest(session_id="s", prompt=[])
    await peer.request(v2_methods.PROMPT, prompt)  # type: ignore[misc] # pyright: ignore[reportArgumentType]


def open_unions_have_an_unknown(block: v2.ContentBlock) -> str:
    match block:
        case v2.TextContent(text=text):
            return text
        case v2.ImageContent() | v2.AudioContent() | v2.ResourceLink() | v2.EmbeddedResource():
            return "media"
        case Unknown(tag):
            return tag
        case _:
            assert_never(block)


def closed_unions_have_none(block: v1.ContentBlock) -> str:
    match block:
        case v1.TextContent(text=text):
            return text
        case v1.ImageContent() | v1.AudioContent() | v1.ResourceLink() | v1.EmbeddedResource():
            return "media"
        case _:
            assert_never(block)


def patches_have_three_states(update: v2.ToolCallUpdate) -> None:
    assert_type(update.title, str | UnsetType | None)
