"""The cells of a Jupyter notebook, and how they run without Jupyter."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A cell of code."""

    source: str
    output: str
    """What it printed when the notebook was saved, or the value of its last expression."""


def read_notebook(path: Path) -> list[Cell]:
    cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
    return [
        Cell("".join(cell["source"]), "".join(map(_text, cell["outputs"])))
        for cell in cells
        if cell["cell_type"] == "code"
    ]


def _text(output: dict[str, Any]) -> str:
    return "".join(output["text"] if "text" in output else output["data"]["text/plain"])


async def run_cell(source: str, names: dict[str, Any]) -> str:
    """Run a cell as Jupyter does, in a task of its own, and return what it shows."""
    tree = ast.parse(source)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        names["_"] = None
        tree.body[-1] = ast.copy_location(
            ast.Assign([ast.Name("_", ast.Store())], last.value), last
        )
    ast.fix_missing_locations(tree)
    code = compile(tree, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    printed = StringIO()
    with redirect_stdout(printed):
        await asyncio.create_task(_evaluate(code, names))
    value = names.pop("_", None)
    return printed.getvalue() + ("" if value is None else repr(value))


async def _evaluate(code: Any, names: dict[str, Any]) -> None:
    running = eval(code, names)
    if inspect.isawaitable(running):
        await running
