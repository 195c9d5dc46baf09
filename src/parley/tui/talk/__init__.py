"""The conversation with an agent, without a screen: no Textual here."""
