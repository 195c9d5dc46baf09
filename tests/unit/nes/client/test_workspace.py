"""Folders and repositories as they are told to an agent, read from git's own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from parley.nes.client._workspace import find_repository, start_request, without_credentials
from parley.schema import v2


def repository(folder: Path, config: str) -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config)
    return folder


def remote(url: str, name: str = "origin") -> str:
    return f'[remote "{name}"]\n\turl = {url}\n\tfetch = +refs/heads/*\n'


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/owner/name.git",
        "https://example.org/owner/name",
        "ssh://git@example.org:22/owner/name.git",
        "git@example.org:owner/name.git",
        "example.org:owner/name/",
    ],
)
def test_the_repository_is_that_of_origin(tmp_path: Path, url: str) -> None:
    config = "[core]\n\tbare = false\n" + remote("https://example.org/a/b", "fork") + remote(url)
    folder = repository(tmp_path, config) / "deep" / "er"
    folder.mkdir(parents=True)
    assert find_repository(folder) == v2.NesRepository(name="name", owner="owner", remote_url=url)


def test_groups_of_groups_are_the_owner(tmp_path: Path) -> None:
    found = find_repository(repository(tmp_path, remote("https://example.org/a/b/c.git")))
    assert found is not None
    assert (found.owner, found.name) == ("a/b", "c")


def test_without_origin_it_is_the_first_remote(tmp_path: Path) -> None:
    config = remote("https://example.org/a/one", "up") + remote("https://example.org/a/two", "x")
    found = find_repository(repository(tmp_path, config))
    assert found is not None
    assert found.name == "one"


def test_a_working_tree_has_its_configuration_elsewhere(tmp_path: Path) -> None:
    main = repository(tmp_path / "main", remote("https://example.org/owner/name"))
    tree = main / ".git" / "worktrees" / "w"
    tree.mkdir(parents=True)
    (tree / "commondir").write_text("../..\n")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {tree}\n")
    found = find_repository(tmp_path / "w")
    assert found is not None
    assert found.name == "name"


@pytest.mark.parametrize(
    "config",
    [
        "",
        "[core]\n",
        remote("/srv/git/name.git"),
        remote("https://example.org/name.git"),
        '[branch "a"]\n url = https://example.org/owner/name\n',
        remote("https://[broken/owner/name"),
    ],
)
def test_a_repository_of_nobody_is_none(tmp_path: Path, config: str) -> None:
    assert find_repository(repository(tmp_path, config)) is None


def test_a_configuration_that_is_no_text_is_none(tmp_path: Path) -> None:
    (repository(tmp_path, "") / ".git" / "config").write_bytes(b"\xff\xfe")
    assert find_repository(tmp_path) is None


def test_a_password_does_not_leave_the_machine(tmp_path: Path) -> None:
    found = find_repository(repository(tmp_path, remote("https://me:token@example.org/o/n.git")))
    assert found is not None
    assert found.remote_url == "https://example.org/o/n.git"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://token@example.org/o/n", "https://example.org/o/n"),
        ("HTTPS://me:to@ken@example.org:8443/o/n", "https://example.org:8443/o/n"),
        ("https://example.org/o/n?private_token=t#t", "https://example.org/o/n"),
        ("ssh://git:token@example.org:22/o/n", "ssh://git@example.org:22/o/n"),
        ("git+ssh://git:token@example.org/o/n", "git+ssh://git@example.org/o/n"),
        ("ssh://:token@example.org/o/n", "ssh://example.org/o/n"),
        ("git://me:token@example.org/o/n", "git://example.org/o/n"),
        ("ftp://token@example.org/o/n", "ftp://example.org/o/n"),
        ("git@example.org:o/n", "git@example.org:o/n"),
    ],
)
def test_no_address_has_a_password_whatever_its_scheme(tmp_path: Path, url: str, told: str) -> None:
    assert without_credentials(url) == told
    found = find_repository(repository(tmp_path, remote(url)))
    assert found is not None
    assert (found.owner, found.name, found.remote_url) == ("o", "n", told)


@pytest.mark.parametrize("url", ["me:token@example.org:o/n", "x::https://me:token@example.org/o/n"])
def test_an_address_of_no_known_form_is_not_told(tmp_path: Path, url: str) -> None:
    assert find_repository(repository(tmp_path, remote(url))) is None


def test_a_session_begins_with_all_folders_and_the_repository_of_the_first(tmp_path: Path) -> None:
    first = repository(tmp_path / "a b", remote("https://example.org/owner/name"))
    second = tmp_path / "c"
    second.mkdir()
    request = start_request([first, second])
    assert request.workspace_uri == first.as_uri()
    assert request.workspace_folders == [
        v2.WorkspaceFolder(uri=first.as_uri(), name="a b"),
        v2.WorkspaceFolder(uri=second.as_uri(), name="c"),
    ]
    assert request.repository is not None
    assert start_request([]) == v2.StartNesRequest()
