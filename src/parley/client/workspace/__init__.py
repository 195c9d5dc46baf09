"""The workspace that a client lends to an agent of version 1: files and terminals.

`Workspace` is exported by `parley.client`. Here are its parts: the roots that no path leaves,
files, terminals and their commands, and the grants that tie what runs to what the user was shown.
"""
