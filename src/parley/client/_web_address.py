"""Checks for web addresses that an agent asks the user to open: refusals and warnings.

A program shows the complete address, its host, and these warnings before it opens anything.

Spec: https://agentclientprotocol.com/protocol/v1/elicitation
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from parley._display_text import sanitize_text

_ADDRESS = re.compile(r"(?:https?://|\bwww\.)[^\s<>\"'`|\\^{}()\[\]]{1,2000}", re.IGNORECASE)
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def refusal_of(url: str) -> str:
    """Return why an address must not be opened; empty if it may be."""
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return "it is not a valid address"
    if parts.scheme not in ("http", "https"):
        return "only http and https addresses are opened"
    if sanitize_text(url, is_line=True) != url or " " in url or "\\" in url:
        return "it contains characters that an address cannot have"
    return "" if has_host else "it names no host"


def host_of(url: str) -> str:
    """Return the host and port of an address, and the other form of an internationalized name."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = "" if parts.port is None else f":{parts.port}"
    return sanitize_text(f"{host}{port}{_alternative_form(host)}", is_line=True)


def warnings_about(url: str, message: str = "") -> list[str]:
    """Return warnings if an address may mislead the user or is not secure.

    Args:
        url: An address that `refusal_of` accepts.
        message: The agent's message, which may mention other hosts.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    warnings: list[str] = []
    if "@" in parts.netloc:
        warnings.append("the part before the @ is not the host")
    if not host.isascii() or any(label.startswith("xn--") for label in host.split(".")):
        warnings.append("the host contains letters that may only look like others")
    if parts.scheme == "http" and host not in _LOOPBACK:
        warnings.append("plain http: others can read and change what is sent")
    others = {_without_www(each) for each in map(_named_host, _ADDRESS.findall(message)) if each}
    if others - {_without_www(host)}:
        names = ", ".join(sorted(others - {_without_www(host)})[:3])
        warnings.append(f"the agent mentions {names}, but the address leads elsewhere")
    return [sanitize_text(each, is_line=True) for each in warnings]


def _named_host(address: str) -> str:
    """Return the host of an address found in a text; empty if it has none."""
    try:
        whole = address if "://" in address else f"https://{address}"
        return urlsplit(whole.rstrip(".,;:!?*_")).hostname or ""
    except ValueError:
        return ""


def _without_www(host: str) -> str:
    return host.removeprefix("www.")


def _alternative_form(host: str) -> str:
    """Return the Punycode or Unicode form of a host if it differs from the given one."""
    try:
        coded = host.encode("idna").decode() if not host.isascii() else host
        plain = host.encode().decode("idna") if host.isascii() else host
    except UnicodeError:
        return f" ({host.encode('unicode_escape').decode()})"
    if host == coded == plain:
        return ""
    return f" ({coded if host == plain else plain})"
