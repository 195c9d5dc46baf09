from __future__ import annotations

import asyncio
import errno
import gc
import os
import stat
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parley.client import Session, Workspace
from parley.client.workspace._files import Files
from parley.client.workspace._roots import SafePath
from parley.errors import InvalidParams
from parley.peer import Limits
from parley.policy import Subject

from .workspace_agent import WorkspaceAgent, workspace_connection

THREE = "one\ntwo\r\nthree"


@pytest.mark.parametrize(
    ("line", "limit", "text"),
    [
        (None, None, THREE),
        (1, None, THREE),
        (0, None, THREE),
        (0, 1, "one\n"),
        (2, 1, "two\r\n"),
        (2, None, "two\r\nthree"),
        (None, 2, "one\ntwo\r\n"),
        (3, 1, "three"),
        (3, 9, "three"),
        (4, None, ""),
        (999, 1, ""),
        (2**32 - 1, 2**32 - 1, ""),
        (None, 0, ""),
        (1, 0, ""),
    ],
)
async def test_lines_are_counted_from_one_and_kept_as_they_are(
    line: int | None, limit: int | None, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(THREE.encode())
    async with workspace_connection(tmp_path) as (agent, _):
        assert await agent.read(path, line=line, limit=limit) == text


@pytest.mark.parametrize(
    "text", ["", "\n", "\r\n", "a\rb", "\ufeffa", "é😀\u2028\x0c\n", "\x00\n\n"]
)
async def test_text_goes_and_comes_unchanged(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    async with workspace_connection(tmp_path) as (agent, _):
        await agent.write(path, text)
        assert path.read_bytes() == text.encode()
        assert await agent.read(path) == text


async def test_what_is_not_text_is_not_read_as_some(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "half.txt").write_bytes(b"fine\n\xff\n")
    async with workspace_connection(tmp_path) as (agent, _):
        code, message = await agent.fail("fs/read_text_file", path=f"{tmp_path}/a.png")
        assert (code, message) == (-32602, f"{tmp_path}/a.png is not UTF-8 text")
        assert await agent.read(tmp_path / "half.txt", limit=1) == "fine\n"
        await agent.fail("fs/read_text_file", path=f"{tmp_path}/half.txt", line=2)


async def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        for path in (f"{tmp_path}/no.txt", f"{tmp_path}/no/no.txt"):
            response = await agent.ask("fs/read_text_file", path=path)
            error = {"code": -32002, "message": f"{path} does not exist", "data": {"path": path}}
            assert response["error"] == error


async def test_more_than_the_limit_is_read_in_lines(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(f"{number:07}\n" for number in range(100_000)))
    async with workspace_connection(tmp_path, read_limit_bytes=800) as (agent, _):
        assert await agent.read(path, line=100_000, limit=1) == "0099999\n"
        assert await agent.read(path, line=99_901) == "".join(
            f"{number:07}\n" for number in range(99_900, 100_000)
        )
        assert len(await agent.read(path, limit=100)) == 800
        for more in ({}, {"limit": 101}, {"line": 99_900}):
            code, message = await agent.fail("fs/read_text_file", path=str(path), **more)
            assert code == -32602
            assert "one read returns at most 800 bytes; request fewer lines" in message


@pytest.mark.parametrize("length", [799, 800, 801])
@pytest.mark.requirement("SAFE-REACH-02")
async def test_the_limits_of_bytes_are_exact(length: int, tmp_path: Path) -> None:
    path, text = tmp_path / "a.txt", "é" * (length // 2) + "x" * (length % 2)
    path.write_text(text)
    async with workspace_connection(tmp_path, read_limit_bytes=800, write_limit_bytes=800) as (
        agent,
        _,
    ):
        read = await agent.ask("fs/read_text_file", path=str(path))
        written = await agent.ask("fs/write_text_file", path=str(path), content=text + "")
        assert ("result" in read, "result" in written) == (length <= 800, length <= 800)


async def test_one_endless_line_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "one.txt"
    path.write_text("x" * 10_000)
    async with workspace_connection(tmp_path, read_limit_bytes=800) as (agent, _):
        assert (await agent.fail("fs/read_text_file", path=str(path), limit=1))[0] == -32602
        assert await agent.read(path, line=2) == ""


async def test_a_file_of_gigabytes_is_not_even_begun(tmp_path: Path) -> None:
    path = tmp_path / "sparse.txt"
    path.touch()
    os.truncate(path, 2**40)
    async with workspace_connection(tmp_path) as (agent, _):
        code, message = await agent.fail("fs/read_text_file", path=str(path), line=2, limit=1)
        assert (code, message) == (-32602, f"{path} is too long: {2**40} bytes")


async def test_a_write_makes_the_directories_that_are_missing(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (agent, _):
        await agent.write(tmp_path / "a" / "b" / "c.txt", "text")
    assert (tmp_path / "a" / "b" / "c.txt").read_text() == "text"


async def test_a_write_replaces_all_and_keeps_permissions(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("a long text that was there before")
    path.chmod(0o751)
    umask = os.umask(0o027)
    try:
        async with workspace_connection(tmp_path) as (agent, _):
            await agent.write(path, "short")
            await agent.write(tmp_path / "new.txt", "new")
    finally:
        os.umask(umask)
    assert path.read_text() == "short"
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640
    assert names_in(tmp_path) == ["new.txt", "run.sh"]


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
async def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    async with workspace_connection(tmp_path) as (agent, _):
        code, message = await agent.fail("fs/write_text_file", path=str(path), content="new")
        assert (code, message) == (-32602, f"{path} may not be written")
    assert path.read_text() == "old"


@pytest.mark.parametrize("step", ["fsync", "rename", "fchmod"])
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.requirement("SAFE-REACH-02")
async def test_a_write_that_fails_leaves_the_old_file_whole_and_nothing_else(
    step: str, is_new: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    if not is_new:
        path.write_text("old")

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with workspace_connection(tmp_path) as (agent, _):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            response = await agent.ask("fs/write_text_file", path=str(path), content="new")
        if step == "fchmod" and is_new:
            assert "result" in response
            return
        assert response["error"]["code"] == -32603
        assert response["error"]["message"].endswith(
            "could not be written: No space left on device"
        )
        assert names_in(tmp_path) == ([] if is_new else ["a.txt"])
        assert is_new or path.read_text() == "old"
        await agent.write(path, "new")
    assert path.read_text() == "new"


async def test_who_reads_during_writes_sees_one_whole_text(tmp_path: Path) -> None:
    path, texts = tmp_path / "a.txt", {letter * 50_000 for letter in "ab"}
    async with workspace_connection(tmp_path) as (agent, _):
        await agent.write(path, "a" * 50_000)

        async def write() -> None:
            for text in list(texts) * 20:
                await agent.write(path, text)

        writing = asyncio.create_task(write())
        while not writing.done():
            assert await agent.read(path) in texts
        await writing
    assert names_in(tmp_path) == ["a.txt"]


async def test_a_slow_disk_holds_up_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("a")
    may_go_on, begun = threading.Event(), threading.Event()
    real: Callable[..., Any] = os.fdopen

    def slow(*arguments: Any) -> Any:
        begun.set()
        may_go_on.wait(300)
        return real(*arguments)

    async with workspace_connection(tmp_path) as (agent, _):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdopen", slow)
            reading = agent.ask("fs/read_text_file", path=f"{tmp_path}/a.txt")
            await asyncio.to_thread(begun.wait)
            await agent.fail("fs/read_text_file", path="relative")
            assert not reading.done()
            may_go_on.set()
            assert (await reading)["result"] == {"content": "a"}


class Buffers:
    """An editor with one file open."""

    def __init__(self, path: Path, text: str) -> None:
        self.texts = {str(path): text}

    def read(self, path: str) -> str | None:
        return self.texts.get(path)

    async def write(self, path: str, content: str) -> bool:
        if path not in self.texts:
            return False
        self.texts[path] = content
        return True


async def test_what_is_not_saved_wins_over_the_disk(tmp_path: Path) -> None:
    for name in ("open.txt", "closed.txt"):
        (tmp_path / name).write_text("on disk\n")
    buffers = Buffers(tmp_path / "open.txt", "one\ntwo\n")
    async with workspace_connection(tmp_path, buffers=buffers, read_limit_bytes=10) as (agent, _):
        assert await agent.read(tmp_path / "open.txt") == "one\ntwo\n"
        assert await agent.read(tmp_path / "open.txt", line=2, limit=1) == "two\n"
        assert await agent.read(tmp_path / "closed.txt") == "on disk\n"
        await agent.write(tmp_path / "open.txt", "edited\n")
        await agent.write(tmp_path / "closed.txt", "written\n")
        assert await agent.read(tmp_path / "open.txt") == "edited\n"
        buffers.texts[f"{tmp_path}/open.txt"] = "x" * 11
        assert (await agent.fail("fs/read_text_file", path=f"{tmp_path}/open.txt"))[0] == -32602
    assert (tmp_path / "open.txt").read_text() == "on disk\n"
    assert (tmp_path / "closed.txt").read_text() == "written\n"


async def test_an_editor_is_not_asked_for_what_is_outside(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to("../a.txt")
    buffers = Buffers(tmp_path / "a.txt", "secret")
    async with workspace_connection(tmp_path / "root", buffers=buffers) as (agent, _):
        for path in (tmp_path / "a.txt", tmp_path / "root" / "link"):
            assert (await agent.fail("fs/read_text_file", path=str(path)))[0] == -32602
            await agent.fail("fs/write_text_file", path=str(path), content="x")
    assert buffers.texts == {f"{tmp_path}/a.txt": "secret"}


async def test_a_file_that_is_open_and_was_never_saved_is_read(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path, buffers=Buffers(tmp_path / "new.txt", "new")) as (
        agent,
        _,
    ):
        assert await agent.read(tmp_path / "new.txt") == "new"
    assert names_in(tmp_path) == []


async def test_a_text_that_no_file_can_hold_is_refused(tmp_path: Path) -> None:
    async with workspace_connection(tmp_path) as (_, session):
        workspace = session.connection.workspace
        assert isinstance(workspace, Workspace)
        with pytest.raises(InvalidParams, match="not valid Unicode"):
            await workspace.files.write_text_file(f"{tmp_path}/a.txt", "\ud800", session)
        with pytest.raises(InvalidParams, match="is not a valid path"):
            await workspace.files.read_text_file(f"{tmp_path}/\ud800", None, None, session)
    assert names_in(tmp_path) == []


async def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")

    async def use(agent: WorkspaceAgent) -> None:
        await agent.write(tmp_path / "d" / "c.txt", "c")
        assert await agent.read(tmp_path / "d" / "c.txt") == "c"
        for path in ("a.txt", "no", "d", "d/no/no", "d/c.txt/no"):
            await agent.ask("fs/read_text_file", path=f"{tmp_path}/{path}")
            await agent.ask("fs/write_text_file", path=f"{tmp_path}/{path}", content="x")

    async with workspace_connection(tmp_path) as (agent, _):
        await use(agent)
        gc.collect()  # what other tests have left
        before = len(names_in(Path("/dev/fd")))
        for _ in range(3):
            await use(agent)
        assert len(names_in(Path("/dev/fd"))) == before


async def test_a_path_that_cannot_be_followed_at_this_moment_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swapped(path: str) -> str:
        raise OSError(22, "Invalid argument", path)

    (tmp_path / "plain.txt").write_text("plain")
    async with workspace_connection(tmp_path) as (agent, _):
        with monkeypatch.context() as patched:
            patched.setattr("os.path.realpath", swapped)
            code, _ = await agent.fail("fs/read_text_file", path=str(tmp_path / "plain.txt"))
        assert code == -32602
        assert await agent.read(tmp_path / "plain.txt") == "plain"


@pytest.mark.requirement("SAFE-COST-01")
@pytest.mark.parametrize("is_open", [False, True], ids=["disk", "buffer"])
async def test_200_reads_of_an_agent_that_takes_no_responses_cost_no_more_than_the_budget(
    tmp_path: Path, is_open: bool
) -> None:
    was_requested = asyncio.Event()
    paths: list[str] = []
    text = "x" * 500_000

    def guard(subject: Subject, session: Session) -> bool:
        paths.extend(subject.paths)
        if len(paths) == 200:
            was_requested.set()
        return True

    path = tmp_path / "large.txt"
    path.write_text(text)
    limits = Limits(response_bytes=4_000_000)
    options: dict[str, Any] = {"buffers": Buffers(path, text)} if is_open else {}
    connected = workspace_connection(tmp_path, limits=limits, guard=guard, **options)
    async with connected as (agent, _):
        agent.transport.pause_reading()
        responses = [agent.ask("fs/read_text_file", path=str(path)) for _ in range(200)]
        tracemalloc.start()
        await was_requested.wait()
        for _ in range(100):  # a thread that is asked for now is there after those of the reads
            await asyncio.to_thread(lambda: None)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak_bytes < 5 * limits.response_bytes, "all of them together have 100 MB"

        agent.transport.resume_reading()
        for response in responses:
            assert (await response)["result"]["content"] == text


async def test_a_file_that_grows_while_it_is_read_is_read_whole_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_bytes(b"x" * 100_000)
    sizes = iter((300_000, 5_000_000))

    class Growing(Files):
        def _read(
            self, safe_path: SafePath, line: int | None, limit: int | None, allowed_bytes: int
        ) -> str | int:
            found = super()._read(safe_path, line, limit, allowed_bytes)
            if (size := next(sizes, None)) is not None:
                path.write_bytes(b"x" * size)
            return found

    workspace = Workspace(read_limit_bytes=1_000_000)
    workspace.files = Growing(workspace, workspace._find_roots, {"read_limit_bytes": 1_000_000})
    async with workspace_connection(tmp_path, workspace=workspace) as (agent, _):
        code, problem = await agent.fail("fs/read_text_file", path=str(path))
        assert code == InvalidParams.code
        assert "at most 1000000 bytes" in problem
        path.write_bytes(b"x" * 900_000)
        assert len(await agent.read(path)) == 900_000


async def test_large_text_of_an_editor_waits_for_room_too(tmp_path: Path) -> None:
    class Editor:
        def read(self, path: str) -> str:
            return "é\n" * 100_000

        def write(self, path: str, content: str) -> bool:
            return False

    async with workspace_connection(tmp_path, buffers=Editor(), read_limit_bytes=400_000) as (
        agent,
        _,
    ):
        assert await agent.read(tmp_path / "a.txt") == "é\n" * 100_000
    async with workspace_connection(tmp_path, buffers=Editor(), read_limit_bytes=200_000) as (
        agent,
        _,
    ):
        assert (await agent.fail("fs/read_text_file", path=str(tmp_path / "a.txt")))[0] == -32602
        assert await agent.read(tmp_path / "a.txt", line=2, limit=1) == "é\n"
