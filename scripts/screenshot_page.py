"""Write the picture of the page in its document, as a browser shows it on a phone."""

from __future__ import annotations

import argparse
import asyncio
import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.e2e.page_session import open_page
from tests.e2e.test_page_guard import ScriptedAgent

from parley.gateway import AgentHost

IMAGES = Path(__file__).parents[1] / "docs" / "images"
HEIGHT = 740
OUTPUT = (
    "..\x1b[31mF\x1b[0m\n\x1b[1;31mFAILED\x1b[0m test_cart.py::test_discount\n1 failed, 2 passed\n"
)
PLAN = [
    {"content": "Find the failing test", "priority": "medium", "status": "completed"},
    {"content": "Fix the rounding", "priority": "medium", "status": "in_progress"},
    {"content": "Run the tests", "priority": "medium", "status": "pending"},
]
PATCH = """diff --git a/cart.py b/cart.py
--- a/cart.py
+++ b/cart.py
@@ -1,2 +1,2 @@
 def total(items):
-    return sum(items)
+    return round(sum(items), 2)
"""
ANSWER = (
    "The test fails because `total` is computed **before** the discount. One place needs a "
    "change: round the sum in `cart.py`."
)
OPTIONS = [
    {"optionId": "once", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "always", "name": "Always allow edits", "kind": "allow_always"},
]


def work(agent: ScriptedAgent) -> None:
    """Send what the agent does in its turn."""
    agent.update("session_info_update", title="Fix the discount")
    thought = {"type": "text", "text": "The rounding looks wrong."}
    agent.update("agent_thought_chunk", messageId="thought", content=thought)
    agent.update("plan_update", plan={"type": "items", "planId": "plan", "entries": PLAN})
    command = "pytest -q tests/test_cart.py"
    agent.update("terminal_update", terminalId="tests", command=command)
    agent.update(
        "terminal_output_chunk", terminalId="tests", data=base64.b64encode(OUTPUT.encode()).decode()
    )
    agent.update("terminal_update", terminalId="tests", exitStatus={"exitCode": 1})
    agent.update(
        "tool_call_update",
        toolCallId="tests",
        title="Run the tests",
        kind="execute",
        status="completed",
        content=[{"type": "terminal", "terminalId": "tests"}],
    )
    agent.update(
        "agent_message_chunk", messageId="answer", content={"type": "text", "text": ANSWER}
    )


def ask(agent: ScriptedAgent) -> None:
    """Ask for permission to edit a file."""
    diff = {
        "type": "diff",
        "changes": [{"operation": "modify", "path": "/srv/shop/cart.py"}],
        "patch": {"format": "git_patch", "text": PATCH},
    }
    call = {"toolCallId": "edit", "title": "Edit cart.py", "kind": "edit", "content": [diff]}
    subject: dict[str, Any] = {"type": "tool_call", "toolCall": call}
    params = {"sessionId": "s", "title": "Edit cart.py?", "subject": subject, "options": OPTIONS}
    agent.send(id="ask", method="session/request_permission", params=params)


async def picture(folder: Path) -> bytes:
    """Return the picture, as PNG: the conversation, and a question."""
    agent = ScriptedAgent()
    async with open_page(folder, AgentHost("opencode", agent)) as session:
        page = session.page
        await session.ready()
        await session.say("The discount test fails. Can you fix it?")
        await agent.prompted.wait()
        work(agent)
        await page.sees("round the sum", ".agent")
        await page.sees("exit code 1")
        await page.run("document.querySelector('#log').scrollTop = 0")
        shots = [await page.picture()]
        ask(agent)
        await page.when("document.querySelector('.card') && !document.querySelector('.card.early')")
        await page.run("document.querySelector('#log').scrollTop = 1e9")
        shots.append(await page.picture())
        images = "".join(
            f"<img src='data:image/png;base64,{base64.b64encode(each).decode()}'>" for each in shots
        )
        style = "body{margin:8px;display:flex;gap:8px;background:#8b8f94}img{border-radius:10px}"
        html = f"<style>{style}</style>{images}".encode()
        url = f"data:text/html;base64,{base64.b64encode(html).decode()}"
        both = await session.browser.open(url, (744, HEIGHT + 16, False))
        return await both.picture()


def main() -> int:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        painted = asyncio.run(asyncio.wait_for(picture(Path(folder)), 60))
    (IMAGES / "page.png").write_bytes(painted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
