"""The server: HTTP/1.1, HTTP/2 and WebSocket on sockets, for any ASGI application."""
