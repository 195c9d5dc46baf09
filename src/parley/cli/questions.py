"""Questions of an agent, put to the user on the terminal: permissions and forms.

What is asked is shown on stderr, inert. No answer, which is an empty line or the end of the input,
is never a yes, and neither is what was typed before a question for consent was shown.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from parley._display_text import sanitize_text
from parley.client._own_permission_request import effect_of
from parley.client._web_address import host_of, refusal_of, warnings_about
from parley.conversation.permission_answer import SCOPE_KEYS, PermissionAnswer
from parley.schema import v2
from parley.session._transcript_entries import ToolCallEntry

from .forms import FormDialog, show_agent_text
from .held_stderr import hold_stderr
from .keyboard import discard_typed_input, read_line
from .paint import begin_of, cells_of, cut_row, terminal_size
from .permission_rows import action_of, claim_rows, real_rows, wrap_rows
from .reporting import say

__all__ = ["Questions"]

_YES, _NO = ("y", "yes"), ("n", "no")
_PLAIN = {
    "allow_once": ("yes", "allow", "allow once"),
    "allow_always": ("always", "always allow", "allow always"),
    "reject_once": ("no", "reject", "deny", "reject once", "deny once"),
    "reject_always": ("never", "always reject", "reject always"),
}
"""Names that say what the option does."""
_OURS = {"session", "project"}
"""The options of a question of our own, which is remembered by choosing one of these."""
_MAX_OPTIONS = 20
_MARGIN = 6
"""The columns before the name of an option."""
_OTHER_ROWS = 4
"""The rows of a question besides those of what it is about and the options."""


class Questions:
    """Asks one question at a time; lines come from stdin, which is a terminal."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()

    async def answered(self) -> None:
        """Wait until no question is open: what an agent says meanwhile would hide it."""
        while self._one_at_a_time.locked():
            async with self._one_at_a_time:
                pass

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None]:
        async with self._one_at_a_time:
            with hold_stderr():
                yield

    async def permission(
        self,
        request: v2.RequestPermissionRequest,
        call: ToolCallEntry | None,
        *,
        agent: str,
        cwd: str,
    ) -> PermissionAnswer:
        """Ask the user to choose an option.

        Args:
            request: The question.
            call: The tool call that it is about.
            agent: The name under which the user knows the agent.
            cwd: Where a path begins that is not absolute.
        """
        async with self._open():
            _show_permission(request, call, agent, cwd)
            options = request.options[:_MAX_OPTIONS]
            count = len(options)
            words = [word for word in "yn" if _chosen(options, word) is not None]
            answers = " or ".join(["1" if count == 1 else f"1-{count}", *words])
            if words and not _OURS.issubset(each.option_id for each in options):
                lasting = ", ".join(word + letter for word in words for letter in SCOPE_KEYS)
                say(f"  {lasting}) remember it for this session (s) or project (p)")
            discard_typed_input()
            while True:
                word = await self._line(f"  choose {answers} (Enter: no answer): ")
                if not word:
                    return PermissionAnswer()
                answer = _answer(options, word)
                if answer is not None:
                    return answer
                say(f"  {sanitize_text(word, is_line=True)!r} is not {answers}")

    async def choice(self, title: str, names: Sequence[str]) -> int | None:
        """Ask the user to choose one of several; returns its place, None: none."""
        async with self._open():
            cells = terminal_size().columns - _MARGIN
            say(f"? {cut_row(sanitize_text(title, is_line=True), cells)}")
            for number, name in enumerate(names, 1):
                say(f"  {number}) {cut_row(sanitize_text(name, is_line=True), cells)}")
            while word := await self._line(f"  choose 1-{len(names)} (nothing: none): "):
                if word.isdecimal() and 1 <= int(word) <= len(names):
                    return int(word) - 1
                say(f"  {sanitize_text(word, is_line=True)!r} is not 1-{len(names)}")
        return None

    async def form(self, form: v2.ElicitationFormMode, agent: str) -> v2.CreateElicitationResponse:
        """Ask for the fields of a form, and for consent to send them to the agent."""
        async with self._open():
            return await FormDialog(form, agent, self._line).run()

    async def address(
        self, request: v2.ElicitationUrlMode, agent: str
    ) -> v2.CreateElicitationResponse:
        """Show a web address and ask whether the user opens it."""
        async with self._open():
            say(f"? {sanitize_text(agent, is_line=True)} asks you to open a web page. It says:")
            show_agent_text(request.message)
            say("  This is the address:")
            for row in wrap_rows("", request.url, terminal_size().columns):
                say(row)
            if refusal := refusal_of(request.url):
                say(f"  This is declined: {refusal}.")
                return v2.ElicitationDeclineAction()
            say(f"    on {host_of(request.url)}")
            for warning in warnings_about(request.url, request.message):
                say(f"    ! {warning}")
            discard_typed_input()
            word = await self._line("  open it yourself, then y; n to decline: ")
        if word in _YES:
            return v2.ElicitationAcceptAction()
        return v2.ElicitationDeclineAction() if word in _NO else v2.ElicitationCancelAction()

    async def _line(self, prompt: str) -> str | None:
        return await read_line(prompt)


