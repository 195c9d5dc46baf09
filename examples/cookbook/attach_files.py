"""Attach a text file, an image and a link to a prompt."""

import asyncio
import base64
from pathlib import Path

import parley
from parley import Agent, Turn
from parley.agent import AgentFeatures
from parley.schema import v2

agent = Agent("reader", features=AgentFeatures(image=True, embedded_context=True))


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(", ".join(type(block).__name__ for block in turn.prompt))


def text_file(path: Path) -> v2.EmbeddedResource:
    contents = v2.TextResourceContents(uri=path.absolute().as_uri(), text=path.read_text())
    return v2.EmbeddedResource(resource=contents)


def image(path: Path, mime_type: str) -> v2.ImageContent:
    data = base64.b64encode(path.read_bytes()).decode()
    return v2.ImageContent(data=data, mime_type=mime_type)


def link(path: Path) -> v2.ResourceLink:
    return v2.ResourceLink(name=path.name, uri=path.absolute().as_uri())


async def main() -> None:
    async with parley.connect(agent) as client:
        session = await client.new_session()
        project = text_file(Path("pyproject.toml"))
        picture = image(Path("examples/cookbook/dot.png"), "image/png")
        print(await session.ask("Compare these:", project, picture, link(Path("LICENSE"))))


asyncio.run(main())
