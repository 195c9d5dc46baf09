"""What a conversation looks like: blocks, and the history that holds them."""
