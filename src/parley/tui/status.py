"""The status line below the input: agent, state, duration, usage and directory.

On a narrow screen the less important pieces are left out, so that nothing is ever cut in the middle
but the last one that remains.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from parley.conversation.config_options import group_model_options, value_name
from parley.conversation.conversation import Conversation, State
from parley.errors import AuthRequired
from parley.schema import v2
from parley.schema.base import Unknown
from parley.session._config_options import mode_option
from parley.session._transcript import Transcript

from .render.blocks import one_line
from .render.lines import clip
from .render.theme import Theme, theme_of

__all__ = [
    "MARKS",
    "Piece",
    "Status",
    "describe_exit",
    "fitted",
    "money",
    "pieces_of",
    "short_number",
    "short_path",
]

_GAP = 2
MARKS: dict[State, str] = {
    "starting": "◌",
    "idle": "●",
    "running": "▶",
    "waiting": "?",
    "dead": "✗",
    "closed": "✗",
}
"""A sign for each state of a conversation."""
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}
_MODEL = ("model", "model_config")
_LONGEST_PATH = 30
_AWAY = "Connection lost, reconnecting. Press F5 to retry now."
_SLOW_AFTER = 3.0
"""The seconds after which the status of a starting agent names the key that cancels the start."""


class Piece(NamedTuple):
    """A text on the status line."""

    text: str
    style: Style
    rank: int
    """How soon it is left out; 0 never is."""
    is_right: bool = False
    """Whether it stands at the right end."""


class Status(Widget):
    """The status line; shows pieces."""

    DEFAULT_CSS = """
    Status {
        height: 1;
        background: $panel;
        color: $foreground;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._pieces: Sequence[Piece] = ()
        self._message: Piece | None = None
        self._message_timer: Timer | None = None

    @property
    def text(self) -> str:
        """Return the text that is shown now."""
        return fitted(self._all(), self.size.width).text

    def show(self, pieces: Sequence[Piece]) -> None:
        """Show these."""
        if pieces != self._pieces:
            self._pieces = pieces
            self.refresh()

    def say(self, text: str, seconds: float) -> None:
        """Show a text for a while, before everything else."""
        if self._message_timer is not None:
            self._message_timer.stop()
        self._message = Piece(text, theme_of(self).warning, 0)
        self._message_timer = self.set_timer(seconds, self._clear_message)
        self.refresh()

    def _clear_message(self) -> None:
        self._message = self._message_timer = None
        self.refresh()

    def _all(self) -> list[Piece]:
        return [*([] if self._message is None else [self._message]), *self._pieces]

    def render_line(self, y: int) -> Strip:
        """Return the line; what Textual does with lines makes it inert once more."""
        return fitted(self._all(), self.size.width).apply_style(self.rich_style)


def fitted(pieces: Sequence[Piece], width: int) -> Strip:
    """Return a line of a width with as many pieces as have room on it."""
    pieces = [each._replace(text=one_line(each.text)) for each in pieces if each.text]
    while _length(pieces) > width and any(each.rank for each in pieces):
        pieces.remove(max(reversed(pieces), key=lambda each: each.rank))
    left = [each for each in pieces if not each.is_right]
    right = [each for each in pieces if each.is_right]
    runs = _runs(left)
    space = max(width - 1 - _width(runs) - _width(_runs(right)), _GAP if right else 0)
    line = clip([*runs, (" " * space, Style.null()), *_runs(right)], max(width, 1))
    return Strip(line).adjust_cell_length(width)


def _runs(pieces: Sequence[Piece]) -> list[tuple[str, Style]]:
    runs: list[tuple[str, Style]] = []
    for each in pieces:
        runs += [(" " if not runs else " " * _GAP, Style.null()), (each.text, each.style)]
    return runs


def _width(runs: Sequence[tuple[str, Style]]) -> int:
    return sum(cell_len(text) for text, _ in runs)


def _length(pieces: Sequence[Piece]) -> int:
    return sum(cell_len(each.text) + _GAP for each in pieces)


def pieces_of(
    conversation: Conversation, theme: Theme, *, seconds: float | None, has_card: bool
) -> list[Piece]:
    """Return the pieces that describe a conversation.

    Args:
        conversation: The conversation.
        theme: The styles.
        seconds: The duration of the turn or the start so far; None if there is none.
        has_card: Whether keys go to its question.
    """
    transcript = conversation.transcript
    queued = len(conversation.queue)
    home = short_path(conversation.setup.cwd)
    return [
        _state(conversation, theme, seconds, has_card=has_card),
        Piece(conversation.name, theme.strong, 2),
        *(Piece(text, theme.accent, rank) for text, rank in _options(transcript)),
        Piece(f"{queued} queued" if queued else "", theme.warning, 1, is_right=True),
        Piece(_usage(transcript), theme.faint, 3, is_right=True),
        Piece(money(transcript.cost), theme.faint, 3, is_right=True),
        Piece(home, theme.faint, 5, is_right=True),
    ]


def _state(
    conversation: Conversation, theme: Theme, seconds: float | None, *, has_card: bool
) -> Piece:
    state = conversation.state
    if conversation.away_reason and state not in ("dead", "closed"):
        return Piece(f"{MARKS['starting']} {_AWAY}", theme.warning, 0)
    style = {"waiting": theme.warning, "dead": theme.bad, "idle": theme.good}.get(
        state, theme.accent
    )
    took = "" if seconds is None else f" {_duration(seconds)}"
    text = {
        "starting": f"starting{took}, Esc to cancel"
        if seconds is not None and seconds > _SLOW_AFTER
        else "starting",
        "running": f"cancelling{took}"
        if conversation.is_cancelling
        else f"working{took}, Esc to stop",
        "idle": "ready",
        "waiting": "Waiting for you." if has_card else "Waiting for you. Press Tab to answer.",
        "dead": "Disconnected. Press F5 to reconnect."
        if conversation.setup.is_remote
        else "Ended. Press F5 to restart.",
        "closed": "closed",
    }[state]
    return Piece(f"{MARKS[state]} {text}", style, 0)


def describe_exit(conversation: Conversation) -> str:
    """Return the state of an agent that has exited, and the keys to continue."""
    name = one_line(conversation.name)
    if isinstance(conversation.error, AuthRequired):
        return f"✗ {name} requires a login. Press F5 or Enter to log in, Ctrl-N to start over."
    if conversation.setup.is_remote:
        problem = "is disconnected" if conversation.session is not None else "cannot be reached"
        return f"✗ {name} {problem}. Press F5 or Enter to reconnect, Ctrl-N to start over."
    if conversation.session is None:
        return f"✗ {name} has not started. Press F5 or Enter to try again, Ctrl-N to start over."
    return f"✗ {name} has ended. Press F5 or Enter to restart and resume, Ctrl-N to start over."


def _duration(seconds: float) -> str:
    whole = int(seconds)
    return f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60:02}s"


