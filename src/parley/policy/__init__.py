"""The permission policy: what is allowed, what is denied, and what the user is asked.

`load_policy` reads the user's and the project's files; `Policy` is the same in Python. The order
in which its parts count stands in `_policy.py`, how a rule is compared in `_rule.py`.
"""

from ._file import load_policy
from ._policy import Policy, Step
from ._remembered import Remembered, Scope
from ._request import subject_of
from ._rule import Rule, parse_flags
from ._ruleset import RuleSet
from ._subject import Decision, Subject, Verdict

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
