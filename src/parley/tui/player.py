"""A recorded session that is played: a tab without an agent."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from parley.conversation.playback import Playback

from .status import Piece
from .tab import Tab

__all__ = ["Player"]

_FASTEST, _SLOWEST = 64.0, 1 / 16


class Player(Tab):
    """A tab with a replay."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,p", "pause", "Pause or resume", show=False, priority=True),
        Binding("right,n", "step", "One update", show=False, priority=True),
        Binding("plus,equals_sign", "speed(2)", "Faster", show=False),
        Binding("minus", "speed(0.5)", "Slower", show=False),
        Binding("s", "skip", "To the end of the turn", show=False),
        Binding("e", "all", "To the end", show=False),
    ]

    def __init__(self, playback: Playback, source: str) -> None:
        super().__init__()
        self.playback = playback
        self._source = source
        self._is_over = False

    @property
    def label(self) -> str:
        """The name of the recording."""
        return self.playback.transcript.title or self._source

    @property
    def mark(self) -> str:
        """The state as one character."""
        return "■" if self._is_over else "‖" if self.playback.is_paused else "▶"

    def on_mount(self) -> None:
        """Begin to play."""
        self.begin(self.playback.transcript)
        self.history.focus()
        self.work(self._play, "play")

    async def _play(self) -> None:
        async for update in self.playback:
            room = self.shown.update(update)
            if room is not None:
                await room
        self._is_over = True
        self.note("end of the recording")

    def tick(self) -> None:
        """Show the position of the replay."""
        super().tick()
        playback, theme = self.playback, self.theme
        state = "over" if self._is_over else "paused" if playback.is_paused else "playing"
        speed = "at once" if playback.speed is None else f"{playback.speed:g}x"
        space = "resumes" if playback.is_paused else "pauses"
        keys = f"Space {space} · → steps · +/- speed · s skips · e ends"
        if self._is_over:
            keys = "Ctrl-Q leaves"
        self.status.show(
            [
                Piece(f"{self.mark} {state}", theme.accent, 0),
                Piece(speed, theme.strong, 0),
                Piece(f"{playback.played} updates", theme.faint, 2),
                Piece(self._source, theme.faint, 3),
                Piece(keys, theme.faint, 1, is_right=True),
            ]
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable the keys that are letters while the find bar is open."""
        return not self.find_bar.display or action not in ("pause", "step")

    def action_pause(self) -> None:
        """Pause, or resume."""
        if self.playback.is_paused:
            self.playback.resume()
        else:
            self.playback.pause()

    def action_step(self) -> None:
        """Play one update."""
        self.playback.step()

    def action_skip(self) -> None:
        """Play the rest of the turn at once."""
        self.playback.skip()

    def action_all(self) -> None:
        """Play the rest at once."""
        self.playback.speed = None
        self.playback.resume()

    def action_speed(self, factor: float) -> None:
        """Play faster or slower."""
        speed = self.playback.speed or _FASTEST
        self.playback.speed = min(max(speed * factor, _SLOWEST), _FASTEST)
