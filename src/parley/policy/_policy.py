"""The policy: who decides what, and in which order.

1. The user's rules from top to bottom: `--deny`, then `--allow`, then the rules of the user's
   `policy.toml`. The first that fits decides. If none fits, the file's `default` decides; if the
   file has none, the user is asked.
2. The project's files, `.parley/policy.toml` in the directory and above it up to the repository's
   root. They can only make it stricter: what is allowed becomes asked or denied, what is asked
   becomes denied, nothing else. A change of the files that this policy comes from is asked for,
   and so is a change of files that are executed later, unless one of the user's rules names them.
3. What is still to be asked may have been answered before and remembered, for this session or for
   this project, about exactly the same. This never counts over a deny.
4. What is still to be asked is what the program says it is, as `--yes` does.
5. What is still to be asked is asked. Where no user can be asked it is denied.

So only the user's own flags, files and answers allow anything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ._evidence import Evidence
from ._executed_later import is_executed_later, only_reads
from ._remembered import Answer, Remembered, Scope
from ._rule import Rule
from ._ruleset import RuleSet, stricter
from ._subject import Decision, Subject, Verdict
from ._words import Match

_HARMLESS = {"read", "search", "think"}


class Step(Struct, frozen=True):
    """The statement of one part of a policy, and the verdict after it."""

    part: str
    """Which, as `your rules`."""
    says: str
    """For people."""
    verdict: Verdict
    """As it stands then."""


class Policy:
    """Decides what is allowed, denied and asked."""

    def __init__(
        self,
        rules: Iterable[Rule] = (),
        *,
        default: Decision = "ask",
        cwd: str | Path = ".",
        project: Sequence[RuleSet] = (),
        remembered: Remembered | None = None,
        protected: Iterable[str] = (),
        unasked: Verdict | None = None,
    ) -> None:
        """Decide by rules.

        Args:
            rules: The user's.
            default: What is decided where none of them fits.
            cwd: Where the work is done, and where relative paths of the rules begin.
            project: Rules that can only make it stricter.
            remembered: Earlier answers; by default they last as long as this object.
            protected: Files and directories whose changes are always asked for.
            unasked: The verdict on anything that would be asked; None: it is asked.
        """
        base = os.path.realpath(cwd)
        self.rules = RuleSet(name="", base=base, rules=tuple(rules), default=default)
        """The user's rules."""
        self.project = tuple(project)
        """The rules that can only make it stricter."""
        self.remembered = Remembered() if remembered is None else remembered
        """The earlier answers of the user."""
        self.root = project_root(base)
        """The project that answers are remembered for."""
        self.unasked = unasked
        """The verdict on anything that would be asked; None to ask."""
        self._protected = tuple(os.path.realpath(each) for each in protected)

    def decide(self, subject: Subject) -> Verdict:
        """Return the verdict on an action, with its reason."""
        return self.explain(subject)[-1].verdict

    def explain(self, subject: Subject) -> list[Step]:
        """Return the statement of each part, in order; the verdict after the last one counts."""
        evidence = Evidence(subject)
        verdict = self.rules.decide(evidence)
        assert verdict is not None, "there is a default"
        steps = [Step("your rules", _describe(verdict), verdict)]
        for rules in self.project:
            result = rules.decide(evidence)
            verdict = stricter(verdict, result)
            steps.append(
                Step(rules.name, "nothing" if result is None else _describe(result), verdict)
            )
        if self._protected:
            result = self._protect(evidence)
            verdict = stricter(verdict, result)
            steps.append(
                Step("own files", "nothing" if result is None else _describe(result), verdict)
            )
        if (result := self._question_later(evidence)) is not None:
            verdict = stricter(verdict, result)
            steps.append(Step("executed later", _describe(result), verdict))
        steps.append(self._remember(subject, verdict))
        last = steps[-1].verdict
        if self.unasked is not None and last.decision == "ask" and not last.needs_user:
            steps.append(Step("not asked", _describe(self.unasked), self.unasked))
        return steps

    def _protect(self, evidence: Evidence) -> Verdict | None:
        subject = evidence.subject
        if _HARMLESS.issuperset(subject.kinds):
            return None
        goes = not {"delete", "move"}.isdisjoint(subject.kinds)
        for path in evidence.paths(self.rules.base).named:
            if path.endswith(("/.parley/policy.toml", "/.parley")) or any(
                f"{path}/".startswith(f"{each}/") or (goes and each.startswith(f"{path}/"))
                for each in self._protected
            ):
                return Verdict("ask", f"this policy comes from {path}")
        return None

    def _question_later(self, evidence: Evidence) -> Verdict | None:
        """Ask about a change of files that are executed later, unless a rule names them."""
        subject = evidence.subject
        if _HARMLESS.issuperset(subject.kinds):
            return None
        if subject.runs:
            reads = only_reads(subject.commands)
            words = evidence.paths(self.rules.base, has_texts=False)
            known = () if reads and subject.commands else (*words.named, *words.wildcards)
        else:
            names = (each for each in subject.texts if is_executed_later(each))
            texts = [f"{self.rules.base}/{each}" for each in names if " " not in each]
            known = (*subject.paths, *subject.possible, *subject.mentioned, *texts)
        later = [each for each in known if is_executed_later(each, is_directory=True)]
        allowing = [
            rule
            for rule in (self.rules.rules if later else ())
            if rule.decision == "allow" and rule.match(evidence, self.rules.base) is Match.YES
        ]
        base = self.rules.base
        for path in later:
            if not any(rule.names_executed_later(path, base) for rule in allowing):
                return Verdict("ask", f"{path} is executed later, and no rule names it")
        return None

    def _remember(self, subject: Subject, verdict: Verdict) -> Step:
        answer = None
        if verdict.decision == "ask" and not verdict.needs_user:
            answer = self.remembered.find(subject, self.root)
            if answer is not None:
                verdict = Verdict(answer.decision, answer.reason)
        says = "nothing" if answer is None else _describe(verdict)
        return Step("remembered", says, verdict)

    def remember(self, subject: Subject, decision: Literal["allow", "deny"], scope: Scope) -> bool:
        """Remember the user's answer for when exactly this is asked again.

        Returns:
            False if it is not kept, because nothing distinguishes it from other calls.

        Raises:
            OSError: It cannot be written.
        """
        return self.remembered.add(
            Answer(
                decision=decision,
                scope=scope,
                project=self.root,
                subject=subject,
                at=time.time(),
            )
        )


def _describe(verdict: Verdict) -> str:
    return f"{verdict.decision}: {verdict.reason}"


def project_root(cwd: str) -> str:
    """Return the root of the repository, or the directory itself where there is none.

    A home directory that is a repository makes no project of all that is below.
    """
    home = os.path.realpath(Path.home())
    for folder in (Path(cwd), *Path(cwd).parents):
        if f"{home}/".startswith(f"{str(folder).rstrip('/')}/") and str(folder) != cwd:
            break
        if (folder / ".git").exists():
            return str(folder)
    return cwd
