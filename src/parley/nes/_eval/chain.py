"""Replays a commit as a person who accepts correct suggestions: how many keys does that save?

A suggestion is requested after every change. An edit that is entirely correct is accepted and saves
its keys, except the one that accepts it. A correct jump decides the next change and saves nothing.
Anything else is rejected and costs a key. The rest is typed, in the order of the plan.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from parley.nes.engine import JumpProposal, Proposal

from .corpus import Hunk
from .driver import Driver, Fault, path_of
from .editor_session import Made
from .instances import Plan
from .replay import Sitting, sittings
from .scoring import Effect, effect_of, hunk_at
from .tokens import keystrokes


class Chained(Struct, frozen=True, kw_only=True):
    """The outcome of a commit in which every right suggestion is accepted."""

    repository: str
    commit: str
    order: str
    view: str
    keys: int = 0
    """The keys for all changes but the first."""
    saved: int = 0
    """The keys that were saved; negative if more was wrong than right."""
    accepted: int = 0
    rejected: int = 0
    fault: str | None = None


async def chain(plan: Plan, root: Path, driver: Driver) -> Chained:
    """Work through a commit and accept correct suggestions."""
    keys = saved = accepted = rejected = 0
    fault: str | None = None
    for sitting in sittings(plan, root, driver):
        if len(sitting.hunks) < 2:
            continue
        work = _Work(sitting)
        keys += sum(keystrokes(each.old, each.new) for each in sitting.hunks[1:])
        try:
            await work.run()
        except Fault as error:
            fault = str(error)
        finally:
            await driver.close()
        saved += work.saved
        accepted += work.accepted
        rejected += work.rejected
    return Chained(
        repository=plan.commit.repository,
        commit=plan.commit.id,
        order=plan.order,
        view=plan.view,
        keys=keys,
        saved=saved,
        accepted=accepted,
        rejected=rejected,
        fault=fault,
    )


class _Work:
    """One session of it."""

    def __init__(self, sitting: Sitting) -> None:
        self._sitting = sitting
        self._todo = list(sitting.hunks)
        self.saved = self.accepted = self.rejected = 0

    async def run(self) -> None:
        sitting = self._sitting
        await sitting.begin()
        await sitting.make(self._todo.pop(0))
        await sitting.driver.settle()
        while True:
            reply = await sitting.ask()
            proposal = reply.proposals[0] if reply.proposals else None
            if proposal is not None and await self._take(proposal):
                continue
            if not self._todo:
                return
            await sitting.make(self._todo.pop(0))

    async def _take(self, proposal: Proposal) -> bool:
        """Accept a correct suggestion and reject others; return whether something was changed."""
        sitting = self._sitting
        path = path_of(sitting.root, proposal.uri)
        following = self._todo[0] if self._todo else None
        if path is not None and sitting.judged(proposal, following).step:
            if isinstance(proposal, JumpProposal):
                await self._jump(proposal, path)
                return False
            lines = sitting.editor.files[path]
            effect = effect_of(proposal, sitting.editor, path, lines)
            if effect.made or self._is_inside(effect):
                await self._accept(proposal, path, effect)
                return True
        self.rejected += 1
        self.saved -= 1
        await sitting.driver.report_outcome(proposal, "rejected")
        return False

    async def _jump(self, proposal: JumpProposal, path: str) -> None:
        """Go there, and change that next."""
        there = hunk_at(proposal.spot.line, self._sitting.editor, path)
        if there is not None:
            self._todo.sort(key=lambda each: each != there)
        self.accepted += 1
        await self._sitting.driver.report_outcome(proposal, "accepted")

    def _is_inside(self, effect: Effect) -> bool:
        """Return whether all that changes is inside one remaining change, as a part of it."""
        if len(effect.touched) != 1:
            return False
        hunk = effect.touched[0]
        start = self._sitting.editor.start(hunk)
        end = start + len(hunk.old)
        return all(start <= each.start and each.end <= end for each in effect.blocks)

    async def _accept(self, proposal: Proposal, path: str, effect: Effect) -> None:
        sitting = self._sitting
        await sitting.open(path)
        await sitting.driver.report_outcome(proposal, "accepted")
        self.accepted += 1
        self.saved -= 1
        for hunk in effect.made:
            self.saved += keystrokes(hunk.old, hunk.new)
            self._todo.remove(hunk)
            await sitting.make(hunk)
        if not effect.made:
            await self._accept_part(effect.touched[0], effect)

    async def _accept_part(self, hunk: Hunk, effect: Effect) -> None:
        editor = self._sitting.editor
        start = editor.start(hunk)
        grown = len(effect.lines) - len(editor.files[hunk.path])
        part = effect.lines[start : start + len(hunk.old) + grown]
        self.saved += keystrokes(hunk.old, hunk.new) - keystrokes(part, hunk.new)
        self._todo[self._todo.index(hunk)] = editor.make_part(hunk, part)
        await self._sitting.show(Made(hunk.path, start, len(hunk.old), part))
