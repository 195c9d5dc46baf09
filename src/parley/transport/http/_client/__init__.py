"""The client side: requests, event streams and WebSockets that reconnect automatically."""
