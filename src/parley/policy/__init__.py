"""The permission policy: what is allowed, what is denied, and what the user is asked.

`load_policy` reads the user's and the project's files; `Policy` is the same in Python. The order
in which its parts count stands in `policy.py`, how a rule is compared in `rule.py`.
"""

from .file import load_policy
from .policy import Policy, Step
from .remembered import Remembered, Scope
from .request import subject_of
from .rule import Rule, parse_flags
from .ruleset import RuleSet
from .subject import Decision, Subject, Verdict

__all__ = [
    "Decision",
    "Policy",
    "Remembered",
    "Rule",
    "RuleSet",
    "Scope",
    "Step",
    "Subject",
    "Verdict",
    "load_policy",
    "parse_flags",
    "subject_of",
]
