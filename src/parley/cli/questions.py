"""Questions of an agent, put to the user on the terminal: permissions and forms.

What is asked is shown on stderr, inert. No answer, which is an empty line or the end of the input,
is never a yes, and neither is what was typed before a question for consent was shown.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal

import msgspec
from msgspec import Struct

from parley.inert import inert
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session.entries import ToolCall
from parley.session.forms import problem_of

from .exits import say
from .parts import content_lines

__all__ = ["Answer", "Questions"]

_YES, _NO = ("y", "yes"), ("n", "no")
_KINDS = {
    "allow_once": "allows it once",
    "allow_always": "always allows it",
    "reject_once": "refuses it once",
    "reject_always": "always refuses it",
}
"""What an option does: its name is the agent's word."""
_PLAIN = {
    "allow_once": ("yes", "allow", "allow once"),
    "allow_always": ("always", "always allow", "allow always"),
    "reject_once": ("no", "reject", "deny", "reject once", "deny once"),
    "reject_always": ("never", "always reject", "reject always"),
}
"""Names that say what the option does."""
_OURS = {"session", "project"}
"""The options of a question of our own, which is remembered by choosing one of these."""
_WHOLE = 500
"""How many lines are shown of each thing that a question is about."""
_SCOPES: dict[str, Literal["session", "project"]] = {"s": "session", "p": "project"}


class Answer(Struct, frozen=True):
    """What the user said to a question for permission."""

    option_id: str | None = None
    """What was chosen; None: nothing."""
    decision: Literal["allow", "deny"] = "deny"
    scope: Literal["session", "project"] | None = None
    """How far it is to be remembered; None: not at all."""


class Questions:
    """Asks one question at a time; lines come from stdin, which is a terminal."""

    def __init__(self) -> None:
        self._one_at_a_time = asyncio.Lock()

    async def permission(
        self, request: v2.RequestPermissionRequest, call: ToolCall | None
    ) -> Answer:
        """Ask the user to choose an option."""
        async with self._one_at_a_time:
            say(f"? {inert(request.title, is_line=True)}")
            for line in _details(request, call):
                say(f"    {line}")
            for number, option in enumerate(request.options, 1):
                say(f"  {number}) {inert(_named(option), is_line=True)}")
            count = len(request.options)
            words = [word for word in "yn" if _chosen(request.options, word) is not None]
            answers = " or ".join(["1" if count == 1 else f"1-{count}", *words])
            if words and not _OURS.issubset(each.option_id for each in request.options):
                lasting = ", ".join(word + letter for word in words for letter in _SCOPES)
                say(f"  {lasting}) the same from now on, in this session (s) or project (p)")
            _forget_keys()
            while True:
                word = await self._line(f"  choose {answers} (nothing: no answer): ")
                if not word:
                    return Answer()
                answer = _answer(request.options, word)
                if answer is not None:
                    return answer
                say(f"  {inert(word, is_line=True)!r} is not {answers}")

    async def choice(self, title: str, names: Sequence[str]) -> int | None:
        """Ask the user to choose one of several; returns its place, None: none."""
        async with self._one_at_a_time:
            say(f"? {inert(title, is_line=True)}")
            for number, name in enumerate(names, 1):
                say(f"  {number}) {inert(name, is_line=True)}")
            while word := await self._line(f"  choose 1-{len(names)} (nothing: none): "):
                if word.isdecimal() and 1 <= int(word) <= len(names):
                    return int(word) - 1
                say(f"  {inert(word, is_line=True)!r} is not 1-{len(names)}")
        return None

    async def form(self, form: v2.ElicitationFormMode) -> v2.CreateElicitationResponse:
        """Ask for the fields of a form, one by one."""
        schema = form.requested_schema
        content: dict[str, Any] = {}
        async with self._one_at_a_time:
            say(f"? {inert(form.message, is_line=True)} (Ctrl-D: no answer)")
            for name, field in schema.properties.items():
                is_required = name in (schema.required or ())
                if isinstance(field, Unknown):
                    if is_required:
                        say(
                            f"  {inert(name, is_line=True)}: a kind of field that is not known here"
                        )
                        return v2.ElicitationDeclineAction()
                    continue
                word = await self._field(name, field, is_required=is_required)
                if word is None:
                    return v2.ElicitationCancelAction()
                if word != "":
                    content[name] = word
        return v2.ElicitationAcceptAction(content=content)

    async def address(self, request: v2.ElicitationUrlMode) -> v2.CreateElicitationResponse:
        """Show a URL and ask whether the user goes there."""
        async with self._one_at_a_time:
            say(f"? {inert(request.message, is_line=True)}")
            say(f"    {inert(request.url, is_line=True)}")
            _forget_keys()
            word = await self._line("  open it yourself, then y; n to decline: ")
        if word in _YES:
            return v2.ElicitationAcceptAction()
        return v2.ElicitationDeclineAction() if word in _NO else v2.ElicitationCancelAction()

    async def _field(
        self, name: str, field: v2.ElicitationPropertySchema, *, is_required: bool
    ) -> Any:
        """Ask until the answer fits; returns "" for a field left empty, None at the end."""
        default = getattr(field, "default", None)
        label = inert(str(getattr(field, "title", None) or name), is_line=True)
        hint = "" if default is None else f" [{inert(str(default), is_line=True)}]"
        while True:
            word = await self._line(f"  {label}{hint}: ")
            if word is None:
                return None
            if not word and default is not None:
                return default
            if not word and not is_required:
                return ""
            if not word:
                continue
            value = _value(field, word)
            problem = problem_of(field, value)
            if problem is None:
                return value
            say(f"    {inert(problem, is_line=True)}")

    async def _line(self, prompt: str) -> str | None:
        """Return a line without its end; None at the end of the input."""
        sys.stderr.write(prompt)
        sys.stderr.flush()
        loop = asyncio.get_running_loop()
        arrived: asyncio.Future[bytes] = loop.create_future()

        def read() -> None:
            loop.remove_reader(0)
            if not arrived.done():
                arrived.set_result(os.read(0, 4096))

        loop.add_reader(0, read)
        try:
            data = await arrived
        finally:
            loop.remove_reader(0)
        if not data:
            say("")  # the line of the prompt is still open
            return None
        return data.decode(errors="replace").strip()


