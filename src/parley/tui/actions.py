"""The actions of the commands. Each gets the app and the text after the name of the command."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from parley import config
from parley.client._resolve import find_session
from parley.conversation.images import images_in
from parley.conversation.setup import ConversationSetup
from parley.export import to_html, to_jsonl, to_markdown
from parley.journal import Hit, Journal, Record
from parley.session._transcript import Transcript

from .agent_actions import cancel_one, fork_session, set_provider
from .chat import Chat
from .dialogs.picker import ListPicker
from .dialogs.pickers import AgentPicker, OptionPicker, SessionPicker
from .dialogs.rows import Row
from .help import Help
from .render.content import content_text

if TYPE_CHECKING:
    from .app import ChatApp

__all__ = ["ACTIONS", "links_in"]

Action: TypeAlias = Callable[["ChatApp", str], Awaitable[None]]

_MOST_SESSIONS = 500
_FORMATS = (".md", ".html", ".jsonl")
_MOST_LINKS = 200
_LINK = re.compile(r"\bhttps?://[^\s<>\"'`|\\^{}\x00-\x20\x7f-\x9f]{1,2000}", re.IGNORECASE)
_PUNCTUATION = ".,;:!?)]*_"


async def _help(app: ChatApp, _: str) -> None:
    await app.push_screen_wait(Help())


# Sessions and tabs


async def _new(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is not None:
        await chat.renew(chat.conversation.setup.changed())


async def _tab(app: ChatApp, agent: str) -> None:
    chat = _chat(app)
    if chat is not None:
        setup = chat.conversation.setup
        await app.open_tab(Chat(setup.changed(target=agent) if agent else setup.changed()))


async def _next(app: ChatApp, _: str) -> None:
    app.step_tab(1)


async def _previous(app: ChatApp, _: str) -> None:
    app.step_tab(-1)


async def _close(app: ChatApp, _: str) -> None:
    await app.close_tab(app.tab)


async def _resume(app: ChatApp, word: str) -> None:
    chat = _chat(app)
    if chat is None:
        return
    setup = chat.conversation.setup
    journal = setup.journal
    if journal is None:
        app.say("sessions are not saved here, so there is nothing to resume")
        return
    record = find_session(journal, word, setup.cwd) if word else await _picked(app, journal, setup)
    if record is not None:
        await _show(app, chat, setup, record)
    elif word:
        app.say(f"there is no session {word}")


async def _picked(app: ChatApp, journal: Journal, setup: ConversationSetup) -> Record | None:
    async def search(words: str) -> Sequence[Hit]:
        return await asyncio.to_thread(journal.search, words)

    known = await asyncio.to_thread(journal.list, role="client", limit=_MOST_SESSIONS)
    records = [each for each in known if each.title or each.name]  # others have no prompt
    return await app.push_screen_wait(SessionPicker(records, cwd=str(setup.cwd), search=search))


async def _show(app: ChatApp, chat: Chat, setup: ConversationSetup, record: Record) -> None:
    """Go to a session: where it is open, else here if this tab is unused, else in a new tab."""
    for index, each in enumerate(app.tabs):
        open_one = each.conversation.record if isinstance(each, Chat) else None
        if open_one is not None and open_one.key == record.key:
            app.go_to_tab(index)
            return
    of_record = setup.for_record(record)
    if chat.is_unused:
        await chat.renew(of_record, record)
    else:
        await app.open_tab(Chat(of_record, record=record))


async def _agents(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is None:
        return
    setup = chat.conversation.setup
    entries = list(config.load().agents.values())
    name = await app.push_screen_wait(AgentPicker(entries, current=setup.agent.name or None))
    if name is None:
        return
    chosen = setup.changed(target=name)
    if chat.is_unused:
        await chat.renew(chosen)
    else:
        await app.open_tab(Chat(chosen))


async def _options(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is None:
        return
    options = chat.conversation.transcript.config_options
    chosen = await app.push_screen_wait(OptionPicker(options))
    if chosen is not None and not isinstance(chosen, str):
        await chat.conversation.set_config_option(*chosen)


async def _fork(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    record = None if chat is None else await fork_session(app, chat)
    if chat is not None and record is not None:
        await app.open_tab(Chat(chat.conversation.setup.for_record(record), record=record))


async def _stop(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is not None:
        await cancel_one(app, chat)


async def _providers(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is not None:
        await set_provider(app, chat)


async def _name(app: ChatApp, name: str) -> None:
    chat = _chat(app)
    if chat is None:
        return
    if not name:
        app.say("give a name: /name NAME")
        chat.composer.text = "/name "
    else:
        chat.conversation.rename(name)
        app.say(f"resume with `parley chat --session {shlex.quote(name)}`")


# The conversation


async def _earlier(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is not None:
        chat.composer.focus_input()
        chat.composer.search()


async def _find(app: ChatApp, words: str) -> None:
    app.tab.find(words)


async def _fold(app: ChatApp, _: str) -> None:
    app.tab.history.action_fold_all()


async def _copy(app: ChatApp, _: str) -> None:
    transcript = app.tab.shown.transcript
    texts = [each.text for each in transcript.messages if each.role == "agent" and each.text]
    if texts:
        app.copy_to_clipboard(texts[-1])
    app.say("the last answer is copied" if texts else "there is no answer yet")


async def _links(app: ChatApp, _: str) -> None:
    links = await asyncio.to_thread(links_in, app.tab.shown.transcript)
    nothing = "The conversation names no page."
    rows = [Row(each, each) for each in links]
    link = await app.push_screen_wait(ListPicker("Open a link", rows, nothing=nothing))
    if link is not None:
        is_open = await asyncio.to_thread(app.opener, link)
        app.say("opened in the browser" if is_open else "no browser was found")


def links_in(transcript: Transcript) -> list[str]:
    """Return the addresses of pages in a conversation, the last first."""
    texts = (each.text for each in reversed(transcript.messages))
    found = (link for text in texts for link in reversed(_LINK.findall(text)))
    return list(dict.fromkeys(each.rstrip(_PUNCTUATION) for each in found))[:_MOST_LINKS]


async def _pictures(app: ChatApp, _: str) -> None:
    found = await asyncio.to_thread(images_in, app.tab.shown.transcript)
    rows = [Row(each, content_text(each)) for each in found]
    nothing = "There is no picture in the conversation."
    picture = await app.push_screen_wait(ListPicker("Open a picture", rows, nothing=nothing))
    if picture is None:
        return
    try:
        place = await asyncio.to_thread(app.image_copies.write, picture)
    except ValueError as error:
        app.tab.note(f"the image is not opened: {error}", "error")
        return
    is_open = await asyncio.to_thread(app.opener, place.as_uri())
    result = "opened" if is_open else "no program to open it was found"
    app.tab.note(f"{result}; a copy is {place}, until you leave")


async def _export(app: ChatApp, file: str) -> None:
    chat = _chat(app)
    if chat is None:
        return
    setup, record = chat.conversation.setup, chat.conversation.record
    if record is None or setup.journal is None:
        app.say("this session is not saved, so it cannot be exported")
        return
    place = _place(setup.cwd, file)
    if place.suffix not in _FORMATS:
        app.say(f"{place.name}: an export ends in {', '.join(_FORMATS)}")
        return
    data = await asyncio.to_thread(_exported, chat, record, setup.journal, place.suffix)
    await asyncio.to_thread(_write, place, data)
    chat.noted(f"written to {place}, without secrets as far as they were seen")


def _place(cwd: Path, file: str) -> Path:
    usual = f"parley-{time.strftime('%Y%m%d-%H%M%S')}.md"
    return cwd / os.path.expanduser(file or usual)  # noqa: PTH111 - Path's raises for nobody's home


def _exported(chat: Chat, record: Record, journal: Journal, suffix: str) -> bytes:
    if suffix == ".jsonl":
        return to_jsonl(journal.entries(record.key))
    write = to_html if suffix == ".html" else to_markdown
    return write(chat.conversation.transcript, record).encode(errors="replace")


def _write(place: Path, data: bytes) -> None:
    """Write a new file that only the user may read."""
    with os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)


# The agent and the screen


async def _theme(app: ChatApp, _: str) -> None:
    app.theme = "parley-light" if app.current_theme.dark else "parley-dark"


async def _redraw(app: ChatApp, _: str) -> None:
    app.refresh(repaint=True, layout=True)


async def _cancel(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is not None:
        await chat.conversation.cancel()


async def _restart(app: ChatApp, _: str) -> None:
    chat = _chat(app)
    if chat is not None:
        await chat.conversation.restart()


async def _suspend(app: ChatApp, _: str) -> None:
    app.action_suspend_process()


async def _quit(app: ChatApp, _: str) -> None:
    app.leave()


def _chat(app: ChatApp) -> Chat | None:
    """Return the visible conversation; if there is none, show a message and return None."""
    if app.chat is None:
        app.say("a replay has no agent")
    return app.chat


ACTIONS: dict[str, Action] = {
    "help": _help,
    "new": _new,
    "tab": _tab,
    "next": _next,
    "previous": _previous,
    "close": _close,
    "resume": _resume,
    "fork": _fork,
    "options": _options,
    "agents": _agents,
    "providers": _providers,
    "earlier": _earlier,
    "find": _find,
    "fold": _fold,
    "copy": _copy,
    "links": _links,
    "pictures": _pictures,
    "export": _export,
    "name": _name,
    "theme": _theme,
    "redraw": _redraw,
    "cancel": _cancel,
    "stop": _stop,
    "restart": _restart,
    "suspend": _suspend,
    "quit": _quit,
}
"""The action of each command in `commands.py`."""
