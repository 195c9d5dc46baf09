"""A conversation, whichever version is on the wire."""
