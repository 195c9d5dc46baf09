"""The built documentation, opened from disk in Chromium; `make docs-check` builds it first.

These tests are not part of `make test`, because they need Sphinx and a site that is up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.e2e.browser import CHROMIUM, DESKTOP, PHONE, Page, browser

ROOT = Path(__file__).parents[2]
SITE = ROOT / "site"
PAGES = ["index", "how-to/agents", "reference/api/parley.agent", "reference/conformance", "search"]

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


def address(page: str) -> str:
    return (SITE / f"{page}.html").as_uri()


@needs_chromium
@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
@pytest.mark.parametrize("name", PAGES)
async def test_a_page_loads_only_files_of_the_site_and_fits_the_screen(
    name: str, size: tuple[int, int, bool]
) -> None:
    async with browser() as chromium:
        page = await chromium.open(address(name), size)
        assert [
            each for each in page.requests if not each.startswith((SITE.as_uri(), "data:"))
        ] == []
        assert page.problems == []
        assert await page.run("document.documentElement.scrollWidth <= innerWidth")


def test_no_page_names_a_resource_of_another_host() -> None:
    """Links to other hosts are fine; what the browser fetches by itself is not."""
    fetched = re.compile(r"""<(?:script|img|iframe|link)\b[^>]*(?:src|href)=["'](?:https?:)?//""")
    pages = list(SITE.rglob("*.html"))
    assert pages
    assert [each.name for each in pages if fetched.search(each.read_text())] == []
    sheets = SITE.rglob("*.css")
    assert [each.name for each in sheets if re.search(r"url\(.?https?:", each.read_text())] == []


@needs_chromium
async def test_search_finds_a_page_on_a_site_that_is_opened_from_disk() -> None:
    """The excerpts below the results are fetched, which browsers allow over HTTP only."""
    async with browser() as chromium:
        page = await chromium.open(f"{address('search')}?q=backpressure", DESKTOP)
        await page.sees("Design", "#search-results a")


@needs_chromium
async def test_a_block_of_code_has_a_copy_button() -> None:
    async with browser() as chromium:
        page = await chromium.open(address("start/quickstart"), DESKTOP)
        await _count(page, "button.copybtn")


async def _count(page: Page, where: str) -> None:
    await page.when(f"document.querySelectorAll({where!r}).length > 3")


@needs_chromium
@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
async def test_the_colors_are_those_that_the_reader_prefers(is_dark: bool) -> None:
    async with browser() as chromium:
        page = await chromium.open(address("index"), DESKTOP, is_dark)
        color = await page.run("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", color)[:3]))
        assert (brightness < 384) == is_dark


def test_a_link_to_an_example_leads_to_a_page_with_its_code() -> None:
    linked = (SITE / "start" / "quickstart.html").read_text()
    assert 'href="../source/examples/hello_agent.py.html"' in linked
    code = re.sub("<[^>]+>", "", (SITE / "source/examples/hello_agent.py.html").read_text())
    assert "@agent.prompt" in code


def test_every_public_name_is_in_the_api_reference() -> None:
    table = (ROOT / "docs" / "reference" / "api.md").read_text()
    missing: list[str] = []
    for module, names in re.findall(r"^\| `(parley[\w.]*)` \| (.*) \|$", table, re.MULTILINE):
        exported = re.findall(r"`(\w+)`", names)
        if exported:
            page = (SITE / "reference" / "api" / f"{module}.html").read_text()
            missing += [f"{module}.{each}" for each in exported if f'.{each}"' not in page]
    assert missing == []
