"""Translation between the protocol versions for types whose JSON is the same in both.

Types that differ have their own functions in the modules of their topics. Plain text chunks never
pass through here: encoding and decoding each would be too slow.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from parley.errors import MalformedValue, Unsupported
from parley.schema._codec import decode, encode

T = TypeVar("T")


@overload
def reencode(value: object, tp: type[T]) -> T: ...
@overload
def reencode(value: object, tp: object) -> Any: ...
def reencode(value: object, tp: object) -> Any:
    """Convert the value to a type of the other version, by encoding and decoding it.

    Fields that the other version does not have are left out.

    Raises:
        Unsupported: The other version cannot express the value.
    """
    try:
        return decode(tp, encode(value), type(value).__name__)
    except MalformedValue as error:
        raise Unsupported(f"the other version of the protocol has no {error}") from error
