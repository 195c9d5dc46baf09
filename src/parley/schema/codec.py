"""The only decoder and the only encoder of ACP data.

`decode` makes one strict pass; only what that refuses is looked at again, part by part, with the
leniency that the schema asks for. `base.py` tells how a type is declared and what that means for a
wrong value. Decoders are built when they are first used. JSON-RPC envelopes are none of this
module's business: it reads params and results.
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

__all__ = ["decode", "encode", "strict_decoder"]

T = TypeVar("T")


@overload
def decode(tp: type[T], raw: Buffer | None, path: str = "params") -> T: ...
@overload
def decode(tp: object, raw: Buffer | None, path: str = "params") -> Any: ...
def decode(tp: object, raw: Buffer | None, path: str = "params") -> Any:
    """Return the typed value of some JSON.

    Args:
        tp: A class of `schema.v1` or `schema.v2`, or an alias from there.
        raw: The JSON. None and `null` read as `{}` unless the type has a null of its own.
        path: What the value is called in an error.

    Raises:
        MalformedValue: The JSON does not fit the type, also with the leniency of the schema. The
            text names the place and never repeats the input.
    """
    if raw is None:
        raw = b"{}"
    try:
        return decoders[tp](raw)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        pass
    return _decode_again(tp, raw, path)


def strict_decoder(tp: Any) -> msgspec.json.Decoder[Any]:
    """Return a strict decoder, for a caller who tries it before `decode`.

    What it returns is what `decode` returns. What it refuses, with a `msgspec.DecodeError`, a
    `UnicodeDecodeError` or a `RecursionError`, must go to `decode`: it may be an unknown variant,
    or something else that the schema lets pass. Never show its errors to a peer, they quote input.
    """
    return build_decoder(tp)


def _decode_again(tp: object, raw: Buffer, path: str) -> Any:
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
    """Give an unknown variant the bytes it came with, on one line as a frame needs it."""
    if isinstance(value, Unknown):
        return Raw(value.raw.replace(b"\n", b" ").replace(b"\r", b" "))
    raise TypeError(f"{type(value).__name__} is not a type of the protocol")


encode: Callable[[object], bytes] = msgspec.json.Encoder(enc_hook=_encode_other).encode
"""Return the JSON of a value, without the fields that have their default."""
