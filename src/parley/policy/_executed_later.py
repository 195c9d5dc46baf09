"""Files that other programs execute later, without asking anybody.

If an agent may edit files, it must not gain by this that its text is run: by git, by a shell that
is opened, by an editor that opens the directory, by a CI server, by the system. A change of such a
file is a question, unless a rule names it.

Files that run only when somebody builds or tests the project (`Makefile`, `package.json`,
`conftest.py`, source code) are not among them: they are the work itself, and to ask about each
would teach the user to say yes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise

from ._path import folded

_DIRECTORIES = {
    *(
        ".git",
        "git~1",
        ".husky",
        ".githooks",
        ".lefthook",
    ),  # hooks, and commands in the configuration
    *(".vscode", ".idea", ".zed", ".devcontainer"),  # tasks, launchers, settings with commands
    *(".circleci", ".buildkite"),
    ".ssh",  # keys that let somebody in, ProxyCommand
    "launchagents",
    "launchdaemons",
}
_PAIRS = {
    *((".github", "workflows"), (".github", "actions"), (".gitlab", "ci")),
    *((".config", "fish"), (".config", "systemd"), (".config", "autostart"), (".config", "git")),
    *((".config", "environment.d"), ("etc", "profile.d"), ("etc", "systemd"), ("spool", "cron")),
    *(("etc", "cron.d"), ("etc", "cron.daily"), ("etc", "cron.hourly"), ("etc", "init.d")),
    *((".claude", "hooks"), (".claude", "settings.json"), (".claude", "settings.local.json")),
    *((".cargo", "config"), (".cargo", "config.toml"), (".cursor", "mcp.json")),
    *((".codex", "config.toml"), (".gemini", "settings.json"), (".local", "bin")),
    *((".gitea", "workflows"), (".forgejo", "workflows"), (".config", "nvim"), (".config", "mise")),
}
"""Two names, the one in the other."""
_PARENTS = {first for first, _ in _PAIRS if first.startswith(".")}
_NAMES = {
    *(".envrc", ".mise.toml", "mise.toml"),  # run by entering the directory
    *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
    *(".login", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment"),
    *(".gitconfig", ".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml"),
    *("lefthook.yaml", ".lefthook.yml", ".lefthook.yaml", "lefthook.toml", "lefthook.json"),
    *(".gitlab-ci.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", "jenkinsfile"),
    *("azure-pipelines.yml", "bitbucket-pipelines.yml", ".devcontainer.json", ".cirrus.yml"),
    *("appveyor.yml", ".appveyor.yml", "opencode.json", "opencode.jsonc", ".tmux.conf", ".pdbrc"),
    *(".exrc", ".vimrc", ".nvimrc", ".nvim.lua", ".dir-locals.el", ".emacs"),
    *("sitecustomize.py", "usercustomize.py", ".pythonrc", ".pythonstartup"),
    *(".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".bazelrc"),
    *(".gdbinit", ".lldbinit", ".irbrc", ".rprofile", ".mcp.json", "crontab", "ld.so.preload"),
}
_ENDINGS = (".pth", ".code-workspace")
_READERS = {
    *("cat", "head", "tail", "ls", "stat", "file", "wc", "grep", "egrep", "rg"),
    *("diff", "cmp", "sha256sum", "md5sum", "du", "nl", "bat"),
}
_READING_GIT = {"add", "blame", "diff", "grep", "log", "ls-files", "show", "status"}
_BORDERS = re.compile(r"[;&|\n]+")
_COMPUTES = re.compile(r"[<>$`(){}]")


def is_executed_later(path: str, *, is_directory: bool = False) -> bool:
    """Return whether a path, or the pattern of a rule, is one of these files, in any spelling.

    Args:
        path: The path.
        is_directory: Whether it may be a directory that is moved, or in which something is named.
    """
    names = [_plain(each) for each in folded(path).split("/") if each]
    if not names:
        return False
    return (
        not _DIRECTORIES.isdisjoint(names)
        or names[-1] in _NAMES
        or names[-1].endswith(_ENDINGS)
        or not _PAIRS.isdisjoint(pairwise(names))
        or (is_directory and names[-1] in _PARENTS)
    )


def _plain(name: str) -> str:
    """Return a name without what some file systems ignore in it."""
    if not name.isascii():
        name = "".join(each for each in name if unicodedata.category(each) != "Cf")
    return name.partition(":")[0].rstrip(". ")


def only_reads(commands: Iterable[str]) -> bool:
    """Return whether commands are plainly ones that only show files."""
    for command in commands:
        if _COMPUTES.search(command):
            return False
        for part in _BORDERS.split(command):
            if not _only_reads(part.split()):
                return False
    return True


def _only_reads(words: list[str]) -> bool:
    if words[:1] == ["git"] and len(words) > 1:
        options = [each for each in words if each != "--oneline"]
        writes = any(each.startswith(("--o", "-o", "-O")) for each in options)  # may be abbreviated
        return words[1] in _READING_GIT and not writes
    return not words or words[0] in _READERS
