"""The terminal client, `parley chat`. It needs the extra `tui`.

What knows agents knows no Textual: `setup.py` has the user's choices, `conversation.py` one agent
and one session, `view.py` what they are shown by; `completion.py`, `files.py`, `mentions.py` and
`recall.py` help to write a prompt, `playback.py` plays a recorded session.

What a conversation looks like is in `show.py` (which update is which block), `history.py` (the
widget that holds the blocks) and the files of the blocks: `markdown.py`, `cards.py`, `diff.py`.

The app is `app.py` with its tabs: `chat.py` is one with a conversation, `player.py` one with a
replay. `composer.py` takes prompts, `dock.py` holds a question (`questions.py`, `forms.py`,
`pages.py`) until it is answered, `commands.py` lists what can be done and `actions.py` does it.

How these belong together, and where to add something, is in `docs/background/design.md`.
"""
