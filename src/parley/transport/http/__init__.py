"""Frames over HTTP and WebSocket: the ASGI application, the server that runs it, the clients.

What both sides share is here, the rest in `server`, `app` and `client`. Nothing is imported here: a
program that only connects loads no server, and the extra `http` is needed by those modules alone
that name its libraries.
"""
