"""The HTTP server: HTTP/1.1, HTTP/2 and WebSocket for any ASGI application."""
