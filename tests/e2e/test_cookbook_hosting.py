"""The recipes for hosting work: their files configure real servers, as far as these are here."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from socket import create_server

import pytest
from tests.unit.transport.http.certificate import trusting, written

from parley.client import Remote, connect
from parley.gateway.config import Settings

from .browser import CHROMIUM, PHONE, browser
from .command import PARLEY
from .gateway_process import WAIT_SECONDS, run_gateway, token_file, token_of
from .shell import EXAMPLES, Shell
from .terminal import run_in_terminal

DEPLOY = EXAMPLES / "deploy"
READABLE = "document.querySelector('.card') && !document.querySelector('.card.early')"


def needs(program: str) -> pytest.MarkDecorator:
    """Skip a test where a program is not installed."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


def configured(name: str, words: Mapping[str, object]) -> str:
    """Return a file of the recipes with the words of this machine; each old one must be there."""
    text = (DEPLOY / name).read_text()
    for old, new in words.items():
        assert old in text, f"{name}: {old}"
        text = text.replace(old, str(new))
    return text


def free_port() -> int:
    with create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def daemon(pid_file: Path, *command: str, env: dict[str, str]) -> Generator[None]:
    """Run a server that goes into the background when it listens; end it with the block."""
    subprocess.run(
        command, check=True, timeout=WAIT_SECONDS, env={**os.environ, **env}, stderr=sys.stderr
    )
    process = os.pidfd_open(int(pid_file.read_text()))
    try:
        yield
    finally:
        signal.pidfd_send_signal(process, signal.SIGTERM)
        assert select.select([process], [], [], WAIT_SECONDS)[0], f"{command[0]} does not end"
        os.close(process)


async def check_proxy(port: int, certificate: Path, token: str) -> None:
    """Check that clients and browsers get through a proxy, and nobody gets at the metrics."""
    remote = Remote(token=token, ca_file=certificate)
    long = "x" * 2_000_000  # longer than what proxies accept by default
    for scheme in ("https", "wss"):
        async with connect(f"{scheme}://localhost:{port}/acp", "/", remote=remote) as agent:
            assert await (await agent.new_session()).ask(long) == f"echo: {long}"
    statuses = [await asyncio.to_thread(status, port, path) for path in ("/chat/", "/metrics")]
    assert statuses == [200, 404]


def status(port: int, path: str) -> int:
    """Return the status of a request by somebody without a token."""
    asking = http.client.HTTPSConnection(
        "localhost", port, context=trusting(), timeout=WAIT_SECONDS
    )
    try:
        asking.request("GET", path)
        return asking.getresponse().status
    finally:
        asking.close()


@needs("nginx")
async def test_nginx_terminates_tls_for_an_agent(places: Path, tmp_path: Path) -> None:
    certificate, key = written(tmp_path)
    with run_gateway("parley demo", "--page") as served:
        port = free_port()
        words = {
            "listen 443": f"listen 127.0.0.1:{port}",
            "agents.example.com;": "localhost;",
            "/etc/letsencrypt/live/agents.example.com/fullchain.pem": certificate,
            "/etc/letsencrypt/live/agents.example.com/privkey.pem": key,
            "127.0.0.1:7400": f"127.0.0.1:{served.port}",
        }
        (tmp_path / "parley.conf").write_text(configured("nginx.conf", words))
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        paths = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
        user = "user root; " if os.geteuid() == 0 else ""  # else its workers are nobody's
        (tmp_path / "nginx.conf").write_text(
            f"{user}pid {tmp_path}/pid; error_log stderr; events {{}} "
            f"http {{ access_log off; {paths} include {tmp_path}/parley.conf; }}"
        )
        command = ("nginx", "-e", "stderr", "-c", str(tmp_path / "nginx.conf"))
        with daemon(tmp_path / "pid", *command, env={}):
            await check_proxy(port, certificate, token_of(places))


@needs("caddy")
async def test_caddy_terminates_tls_for_an_agent(places: Path, tmp_path: Path) -> None:
    certificate, key = written(tmp_path)
    with run_gateway("parley demo", "--page") as served:
        port = free_port()
        site = f"https://localhost:{port} {{\n\tbind 127.0.0.1\n\ttls {certificate} {key}"
        words = {"agents.example.com {": site, "127.0.0.1:7400": f"127.0.0.1:{served.port}"}
        own = "{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\n"
        file = tmp_path / "Caddyfile"
        file.write_text(own + configured("Caddyfile", words))
        pid = tmp_path / "pid"
        command = ("caddy", "start", "--config", str(file), "--pidfile", str(pid))
        with daemon(pid, *command, env={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}):
            await check_proxy(port, certificate, token_of(places))


