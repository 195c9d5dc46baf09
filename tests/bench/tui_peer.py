"""A chat made of Textual's own Markdown streaming: an input, and an answer that grows above it.

The agent and the client are those that `parley chat` is measured with; only the screen is another.
Its argument is the command of the agent.
"""

from __future__ import annotations

import shlex
import sys

from textual import on
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Input, Label, Markdown

from parley.client import Session, connect
from parley.schema import v2


class Peer(App[None]):
    """Sends what is written, and shows what comes."""

    session: Session | None = None

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Markdown(open_links=False)
        yield Label("starting")
        yield Input()

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).anchor()
        self.query_one(Input).focus()
        self.run_worker(self.converse())

    async def converse(self) -> None:
        async with connect(shlex.split(sys.argv[1])) as connection:
            self.session = await connection.new_session()
            self.query_one(Label).update("ready")
            await connection.peer.wait_closed()

    @on(Input.Submitted)
    def send(self, event: Input.Submitted) -> None:
        event.input.value = ""
        self.run_worker(self.ask(event.value))

    async def ask(self, text: str) -> None:
        assert self.session is not None
        self.query_one(Label).update("working")
        stream = Markdown.get_stream(self.query_one(Markdown))
        async for update in self.session.prompt(text):
            if isinstance(update, v2.AgentMessageChunk):
                assert isinstance(update.content, v2.TextContent)
                await stream.write(update.content.text)
        await stream.stop()
        self.query_one(Label).update("ready")


if __name__ == "__main__":
    Peer().run()
