"""Attempts of an agent to escape its directories; nothing is read or written."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from parley.client import Workspace

from .workspace_agent import new_session, workspace_connection

SECRET = "the secret"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory to work in, beside one that has a secret."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text(SECRET)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "plain.txt").write_text("plain")
    return tmp_path / "root"


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def snapshot(directory: Path) -> dict[str, str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path): path.read_text() for path in files}


Attempt = Callable[[Path], str]


def link_to(target: str) -> Attempt:
    def attempt(root: Path) -> str:
        (root / "link").symlink_to(target)
        return f"{root}/link"

    return attempt


def linked_directory(root: Path) -> str:
    (root / "way").symlink_to(root.parent / "outside")
    return f"{root}/way/secret.txt"


def linked_chain(root: Path) -> str:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("../outside")
    return f"{root}/a/secret.txt"


def loop(root: Path) -> str:
    (root / "loop").symlink_to("loop")
    return f"{root}/loop"


def hard_link(root: Path) -> str:
    os.link(root.parent / "outside" / "secret.txt", root / "hard.txt")
    return f"{root}/hard.txt"


def pipe(root: Path) -> str:
    os.mkfifo(root / "pipe")
    return f"{root}/pipe"


def listener(root: Path) -> str:
    with socket.socket(socket.AF_UNIX) as unix:
        before = Path.cwd()
        os.chdir(root)  # the name of a socket must be short
        try:
            unix.bind("socket")
        finally:
            os.chdir(before)
    return f"{root}/socket"


ESCAPES: dict[str, tuple[Attempt, str]] = {
    "dots": (lambda root: f"{root}/../outside/secret.txt", "outside the workspace"),
    "dots in the middle": (lambda root: f"{root}/x/../../outside/secret.txt", "outside the"),
    "dots above everything": (lambda root: f"{root}/{'../' * 50}etc/hostname", "outside the"),
    "absolute": (lambda root: f"{root.parent}/outside/secret.txt", "outside the workspace"),
    "not there": (lambda root: f"{root.parent}/outside/missing.txt", "outside the workspace"),
    "same prefix": (lambda root: f"{root}side/secret.txt", "outside the workspace"),
    "two slashes": (lambda root: f"/{root.parent}/outside/secret.txt", "outside the workspace"),
    "link to a file": (link_to("../outside/secret.txt"), "outside the workspace"),
    "link to nothing outside": (link_to("../outside/new.txt"), "outside the workspace"),
    "linked directory": (linked_directory, "outside the workspace"),
    "link to a link": (linked_chain, "outside the workspace"),
    "link to itself": (loop, "loop "),
    "hard link": (hard_link, "has a second name"),
    "pipe": (pipe, "is not a regular file"),
    "socket": (listener, "is not a regular file"),
    "directory": (str, "is a directory"),
    "device": (lambda root: "/dev/null", "outside the workspace"),
    "link to a device": (link_to("/dev/zero"), "outside the workspace"),
    "process": (lambda root: "/proc/self/environ", "outside the workspace"),
    "link to a process": (link_to("/proc/self/environ"), "outside the workspace"),
    "relative": (lambda root: "plain.txt", "is not absolute"),
    "home": (lambda root: "~/plain.txt", "is not absolute"),
    "empty": (lambda root: "", "is not absolute"),
    "NUL": (lambda root: f"{root}/plain.txt\0.md", "contains a NUL character"),
    "long name": (lambda root: f"{root}/{'x' * 300}", "has a name that is too long"),
    "long path": (lambda root: f"{root}/{'x/' * 5000}", "has a name that is too long"),
    "address": (lambda root: f"file://{root}/plain.txt", "is a URI"),
    "file as a directory": (lambda root: f"{root}/plain.txt/x", "not through directories"),
}


@pytest.mark.requirement("V1-FS-16")
@pytest.mark.parametrize(("attempt", "sentence"), ESCAPES.values(), ids=ESCAPES.keys())
@pytest.mark.requirement("SAFE-REACH-01")
async def test_nothing_outside_is_read_or_written(
    attempt: Attempt, sentence: str, root: Path
) -> None:
    (root.parent / "rootside").mkdir()
    (root.parent / "rootside" / "secret.txt").write_text(SECRET)
    path = attempt(root)
    before = snapshot(root.parent)
    async with workspace_connection(root) as (agent, _):
        for method, more in (("read", {}), ("write", {"content": "x"})):
            code, message = await agent.fail(f"fs/{method}_text_file", path=path, **more)
            assert code == -32602
            assert sentence in message
            assert SECRET not in message
    assert snapshot(root.parent) == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.requirement("SAFE-REACH-01")
async def test_what_the_kernel_makes_up_is_no_file_of_a_root_that_is_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with workspace_connection(Path("/")) as (agent, _):
        for path in (f"/proc/{os.getpid()}/environ", "/proc/self/environ", "/dev/null"):
            code, message = await agent.fail("fs/read_text_file", path=path)
            assert code == -32602
            assert "may not be read" in message
    async with workspace_connection(Path("/proc/self")) as (agent, _):
        assert (await agent.fail("fs/read_text_file", path="/proc/self/environ"))[0] == -32602


async def test_whether_something_is_there_outside_is_not_reported(root: Path) -> None:
    async with workspace_connection(root) as (agent, _):
        there, missing = (f"{root.parent}/outside/{name}.txt" for name in ("secret", "missing"))
        for method, more in (("read", {}), ("write", {"content": "x"})):
            reported = [
                (await agent.fail(f"fs/{method}_text_file", path=path, **more))[1].replace(path, "")
                for path in (there, missing)
            ]
            assert reported[0] == reported[1]


async def test_the_refusal_says_what_is_allowed(root: Path, tmp_path: Path) -> None:
    async with workspace_connection(root, tmp_path / "further") as (agent, _):
        response = await agent.ask("fs/read_text_file", path="/etc/passwd")
        roots = [str(root), str(tmp_path / "further")]
        assert response["error"]["data"] == {"path": "/etc/passwd", "roots": roots}
        assert response["error"]["message"].endswith(f"which is {roots[0]} and {roots[1]}")


async def test_further_directories_are_reached_too(root: Path, tmp_path: Path) -> None:
    (tmp_path / "further").mkdir()
    async with workspace_connection(root, tmp_path / "further") as (agent, _):
        await agent.write(tmp_path / "further" / "a.txt", "a")
        assert await agent.read(tmp_path / "further" / "a.txt") == "a"
        assert await agent.read(root / "plain.txt") == "plain"
        await agent.fail("fs/read_text_file", path=str(tmp_path / "outside" / "secret.txt"))


async def test_dots_that_stay_inside_are_followed(root: Path) -> None:
    (root / "sub").mkdir()
    async with workspace_connection(root) as (agent, _):
        assert await agent.read(f"{root}/sub/.././plain.txt") == "plain"


async def test_links_that_stay_inside_are_followed(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "real.md").write_text("real")
    (root / "same.md").symlink_to("sub/real.md")
    (root / "absolute.md").symlink_to(root / "sub" / "real.md")
    (root / "way").symlink_to("sub")
    async with workspace_connection(root) as (agent, _):
        for name in ("same.md", "absolute.md", "way/real.md"):
            assert await agent.read(root / name) == "real"
        await agent.write(root / "same.md", "new")
        await agent.write(root / "way" / "more.md", "more")
    assert (root / "same.md").is_symlink(), "the link stays, what it leads to is replaced"
    assert (root / "sub" / "real.md").read_text() == "new"
    assert (root / "sub" / "more.md").read_text() == "more"


@pytest.mark.requirement("SAFE-REACH-01")
async def test_nothing_is_made_behind_a_link_to_nothing(root: Path) -> None:
    (root / "dangling").symlink_to("missing.txt")
    (root / "way").symlink_to("nowhere")
    async with workspace_connection(root) as (agent, _):
        for name in ("dangling", "way/a.txt"):
            code, message = await agent.fail(
                "fs/write_text_file", path=str(root / name), content="x"
            )
            assert code == -32602
            assert "a dangling link" in message
        assert (await agent.fail("fs/read_text_file", path=str(root / "dangling")))[0] == -32002
    assert names_in(root) == ["dangling", "plain.txt", "way"]


async def test_a_root_may_be_named_by_a_link_and_by_its_real_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for root in (tmp_path / "link", tmp_path / "real"):
        async with workspace_connection(root) as (agent, _):
            await agent.write(tmp_path / "link" / "a.txt", root.name)
            assert await agent.read(tmp_path / "real" / "a.txt") == root.name


async def test_another_directory_under_the_name_of_a_root_is_noticed(root: Path) -> None:
    async with workspace_connection(root) as (agent, _):
        assert await agent.read(root / "plain.txt") == "plain"
        moved = root.parent / "moved"
        shutil.move(root, moved)
        for source in (root.parent / "outside", moved):
            shutil.copytree(source, root)
            code, message = await agent.fail(
                "fs/write_text_file", path=f"{root}/secret.txt", content="x"
            )
            assert (code, "no longer the same directory" in message) == (-32602, True)
            shutil.rmtree(root)
        (root.parent / "root").symlink_to("outside")
        for method, more in (("read", {}), ("write", {"content": "x"})):
            path = f"{root}/secret.txt"
            assert (await agent.fail(f"fs/{method}_text_file", path=path, **more))[0] == -32602
        (root.parent / "root").unlink()
        shutil.move(moved, root)
        assert await agent.read(root / "plain.txt") == "plain"
    assert snapshot(root.parent / "outside") == {str(root.parent / "outside/secret.txt"): SECRET}


@pytest.mark.parametrize("is_of_workspace", [True, False])
async def test_a_link_under_the_name_of_a_root_is_noticed_at_the_first_call(
    is_of_workspace: bool, root: Path
) -> None:
    late = root.parent / "late"  # is not there when the session begins
    further = [] if is_of_workspace else [late]
    workspace = Workspace(root, [late]) if is_of_workspace else None
    async with workspace_connection(root, *further, workspace=workspace) as (agent, _):
        shutil.move(root, root.parent / "moved")
        for place in (root, late):
            place.symlink_to("outside")
        for name in ("root", "late", "outside"):
            path = str(root.parent / name / "secret.txt")
            assert (await agent.fail("fs/read_text_file", path=path))[0] == -32602
            assert (await agent.fail("terminal/create", command="ls", cwd=path[:-11]))[0] == -32602
        late.unlink()
        late.mkdir()
        await agent.write(late / "a.txt", "a")


async def test_sessions_reach_their_own_directories(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("b")
    async with workspace_connection(root) as (agent, session):
        await new_session(session, agent, "t", tmp_path / "other")
        found = await agent.get("fs/read_text_file", "t", path=str(tmp_path / "other" / "b.txt"))
        assert found == {"content": "b"}
        for mine, theirs in (("s", tmp_path / "other" / "b.txt"), ("t", root / "plain.txt")):
            assert (await agent.fail("fs/read_text_file", mine, path=str(theirs)))[0] == -32602


async def test_a_workspace_with_directories_of_its_own_has_only_those(
    root: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    workspace = Workspace(tmp_path / "outside", ["../other"])
    async with workspace_connection(root, workspace=workspace) as (agent, _):
        assert await agent.read(tmp_path / "outside" / "secret.txt") == SECRET
        await agent.write(tmp_path / "other" / "a.txt", "a")
        assert (await agent.fail("fs/read_text_file", path=str(root / "plain.txt")))[0] == -32602


@contextmanager
def swapping(one: Callable[[], None], other: Callable[[], None]) -> Generator[Callable[[], int]]:
    """Do two things in turn, as fast as it goes; yields how often that was."""
    is_over, count = threading.Event(), 0

    def swap() -> None:
        nonlocal count
        while not is_over.is_set():
            one()
            other()
            count += 1

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield lambda: count
    finally:
        is_over.set()
        thread.join()


def make_plain(path: Path) -> None:
    path.write_text("plain")


def replaced(path: Path, make: Callable[[Path], None]) -> Callable[[], None]:
    """Return what puts something in the place of a path at one stroke."""

    def replace() -> None:
        beside = path.with_name(f"{path.name}.beside")
        make(beside)
        beside.replace(path)

    return replace


@pytest.mark.requirement("SAFE-REACH-01")
async def test_a_file_swapped_for_a_link_during_the_call_gives_no_secret(root: Path) -> None:
    target = root / "target.txt"
    file = replaced(target, make_plain)
    link = replaced(target, lambda path: path.symlink_to("../outside/secret.txt"))
    file()
    async with workspace_connection(root) as (agent, _):
        with swapping(link, file) as count:
            read, refused = 0, 0
            while count() < 200 or read + refused < 300 or not (read and refused):
                response = await agent.ask("fs/read_text_file", path=str(target))
                if "result" in response:
                    assert response["result"]["content"] == "plain"
                    read += 1
                else:
                    refused += 1
                await agent.ask("fs/write_text_file", path=str(target), content="plain")
    assert (root.parent / "outside" / "secret.txt").read_text() == SECRET
    assert list(snapshot(root.parent / "outside")) == [str(root.parent / "outside" / "secret.txt")]


@pytest.mark.requirement("SAFE-REACH-01")
async def test_a_directory_swapped_for_a_link_during_the_call_lets_nothing_out(root: Path) -> None:
    way, real, outside = root / "way", root / "real", root.parent / "outside"
    real.mkdir()
    (real / "secret.txt").write_text("plain")

    def put(make: Callable[[], object]) -> None:
        while True:
            try:
                make()
            except OSError:  # a write was faster and has made the directory
                shutil.rmtree(way, ignore_errors=True)
            else:
                return

    def link() -> None:
        way.rename(real)
        put(lambda: way.symlink_to("../outside"))

    def directory() -> None:
        way.unlink()
        put(lambda: real.rename(way))

    real.rename(way)
    async with workspace_connection(root) as (agent, _):
        with swapping(link, directory) as count:
            read, refused = 0, 0
            while count() < 200 or read + refused < 300 or not (read and refused):
                response = await agent.ask("fs/read_text_file", path=f"{way}/secret.txt")
                if "result" in response:
                    assert response["result"]["content"] == "plain"
                    read += 1
                else:
                    refused += 1
                await agent.ask("fs/write_text_file", path=f"{way}/new.txt", content="x")
    assert snapshot(outside) == {str(outside / "secret.txt"): SECRET}


async def test_the_look_is_not_what_the_opening_rests_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "file").symlink_to("../outside/secret.txt")
    (root / "way").symlink_to("../outside")
    monkeypatch.setattr("os.path.realpath", os.path.abspath)  # as if it were swapped afterwards
    before = snapshot(root.parent)
    async with workspace_connection(root) as (agent, _):
        for name in ("file", "way/secret.txt", "way/new.txt"):
            for method, more in (("read", {}), ("write", {"content": "x"})):
                path = str(root / name)
                assert (await agent.fail(f"fs/{method}_text_file", path=path, **more))[0] == -32602
    assert snapshot(root.parent) == before
