from __future__ import annotations

import re
from pathlib import Path

import pytest

from parley.config import config_path
from parley.errors import ConfigError
from parley.gateway.auth import open_auth, open_tls, warnings
from parley.gateway.config import Settings, load, parse
from parley.gateway.limits import LIMITS

WHOLE = """\
http = "0.0.0.0:7400"
hosts = ["agents.example"]
origins = ["https://chat.example"]
trusted_header = "X-User"
proxies = ["192.0.2.1"]
page = true
metrics = "loopback"
log_format = "json"
drain_after = 5
telemetry = true

[agents.claude]

[agents.fast]
command = ["codex", "--acp"]
shared = true
attach = false
cwd = "project"
env = { A = "$B" }
inherit = ["C"]
protocol = 1

[principals.ann]
token_file = "ann.token"

[principals.bob]
token_sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

[tls]
cert = "cert.pem"
key = "/keys/key.pem"

[limits]
connections = 10
in_flight = 30
message_bytes = 1000
sockets = 20
spawns = 3
grace = 1.5
"""


def test_everything_can_be_said() -> None:
    read = parse(WHOLE, Path("/etc/gateway.toml"))
    claude, fast = read.agents
    assert (claude.name, claude.target, claude.is_shared) == ("claude", "claude", False)
    assert (fast.target, fast.is_shared, fast.has_attaching) == (["codex", "--acp"], True, False)
    assert (fast.cwd, fast.env, fast.inherit) == (Path("/etc/project"), {"A": "$B"}, ["C"])
    assert (claude.protocol, fast.protocol) == (None, 1)
    ann, bob = read.principals
    assert (ann.token_file, bob.token_file) == (Path("/etc/ann.token"), None)
    assert bob.digest.hex().startswith("9f86d081")
    assert read.tls == (Path("/etc/cert.pem"), Path("/keys/key.pem"))
    assert (read.has_page, read.metrics, read.log_format) == (True, "loopback", "json")
    assert (read.drain_after, read.has_telemetry, read.trusted_header) == (5.0, True, "X-User")
    bounds = read.limits
    assert (bounds.app.connections, bounds.server.connections) == (10, 20)
    assert (bounds.app.in_flight, bounds.host.in_flight) == (30, 30)
    assert (bounds.app.body_bytes, bounds.server.message_bytes) == (1000, 1000)
    assert (bounds.host.spawns, bounds.app.grace) == (3, 1.5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("htp = 1", ":1: htp is not known; did you mean http?"),
        ("[agents.a]\nprotocol = 3", ":2: agents.a.protocol: expected 1 or 2"),
        ("\nhttp = 1", ":2: http: expected a string, found a whole number"),
        ("[limits]\n\nspawn = 1", ":3: limits.spawn is not known; did you mean spawns?"),
        ("[limits]\nspawns = 0", ":2: limits.spawns: must be a positive number"),
        ("[limits]\nspawns = 1.5", ":2: limits.spawns: expected a whole number"),
        ("[agents.a]\ncommand = []", ":1: agents.a: the command is empty"),
        ("[agents.a]\ncommand = ['x']\ntarget = 'y'", ":1: agents.a: give either target or"),
        ("[agents.'a b']", ": agents.a b: a name has letters, digits"),
        ("agents.a = 1", ":1: agents.a: expected a table"),
        ("[principals.ann]", ":1: principals.ann: give either token_file or token_sha256"),
        ("[principals.a]\ntoken_sha256 = 'x'", ":2: principals.a.token_sha256: expected 64"),
        ("[tls]\ncert = 'x'", ":1: tls.key is missing"),
        ("metrics = 'all'", ":1: metrics: expected token, loopback, off"),
        ("log_format = 'xml'", ":1: log_format: expected text, json"),
        ("drain_after = -1", ":1: drain_after: expected a number of seconds"),
        ("token = false\ntoken_file = 'x'", ":1: token: false cannot be combined with token_file"),
        ("token_file = 'x'\n[principals.a]\ntoken_file = 'y'", ":1: token_file is for a single"),
        ("x = ", " is not valid TOML: Invalid value"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"gateway.toml{told}")):
        parse(text, Path("gateway.toml"))


def test_the_users_file_has_it_in_a_table() -> None:
    assert load() == Settings()
    path = config_path()
    path.parent.mkdir(parents=True)
    path.write_text('default_agent = "x"\n[serve]\nhttp = "127.0.0.1:1"\n')
    assert load().http == "127.0.0.1:1"
    path.write_text("[serve.limits]\nspawn = 1\n")
    with pytest.raises(ConfigError, match=re.escape(f"{path}:2: serve.limits.spawn is not")):
        load()
    path.write_text("serve = 1\n")
    with pytest.raises(ConfigError, match="serve: expected a table"):
        load()
    with pytest.raises(ConfigError, match="there is no file"):
        load(path.parent / "none.toml")


def test_the_page_about_it_names_every_key_and_every_limit() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "remote.md").read_text()
    told = set(re.findall(r"`([a-z_0-9]+)`", page))
    for shown in re.findall(r"```toml\n(.*?)```", page, re.DOTALL):
        parse(shown, Path("gateway.toml"))
    keys = {match[1] for match in re.finditer(r"^(\w+) = ", WHOLE, re.MULTILINE)}
    assert keys - told == set()
    assert set(LIMITS) - told == set()


def test_two_principals_have_two_tokens(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        (tmp_path / name).write_text("the-same-token-for-both")
        (tmp_path / name).chmod(0o600)
    text = "[principals.ann]\ntoken_file = 'ann'\n[principals.bob]\ntoken_file = 'bob'\n"
    with pytest.raises(ConfigError, match="ann and bob have the same token"):
        open_auth(parse(text, tmp_path / "gateway.toml"))


def test_a_certificate_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    settings = Settings(tls=(tmp_path / "x", tmp_path / "x"))
    with pytest.raises(ConfigError, match="are not a certificate and its key"):
        open_tls(settings)
    with pytest.raises(ConfigError, match="cannot be read"):
        open_tls(Settings(tls=(tmp_path / "none", tmp_path / "none")))


def test_who_listens_for_others_is_warned() -> None:
    assert warnings(Settings(), "127.0.0.1") == []
    assert [each.split()[0] for each in warnings(Settings(), "0.0.0.0")] == ["without", "clients"]
    safe = Settings(hosts=["x"], tls=(Path("a"), Path("b")))
    assert warnings(safe, "0.0.0.0") == []
