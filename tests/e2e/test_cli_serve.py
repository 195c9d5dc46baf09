"""`parley serve`: who gets in, and what they can reach."""

from __future__ import annotations

import hashlib
import json
import shlex
import signal
from pathlib import Path

import pytest
from tests.unit.transport.http.certificate import trusting, written

from parley.client import Remote, connect
from parley.errors import InvalidParams, ResourceNotFound
from parley.schema import v2

from .command import parley
from .gateway_process import principals, program, run_gateway, token_file, token_of

ANN, BOB = "the-secret-token-of-ann", "the-secret-token-of-bob"
EVENTS = {"accept": "text/event-stream"}


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.mark.requirement("SAFE-IN-03")
def test_it_tells_a_command_that_works_as_it_is_and_never_the_token(places: Path) -> None:
    with run_gateway(is_forked=False) as served:
        line = next(each for each in served.lines if each.startswith("  parley run"))
        words = shlex.split(line)
        assert words[-2:] == ["--token-file", str(token_file(places))]
        done = parley(*words[1:], "-q")
        assert (done.returncode, done.stdout) == (0, "echo: Hello\n"), done.stderr
        token = token_of(places)
        assert len(token) >= 32
        assert token_file(places).stat().st_mode & 0o777 == 0o600
        assert token_file(places).parent.stat().st_mode & 0o777 == 0o700
        argv = Path(f"/proc/{served.process.pid}/cmdline")
        assert not argv.exists() or token not in argv.read_text()
        served.signal()
        assert served.end() == 0
        assert token not in "\n".join([*served.lines, line, done.stderr])
    with run_gateway("--no-token") as again:
        assert token_of(places) == token
        assert again.initialize()[0] == 200


@pytest.mark.requirement("SAFE-IN-03")
def test_a_token_stays_the_same_over_restarts(places: Path) -> None:
    for _ in range(2):
        with run_gateway() as served:
            assert served.initialize(authorization=f"Bearer {token_of(places)}")[0] == 200


def test_a_new_token_counts_when_it_is_told_to_read_it(places: Path) -> None:
    with run_gateway() as served:
        old = token_of(places)
        done = parley("serve", "--new-token")
        assert (done.returncode, done.stdout) == (0, "")
        assert str(token_file(places)) in done.stderr
        new = token_of(places)
        assert new != old
        assert new not in done.stderr
        assert served.initialize(**bearer(old))[0] == 200
        served.signal(signal.SIGHUP)
        served.until("renewed")
        assert served.initialize(**bearer(old))[0] == 401
        assert served.initialize(**bearer(new))[0] == 200
    own = places / "own.token"
    assert parley("serve", "--new-token", "--token-file", str(own)).returncode == 0
    assert own.stat().st_mode & 0o777 == 0o600
    assert parley("serve", "--new-token", "--no-token").returncode == 2


@pytest.mark.requirement("SAFE-IN-01", "SAFE-IN-02", "SAFE-IN-03", "SAFE-IN-05")
def test_nobody_else_gets_in_and_nothing_is_started_for_them(places: Path) -> None:
    with run_gateway() as served:
        token = token_of(places)
        good = bearer(token)
        for origin in ("http://evil.example", "null", "http://localhost:1"):
            assert served.initialize(origin=origin, **good)[0] == 403
            assert served.upgrade(origin=origin, **good) == 403
        for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil"):
            assert served.initialize(host=host, **good)[0] == 403
            assert served.initialize(host=host, origin=f"http://{host}", **good)[0] == 403
        for wrong in ("", "Bearer", f"Bearer {token[:-1]}", f"Bearer {token}x", f"Basic {token}"):
            status, headers, _ = served.initialize(authorization=wrong)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert served.upgrade(authorization=wrong) == 401
        for hosts in (b"", b"host: localhost\r\nhost: evil.example\r\n"):
            assert b" 400 " in served.raw(b"GET /acp HTTP/1.1\r\n%b\r\n" % hosts)
        asks = {"origin": "https://evil.example", "access-control-request-method": "POST"}
        status, headers, _ = served.request("OPTIONS", "/acp", asks)
        assert status == 403
        assert not any(name.startswith("access-control") for name in headers)
        plain = served.request("POST", "/acp", {**good, "content-type": "text/plain"}, {})
        assert plain[0] == 415
        assert served.upgrade(host=f"localhost:{served.port}", **good) == 101
        served.signal()
        assert served.end() == 0
        told = "\n".join(served.lines)
        assert "agent started" not in told
        assert "reason=foreign_origin" in told
        assert "reason=unauthorized" in told


