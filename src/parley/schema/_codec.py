"""The decoder and the encoder of all ACP data.

`decode` makes one strict pass; only a value that this rejects is read again, part by part, with the
leniency that the schema asks for. `base.py` describes how types are declared and how invalid values
are read. Decoders are built when they are first used. This module reads params and results;
JSON-RPC envelopes are read in `parley.rpc`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

import msgspec
from msgspec import DecodeError, Raw

from parley.errors import MalformedValue

from ._lenient import reader
from ._strict import Buffer, build_decoder, decoders
from .base import Unknown

T = TypeVar("T")


@overload
def decode(tp: type[T], raw: Buffer | None, path: str = "params") -> T: ...
@overload
def decode(tp: object, raw: Buffer | None, path: str = "params") -> Any: ...
def decode(tp: object, raw: Buffer | None, path: str = "params") -> Any:
    """Decode JSON as a type of the protocol.

    Args:
        tp: A class of `schema.v1` or `schema.v2`, or an alias from there.
        raw: The JSON. None reads as `{}`, and so does `null` unless the type itself allows it.
        path: The name of the value in error messages.

    Raises:
        MalformedValue: The JSON does not match the type, even with the leniency of the schema. The
            message names the place and never quotes the input.
    """
    if raw is None:
        raw = b"{}"
    try:
        return decoders[tp](raw)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        pass
    return _decode_again(tp, raw, path)


def strict_decoder(tp: Any) -> msgspec.json.Decoder[Any]:
    """Return a strict decoder, for callers that try it before `decode`.

    If it succeeds, its result is what `decode` returns. If it raises `msgspec.DecodeError`,
    `UnicodeDecodeError` or `RecursionError`, pass the JSON to `decode`: it may be an unknown
    variant, or invalid in a way that the schema tolerates. Never show these errors to a peer,
    because they quote the input.
    """
    return build_decoder(tp)


def _decode_again(tp: object, raw: Buffer, path: str) -> Any:
    """Decode leniently; raise outside `except`, so that the error's context quotes no input."""
    try:
        whole = raw if isinstance(raw, Raw) else Raw(bytes(raw).strip())
        is_null = bytes(memoryview(whole)[:5]) == b"null"
        return reader(tp).read(Raw(b"{}") if is_null else whole, path)
    except DecodeError:
        problem = "not JSON"
    except UnicodeDecodeError:
        problem = "not UTF-8"
    except RecursionError:
        problem = "nested too deeply"
    raise MalformedValue(path, problem)


def _encode_other(value: object) -> Raw:
    """Encode an unknown variant as its original bytes, on one line because frames are lines."""
    if isinstance(value, Unknown):
        return Raw(value.raw.replace(b"\n", b" ").replace(b"\r", b" "))
    raise TypeError(f"{type(value).__name__} is not a type of the protocol")


encode: Callable[[object], bytes] = msgspec.json.Encoder(enc_hook=_encode_other).encode
"""Encode a value as JSON, without the fields that have their default value."""
