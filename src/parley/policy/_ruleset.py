"""Rules in their order: the first that fits decides."""

from __future__ import annotations

from msgspec import Struct

from ._evidence import Evidence
from ._rule import Rule
from ._subject import Decision, Subject, Verdict
from ._words import Match

_STRICTNESS: dict[Decision, int] = {"allow": 0, "ask": 1, "deny": 2}


class RuleSet(Struct, frozen=True, kw_only=True):
    """Rules in their order; the first that fits decides."""

    name: str
    """Their name, for people; the user's own have none."""
    base: str
    """The directory where relative paths begin, without symlinks."""
    rules: tuple[Rule, ...] = ()
    default: Decision | None = None
    """The decision if no rule fits; None for none."""

    def decide(self, subject: Subject | Evidence) -> Verdict | None:
        """Return the verdict of the first rule that fits, else the default; None: neither.

        A rule that may fit makes a question of what is allowed after it. Nothing is allowed by
        itself if it is not understood wholly.
        """
        evidence = subject if isinstance(subject, Evidence) else Evidence(subject)
        doubt: Verdict | None = None
        for number, rule in enumerate(self.rules, 1):
            if rule.decision == "allow" and evidence.unclear:
                continue
            match = rule.match(evidence, self.base)
            if match is Match.NO:
                continue
            reason = _reason(rule, evidence.subject, self._label(f"rule {number}"))
            if match is Match.YES:
                return stricter(Verdict(rule.decision, reason), doubt)
            why = evidence.unclear or "a shell computes some of its words"
            possible = Verdict("ask", f"{reason} may fit: {why}", rule.decision == "deny")
            doubt = possible if doubt is None else stricter(doubt, possible)
        if self.default is None:
            return doubt
        reason = self._label(f"no rule fits: the default is to {self.default}")
        verdict = Verdict(self.default, reason)
        if self.default == "allow" and evidence.unclear:
            verdict = Verdict("ask", evidence.unclear)
        return stricter(verdict, doubt)

    def _label(self, text: str) -> str:
        return f"{self.name}, {text}" if self.name else text

    def idle(self) -> list[str]:
        """Return what has no effect where rules can only make it stricter: what only allows."""
        if self.default in ("ask", "deny"):
            return []
        strict = [n for n, rule in enumerate(self.rules, 1) if rule.decision != "allow"]
        after = range(max(strict, default=0) + 1, len(self.rules) + 1)
        return [f"rule {n}" for n in after] + (["the default"] if self.default else [])


def stricter(one: Verdict, other: Verdict | None) -> Verdict:
    """Return the stricter of two verdicts, the first if they are equal."""
    if other is None or _rank(other) <= _rank(one):
        return one
    return other


def _rank(verdict: Verdict) -> tuple[int, bool]:
    return _STRICTNESS[verdict.decision], verdict.needs_user


def _reason(rule: Rule, subject: Subject, place: str) -> str:
    text = rule.source if rule.source.startswith("--") else f"{rule.source or place}: {rule}"
    doubts = [] if rule.decision == "allow" else rule.doubts(subject)
    return f"{text} (the call does not name its {' and '.join(doubts)})" if doubts else text
