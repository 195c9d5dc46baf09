"""Each card and each picker as a picture: any change of what they look like is seen here.

After a wanted change: `pytest tests/unit/tui/test_asked_snapshots.py --snapshot-update`, and look.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
from tests.unit.tui.dialog_app import DialogApp, press
from textual.app import App
from textual.pilot import Pilot

from parley.config import AgentEntry
from parley.journal import Record
from parley.schema import v2
from parley.schema._codec import decode
from parley.session._transcript_entries import ToolCallEntry
from parley.tui.dialogs.form_card import FormCard
from parley.tui.dialogs.permission_card import PermissionCard
from parley.tui.dialogs.pickers import AgentPicker, LoginPicker, OptionPicker, SessionPicker
from parley.tui.dialogs.url_card import UrlCard

Compare = Callable[..., bool]
Before = Callable[[Pilot[None]], Awaitable[None]]

SMALL, LARGE = (80, 24), (140, 40)
DARK, LIGHT = "parley-dark", "parley-light"
NOON = 1_000_036_800.0
"""The same day everywhere."""
OPTIONS = [
    v2.PermissionOption(option_id="once", name="Allow", kind="allow_once"),
    v2.PermissionOption(option_id="always", name="Always allow edits", kind="allow_always"),
    v2.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]
PATCH = """\
--- a/src/app.py
+++ b/src/app.py
@@ -1,4 +1,5 @@
 import os

-def main():
-    print("hello")
+def main(name: str) -> None:
+    # 日本語
+    print(f"hello {name}")
"""


def _pressing(*keys: str) -> Before:
    async def before(pilot: Pilot[None]) -> None:
        await press(pilot, *keys)

    return before


def _command() -> PermissionCard:
    command = "set -e\ncd build\nrm -rf -- *\ncmake -DCMAKE_BUILD_TYPE=Release .."
    request = v2.RequestPermissionRequest(
        session_id="s",
        title="Run a command?",
        description="The build directory is stale.",
        subject=v2.CommandPermissionSubject(command=command, cwd="/work/app"),
        options=OPTIONS,
    )
    return PermissionCard(request)


def _edit() -> PermissionCard:
    call = ToolCallEntry("c")
    call.title, call.kind = "Edit src/app.py", "edit"
    call.locations = [v2.ToolCallLocation(path="/work/app/src/app.py", line=3)]
    call.raw_input = {"path": "/work/app/src/app.py", "strict": True}
    patch = v2.DiffPatch(format="unified", text=PATCH)
    change = v2.DiffModify(path="/work/app/src/app.py")
    call.content = [v2.Diff(changes=[change], patch=patch)]
    request = v2.RequestPermissionRequest(session_id="s", title="Edit app.py?", options=OPTIONS)
    return PermissionCard(request, call)


def _page(url: str) -> UrlCard:
    message = "Log in to go on. The page closes by itself."
    request = v2.ElicitationUrlMode(message=message, session_id="s", elicitation_id="e", url=url)
    return UrlCard(request, agent="opencode")


def _form() -> FormCard:
    colours = [{"const": each, "title": each.title()} for each in ("red", "green")]
    fields: dict[str, dict[str, Any]] = {
        "name": {"type": "string", "title": "Your name", "description": "As on the badge"},
        "age": {"type": "integer", "title": "Age", "minimum": 18, "maximum": 99},
        "ok": {"type": "boolean", "title": "Newsletter"},
        "colours": {"type": "array", "title": "Colours", "items": {"anyOf": colours}},
    }
    schema = {"type": "object", "properties": fields, "required": ["name", "age"]}
    form = {"mode": "form", "sessionId": "s", "message": "Who are you?", "requestedSchema": schema}
    return FormCard(decode(v2.ElicitationFormMode, msgspec.json.encode(form)), agent="opencode")


def _sessions() -> SessionPicker:
    titles = ("Fix the failing test", "Write the docs", "日本語のテスト", "Port it to Rust")
    records = [
        Record(
            key=str(number),
            agent=("opencode", "demo")[number % 2],
            session_id="s",
            title=title,
            cwd=("/work/app", "/work/other")[number // 2],
            updated_at=NOON - number * 86_400,
            state="running" if number == 1 else "idle",
        )
        for number, title in enumerate(titles)
    ]
    return SessionPicker(records, cwd="/work/app")


def _options() -> OptionPicker:
    choice = v2.SessionConfigSelectOption
    modes = [choice(value="ask", name="Ask"), choice(value="code", name="Code")]
    return OptionPicker(
        [
            v2.SessionConfigSelect(
                config_id="mode",
                name="Mode",
                description="What it may do",
                current_value="code",
                options=modes,
            ),
            v2.SessionConfigBoolean(config_id="web", name="Web search", current_value=False),
        ]
    )


def _agents() -> AgentPicker:
    return AgentPicker(
        [
            AgentEntry(name="opencode", command=["opencode", "acp"], description="OpenCode"),
            AgentEntry(name="mine", command=["python", "-m", "mine"]),
        ],
        current="mine",
    )


def _logins() -> LoginPicker:
    return LoginPicker(
        [
            v2.AuthMethodAgent(method_id="web", name="In the browser"),
            v2.AuthMethodTerminal(method_id="tty", name="With a key", args=["--login"]),
        ]
    )


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_a_command_to_allow(snap_compare: Compare, theme: str) -> None:
    app: App[None] = DialogApp(_command(), theme=theme)
    assert snap_compare(app, terminal_size=SMALL, run_before=_pressing("s"))


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_an_edit_to_allow_on_a_large_screen(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(DialogApp(_edit(), theme=theme), terminal_size=LARGE)


def test_an_edit_to_allow_without_colours(
    snap_compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(DialogApp(_edit()), terminal_size=SMALL)


def test_a_page_to_open(snap_compare: Compare) -> None:
    app: App[None] = DialogApp(_page("https://example.org/login?state=1234"))
    assert snap_compare(app, terminal_size=SMALL)


def test_a_page_that_is_refused(snap_compare: Compare) -> None:
    app: App[None] = DialogApp(_page("file:///etc/passwd"), theme=LIGHT)
    assert snap_compare(app, terminal_size=SMALL)


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_a_form_with_a_problem(snap_compare: Compare, theme: str) -> None:
    keys = ("tab", *"Ada", "tab", "7", "ctrl+s")
    app: App[None] = DialogApp(_form(), theme=theme)
    assert snap_compare(app, terminal_size=SMALL, run_before=_pressing(*keys))


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_sessions_to_resume(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(DialogApp(picker=_sessions(), theme=theme), terminal_size=SMALL)


def test_options(snap_compare: Compare) -> None:
    assert snap_compare(DialogApp(picker=_options()), terminal_size=SMALL)


def test_agents(snap_compare: Compare) -> None:
    assert snap_compare(DialogApp(picker=_agents(), theme=LIGHT), terminal_size=SMALL)


def test_logins(snap_compare: Compare) -> None:
    assert snap_compare(DialogApp(picker=_logins()), terminal_size=SMALL)
