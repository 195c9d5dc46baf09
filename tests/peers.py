"""`python -m tests.peers`: install the official SDKs that `make interop` and `make bench` talk to.

They live in `.venvs/` at the root of the repository, made when first needed by an ordinary
`python -m venv` with `pip install`, or `npm install`, and reused from then on.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".venvs"
PYTHON_SDK = "0.12.1"
NEXT_PYTHON_SDK = "1.0.0rc3"
TYPESCRIPT_SDK = "2.4.0"
INSTALL_TIMEOUT = 600.0


class Missing(Exception):
    """A peer cannot be had on this machine; the text says why."""


def python_sdk(version: str) -> Path:
    """Return the interpreter that has the official Python SDK of this version."""
    home = HOME / f"acp-{version}"
    site = home / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    python = home / "bin" / "python"
    wanted = (f"agent_client_protocol-{version}.dist-info", "uvloop-*.dist-info")
    if not all(list(site.glob(pattern)) for pattern in wanted):
        _run([sys.executable, "-m", "venv", "--clear", str(home)])
        _run([str(python), "-m", "pip", "install", f"agent-client-protocol=={version}", "uvloop"])
    return python


def typescript_sdk(version: str = TYPESCRIPT_SDK) -> Path:
    """Return the directory of the official TypeScript SDK."""
    prefix = HOME / "npm"
    package = prefix / "node_modules" / "@agentclientprotocol" / "sdk"
    manifest = package / "package.json"
    if manifest.exists() and json.loads(manifest.read_text())["version"] == version:
        return package
    if shutil.which("npm") is None:
        raise Missing("npm is not installed")
    _run(["npm", "install", "--prefix", str(prefix), f"@agentclientprotocol/sdk@{version}"])
    return package


def _run(command: list[str]) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT, check=False
    )
    if done.returncode:
        raise Missing(f"`{' '.join(command)}` failed: {done.stderr.strip()[-500:]}")


def main() -> int:
    try:
        for path in (python_sdk(PYTHON_SDK), python_sdk(NEXT_PYTHON_SDK), typescript_sdk()):
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    except Missing as reason:
        sys.stderr.write(f"{reason}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
