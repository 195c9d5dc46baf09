"""Lists to choose from, over the screen: sessions, agents, logins, options.

Typed text filters the list. Enter chooses, Esc leaves.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from parley.client._session_format import from_home, state_of, when
from parley.config import AgentEntry
from parley.conversation.config_options import group_model_options, value_name
from parley.errors import JournalError
from parley.journal import Hit, Record
from parley.schema import v2
from parley.schema.base import Unknown

from .picker import ListPicker
from .rows import Row

__all__ = ["AgentPicker", "LoginPicker", "OptionPicker", "SessionPicker"]

Search: TypeAlias = Callable[[str], Awaitable[Sequence[Hit]]]
"""A full-text search of all sessions."""
Setting: TypeAlias = tuple[str, str | bool]
"""The id of an option and a value for it."""

_SEARCHED_CHARS = 3
"""The minimum length of a filter that also searches the messages."""


class SessionPicker(ListPicker[Record]):
    """Lets the user choose an earlier session."""

    def __init__(
        self, records: Sequence[Record], *, cwd: str = "", search: Search | None = None
    ) -> None:
        """Offer sessions.

        Args:
            records: The sessions, the newest first.
            cwd: Sessions of this directory come first.
            search: Searches the messages; None to filter only the listed text.
        """
        here = {each for each in {each.cwd for each in records} if cwd and _same(each, cwd)}
        ordered = sorted(records, key=lambda each: each.cwd not in here)
        heads = ("Elsewhere", "In this directory") if cwd else ("", "")
        rows = [_session_row(each, heads[each.cwd in here]) for each in ordered]
        super().__init__("Resume a session", rows, nothing="There are no sessions yet.")
        self._search = search
        self._searched = ""
        self._is_searching = False
        self._hits: list[Row[Record]] = []

    def extra_rows(self, typed: str) -> Sequence[Row[Record]]:
        """Return the search results, and search for newly typed text."""
        if self._search is None or len(typed) < _SEARCHED_CHARS:
            return ()
        if typed != self._searched and not self._is_searching:
            self._is_searching = True
            self.run_worker(self._search_for(self._search, typed))
        return self._hits if typed == self._searched else ()

    async def _search_for(self, search: Search, typed: str) -> None:
        """Search repeatedly until the results are for the last typed text."""
        self._hits = []
        with suppress(JournalError):  # then only what is listed is found
            self._hits = [_hit_row(hit) for hit in await search(typed)]
        self._searched = typed
        self._is_searching = False
        self.refilter(keeps_mark=True)


def _session_row(record: Record, group: str) -> Row[Record]:
    name = f"{record.name}: " if record.name else ""
    state = state_of(record)
    title = f"{name}{record.title or 'nothing was said'}"
    label = f"[{state}] {title}" if state else title
    below = " · ".join([record.agent, when(record.updated_at), from_home(record.cwd)])
    return Row(record, label, below=below, group=group, words=record.key)


def _hit_row(hit: Hit) -> Row[Record]:
    record = hit.record
    name = f"{record.name}: " if record.name else ""
    label = f"{name}{record.title or 'a session'}"
    detail = f"{record.agent} · {when(record.updated_at)}"
    return Row(record, label, detail, below=hit.text, group="In messages")


def _same(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


class AgentPicker(ListPicker[str]):
    """Lets the user choose a configured agent, by its name."""

    def __init__(self, entries: Sequence[AgentEntry], *, current: str | None = None) -> None:
        rows = [
            Row(
                each.name,
                each.name,
                _now(each.name == current),
                below=each.description or each.shown,
                words=each.shown,
            )
            for each in entries
        ]
        nothing = "No agent is configured; add one with `parley agents add NAME -- COMMAND`."
        super().__init__("Talk to an agent", rows, nothing=nothing, current=current)


class LoginPicker(ListPicker[str]):
    """Lets the user choose a login method, by its id.

    The agent makes it appear, so keys that are pressed at that moment do not count.
    """

    def __init__(self, methods: Sequence[v2.AuthMethod]) -> None:
        rows = [_login_row(each) for each in methods]
        nothing = "The agent offers no way to log in."
        super().__init__("The agent wants a login", rows, nothing=nothing, is_unrequested=True)


def _login_row(method: v2.AuthMethod) -> Row[str]:
    match method:
        case v2.AuthMethodTerminal():
            procedure = " ".join(["its program runs in this terminal", *method.args])
        case v2.AuthMethodAgent():
            procedure = "the agent carries it out"
        case Unknown(tag):
            return Row("", tag, "a kind of login that is not known here", can_choose=False)
    return Row(
        method.method_id,
        method.name,
        f"({procedure})",
        below=method.description or method.method_id,
        words=method.method_id,
    )


class OptionPicker(ListPicker[Setting]):
    """Lets the user choose an option of the session and a value; a switch toggles at once.

    The result is the id and the value. The filter also finds values of all options.
    """

    def __init__(self, options: Sequence[v2.SessionConfigOption]) -> None:
        """Offer all options of a session."""
        self._choices = {
            each.config_id: each for each in options if isinstance(each, v2.SessionConfigSelect)
        }
        self._opened: v2.SessionConfigSelect | None = None
        self._rows = [_option_row(each) for each in group_model_options(options)]
        super().__init__("Options", self._rows, nothing="The agent offers no options.")

    def extra_rows(self, typed: str) -> Sequence[Row[Setting]]:
        """Return the values of all options, if there is a filter."""
        if not typed or self._opened is not None:
            return ()
        every = [
            Row(row.value, f"{option.name}: {row.label}", row.detail, group="Values")
            for option in self._choices.values()
            for row in _value_rows(option)
        ]
        return self.fitting(typed, every)

    def chosen(self, row: Row[Setting]) -> None:
        """Show the values of an option, or return a value."""
        option = self._choices.get(row.value[0])
        if self._opened is not None or option is None or row not in self._rows:
            self.dismiss(row.value)
            return
        self._opened = option
        self.offer(option.name, _value_rows(option), current=_setting(option))

    def left(self) -> None:
        """Go back to the options, or leave."""
        if self._opened is None:
            self.dismiss(None)
            return
        current, self._opened = _setting(self._opened), None
        self.offer("Options", self._rows, current=current)


def _setting(option: v2.SessionConfigSelect) -> Setting:
    return option.config_id, option.current_value


def _option_row(option: v2.SessionConfigOption) -> Row[Setting]:
    if isinstance(option, Unknown):
        strange = "a kind of option that is not known here"
        return Row(("", ""), option.tag, strange, can_choose=False)
    label = f"{option.name}: {value_name(option)}"
    below, words = option.description or "", f"{option.category or ''} {option.config_id}"
    if isinstance(option, v2.SessionConfigBoolean):
        turned = (option.config_id, not option.current_value)
        return Row(turned, label, "Enter turns it", below=below, words=words)
    return Row(_setting(option), label, "Enter chooses", below=below, words=words)


def _value_rows(option: v2.SessionConfigSelect) -> list[Row[Setting]]:
    id = option.config_id
    grouped: list[tuple[str, v2.SessionConfigSelectOption]] = []
    for each in option.options:
        if isinstance(each, v2.SessionConfigSelectGroup):
            grouped += [(each.name, value) for value in each.options]
        else:
            grouped.append(("", each))
    rows: list[Row[Setting]] = []
    for group, value in grouped:
        detail = f"{_now(value.value == option.current_value)} {value.description or ''}".strip()
        rows.append(Row((id, value.value), value.name, detail, group=group, words=value.value))
    return rows


def _now(is_now: bool) -> str:
    return "(now)" if is_now else ""
