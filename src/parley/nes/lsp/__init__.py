"""The engines as a language server, for editors that know next edits over LSP."""
