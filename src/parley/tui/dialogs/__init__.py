"""Dialogs: questions below the history, and lists over it."""
