"""A certificate for localhost that nobody trusts, and its key: for tests alone."""

from __future__ import annotations

import ssl
from pathlib import Path

KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgb1CiZPULzbzTrx2y
fjgmViXm+Fb2dWXmgYeMyJHEV5yhRANCAASxB1/fNosafbhr4SNPVlMEpQHDNfYk
hFYzJkeJX0Sv1/WihIZ9Y39tlDqJK0JbhaaZhiVfSB+r8wGg/uFNcYeT
-----END PRIVATE KEY-----
"""
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUcH7UlCwmfvuM5wWhRVz/E45FsK4wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTE2MzYzOVoYDzIxMjYxMDIy
MTYzNjM5WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASxB1/fNosafbhr4SNPVlMEpQHDNfYkhFYzJkeJX0Sv1/WihIZ9Y39t
lDqJK0JbhaaZhiVfSB+r8wGg/uFNcYeTo28wbTAdBgNVHQ4EFgQUyj6KIS46SmxW
DYNOxi27awnlxcQwHwYDVR0jBBgwFoAUyj6KIS46SmxWDYNOxi27awnlxcQwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIgUsR5JzARmY8+cMs/MwmqyPrdNqgV8mN4Cz2FJWxDPNoCIQCl
DJnbDC+LCYm/Xlnky3rORK1Kh4vGnfcpiLIkXsuaNA==
-----END CERTIFICATE-----
"""
OTHER_KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgd7ZdypseJ+L2z7As
0a5AKo3TkFn/CvXrIbfFq0WDxDKhRANCAASgLie9b48y9Px/R1qKX7vU4i3WiLrY
5tcIb+BjtaD08RqiZsuRtyeC7Pf70GKC6hGy+QRvW8jg2i+te/vNjunH
-----END PRIVATE KEY-----
"""
OTHER_CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUK1vxIGJjM9rqALeTS8hKNmIuXUgwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExNTIwMjMxOFoYDzIxMjYxMDIy
MjAyMzE4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASgLie9b48y9Px/R1qKX7vU4i3WiLrY5tcIb+BjtaD08RqiZsuRtyeC
7Pf70GKC6hGy+QRvW8jg2i+te/vNjunHo28wbTAdBgNVHQ4EFgQUlRdU31q2Qboj
2KKD2IvCJi6qrKYwHwYDVR0jBBgwFoAUlRdU31q2Qboj2KKD2IvCJi6qrKYwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhALZFpfIngXcsrEP4/zKMJs4LtDLHXrPSwZE+GMGgCP7JAiEA
mo1phHCO0UbUfWG4QOQsaqDbPSyOkv0EosLB1Ho5vqE=
-----END CERTIFICATE-----
"""


def written(folder: Path) -> tuple[Path, Path]:
    """Write both to files, as a user has them."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    return certificate, key


def trusting(*protocols: str) -> ssl.SSLContext:
    """A peer that knows this certificate and offers these protocols."""
    context = ssl.create_default_context(cadata=CERTIFICATE)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context
