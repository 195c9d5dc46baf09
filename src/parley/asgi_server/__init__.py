"""An HTTP/1.1, HTTP/2 and WebSocket server for ASGI applications, on asyncio.

It serves one application in the event loop that it is started in, all protocols on one port, with
or without TLS:

    import asyncio

    from parley.asgi_server.server import Server

    async def app(scope, receive, send):
        assert scope["type"] == "http"
        headers = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"Hello, world!"})

    async def main():
        async with Server(app, "127.0.0.1", 8000) as server:
            print("listening on", server.addresses)
            await asyncio.Event().wait()

    asyncio.run(main())

What sets it apart from other servers is how it treats peers that are slow, silent or hostile. An
application that sends to a stalled stream waits in `send`, and no other stream waits with it.
Thousands of silent streams cost little memory and no CPU. Everything that a peer can make the
server do or keep has a limit (`limits.py`). There is no lifespan protocol, no reloader and no
worker process.

The package knows nothing of Parley, and imports nothing from it; `make check` enforces this. It
needs `h2`, `h11` and `websockets` (the extra `http`), which do no I/O. `docs/background/design.md`
says why it exists, and when it will be deleted.

- `server.py`: `Server`
- `limits.py`: `ServerLimits`
- `tls.py`: `server_tls`
- `extensions.py`: the extensions of ASGI that it offers to applications
"""
