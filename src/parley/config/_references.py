"""Values by reference: `$NAME` and `${NAME}` stand for variables of the environment.

So a secret is named in the file and never written into it. A reference may be part of a value, as
in `"Bearer $TOKEN"`; `$$` is a dollar. Errors name the variable, never its value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from parley.errors import ConfigError

_REFERENCE = re.compile(r"\$(?:(\$)|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")


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
