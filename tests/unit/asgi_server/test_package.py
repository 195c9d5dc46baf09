"""The package can be used alone, as its docstring says."""

from __future__ import annotations

import asyncio
import sys
import textwrap

import pytest

from parley import asgi_server

from .raw_clients import RawClient


def example() -> str:
    """Return the program in the docstring of the package, on a free port."""
    lines = (asgi_server.__doc__ or "").splitlines()
    code = [line for line in lines if line.startswith("    ") or not line]
    program = textwrap.dedent("\n".join(code)).strip()
    assert "8000" in program
    return program.replace("8000", "0")


async def test_the_example_in_the_docstring_serves_an_application() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-u", "-c", example(), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        port = int(line.rpartition(" ")[2].strip(")]\n"))
        async with await RawClient.connect(port) as raw:
            raw.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            response = await raw.read_all()
        assert response.startswith(b"HTTP/1.1 200 ")
        assert b"Hello, world!" in response
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("module", ["", ".limits", ".tls", ".extensions"])
async def test_only_the_server_itself_needs_the_libraries_of_http(module: str) -> None:
    program = f"import sys, parley.asgi_server{module}; print(*sys.modules)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    assert {"h2", "h11", "websockets"}.isdisjoint(output.decode().split())
