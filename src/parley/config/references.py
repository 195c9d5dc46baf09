"""Values by reference: `$NAME` and `${NAME}` stand for variables of the environment.

So a secret is named in the file and never written into it. A reference may be part of a value, as
in `"Bearer $TOKEN"`; `$$` is a dollar. Errors name the variable, never its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from parley.errors import ConfigError

__all__ = ["is_secret", "referred", "resolve"]

_REFERENCE = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
_SECRET_NAME = re.compile(
    r"(?:^|[_-])(?:\w*key|\w*token|secret|password|passwd|credentials?|authorization|cookie)$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"\b(?:sk|pk|rk|xox[a-z]|gh[opsu]|glpat|github_pat|npm)[-_][-_A-Za-z0-9]{12,}"
    r"|\b(?:AKIA|AIza|eyJ)[-_A-Za-z0-9]{12,}|^(?:Bearer|Basic)\s+\S{8,}"
)
_SHORTEST = 8
"""A shorter value is no secret: what it would hide is everywhere."""


def referred(value: str) -> list[str]:
    """Return the names of the variables that a value refers to."""
    return [found[2] or found[3] for found in _REFERENCE.finditer(value) if not found[1]]


def resolve(values: Mapping[str, str], environ: Mapping[str, str], place: str) -> dict[str, str]:
    """Return values with what their references stand for.

    Args:
        values: By name.
        environ: The variables.
        place: What to call the table in an error, as in `agents.opencode.env`.

    Raises:
        ConfigError: A variable is not set; the text names it.
    """
    for name, value in values.items():
        for variable in referred(value):
            if variable not in environ:
                raise ConfigError(
                    f"{place}.{name} refers to ${variable}, which is not set; "
                    f"set it, as in `export {variable}=…`, or change the configuration"
                )

    def one(found: re.Match[str]) -> str:
        return "$" if found[1] else environ[found[2] or found[3]]

    return {name: _REFERENCE.sub(one, value) for name, value in values.items()}


def is_secret(name: str, value: str) -> bool:
    """Tell whether a value seems to be a secret, by its name or by what it looks like."""
    named = _SECRET_NAME.search(name) is not None
    return len(value) >= _SHORTEST and (named or _SECRET_VALUE.search(value) is not None)
