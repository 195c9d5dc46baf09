"""Messages, peers and tools as the handlers of a proxy see them."""
