"""The workspace of a client: its folders, and the repository that they belong to.

Git's own files are read, git is not run. Whatever is not as expected means that nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlsplit

from parley.schema import v2

_SECTION = re.compile(r'\[\s*([\w.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"\s*url\s*=\s*(\S+)", re.IGNORECASE)
_SHORT = re.compile(r"(?:[\w.-]+@)?(?P<host>[\w.-]+):(?!//)(?P<path>[^\s@]+)")
"""Addresses as `git@example.org:owner/name.git`."""


def start_request(folders: Iterable[Path]) -> v2.StartNesRequest:
    """Return how a session begins for some folders, of which the first is the main one."""
    paths = [Path(each).absolute() for each in folders]
    if not paths:
        return v2.StartNesRequest()
    return v2.StartNesRequest(
        workspace_uri=paths[0].as_uri(),
        workspace_folders=[
            v2.WorkspaceFolder(uri=each.as_uri(), name=each.name or str(each)) for each in paths
        ],
        repository=find_repository(paths[0]),
    )


def find_repository(folder: Path) -> v2.NesRepository | None:
    """Return the repository that a folder is in; None if there is none, or it is nobody's."""
    try:
        config = _config(folder)
        url = None if config is None else _remote(config)
        return None if url is None else _repository(url)
    except (OSError, ValueError):
        return None


def _config(folder: Path) -> str | None:
    """Return git's configuration, also where a working tree has it elsewhere."""
    for each in (folder, *folder.parents):
        git = each / ".git"
        if git.is_file():
            _, _, place = git.read_text().partition("gitdir:")
            git = each / place.strip()
            if (git / "commondir").is_file():
                git = git / (git / "commondir").read_text().strip()
        if (git / "config").is_file():
            return (git / "config").read_text()
    return None


def _remote(config: str) -> str | None:
    """Return the address of `origin`, or of the first that there is."""
    found: dict[str, str] = {}
    name: str | None = None
    for line in config.splitlines():
        if section := _SECTION.match(line.strip()):
            name = section[2] if section[1].lower() == "remote" else None
        elif name is not None and (entry := _ENTRY.match(line)):
            found.setdefault(name, entry[1].strip('"'))
    return found.get("origin") or next(iter(found.values()), None)


def _repository(url: str) -> v2.NesRepository | None:
    short = _SHORT.fullmatch(url)
    path = short["path"] if short else urlsplit(url).path
    *owner, name = [each for each in path.split("/") if each] or [""]
    name = name.removesuffix(".git")
    if not owner or not name or not (short or urlsplit(url).netloc):
        return None
    return v2.NesRepository(name=name, owner="/".join(owner), remote_url=without_credentials(url))


def without_credentials(url: str) -> str:
    """Return an address without a password or a token that somebody has put into it.

    A name stays where it is how one logs in, as in `ssh://git@example.org`.
    """
    if _SHORT.fullmatch(url):
        return url
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    name = user.partition(":")[0] if "ssh" in parts.scheme.split("+") else ""
    netloc = f"{name}{at}{host}" if name else host
    return parts._replace(netloc=netloc, query="", fragment="").geturl()