@pytest.mark.requirement("SAFE-IN-06")
def test_who_connects_does_not_choose_the_command(places: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    with run_gateway() as served:
        good = bearer(token_of(places))
        for path in (f"/acp/touch%20{trap}", "/acp/../demo", "/acp/demo/x", "/acp?command=x/../y"):
            status, _, body = served.initialize(path, **good)
            assert status == 404 or "parley-demo" in body
        asked = {"command": ["touch", str(trap)], "_meta": {"command": f"touch {trap}"}}
        status, _, body = served.request(
            "POST",
            "/acp",
            {**good, "content-type": "application/json", "parley-command": f"touch {trap}"},
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {"protocolVersion": 1, "clientCapabilities": {}, **asked},
            },
        )
        assert status == 200
        assert json.loads(body)["result"]["agentInfo"]["name"] == "parley-demo"
        assert not trap.exists()


@pytest.mark.requirement("SAFE-IN-09", "V1-MCP-01")
@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_clients_name_commands_only_if_the_operator_allows_it(
    places: Path, scheme: str
) -> None:
    server = v2.McpServerStdio(name="files", command="/bin/true")
    with run_gateway() as served:
        async with connect(
            served.url(scheme=scheme), "/", remote=Remote(token=token_of(places)), versions=(1,)
        ) as remote:
            with pytest.raises(InvalidParams, match='Server "files" is started as a command'):
                await remote.new_session(mcp_servers=[server])
            assert await (await remote.new_session()).ask("Hello")
    with run_gateway("--allow-local-servers") as served:
        async with connect(
            served.url(scheme=scheme), "/", remote=Remote(token=token_of(places)), versions=(1,)
        ) as remote:
            await remote.new_session(mcp_servers=[server])


@pytest.mark.requirement("SAFE-IN-07")
async def test_principals_have_nothing_in_common_also_after_a_restart(tmp_path: Path) -> None:
    config = principals(tmp_path, ann=ANN, bob=BOB)
    for round in range(2):
        with run_gateway("--config", str(config)) as served:
            status, headers, _ = served.initialize(**bearer(ANN))
            assert status == 200
            mine = {"acp-connection-id": headers["acp-connection-id"]}
            assert served.request("DELETE", "/acp", {**bearer(BOB), **mine})[0] == 404
            assert served.request("GET", "/acp", {**bearer(BOB), **mine, **EVENTS})[0] == 404
            assert served.request("DELETE", "/acp", {**bearer(ANN), **mine})[0] == 202
            async with (
                connect(served.url(), "/", remote=Remote(token=ANN)) as ann,
                connect(served.url(scheme="ws"), "/", remote=Remote(token=BOB)) as bob,
            ):
                if round == 0:
                    session = await ann.new_session()
                    await session.ask("hers")
                    (tmp_path / "id").write_text(session.id)
                hers = (tmp_path / "id").read_text()
                assert [each.session_id async for each in ann.list_sessions()] == [hers]
                assert [each async for each in bob.list_sessions()] == []
                for attempt in (bob.resume_session, bob.delete_session):
                    with pytest.raises(ResourceNotFound):
                        await attempt(hers)
                if round == 1:
                    again = await ann.resume_session(hers)
                    assert again.transcript.messages[0].text == "hers"


async def test_a_session_from_elsewhere_is_of_nobody_where_there_are_several(
    tmp_path: Path,
) -> None:
    assert parley("run", "alone").returncode == 0  # of the same agent, not through the gateway
    with run_gateway("--config", str(principals(tmp_path, ann=ANN, bob=BOB))) as served:
        async with connect(served.url(), "/", remote=Remote(token=ANN)) as ann:
            assert [each async for each in ann.list_sessions()] == []
    with run_gateway("--config", str(principals(tmp_path, ann=ANN))) as served:
        async with connect(served.url(), "/", remote=Remote(token=ANN)) as ann:
            assert len([each async for each in ann.list_sessions()]) == 1


def test_a_principal_may_be_known_by_the_hash_of_the_token(tmp_path: Path) -> None:
    config = tmp_path / "gateway.toml"
    digest = hashlib.sha256(ANN.encode()).hexdigest()
    config.write_text(f'[principals.ann]\ntoken_sha256 = "{digest}"\n')
    with run_gateway("--config", str(config)) as served:
        assert served.initialize(**bearer(ANN))[0] == 200
        assert served.initialize(**bearer(digest))[0] == 401


