"""TLS for the server: certificates of one's own, and which HTTP is spoken above it."""

from __future__ import annotations

import ssl
from os import PathLike

__all__ = ["offer_http", "server_tls"]


def server_tls(certificate: PathLike[str] | str, key: PathLike[str] | str) -> ssl.SSLContext:
    """Make a context from a certificate (with its chain) and its key, both in PEM.

    Raises:
        OSError: One of the files cannot be read, or (`ssl.SSLError`) is not what it should be.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.load_cert_chain(certificate, key)
    offer_http(context)
    return context


def offer_http(context: ssl.SSLContext) -> None:
    """Let peers choose HTTP/2, else HTTP/1.1."""
    context.set_alpn_protocols(["h2", "http/1.1"])
