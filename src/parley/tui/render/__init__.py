"""Rendering of a conversation: blocks, and the history that holds them."""