def test_a_name_that_a_proxy_tells_counts_only_when_that_is_switched_on(places: Path) -> None:
    with run_gateway() as served:
        assert served.initialize(x_user="ann")[0] == 401
        assert served.initialize(x_user="ann", **bearer(token_of(places)))[0] == 200
        served.until("principal=owner")
    with run_gateway("--trusted-header", "X-User") as served:
        assert any("for users that a proxy names in X-User" in each for each in served.lines)
        assert not any("parley run" in each for each in served.lines)  # it would not get in
        assert served.initialize()[0] == 401
        assert served.initialize(x_user="ann")[0] == 200
        served.until("principal=ann")


async def test_it_is_https_with_a_certificate(tmp_path: Path, places: Path) -> None:
    certificate, key = map(str, written(tmp_path))
    with run_gateway(
        "--tls-cert", certificate, "--tls-key", key, "--allow-host", "localhost"
    ) as served:
        assert served.base.startswith("https://127.0.0.1:")
        named = f"  parley run Hello -a https://localhost:{served.port}/acp "
        assert any(each.startswith(named) for each in served.lines)  # as the certificate is
        for scheme in ("https", "wss"):
            where = f"{scheme}://localhost:{served.port}/acp"
            async with connect(
                where, "/", remote=Remote(token=token_of(places), tls=trusting())
            ) as agent:
                assert await (await agent.new_session()).ask("Hi") == "echo: Hi"
        words = ["-a", f"https://localhost:{served.port}/acp", "--ca-file", certificate, "-q"]
        done = parley("run", "Hi", *words, "--token-file", str(token_file(places)))
        assert done.stdout == "echo: Hi\n", done.stderr
        token = ("--token-file", str(token_file(places)))
        added = parley("agents", "add", "safe", "--ca-file", certificate, *token, "--", words[1])
        assert added.returncode == 0, added.stderr
        assert parley("run", "Hi", "-a", "safe", "-q").stdout == "echo: Hi\n"
        wrong = parley("agents", "add", "x", "--ca-file", certificate, "--", "true")
        assert "--ca-file is only for remote agents" in wrong.stderr
    done = parley("serve", "--tls-cert", key, "--tls-key", key)
    assert (done.returncode, "are not a certificate and its key" in done.stderr) == (2, True)
    assert parley("serve", "--tls-cert", certificate).returncode == 2


ENVIRONMENT = """
import os
from parley import Agent
agent = Agent("env")
@agent.prompt
async def reply(turn):
    await turn.say(" ".join(f"{name}={value}" for name, value in os.environ.items()))
agent.run()
"""


@pytest.mark.requirement("SAFE-REACH-05")
async def test_secrets_of_the_environment_reach_no_agent_unless_named(
    tmp_path: Path, places: Path
) -> None:
    command = program(tmp_path, "env.py", ENVIRONMENT)
    config = tmp_path / "gateway.toml"
    words = json.dumps(shlex.split(command))
    config.write_text(f'[agents.env]\ncommand = {words}\ninherit = ["NAMED_KEY"]\n')
    secrets = {"PARLEY_TOKEN": "planted-1", "API_KEY": "planted-2", "NAMED_KEY": "planted-3"}
    with run_gateway("--config", str(config), env=secrets) as served:
        async with connect(served.url(), "/", remote=Remote(token=token_of(places))) as agent:
            told = await (await agent.new_session()).ask("What do you see?")
        served.signal()
        served.end()
        assert "planted-3" in told
        assert "planted-1" not in told
        assert "planted-2" not in told
        assert "planted" not in "\n".join(served.lines)


SERVERS = """
from parley import Agent
from parley.agent import AgentFeatures
agent = Agent("servers", features=AgentFeatures(mcp_http=True))
@agent.prompt
async def reply(turn):
    said = [f"{each.name} {each.headers[0].value}" for each in turn.session.mcp_servers]
    await turn.say(f"{said} {turn.session.cwd}")
agent.run()
"""


@pytest.mark.requirement("SAFE-REACH-06")
async def test_what_one_session_is_given_never_shows_up_in_another(
    tmp_path: Path, places: Path
) -> None:
    command = program(tmp_path, "servers.py", SERVERS)
    with run_gateway("--shared", command) as served:
        token = token_of(places)
        async with (
            connect(served.url(), "/", remote=Remote(token=token)) as one,
            connect(served.url(), "/", remote=Remote(token=token)) as other,
        ):
            for _ in range(2):
                for number, client in enumerate((one, other)):
                    header = v2.HttpHeader(name="Key", value=f"key-{number}")
                    server = v2.McpServerHttp(
                        name=f"server-{number}", url="https://mcp.example", headers=[header]
                    )
                    session = await client.new_session(f"/{number}", mcp_servers=[server])
                    told = await session.ask("What do you have?")
                    assert told == f"['server-{number} key-{number}'] /{number}"
