"""The page as it is served: to whom, with which policy, and what its files may contain."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.unit.transport.http.asgi_client import Client, HttpResponse, client_of

from parley.gateway import AgentHost, Gateway, page
from parley.gateway.app import GatewayApp
from parley.testing.demo import demo_agent
from parley.transport.http._app.access import Access

FOLDER = Path(page.__file__).parent
FILES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".js", ".css", ".html", ".svg"))
TOKEN = "the-token-of-ann"
PAGE = page.Page(cwd="/work")


@asynccontextmanager
async def asking(shown: page.Page | None = PAGE) -> AsyncGenerator[Client]:
    gateway = Gateway([AgentHost("demo", demo_agent()), AgentHost("other", demo_agent())])
    app = GatewayApp(gateway, access=Access({TOKEN: "ann"}), page=shown)
    async with client_of(app) as client:
        yield client
        await app.aclose()
        await gateway.aclose()


async def read(client: Client, path: str, **headers: str) -> HttpResponse:
    """Ask for a file; names of headers have underscores here."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return await client.request("GET", fields, path=path)


def headers_without_policy(headers: dict[str, str]) -> set[str]:
    wanted = {
        "content-security-policy": page.POLICY,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
    }
    return {name for name, value in wanted.items() if headers.get(name) != value}


async def test_there_is_no_page_unless_it_is_switched_on() -> None:
    async with asking(None) as client:
        for path in ("/", "/chat", "/chat/", "/chat/app.js", "/chat/about.json"):
            assert (await read(client, path)).status == 401
            authorization = f"Bearer {TOKEN}"
            assert (await read(client, path, authorization=authorization)).status == 404


async def test_every_file_is_served_to_everybody_with_the_policy() -> None:
    async with asking() as client:
        for path in FILES:
            name = "" if path.name == "index.html" else path.name
            answer = await read(client, f"/chat/{name}")
            assert answer.status == 200
            assert answer.body == path.read_bytes()
            assert not headers_without_policy(dict(answer.headers))
            assert answer.headers["cache-control"] == "no-cache"
            kind = answer.headers["content-type"].partition(";")[0]
            assert (
                kind
                == {
                    ".js": "text/javascript",
                    ".css": "text/css",
                    ".html": "text/html",
                    ".svg": "image/svg+xml",
                }[path.suffix]
            )


async def test_the_policy_forbids_everything_from_elsewhere_and_all_markup_from_text() -> None:
    parts = page.POLICY.split("; ")
    for wanted in (
        "default-src 'none'",
        "frame-ancestors 'none'",
        "form-action 'none'",
        "base-uri 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ):
        assert wanted in parts
    assert "unsafe" not in page.POLICY
    assert not re.search(r"https?:|data:|blob:|\*", page.POLICY)


async def test_a_browser_that_has_a_file_is_not_sent_it_again() -> None:
    async with asking() as client:
        first = await read(client, "/chat/app.js")
        tag = first.headers["etag"]
        again = await read(client, "/chat/app.js", if_none_match=f'W/"x", {tag}')
        assert (again.status, again.body) == (304, b"")
        assert again.headers["etag"] == tag
        other = await read(client, "/chat/app.js", if_none_match='"other"')
        assert other.status == 200


async def test_head_says_the_same_without_the_file() -> None:
    async with asking() as client:
        whole = await read(client, "/chat/")
        head = await client.request("HEAD", path="/chat/")
        assert (head.status, head.body) == (200, b"")
        assert head.headers["content-length"] == str(len(whole.body))


@pytest.mark.parametrize("path", ["/", "/chat"])
async def test_the_short_addresses_lead_to_the_page(path: str) -> None:
    async with asking() as client:
        answer = await read(client, path)
        assert (answer.status, answer.headers["location"]) == (307, "/chat/")
        assert not headers_without_policy(dict(answer.headers))


@pytest.mark.parametrize("path", ["/chat/", "/chat/app.js", "/chat/about.json"])
async def test_a_page_is_only_read_and_only_under_our_name(path: str) -> None:
    async with asking() as client:
        posted = await client.request("POST", path=path)
        assert (posted.status, posted.headers["allow"]) == (405, "GET, HEAD")
        foreign = await read(client, path, host="evil.example")
        assert (foreign.status, foreign.code) == (403, "foreign_host")
        other = await read(client, path, origin="https://evil.example")
        assert (other.status, other.code) == (403, "foreign_origin")


@pytest.mark.parametrize(
    "path", ["/chat/__init__.py", "/chat/../app.py", "/chat/%2e%2e/app.py", "/chat/x.js", "/chat//"]
)
async def test_nothing_else_is_served(path: str) -> None:
    async with asking() as client:
        assert (await read(client, path)).status == 401
        assert (await read(client, path, authorization=f"Bearer {TOKEN}")).status == 404


async def test_only_who_is_let_in_learns_which_agents_there_are() -> None:
    async with asking() as client:
        nobody = await read(client, "/chat/about.json")
        assert (nobody.status, nobody.code) == (401, "unauthorized")
        wrong = await read(client, "/chat/about.json", authorization="Bearer x")
        assert wrong.status == 401
        right = await read(client, "/chat/about.json", authorization=f"Bearer {TOKEN}")
        assert right.json == {"agents": ["demo", "other"], "cwd": "/work"}
        assert right.headers["cache-control"] == "no-store"
        assert not headers_without_policy(dict(right.headers))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_names_nothing_elsewhere_and_makes_no_markup_of_text(path: Path) -> None:
    source = path.read_text()
    assert len(source.splitlines()) <= 400
    if path.suffix == ".js":
        assert max(map(len, source.splitlines())) <= 100
    bare = source.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://[a-z0-9]", bare)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                 "new Function", "DOMParser", "srcdoc", "setHTML"):  # fmt: skip
        assert word not in source
    assert not re.search(r"\sstyle=|\son[a-z]+=\"", source)
    if path.name != "dom.js":
        assert "createElement" not in source
        assert "createTextNode" not in source


def test_the_page_loads_only_files_that_there_are() -> None:
    names = {path.name for path in FILES}
    for path in FILES:
        source = path.read_text()
        for found in re.findall(r'from "\./([^"]+)"', source):
            assert found in names
        for found in re.findall(r'(?:src|href)="([^"#]+)"', source):
            assert found in names
