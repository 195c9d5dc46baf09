"""What the user is asked: questions below the history, and lists over it."""
