"""The ASGI application: the protocol endpoint, its connections, and access control."""
