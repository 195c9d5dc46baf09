"""Rules in their order: the first that fits decides."""

from __future__ import annotations

from msgspec import Struct

from .rule import Rule
from .subject import Decision, Subject, Verdict

__all__ = ["RuleSet"]


class RuleSet(Struct, frozen=True, kw_only=True):
    """Rules in their order; the first that fits decides."""

    name: str
    """What they are called, for people; the user's own have no name."""
    base: str
    """The directory where relative paths begin, without symlinks."""
    rules: tuple[Rule, ...] = ()
    default: Decision | None = None
    """What is decided where no rule fits; None: nothing."""

    def decide(self, subject: Subject) -> Verdict | None:
        """Return what the first rule that fits says, else the default; None: nothing."""
        for number, rule in enumerate(self.rules, 1):
            if rule.fits(subject, self.base):
                return Verdict(rule.decision, _reason(rule, subject, self._told(f"rule {number}")))
        if self.default is None:
            return None
        reason = self._told(f"no rule fits: the default is to {self.default}")
        return Verdict(self.default, reason)

    def _told(self, what: str) -> str:
        return f"{self.name}, {what}" if self.name else what

    def idle(self) -> list[str]:
        """Return what has no effect where rules can only make it stricter: what only allows."""
        if self.default in ("ask", "deny"):
            return []
        strict = [n for n, rule in enumerate(self.rules, 1) if rule.decision != "allow"]
        after = range(max(strict, default=0) + 1, len(self.rules) + 1)
        return [f"rule {n}" for n in after] + (["the default"] if self.default else [])


def _reason(rule: Rule, subject: Subject, place: str) -> str:
    told = rule.source if rule.source.startswith("--") else f"{rule.source or place}: {rule}"
    doubts = [] if rule.decision == "allow" else rule.doubts(subject)
    return f"{told} (it does not tell its {' and '.join(doubts)})" if doubts else told
