"""A next-edit agent that keeps nothing: the editor sends the text with each question."""

import asyncio

from parley import Agent
from parley.nes import (
    ActionProposal,
    EditProposal,
    NesClient,
    Proposal,
    Question,
    Span,
    Spot,
    Suggestions,
    TextEdit,
)
from parley.nes.client import ActionSuggestion
from parley.nes.serving import ServedSession

URI = "file:///notes/words.txt"
agent = Agent("stateless")
nes = Suggestions(agent, events=())


@nes.suggest
async def guess(session: ServedSession, question: Question) -> list[Proposal]:
    document = question.document  # as the user has it, saved or not
    for number, line in enumerate(document.lines):
        if (at := line.find("teh")) >= 0:
            edit = TextEdit(Span(Spot(number, at), Spot(number, at + 3)), "the")
            return [EditProposal(uri=document.uri, edits=(edit,))]
    if "sortLines" in question.ide_actions:
        return [ActionProposal(action_id="sortLines", arguments={"uri": document.uri})]
    return []


async def main() -> None:
    async with NesClient.connect(agent, actions=["sortLines"]) as editor:
        document = await editor.open(URI, "plaintext", "teh\n")
        await editor.set_text(URI, "teh\nand\n")
        await editor.ask()
        await editor.accept()
        print("after the edit:", document.text.split())
        await editor.ask()
        taken = await editor.accept()
        if isinstance(taken, ActionSuggestion) and taken.action_id == "sortLines":
            lines = sorted(document.text.splitlines(keepends=True))
            await editor.set_text(URI, "".join(lines))
        print("after the action:", document.text.split())


if __name__ == "__main__":
    asyncio.run(main())
