"""The client's side: requests, streams and sockets that come back by themselves."""
