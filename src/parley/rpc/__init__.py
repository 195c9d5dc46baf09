"""JSON-RPC 2.0 as values and a state machine: no I/O, no async, no word of ACP.

`message.py` has the values, `codec.py` reads and writes frames, `unread.py` tells what it can about
those that are not read, `framing.py` splits a stream into frames, `engine.py` keeps the state of a
conversation.
"""