@needs("systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "parley.service"
    unit.write_text(configured("parley.service", {"/opt/parley/bin/parley": sys.executable}))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


async def test_the_service_serves_the_agents_of_its_configuration(
    places: Path, tmp_path: Path
) -> None:
    unit = (DEPLOY / "parley.service").read_text()
    [command] = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    assert command.startswith("/opt/parley/bin/parley serve ")
    file = tmp_path / "gateway.toml"
    own = {
        "127.0.0.1:7400": "127.0.0.1:0",
        '["opencode", "acp"]': json.dumps([*PARLEY, "demo"]),
        "/srv/project": tmp_path,
    }
    file.write_text(configured("gateway.toml", own))
    words = shlex.split(command.replace("/etc/parley/gateway.toml", str(file)))[2:]
    with run_gateway(*words, ready='"event":"listening"') as served:
        remote = Remote(token=token_of(places))
        async with connect(served.url("opencode"), "/", remote=remote) as agent:
            assert await (await agent.new_session()).ask("Hello") == "echo: Hello"


def test_running_turns_have_time_to_end_before_a_service_is_killed() -> None:
    unit, compose = ((DEPLOY / name).read_text() for name in ("parley.service", "compose.yaml"))
    assert "\nKillMode=mixed\n" in unit
    [stop] = re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    [grace] = re.findall(r"^    stop_grace_period: (\d+)s$", compose, re.MULTILINE)
    assert min(int(stop), int(grace)) > Settings().drain_after


def instruction(name: str) -> list[str]:
    """Return the words of an instruction of the Dockerfile."""
    text = (DEPLOY / "Dockerfile").read_text()
    [words] = re.findall(rf"^{name} (\[.*\])$", text, re.MULTILINE)
    found: list[str] = json.loads(words)
    return found


async def test_a_container_serves_an_agent_and_reports_its_health(tmp_path: Path) -> None:
    token = tmp_path / "agent.token"
    token.write_text("the-token-of-the-container")
    token.chmod(0o600)
    own = {"0.0.0.0:7400": "127.0.0.1:0", "/run/secrets/agent.token": str(token)}
    program, action, *words = [
        own.get(word, word) for word in instruction("ENTRYPOINT") + instruction("CMD")
    ]
    assert (program, action) == ("parley", "serve")
    with run_gateway(*words) as served:
        remote = Remote(token=token.read_text())
        async with connect(served.url(), "/", remote=remote) as agent:
            assert await (await agent.new_session()).ask("Hello") == "echo: Hello"
        assert await asyncio.to_thread(health, served.port) == 0
    assert await asyncio.to_thread(health, served.port) != 0


def health(port: int) -> int:
    """Run the health check of the container; returns its exit code."""
    python, *words = instruction("HEALTHCHECK CMD")
    assert python == "python"
    words = [word.replace(":7400/", f":{port}/") for word in words]
    command = [sys.executable, *words]
    return subprocess.run(
        command, capture_output=True, timeout=WAIT_SECONDS, check=False
    ).returncode


def test_the_composed_container_has_what_its_image_needs() -> None:
    compose = (DEPLOY / "compose.yaml").read_text()
    [context, dockerfile] = re.findall(r"^      (?:context|dockerfile): (.*)$", compose, re.M)
    assert (context, dockerfile) == (".", "examples/deploy/Dockerfile")
    assert "/run/secrets/agent.token" in instruction("ENTRYPOINT")
    assert "secrets: [agent.token]" in compose
    [volume] = re.findall(r'volumes: \["state:(.*)"\]', compose)
    text = (DEPLOY / "Dockerfile").read_text()
    [home] = re.findall(r"^WORKDIR (.*)$", text, re.MULTILINE)
    assert volume == f"{home}/.local/state", "where the tokens and the owners of sessions are"


def test_prometheus_gets_the_metrics_with_the_token(places: Path) -> None:
    text = (DEPLOY / "prometheus.yml").read_text()
    [path] = re.findall(r"metrics_path: (.*)", text)
    assert "credentials_file: " in text
    with run_gateway("parley demo") as served:
        headers = {"authorization": f"Bearer {token_of(places)}"}
        found, _, body = served.request("GET", path, headers)
        assert (found, "\nparley_agents_running" in body) == (200, True)
        assert served.request("GET", path)[0] == 401


def test_an_agent_is_used_on_another_machine_over_ssh(tmp_path: Path) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text(
        '#!/bin/sh\n[ "$*" = "-T -o BatchMode=yes build.example.com parley demo" ] || exit 255\n'
        'exec sh -c "$5"\n'
    )
    ssh.chmod(0o700)
    used = Shell(tmp_path)("python", "examples/cookbook/over_ssh.py", "build.example.com")
    assert used.stdout == "echo: Hello\n", used.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
async def test_a_question_at_the_terminal_is_answered_on_a_phone(places: Path) -> None:
    with run_gateway("parley demo", "--page") as served:
        words = ("run", "perm", "-a", served.url(), "--token-file", str(token_file(places)))
        async with browser() as opened:
            with run_in_terminal(*PARLEY, *words) as terminal:
                await asyncio.to_thread(terminal.until, "May I?")
                url = f"{served.base}/chat/"
                phone = await opened.open(url, PHONE, token=token_of(places))
                await phone.sees("Ready", "#status")
                await phone.click("#open-sessions")
                await phone.click("#session-list .session:not([aria-current])")
                await phone.sees('"harm": "none"', ".card .action")
                await phone.when(READABLE)
                await phone.click(".card button", "Yes")
                await phone.sees('"optionId":"yes"', ".agent")
                await asyncio.to_thread(terminal.until, '"optionId":"yes"')
                assert await asyncio.to_thread(terminal.exit_code) == 0
