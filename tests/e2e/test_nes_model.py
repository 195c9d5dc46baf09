"""Suggestions from a model, all the way: an editor, an agent in a process, a server on loopback."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.e2e.command import PARLEY
from tests.e2e.shell import EXAMPLES
from tests.unit.nes.model.model_server import Exchange, saying, scripted

from parley.client import ConnectOptions, Process
from parley.nes import NesClient, Spot
from parley.nes.client import EditSuggestion

TEXT = "\u00e9 = '\U0001f600'\n\n\ndef total(items):\n    return su\n"
DONE = TEXT.replace("return su", "return sum(items)")
PATIENT = ["--model-timeout", "30"]


async def test_parley_nes_serve_asks_the_model_that_it_is_told_of(tmp_path: Path) -> None:
    async with scripted(saying(f"```\n{DONE}```"), saying("NO_EDIT")) as server:
        flags = ["--model-url", server.url, "--model", "m", "--predictor", "model", *PATIENT]
        uri = (tmp_path / "shop.py").as_uri()
        async with NesClient.connect([*PARLEY, "nes", "serve", *flags], tmp_path) as nes:
            document = await nes.open(uri, "python", TEXT)
            await nes.move(uri, Spot(4, 13))
            suggestion = await nes.ask()
            assert isinstance(suggestion, EditSuggestion)
            assert suggestion.meta is not None
            assert suggestion.meta["parley"]["rule"] == "model"
            await nes.accept(suggestion)
            assert document.text == DONE
            asked = (await server.arrived(2)).json["messages"][1]["content"]
            assert "-    return su\n+    return sum(items)\n" in asked
            assert "shop.py, from line 1:" in asked


async def test_the_example_asks_a_model_where_the_rules_are_not_sure(tmp_path: Path) -> None:
    async with scripted(saying(DONE)) as server:
        uri = (tmp_path / "shop.py").as_uri()
        target = [sys.executable, str(EXAMPLES / "nes_model.py")]
        options = ConnectOptions(process=Process(env={"MODEL_URL": server.url}))
        async with NesClient.connect(target, tmp_path, **options) as nes:
            document = await nes.open(uri, "python", TEXT)
            await nes.move(uri, Spot(4, 13))
            while await nes.ask() is None:
                pass  # the example is less patient than a busy machine
            await nes.accept()
            assert document.text == DONE
        asked = server.requests[0].json
        assert asked["model"] == "sweep-next-edit-1.5b"
        assert asked["prompt"].endswith("<|file_sep|>updated/shop.py\n")


async def test_who_leaves_ends_the_request_at_the_server(tmp_path: Path) -> None:
    async def never(exchange: Exchange) -> None:
        await exchange.gone.wait()

    async with scripted(never) as server:
        flags = ["--model-url", server.url, "--model", "m", "--predictor", "model", *PATIENT]
        uri = (tmp_path / "shop.py").as_uri()
        async with NesClient.connect([*PARLEY, "nes", "serve", *flags], tmp_path) as nes:
            await nes.open(uri, "python", TEXT)
            asking = asyncio.create_task(nes.ask())
            exchange = await server.arrived()
            await nes.aclose()
            await exchange.gone.wait()
            asking.cancel()
            await asyncio.wait({asking})
