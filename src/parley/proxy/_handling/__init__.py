"""What a program that handles messages sees of them: messages, ends, and its own tools."""
