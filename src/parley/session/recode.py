"""The way between the versions for everything that reads the same in both.

What differs has a function of its own beside the others of its topic; what is said on every chunk
of text is never sent through here.
"""

from __future__ import annotations

from typing import Any, TypeVar, overload

from parley.errors import MalformedValue, Unsupported
from parley.schema.codec import decode, encode

__all__ = ["recode"]

T = TypeVar("T")


@overload
def recode(value: object, tp: type[T]) -> T: ...
@overload
def recode(value: object, tp: object) -> Any: ...
def recode(value: object, tp: object) -> Any:
    """Return the value as the other version's type, by way of its JSON.

    Fields that the other version does not have are left out.

    Raises:
        Unsupported: The other version cannot say this.
    """
    try:
        return decode(tp, encode(value), type(value).__name__)
    except MalformedValue as error:
        raise Unsupported(f"the other version of the protocol has no {error}") from error
