"""Types outside the stable schemas that are the same in both versions; both versions export them.

They are drafts, parts of drafts that were removed and that Parley still supports, and proposals.
The docstring of each type starts with its stability. Drafts that differ are in `v1` and `v2`.

Spec: https://agentclientprotocol.com/protocol/v2/draft/schema
"""
