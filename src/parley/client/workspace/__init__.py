"""The workspace: the client's files and terminals, for agents that speak version 1.

`Workspace` is exported by `parley.client`. Here are its parts: the roots that no path leaves,
files, terminals and their commands, and the grants that tie what runs to what the user was shown.
"""
