"""Transports over HTTP and WebSocket: the ASGI application, the server that runs it, the clients.

This package holds what both sides share; the rest is in `_server`, `_app` and `_client`. Nothing is
imported here, so a program that only connects does not load the server, and only the modules that
import the libraries of the extra `http` need it to be installed.
"""
