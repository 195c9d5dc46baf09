"""What `parley serve` tells about itself: health, figures, the log; and what it passes on."""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from parley.client import Remote, connect
from parley.errors import InternalError

from .gateway_process import (
    INITIALIZE,
    WAIT_SECONDS,
    GatewayProcess,
    principals,
    program,
    run_gateway,
    token_file,
    token_of,
)

MARKER = "planted-marker-in-a-prompt"
ANN, BOB = "the-secret-token-of-ann", "the-secret-token-of-bob"


def figures(text: str) -> dict[str, float]:
    """Read the text format of Prometheus; every line must be one of it."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP \w+ .+|TYPE \w+ (counter|gauge|histogram))", line)
            continue
        label = r'[a-z]+="(?:[^"\\]|\\.)*"'
        sample = re.fullmatch(rf"(\w+(?:\{{{label}(?:,{label})*\}})?) ([0-9.]+)", line)
        assert sample is not None, line
        found[sample[1]] = float(sample[2])
    return found


async def test_the_figures_say_what_has_happened(places: Path) -> None:
    with run_gateway() as served:
        token = token_of(places)
        headers = {"authorization": f"Bearer {token}"}
        served.initialize(origin="http://evil.example")
        async with connect(served.url(), "/", remote=Remote(token=token)) as agent:
            session = await agent.new_session()
            await session.ask(MARKER)
            now = figures(served.request("GET", "/metrics", headers)[2])
            assert now['parley_connections{agent="demo"}'] == 1
            assert now['parley_sessions{agent="demo"}'] == 1
            assert now['parley_agents_running{agent="demo"}'] == 1
            with pytest.raises(InternalError):
                await session.ask("crash")
        served.until("agent exited")
        status, fields, text = served.request("GET", "/metrics", headers)
        assert (status, fields["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
        so_far = figures(text)
        assert so_far['parley_connections_total{agent="demo"}'] == 1
        assert so_far['parley_sessions_total{agent="demo"}'] == 1
        assert so_far['parley_agent_starts_total{agent="demo"}'] == 1
        assert so_far['parley_agent_exits_total{agent="demo",how="failed"}'] == 1
        assert so_far['parley_refused_total{reason="foreign_origin"}'] == 1
        assert so_far['parley_messages_total{agent="demo",direction="in"}'] >= 4
        assert so_far['parley_message_bytes_total{agent="demo",direction="out"}'] > 500
        assert so_far['parley_buffered_bytes{agent="demo"}'] == 0
        counted = 'parley_request_seconds_count{agent="demo",method="session/new"}'
        assert so_far[counted] == 1
        assert so_far[counted.replace("_count{", "_bucket{").replace('"}', '",le="+Inf"}')] == 1
        assert MARKER not in text
        assert token not in text


def test_the_figures_are_for_those_with_a_token_or_for_this_machine(
    tmp_path: Path, places: Path
) -> None:
    config = tmp_path / "gateway.toml"
    with run_gateway() as served:
        assert served.request("GET", "/metrics")[0] == 401
        assert served.request("GET", "/metrics", {"host": "evil.example"})[0] == 403
        assert served.request("GET", "/healthz", {"host": "evil.example"})[0] == 403
        assert served.request("POST", "/healthz")[0] == 405
        assert served.request("GET", "/healthz")[::2] == (200, '{"status":"ok"}')
        assert served.request("HEAD", "/readyz")[::2] == (200, "")
    config.write_text('metrics = "loopback"\n')
    with run_gateway("--config", str(config)) as served:
        assert served.request("GET", "/metrics")[0] == 200
        assert served.request("GET", "/metrics", {"x-forwarded-for": "192.0.2.7"})[0] == 401
    config.write_text('metrics = "off"\n')
    with run_gateway("--config", str(config)) as served:
        headers = {"authorization": f"Bearer {token_of(places)}"}
        assert served.request("GET", "/metrics", headers)[0] == 404


async def test_it_is_not_ready_while_its_agent_does_not_start(tmp_path: Path, places: Path) -> None:
    dying = program(tmp_path, "dying.py", "raise SystemExit(4)")
    with run_gateway(dying) as served:
        assert served.request("GET", "/readyz")[0] == 200
        with pytest.raises(InternalError, match="exited with code 4"):
            async with connect(served.url(), "/", remote=Remote(token=token_of(places))):
                pass
        assert "before it was initialized" in served.until("agent failed")
        assert served.request("GET", "/readyz")[::2] == (
            503,
            '{"status":"an agent cannot be started"}',
        )
        assert served.request("GET", "/healthz")[0] == 200
        served.signal()
        assert served.end() == 0
        assert not any("status=503" in each for each in served.lines)  # it is no refusal


@pytest.mark.requirement("SAFE-IN-03", "SAFE-REACH-05")
async def test_the_log_is_json_and_says_nothing_of_what_was_said(places: Path) -> None:
    with run_gateway("--log-format", "json", ready='"listening"') as served:
        token = token_of(places)
        async with connect(served.url(), "/", remote=Remote(token=token)) as agent:
            session = await agent.new_session(str(places))
            await session.ask(MARKER)
            id = session.id
        served.until("connection_closed")
        served.signal()
        assert served.end() == 0
        events: list[dict[str, Any]] = [json.loads(line) for line in served.lines]
        assert [each["event"] for each in events][:4] == [
            "listening",
            "connection_opened",
            "agent_started",
            "session_opened",
        ]
        assert events[3]["principal"] == "owner"
        assert events[3]["session"] == id[-8:]
        assert all(each["at"] for each in events)
        told = "\n".join(served.lines)
        assert not any(secret in told for secret in (MARKER, token, id, str(places)))


def test_the_page_is_there_when_it_is_asked_for(places: Path) -> None:
    with run_gateway() as served:
        assert served.request("GET", "/chat/")[0] in (401, 404)
    with run_gateway("--page") as served:
        status, headers, body = served.request("GET", "/chat/")
        assert (status, "<script" in body) == (200, True)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert served.request("GET", "/chat/about.json")[0] == 401
        told = next(line for line in served.lines if "chat in a browser" in line)
        assert f"{served.base}/chat/; it asks for the token in {token_file(places)}" in told


@pytest.mark.requirement("SAFE-IN-08")
def test_limits_are_those_of_the_configuration(tmp_path: Path, places: Path) -> None:
    config = tmp_path / "gateway.toml"
    limits = "connections_per_principal = 1\nmessage_bytes = 200\nheader_bytes = 2000\n"
    config.write_text(f"[limits]\n{limits}")
    with run_gateway("--config", str(config)) as served:
        headers = {"authorization": f"Bearer {token_of(places)}"}
        assert served.initialize(**headers)[0] == 200
        status, _, body = served.initialize(**headers)
        assert (status, "too_many_connections_of_principal" in body) == (429, True)
        assert served.initialize(x_long="x" * 3000, **headers)[0] == 431
        long = {**INITIALIZE, "params": {"long": "x" * 300}}
        headers["content-type"] = "application/json"
        assert served.request("POST", "/acp", headers, long)[0] == 413
        served.until("reason=too_many_connections_of_principal")


ECHO = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif asked.get("method") == "session/new":
        result = {"sessionId": asked["params"]["cwd"].strip("/")}
    else:
        result = {"stopReason": "end_turn", "_meta": {"saw": line}}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def ask(socket: ClientConnection, id: int, method: str, params: dict[str, Any]) -> Any:
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    socket.send(json.dumps(message))
    answer = json.loads(socket.recv(WAIT_SECONDS))
    assert answer["id"] == id
    return answer


@contextmanager
def begun(served: GatewayProcess, token: str) -> Generator[ClientConnection]:
    headers = {"Authorization": f"Bearer {token}"}
    where = served.url(scheme="ws")
    with open_socket(where, additional_headers=headers, open_timeout=WAIT_SECONDS) as socket:
        ask(socket, 0, "initialize", INITIALIZE["params"])
        yield socket


@pytest.mark.requirement("SAFE-REACH-07")
def test_meta_and_unknown_fields_pass_through_and_override_nothing(tmp_path: Path) -> None:
    config = principals(tmp_path, ann=ANN, bob=BOB)
    command = program(tmp_path, "echo.py", ECHO)
    with (
        run_gateway("--config", str(config), command) as served,
        begun(served, ANN) as ann,
        begun(served, BOB) as bob,
    ):
        assert ask(ann, 1, "session/new", {"cwd": "/hers", "mcpServers": []})["result"]
        assert ask(bob, 1, "session/new", {"cwd": "/his", "mcpServers": []})["result"]
        claims = {
            "sessionId": "hers",
            "session_id": "hers",
            "principal": "ann",
            "agent": "other",
            "parley": {"principal": "ann", "role": "controller"},
        }
        params: dict[str, Any] = {
            "sessionId": "his",
            "prompt": [],
            "_meta": claims,
            "unknown": {"a": 1.50},
        }
        answer = ask(bob, 2, "session/prompt", params)
        seen = json.loads(answer["result"]["_meta"]["saw"])
        assert seen["params"] == params
        stolen = {**params, "sessionId": "hers", "_meta": {"sessionId": "his", "principal": "ann"}}
        for method in ("session/prompt", "session/load", "session/close"):
            assert ask(bob, 3, method, stolen)["error"]["code"] == -32002
