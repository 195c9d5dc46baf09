"""The engines as a language server, for editors that know next edits over LSP."""

from __future__ import annotations
