"""Secrets kept out of frames: of those that are written, and of those that others get to see.

`mask` hides values that are known, in a frame that goes into the journal: the program's own
secrets, and whatever is in the environment and the headers that a client gives to MCP servers and
to terminals. `redact_frame` hides what looks like a secret, in a frame that leaves the machine;
what that is stands in `parley._redaction`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from parley._redaction import MASK, SHORTEST, is_telling, needles, redact

Change: TypeAlias = Callable[[str], str]

_IN_URL = re.compile(r"((?<=://)|[?&][^=&#]*=)((?<==)[^&#]+|[^/@?&#]+(?=@))")


def mask(frame: bytes, secrets: Sequence[str]) -> bytes:
    """Hide known secrets in a frame, wherever they stand in it."""
    known = needles(secrets)
    if not any(needle in frame for needle in known):
        return frame
    wanted = sorted((each for each in secrets if len(each) >= SHORTEST), key=len, reverse=True)

    def hide(text: str) -> str:
        for secret in wanted:
            text = text.replace(secret, MASK)
        return text

    frame = _changed(frame, hide)
    for needle in known:  # in a name, or in a frame that is not JSON
        frame = frame.replace(needle, MASK.encode())
    return frame


def mask_setup(frame: bytes) -> tuple[bytes, list[str]]:
    """Hide what a request hands over to MCP servers and terminals: environments, headers, queries.

    Returns:
        The frame, and those of the hidden values that would be recognised elsewhere: an agent may
        repeat them.
    """
    try:
        message = json.loads(frame)
    except (ValueError, RecursionError):
        return frame, []
    params = _members(_members(message).get("params"))
    servers = params.get("mcpServers")
    holders = [
        params,
        *map(_members, cast(Sequence[Any], servers) if isinstance(servers, list) else []),
    ]
    hidden: list[str] = []
    for holder in holders:
        for name in ("env", "headers"):
            if holder.get(name):
                holder[name] = _without_values(holder[name], hidden)
        if isinstance(holder.get("url"), str):
            holder["url"] = _IN_URL.sub(lambda found: _out_of_url(found, hidden), holder["url"])
    if not hidden:
        return frame, []
    words = (word for each in hidden for word in re.split(r"[\s:]+", each))
    return _written(message), [word for word in words if is_telling(word)]


def _out_of_url(found: re.Match[str], hidden: list[str]) -> str:
    hidden.append(found[2])
    return f"{found[1]}{MASK}"


def _without_values(given: Any, hidden: list[str]) -> Any:
    """Hide the values of `[{"name": …, "value": …}]`, or of an object."""
    if isinstance(given, dict):
        values = cast(dict[str, Any], given)
        hidden += map(str, values.values())
        return dict.fromkeys(values, MASK)
    if isinstance(given, list):
        items = [_members(each) for each in cast(Sequence[Any], given)]
        hidden += (str(item["value"]) for item in items if "value" in item)
        return [{**item, "value": MASK} if "value" in item else item for item in items]
    hidden.append(str(given))
    return MASK


def _members(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def redact_frame(frame: bytes, clean: Change = redact) -> bytes:
    """Hide what looks like a secret in the strings of a frame, output of terminals included.

    A secret whose pieces are in several frames is not seen here.

    Args:
        frame: Something that somebody else will read.
        clean: Hides it in a text; `redactor` returns one for many.
    """
    return _changed(frame, clean)


def _changed(frame: bytes, change: Change) -> bytes:
    """Change the strings of a frame; one that is not JSON is taken as text."""
    try:
        message = json.loads(frame)
        changed = _walked(message, change)
        return frame if changed == message else _written(changed)
    except (ValueError, RecursionError):
        return change(frame.decode(errors="surrogateescape")).encode(errors="surrogateescape")


def _walked(value: Any, change: Change, name: str = "") -> Any:
    if isinstance(value, str):
        changed = change(value)
        return _recoded(value, change) if changed == value and name == "data" else changed
    if isinstance(value, list):
        return [_walked(each, change) for each in cast(Sequence[Any], value)]
    if isinstance(value, dict):
        items = cast(dict[str, Any], value).items()
        return {key: _walked(each, change, key) for key, each in items}
    return value


def _recoded(value: str, change: Change) -> str:
    """Change the text in base64, as terminals write it in version 2."""
    try:
        plain = base64.b64decode(value, validate=True).decode(errors="surrogateescape")
    except (binascii.Error, ValueError):
        return value
    changed = change(plain)
    if changed == plain:
        return value
    return base64.b64encode(changed.encode(errors="surrogateescape")).decode()


def _written(message: Any) -> bytes:
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")
