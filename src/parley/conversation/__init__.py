"""A headless conversation with an agent; `parley run` and `parley chat` are views of it.

Nothing here knows a screen or the command line.
"""
