"""Policy files: TOML with a `default` and a list of `rules`.

```toml
default = "ask"

[[rules]]
decision = "allow"
kind = ["read", "search"]
path = "src/**"
```

A file that cannot be read is an error and never counts as one without rules.
"""

from __future__ import annotations

import logging
import os
import stat
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from parley._suggestions import suggest
from parley._user_dirs import config_dir, describe_exposure, state_dir
from parley.errors import ConfigError

from ._policy import Policy, project_root
from ._remembered import Remembered
from ._rule import FIELDS, Rule
from ._ruleset import RuleSet
from ._subject import Decision

logger = logging.getLogger(__name__)

NAME = "policy.toml"
PROJECT_NAME = ".parley/policy.toml"

MAX_BYTES = 256 * 1024
"""The maximum size of a policy file."""
_READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Does not wait for the writer of a pipe."""


def load_policy(
    cwd: str | Path = ".", *, allow: Iterable[Rule] = (), deny: Iterable[Rule] = ()
) -> Policy:
    """Return the policy that holds in a directory: the user's, the project's, what is remembered.

    Args:
        cwd: Where the work is done.
        allow: Rules that count before those of the user's file, as of `parse_flags`.
        deny: Rules that count before these.

    Raises:
        ConfigError: A policy file cannot be used. Then nothing should be run.
    """
    base = os.path.realpath(cwd)
    own_file = config_dir() / NAME
    own = RuleSet(name=NAME, base=base)
    if _is_there(own_file):
        _check_exposure(own_file)
        own = read_rules(own_file, NAME, base)
    project = _project_rules(base)
    files = (Path(each.base, PROJECT_NAME) for each in project)
    return Policy(
        [*deny, *allow, *own.rules],
        default=own.default or "ask",
        cwd=base,
        project=project,
        remembered=Remembered(state_dir() / "permissions.jsonl"),
        protected=map(str, (config_dir(), state_dir(), *files)),
    )


def _project_rules(base: str) -> list[RuleSet]:
    """Read the files of the project, from its root down to the directory."""
    root = Path(project_root(base))
    folders = [each for each in (Path(base), *Path(base).parents) if each.is_relative_to(root)]
    found: list[RuleSet] = []
    for folder in reversed(folders):
        path = folder / PROJECT_NAME
        if _is_there(path):
            name = PROJECT_NAME if str(folder) == base else str(path)
            rules = read_rules(path, name, str(folder))
            for part in rules.idle():
                logger.warning(
                    "%s: %s has no effect: a file of a project can only make it stricter",
                    path,
                    part,
                )
            found.append(rules)
    return found


def _check_exposure(path: Path) -> None:
    """Refuse a file that others could have written: it allows things."""
    try:
        exposure = describe_exposure(path)
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read as a policy: {error.strerror}") from error
    if exposure is not None:
        raise ConfigError(f"{path} is refused, since it decides what is allowed: {exposure}")


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise ConfigError(f"{path}: it cannot be read as a policy: {error.strerror}") from error
    return True


def read_rules(path: Path, name: str, base: str) -> RuleSet:
    """Read a policy file.

    Args:
        path: The file.
        name: What it is called in reasons.
        base: The directory where its relative paths begin, without symlinks.

    Raises:
        ConfigError: It cannot be read, or contains something unknown.
    """
    try:
        values = tomllib.loads(_content(path).decode())
    except (OSError, ValueError, RecursionError) as error:  # of TOML and UTF-8 too
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{path}: it cannot be read as a policy: {reason}") from error
    _check_keys(str(path), values, ("default", "rules"))
    default = values.get("default")
    if default is not None and default not in get_args(Decision):
        raise ConfigError(f"{path}: default: use allow, ask or deny")
    rules = [
        _rule(f"{path}, rule {number}", each, f"{name}, rule {number}")
        for number, each in enumerate(_tables(path, values.get("rules", [])), 1)
    ]
    return RuleSet(name=name, base=base, rules=tuple(rules), default=default)


def _content(path: Path) -> bytes:
    """Return what is in a file, which may be anything that a repository can hold."""
    handle = os.open(path, _READING)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a file")
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES} bytes")
    return content


def _tables(path: Path, value: Any) -> list[dict[str, Any]]:
    try:
        return msgspec.convert(value, list[dict[str, Any]])
    except msgspec.ValidationError:
        raise ConfigError(f"{path}: rules: write each under [[rules]]") from None


def _rule(place: str, values: dict[str, Any], source: str) -> Rule:
    _check_keys(place, values, ("decision", *FIELDS))
    if "decision" not in values:
        raise ConfigError(f"{place}: it has no decision; use allow, ask or deny")
    for name, value in values.items():
        if not isinstance(value, str | list):
            raise ConfigError(f"{place}: {name}: expected a string or strings")
        if isinstance(value, list) and (name == "decision" or not value):
            problem = "expected one" if name == "decision" else "it is empty; leave it out"
            raise ConfigError(f"{place}: {name}: {problem}")
    try:
        return Rule(**values, source=source)
    except ConfigError as error:
        raise ConfigError(f"{place}: {error}") from None


def _check_keys(place: str, values: Mapping[str, object], known: Sequence[str]) -> None:
    for key in values:
        if key not in known:
            raise ConfigError(f"{place}: there is no key {key!r}; {suggest(key, known, '{!r}')}")
