"""An agent that suggests `ccc` for `bbb`; its argument selects how it gets the text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from parley import Agent
from parley.nes import EditProposal, Proposal, Question, Span, Spot, Suggestions, TextEdit
from parley.nes.serving import ServedSession

MODELS: dict[str, dict[str, Any]] = {
    "events": {},
    "context": {"events": (), "context": ["editHistory"]},
    "both": {"context": ["recentFiles", "editHistory"]},
}

agent = Agent("replaces")
nes = Suggestions(agent, **MODELS[sys.argv[1]])


@nes.suggest
async def guess(session: ServedSession, question: Question) -> Sequence[Proposal]:
    uri = question.document.uri
    for number, line in enumerate(question.document.lines):
        if (at := line.find("bbb")) >= 0:
            edit = TextEdit(Span(Spot(number, at), Spot(number, at + 3)), "ccc")
            return [EditProposal(uri=uri, edits=(edit,))]
    return []


if __name__ == "__main__":
    agent.run()
