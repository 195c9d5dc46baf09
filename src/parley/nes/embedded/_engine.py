"""The engine that needs no model and no network: it learns from the session's own edits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from time import monotonic, perf_counter, thread_time

from parley.nes._documents.document import Document, content
from parley.nes._syntax import BEFORE, forget, growing, is_parsed
from parley.nes.embedded._names.table import Limit, is_read, names
from parley.nes.embedded._python.imports import imports_of
from parley.nes.embedded._python.modules import defined_in
from parley.nes.engine import Change, Outcome, Predictor, Proposal, Question, Span, Spot, Workspace
from parley.schema import v2

from ._background import SLICE, Background
from ._context import Candidate, EditContext, count_rivals
from ._edits import EditTracker, hints_of, hunks_of
from ._features import agreement_feature
from ._feedback import OutcomeMemory, TypingState, is_half_done
from ._filters import breaks, is_vetoed
from ._project import Library, Project
from ._proposals import edit_of, everywhere, jump_of, others_of
from ._rules import RULES
from ._scoring import BY_MEANING, PLACE_THRESHOLDS, THRESHOLDS, at_place, rate
from ._source import SourceFile
from ._tokens import words


class EmbeddedEngine:
    """Predicts the next edit from what was edited, and from the files around it."""

    def __init__(
        self,
        *,
        clock: Callable[[], float] = monotonic,
        cpu_clock: Callable[[], float] = thread_time,
    ) -> None:
        """Make an engine; tests bring clocks of their own.

        Args:
            clock: The time, for pauses between keys.
            cpu_clock: The time that was worked, for how long an answer is thought about.
        """
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._library = Library()

    @property
    def context(self) -> frozenset[str]:
        """The context that it wants with each question; it knows the texts of files."""
        return frozenset(
            {
                "relatedSnippets",
                "editHistory",
                "userActions",
                "openFiles",
                "diagnostics",
            }
        )

    def options(self) -> Sequence[v2.SessionConfigSelect]:
        """Return how bold it can be."""
        values = (
            ("quiet", "Quiet", "Only what is almost sure"),
            ("default", "Default", "What is more likely right than not"),
            ("eager", "Eager", "Whatever might help"),
        )
        return [
            v2.SessionConfigSelect(
                config_id=AGGRESSIVENESS,
                name="Suggestions",
                description="How likely a suggestion must be to be shown",
                current_value="default",
                options=[
                    v2.SessionConfigSelectOption(value=value, name=name, description=about)
                    for value, name, about in values
                ],
            )
        ]

    def begin(self, workspace: Workspace) -> EmbeddedPredictor:
        """Start a session."""
        return EmbeddedPredictor(workspace, self._library, self._clock, self._cpu_clock)


AGGRESSIVENESS = "nes_aggressiveness"
_DEADLINE = 0.03
"""The CPU seconds for an answer; they do not depend on the load of the machine."""
_REFRESH_AFTER = 2.0
_MANUAL = 0.1
_MOST_TRIED = 8
_AS_GOOD = 0.1
_WHOLE = frozenset({"rename", "searchAndReplace"})
_MOST_SHOWN = 50
_MOST_LINES, _MOST_WORDS, _RARE = 10, 4, 40
_MOST_CHARACTERS = 1_000


class EmbeddedPredictor(Predictor):
    """Follows the documents of a session, and proposes."""

    def __init__(
        self,
        workspace: Workspace,
        library: Library | None = None,
        clock: Callable[[], float] = monotonic,
        cpu_clock: Callable[[], float] = thread_time,
    ) -> None:
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._project = Project(workspace.folders, library)
        self._documents: dict[str, Document] = {}
        self._trackers: dict[str, EditTracker] = {}
        self._files: dict[str, SourceFile] = {}
        self._last: dict[str, SourceFile] = {}
        self._bases: dict[str, SourceFile] = {}
        self._typing = TypingState(clock)
        self._memory = OutcomeMemory()
        self._shown: deque[tuple[Proposal, Candidate, str]] = deque(maxlen=_MOST_SHOWN)
        """The proposals whose outcome counts, with the text that they would replace."""
        self._carried_out: set[tuple[str, int, int, str, str]] = set()
        """The accepted candidates of files that are not open, whose changes are not reported."""
        self._background = Background()
        self._refreshed: float | None = None
        self._is_fetching = False
        self._turn = 0
        self._mood = "default"

    def opened(self, document: Document) -> None:
        """Begin to follow a document."""
        self._documents[document.uri] = document
        self._last.pop(document.uri, None)
        tracker = self._trackers[document.uri] = EditTracker(document)
        file = self._files[document.uri] = _source_file(document, tracker.lines)
        self._bases[document.uri] = SourceFile(
            f"{document.uri}{BEFORE}", file.lines, language=file.language
        )
        # What is read soon need not be read when somebody waits.
        self._background.add(self._study(self._bases[document.uri]), is_urgent=True)
        self._refresh()

    def changed(self, document: Document, changes: Sequence[Change]) -> None:
        """Take in a change."""
        self._turn += 1
        last = self._files.pop(document.uri, None)
        if last is not None:
            self._last[document.uri] = last
        if document.uri not in self._trackers:
            self.opened(document)
            return
        self._trackers[document.uri].change(changes, self._turn)
        if not self._is_fetching:
            self._is_fetching = True
            self._background.add(self._fetch(document.uri))
        if changes:
            self._typing.changed(document.uri, changes[-1])

    def closed(self, document: Document) -> None:
        """Follow a document no longer."""
        forget(document.uri)
        for known in (self._documents, self._files, self._last, self._trackers, self._bases):
            known.pop(document.uri, None)

    def focused(self, document: Document, spot: Spot, visible: Span) -> None:
        """Look again at the files of the workspace."""
        self._refresh()

    async def settled(self) -> None:
        """Wait until the files of the workspace are read."""
        await self._background.finish()

    async def suggest(self, question: Question) -> Sequence[Proposal]:
        """Return what the user might want next, best first."""
        self._background.wake()
        known = self._documents.get(question.document.uri)
        if known is not None and known.lines != question.document.lines:
            return []  # what is known is about another text
        if self._is_undoing(question) or self._is_in_gap(question):
            return []
        with self._background.waiting():
            context = self.edit_context(question)
            found = self.candidates(context)
            await asyncio.sleep(0)  # fairness: other tasks run between the two expensive steps
            return self._chosen(context, found, question)

    def on_outcome(self, proposal: Proposal, outcome: Outcome) -> None:
        """Record what became of a proposal."""
        shown = (at for at, each in enumerate(self._shown) if each[0] is proposal)
        if (at := next(shown, None)) is not None:
            _, candidate, old = self._shown[at]
            del self._shown[at]
            self._memory.learn(candidate, old, outcome)
            if outcome == "accepted" and candidate.uri not in self._documents:
                self._carried_out.add((*candidate.key, old))

    def set_option(self, config_id: str, value: str | bool) -> None:
        """Choose the aggressiveness."""
        if config_id == AGGRESSIVENESS and isinstance(value, str) and value in THRESHOLDS:
            self._mood = value

    def close(self) -> None:
        """Forget everything."""
        for uri in self._documents:
            forget(uri)
        for known in (self._documents, self._files, self._last, self._trackers, self._bases):
            known.clear()
        self._shown.clear()
        self._carried_out.clear()
        self._background.close()

    def _refresh(self) -> None:
        """Look at the files of the workspace again, unless that was done just now."""
        now = self._clock()
        if self._refreshed is None or now - self._refreshed > _REFRESH_AFTER:
            self._refreshed = now
            self._background.add(self._read())

    def _read(self) -> Iterator[None]:
        """Read the files of the workspace, and what is often asked about them."""
        yield from self._project.reading()
        for file in self._project.files():
            if file.language == "python":
                imports_of(file)
                defined_in(file)
                yield

    def _study(self, file: SourceFile) -> Iterator[None]:
        """Read the names of a file, piece by piece, as long as anybody may ask about it."""
        if not file.is_by_hand:
            return
        yield from growing(file.uri, file.language, file.text)
        while is_parsed(file.uri, file.language):
            is_wanted = not file.is_open or file in self._bases.values()
            names(file if is_wanted else None, Limit(perf_counter, perf_counter() + SLICE / 2))
            if is_read(file) or not is_wanted:
                return
            yield

    def _fetch(self, uri: str) -> Iterator[None]:
        """Read what has to do with the last change, before somebody asks about it."""
        self._is_fetching = False
        tracker, near = self._trackers.get(uri), self._bases.get(uri)
        last = max(tracker.hunks, key=lambda hunk: hunk.turn, default=None) if tracker else None
        if last is None or near is None:
            return
        self._prepare(self._current(uri))
        yield
        lines = [line[:_MOST_CHARACTERS] for line in [*last.old, *last.new][:_MOST_LINES]]
        found = {word for line in lines for word in words(line)}
        counted = sorted((self._project.count(word), word) for word in found if len(word) > 3)
        rare = [word for count, word in counted if 0 < count < _RARE]
        for word in rare[:_MOST_WORDS]:
            for file in self._project.files_with(word, near=near, but=set(self._files), most=6):
                if not is_read(file):
                    yield from self._study(file)

    def _prepare(self, file: SourceFile) -> None:
        """Work out what every question about a file needs."""
        found = names(file)
        if found is not None and file.language == "python":
            _ = found.used, found.bound, found.members, imports_of(file)

    def edit_context(self, question: Question) -> EditContext:
        """Return the context in which rules answer a question."""
        limit = Limit(self._cpu_clock, self._cpu_clock() + _DEADLINE)
        for uri in self._documents:
            self._current(uri)
        file = self._files.get(question.document.uri) or _source_file(question.document)
        recent = {x.uri: _source_file(x) for x in question.recent if x.uri not in self._files}
        files = {**recent, **self._files, file.uri: file}
        hunks = [hunk for tracker in self._trackers.values() for hunk in tracker.hunks]
        if not hunks and question.history:
            hunks = hunks_of(question.history, files)
        context = EditContext(
            file=file,
            spot=question.spot,
            hunks=hunks,
            files=files,
            project=self._project,
            hints=hints_of(question.snippets),
            diagnostics=question.diagnostics,
            limit=limit,
            bases=self._bases,
        )
        for hunk in context.hunks:
            tracker = self._trackers.get(hunk.uri)
            if tracker is not None and hunk.start >= 0:
                tracker.look_around(hunk)
        return context

    def _current(self, uri: str) -> SourceFile:
        """Return a document as it is."""
        file = self._files.get(uri)
        if file is None:
            file = self._files[uri] = _source_file(self._documents[uri], self._trackers[uri].lines)
            if last := self._last.pop(uri, None):
                file.follow(last)
        return file

    def candidates(self, context: EditContext) -> list[Candidate]:
        """Return everything that comes to mind, each result once."""
        found: dict[tuple[str, int, int, str], Candidate] = {}
        for generate in RULES:
            if context.is_late():
                break
            for candidate in generate(context):
                file = context.file_of(candidate.uri)
                if file is None or is_vetoed(context, candidate, file):
                    continue
                if candidate.is_sure and self._takes_back(candidate):
                    continue
                kept_candidate = found.setdefault(candidate.key, candidate)
                if kept_candidate.rule != candidate.rule:
                    kept_candidate.features[agreement_feature(candidate.rule)] = 1.0
        count_rivals(list(found.values()))
        return list(found.values())

    def _takes_back(self, candidate: Candidate) -> bool:
        """Return whether a file would be again as it was at some time in this session."""
        tracker = self._trackers.get(candidate.uri)
        return tracker is not None and tracker.was(candidate.start, candidate.end, candidate.lines)

    def _is_undoing(self, question: Question) -> bool:
        if question.trigger == "manual":
            return False
        tracker = self._trackers.get(question.document.uri)
        return question.is_after_undo or (tracker is not None and tracker.is_undoing)

    def _is_in_gap(self, question: Question) -> bool:
        document = question.document
        if question.trigger == "manual":
            return False
        return self._typing.is_gap(document.uri, document.lines, question.spot)

    def _chosen(
        self, context: EditContext, found: list[Candidate], question: Question
    ) -> list[Proposal]:
        """Return the best edit and what does the same, or else the best jump."""
        is_manual = question.trigger == "manual"
        half = "" if is_manual else self._typing.half_word(context.file, question.spot)
        found = [x for x in found if not self._is_barred(context, x, half)]
        for candidate in found:
            candidate.score, candidate.worth = rate(candidate, self._memory.shift(candidate))
        least = _MANUAL if is_manual else THRESHOLDS[self._mood]
        for candidate in _ranked(context, [x for x in found if x.worth >= least])[:_MOST_TRIED]:
            file = context.file_of(candidate.uri)
            if file is not None and self._is_as_read(candidate) and not breaks(candidate, file):
                candidate.remaining = _left(candidate, found, least)
                others = self._everywhere(candidate, file, question.kinds)
                return self._remember(candidate, file, [edit_of(candidate, file), *others])
        if "jump" not in question.kinds:
            return []
        return self._jump(context, found, _MANUAL if is_manual else PLACE_THRESHOLDS[self._mood])

    def _everywhere(
        self, candidate: Candidate, file: SourceFile, kinds: frozenset[str]
    ) -> Sequence[Proposal]:
        """Return other ways to rename, if the name can be renamed at all its places."""
        whole = everywhere(candidate, file) if kinds & _WHOLE else None
        if whole is None or breaks(whole, file) or self._takes_back(whole):
            return ()
        return tuple(others_of(candidate, file, kinds))

    def _jump(self, context: EditContext, found: list[Candidate], least: float) -> list[Proposal]:
        known = [x for x in found if x.rule in BY_MEANING]
        scores = [at_place(x, self._memory.shift(x)) for x in known]
        ranked = sorted(zip(scores, known, strict=True), key=lambda x: -x[0])
        score, best = ranked[0] if ranked else (0.0, None)
        file = context.file_of(best.uri) if best is not None else None
        if best is None or file is None or score < least or not self._is_as_read(best):
            return []
        if file is context.file and best.start <= context.spot.line < max(best.end, best.start + 1):
            return []
        best.remaining = _left(best, found, 1.0)
        return self._remember(best, file, [jump_of(best, file, score)])

    def _is_barred(self, context: EditContext, candidate: Candidate, half: str) -> bool:
        file = context.file_of(candidate.uri)
        if file is None:
            return True
        old = "\n".join(file.lines[candidate.start : candidate.end])
        if self._memory.is_barred(candidate, old):
            return True
        if candidate.uri not in self._documents and (*candidate.key, old) in self._carried_out:
            return True
        return bool(half) and is_half_done(half, (context.file, context.spot), candidate, old)

    def _is_as_read(self, candidate: Candidate) -> bool:
        """Return whether a file that is not open is still what was read; if not, read it again."""
        if candidate.uri in self._documents or self._project.is_as_read(candidate.uri):
            return True
        self._refreshed = None
        self._refresh()
        return False

    def _remember(
        self, candidate: Candidate, file: SourceFile, proposals: list[Proposal]
    ) -> list[Proposal]:
        old = "\n".join(file.lines[candidate.start : candidate.end])
        self._shown.extend((proposal, candidate, old) for proposal in proposals)
        return proposals


def _ranked(context: EditContext, likely: list[Candidate]) -> list[Candidate]:
    """Put what is about as good as the best before the rest, the nearest first."""
    good = max((x.worth for x in likely), default=0.0) - _AS_GOOD
    near = [x for x in likely if x.worth >= good]
    near.sort(key=lambda x: (_distance(context, x), -x.worth))
    return near + sorted((x for x in likely if x.worth < good), key=lambda x: -x.worth)


def _left(candidate: Candidate, found: Sequence[Candidate], least: float) -> int:
    """Return how many more places are likely or have the same cause, each counted once."""
    left = -1
    taken: set[tuple[str, int]] = set()
    for x in (candidate, *found):
        lines = {(x.uri, line) for line in range(x.start, max(x.end, x.start + 1))}
        if (x.worth >= least or x.cause == candidate.cause) and taken.isdisjoint(lines):
            left += 1
            taken |= lines
    return left


def _distance(context: EditContext, candidate: Candidate) -> tuple[bool, bool, int]:
    """Return how far a candidate is: what is below the cursor in this file is near."""
    if candidate.uri != context.file.uri:
        return True, False, candidate.start
    gap = candidate.start - context.spot.line
    return False, gap < 0, abs(gap)


def _source_file(document: Document, lines: list[str] | None = None) -> SourceFile:
    lines = [content(x) for x in document.lines] if lines is None else lines.copy()
    file = SourceFile(document.uri, lines, document.language_id)
    first = document.lines[0]
    file.eol = first[len(content(first)) :] or "\n"
    return file
