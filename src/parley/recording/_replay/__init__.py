"""Replays of a recording, as the agent or as the client; frames in, frames out, without I/O."""
