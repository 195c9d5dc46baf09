"""The ASGI application: the endpoint of the protocol, its connections, and who may speak to it."""
