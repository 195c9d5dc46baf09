"""An agent that suggests edits: by rules where they are sure, else by a model on this machine."""

from __future__ import annotations

import os

from parley import Agent
from parley.nes import CombinedEngine, EmbeddedEngine, ModelEngine, Suggestions

URL = os.environ.get("MODEL_URL", "http://localhost:8080")

agent = Agent("tandem", title="Tandem")
model = ModelEngine(URL, "sweep-next-edit-1.5b")  # its name says how it is asked
Suggestions(agent, CombinedEngine(EmbeddedEngine(), model))


if __name__ == "__main__":
    agent.run()
