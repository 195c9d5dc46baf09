"""Transports over HTTP and WebSocket: the ASGI application and the clients.

This package holds what both sides share; the rest is in `_app` and `_client`. The server that runs
the application by default is `parley.asgi_server`. Nothing is imported here, so a program that only
connects does not load the server, and only the modules that import the libraries of the extra
`http` need it to be installed.
"""