def _options(transcript: Transcript) -> list[tuple[str, int]]:
    """Return the mode, the model and its settings, and how soon each is left out."""
    options = group_model_options(transcript.config_options)
    shown: list[tuple[str, int]] = []
    if (mode := mode_option(options)) is not None:
        shown.append((value_name(mode), 3))
    for option in options:
        if not isinstance(option, Unknown | v2.SessionConfigBoolean) and option.category in _MODEL:
            shown.append((value_name(option), 4 if option.category == "model" else 5))
    return shown


def _usage(transcript: Transcript) -> str:
    usage = transcript.usage
    if usage is None:
        total = None if transcript.tokens is None else transcript.tokens.total_tokens
        return f"{short_number(total)} tokens" if total else ""
    if not usage.size:
        return f"{short_number(usage.used)} tokens"
    share = usage.used * 100 // usage.size
    return f"{short_number(usage.used)}/{short_number(usage.size)} {share}%"


def short_number(number: int) -> str:
    """Return a number in at most four figures: 950, 12.3k, 200k, 1.2M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            value = number / size
            return (
                f"{value:.0f}{unit}" if value >= 100 or number % size == 0 else f"{value:.1f}{unit}"
            )
    return str(number)


def money(cost: v2.Cost | None) -> str:
    """Return what something costs."""
    if cost is None:
        return ""
    figures = 2 if cost.amount >= 1 or not cost.amount else 4
    symbol = _SYMBOLS.get(cost.currency)
    amount = f"{cost.amount:.{figures}f}"
    return f"{symbol}{amount}" if symbol else f"{amount} {cost.currency}"


def short_path(path: Path) -> str:
    """Return a path as short as it is still understood: from home on, else its end."""
    home = Path.home()
    if path.is_relative_to(home) and path != home:
        path = "~" / path.relative_to(home)
    parts = path.parts
    return str(path) if len(str(path)) <= _LONGEST_PATH else str(Path("…", *parts[-2:]))
