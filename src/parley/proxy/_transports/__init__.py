"""The transports of a chain: two connections on one pipe, and how a connection begins."""