def _forget_keys() -> None:
    """Drop what was typed before the question could be read: it is no answer to it."""
    with suppress(ImportError):  # not every system has it
        import termios

        with suppress(termios.error):  # no terminal
            termios.tcflush(0, termios.TCIFLUSH)


def _named(option: v2.PermissionOption) -> str:
    """Return the name of an option, and what it does where the name does not tell."""
    if option.name.strip().lower().replace("_", " ") in _PLAIN.get(option.kind, ()):
        return option.name
    return f"{option.name} ({_KINDS.get(option.kind, option.kind)})"


def _answer(options: list[v2.PermissionOption], word: str) -> Answer | None:
    """Read an answer: an option, or y or n, which may be remembered."""
    chosen = _chosen(options, word)
    if chosen is not None:
        return Answer(chosen.option_id)
    scope = _SCOPES.get(word[-1:])
    chosen = None if word[:-1] not in (*_YES, *_NO) else _chosen(options, word[:-1])
    if scope is None or chosen is None:
        return None
    return Answer(chosen.option_id, "allow" if word[:-1] in _YES else "deny", scope)


def _chosen(options: list[v2.PermissionOption], word: str) -> v2.PermissionOption | None:
    """Find the option by its number, or by y and n where only one is meant."""
    if word.isdecimal() and 1 <= int(word) <= len(options):
        return options[int(word) - 1]
    kind = "allow_once" if word in _YES else "reject_once" if word in _NO else ""
    meant = [option for option in options if option.kind == kind]
    return meant[0] if len(meant) == 1 else None


def _details(request: v2.RequestPermissionRequest, call: ToolCall | None) -> list[str]:
    """Return what the user needs to know to decide: the real input and diff, not only a title."""
    lines = [] if request.description is None else [request.description]
    if isinstance(request.subject, v2.CommandPermissionSubject):
        lines += [f"$ {line}" for line in request.subject.command.split("\n")]
        lines.append(f"in {request.subject.cwd}")
    if call is not None:
        if call.title and call.title != request.title:
            lines.append(call.title)
        lines += [f"{call.kind}: {each.path}" for each in call.locations]
        lines += _input(call.raw_input)
    shown = [] if call is None else content_lines(call.content, {}, _WHOLE)
    return [inert(line, is_line=True) for line in lines] + [text[4:] for text, _ in shown]


class _Command(Struct, forbid_unknown_fields=True):
    """The input of a tool that runs a command, and nothing else."""

    command: str


def _input(given: Any) -> list[str]:
    """Return the input of a tool: a command as one, anything else as JSON."""
    if given is None:
        return []
    try:
        return [f"$ {line}" for line in msgspec.convert(given, _Command).command.split("\n")]
    except msgspec.ValidationError:
        return [msgspec.json.encode(given).decode()]


def _value(field: v2.ElicitationPropertySchema, word: str) -> Any:
    """Read a value for a field; what cannot be read stays a word, which then does not fit."""
    match field:
        case v2.BooleanPropertySchema() if word in (*_YES, *_NO):
            return word in _YES
        case v2.IntegerPropertySchema() | v2.NumberPropertySchema():
            with suppress(ValueError):
                return int(word)
            with suppress(ValueError):
                return float(word)
            return word
        case v2.MultiSelectPropertySchema():
            return [each.strip() for each in word.split(",")]
        case _:
            return word
