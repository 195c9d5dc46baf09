"""One headless conversation with an agent; `parley chat` is a view of it.

Nothing here knows a screen or the command line.
"""
