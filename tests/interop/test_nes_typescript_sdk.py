"""Next edit suggestions with the official TypeScript SDK, which has them apart, in both roles."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.peers import ROOT, TYPESCRIPT, Peer, find_node

from parley.nes import Span, Spot, TextEdit
from parley.nes.client import (
    KINDS,
    EditSuggestion,
    JumpSuggestion,
    NesClient,
    RenameSuggestion,
    ReplaceSuggestion,
    Suggestion,
    Timing,
)
from parley.nes.engine import Diagnostic

from .wire.conversation import PEERS
from .wire.run import BOUND_SECONDS

URI = "file:///w/a.py"


@pytest.fixture
def node(find_peer: Callable[[Peer], Path]) -> str:
    find_peer(TYPESCRIPT)
    return find_node()


def test_our_client_gets_suggestions_from_their_agent(node: str, tmp_path: Path) -> None:
    async def bounded() -> tuple[list[Suggestion], list[Any]]:
        shows: asyncio.Queue[Suggestion | None] = asyncio.Queue()
        taken: list[Suggestion] = []
        command = [node, str(PEERS / "typescript_nes_agent.mjs")]
        async with (
            asyncio.timeout(BOUND_SECONDS),
            NesClient.connect(
                command,
                tmp_path,
                kinds=KINDS,
                on_show=shows.put_nowait,
                timing=Timing(debounce_after=0, throttle_after=0, cooldown_after=0),
            ) as nes,
        ):
            await nes.open(URI, "python", "😀a\n" * 6)
            for line in range(4):
                await nes.focus(URI, Spot(line, 2))
                while (shown := await shows.get()) is None:
                    pass
                taken.append(shown)
                await (nes.reject() if line == 3 else nes.accept())
            await nes.focus(URI, Spot(4, 0))
            await asyncio.sleep(0)  # the question is sent before the next change makes it stale
            await nes.change(URI, TextEdit(Span(Spot(5, 0), Spot(5, 0)), "x"))
            await nes.diagnose(URI, [Diagnostic(URI, Span(Spot(5, 0), Spot(5, 2)), "hint", "!")])
            await nes.save(URI)
            heard: list[Any] = []
            while ["aborted", {}] not in heard:
                told = await nes.ask()
                assert isinstance(told, EditSuggestion)
                heard = json.loads(told.edits[0].text)
            await nes.close(URI)
            return taken, heard

    taken, heard = asyncio.run(bounded())
    assert [type(each) for each in taken] == [
        EditSuggestion,
        JumpSuggestion,
        RenameSuggestion,
        ReplaceSuggestion,
    ]
    said = [name for name, _ in heard]  # the SDK handles a question before events that came first
    assert said[:2] == ["initialize", "start"]
    assert {"accept", "didChange", "didFocus", "didOpen", "didSave", "reject"} <= set(said)
    assert heard[0][1] == {
        "nes": {"jump": {}, "rename": {}, "searchAndReplace": {}},
        "encodings": ["utf-32", "utf-16", "utf-8"],
    }
    asked = [params for name, params in heard if name == "suggest"]
    (first,) = [params for params in asked if params["version"] == 1]
    assert first["position"] == {"line": 0, "character": 3}
    (by_hand, *_) = [params for params in asked if params["triggerKind"] == "manual"]
    assert by_hand["context"]["diagnostics"][0]["range"]["end"]["character"] == 3
    assert len(by_hand["context"]["editHistory"]) == 1


def test_their_client_gets_suggestions_from_our_agent(node: str) -> None:
    done = subprocess.run(
        [
            *(node, str(PEERS / "typescript_nes_client.mjs")),
            *(sys.executable, "-m", "tests.interop.nes_agent"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report["positionEncoding"] == "utf-16"
    assert report["offer"]["events"]["document"]["didChange"] == {"syncKind": "incremental"}
    edit, jump, rename, replacement = report["first"]
    assert edit["edits"] == [
        {
            "range": {"start": {"line": 2, "character": 0}, "end": {"line": 2, "character": 0}},
            "newText": "😀edit",
        }
    ]
    assert edit["cursorPosition"] == {"line": 0, "character": 3}
    assert (jump["kind"], jump["position"]) == ("jump", {"line": 0, "character": 2})
    assert (rename["kind"], rename["newName"]) == ("rename", "b")
    assert (replacement["kind"], replacement["replace"]) == ("searchAndReplace", "b")
    assert report["cancelled"] == -32800
    assert report["told"] == ["report", "accepted EditProposal", "ignored JumpProposal"]
    assert report["closed"] < 0


def test_their_editor_takes_what_parley_nes_serve_suggests(node: str) -> None:
    done = subprocess.run(
        [
            *(node, str(PEERS / "typescript_nes_editor.mjs")),
            *(sys.executable, "-m", "parley", "nes", "serve"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert [line for line in report["lines"] if "log" in line] == [
        f'log.info("😀", {name})' for name in ("fetch", "parse", "check", "store", "close")
    ]
    assert report["rules"]