def _named(option: v2.PermissionOption, cells: int) -> str:
    """Return the name of an option, and what it does if the name does not show that."""
    name = sanitize_text(option.name, is_line=True)
    if name.lower().replace("_", " ") in _PLAIN.get(option.kind, ()):
        return name
    does = sanitize_text(effect_of(option) or option.kind, is_line=True)
    does = begin_of(f" ({does}", cells // 2) + ")"
    return cut_row(name, cells - cells_of(does)) + does


def _answer(options: list[v2.PermissionOption], word: str) -> PermissionAnswer | None:
    """Read an answer: an option, or y or n, which may be remembered."""
    chosen = _chosen(options, word)
    if chosen is not None:
        return PermissionAnswer(chosen.option_id)
    scope = SCOPE_KEYS.get(word[-1:])
    chosen = None if word[:-1] not in (*_YES, *_NO) else _chosen(options, word[:-1])
    if scope is None or chosen is None:
        return None
    return PermissionAnswer(chosen.option_id, "allow" if word[:-1] in _YES else "deny", scope)


def _chosen(options: list[v2.PermissionOption], word: str) -> v2.PermissionOption | None:
    """Find the option by its number, or by y and n where only one is meant."""
    if word.isdecimal() and 1 <= int(word) <= len(options):
        return options[int(word) - 1]
    kind = "allow_once" if word in _YES else "reject_once" if word in _NO else ""
    meant = [option for option in options if option.kind == kind]
    return meant[0] if len(meant) == 1 else None


def _show_permission(
    request: v2.RequestPermissionRequest, call: ToolCallEntry | None, agent: str, cwd: str
) -> None:
    """Show a question: first what the agent says, then what it is really about and the options."""
    columns, lines = terminal_size()
    action = action_of(request, call, cwd)
    claims = claim_rows(request, call, cwd, columns)
    asks = f" asks for permission{action and f' to {action}'}.{' It says:' if claims else ''}"
    say(f"? {cut_row(sanitize_text(agent, is_line=True), columns - len(asks) - 2)}{asks}")
    for row in claims:
        say(row)
    rows = real_rows(request, call, cwd, columns)
    say("  Details:" if rows else "  There are no details.")
    for row in rows:
        say(row)
    options = request.options[:_MAX_OPTIONS]
    if len(rows) + len(options) + _OTHER_ROWS > lines:
        say(f"  ! These are {len(rows)} rows. Scroll up to read them from the beginning.")
    for number, option in enumerate(options, 1):
        say(f"  {number}) {_named(option, columns - _MARGIN)}")
    if len(request.options) > _MAX_OPTIONS:
        say(f"  ! {len(request.options) - _MAX_OPTIONS:,} more options are not shown")
