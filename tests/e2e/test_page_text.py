"""How the page makes nodes of text: Markdown and output, whole and in pieces, in a real browser."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.browser import CHROMIUM
from tests.e2e.page_session import open_page

from parley._display_text import HIDDEN, sanitize_text

if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

# The nodes as `{tag|children}`, with the address of a link. What is made in a frame is waited for.
SHOW = """
globalThis.tree = (node) => node.nodeType === 3 ? node.data
  : `{${node.localName}${node.href ? ' ' + node.href : ''}|${inner(node)}}`;
globalThis.inner = (node) => [...node.childNodes].map(tree).join('');
globalThis.painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
globalThis.markdown = async (pieces) => {
  const { Markdown } = await import('./markdown.js');
  const element = document.createElement('div');
  const shown = new Markdown(element);
  for (const piece of pieces) { shown.append(piece); if (pieces.length > 1) shown.step(); }
  while (shown.waiting) await painted();
  await painted();
  return inner(element);
};
globalThis.output = async (pieces) => {
  const { Terminal } = await import('./ansi.js');
  const element = document.createElement('pre');
  const shown = new Terminal(element);
  for (const piece of pieces) shown.write(piece);
  await painted();
  return [...element.querySelectorAll('span > span')].map((each) =>
    each.className || each.style.cssText
      ? [each.className + each.style.cssText, each.textContent] : each.textContent);
};
"""

CASES = [
    ("a *b* **c** ~~d~~ `e`", "{p|a {em|b} {strong|c} {del|d} {code|e}}"),
    ("***both***", "{p|{strong|{em|both}}}"),
    ("snake_case_name and 2*3*4 \\*x\\*", "{p|snake_case_name and 2{em|3}4 *x*}"),
    ("**not closed", "{p|**not closed}"),
    ("`` a ` b ``", "{p|{code|a ` b}}"),
    ("# One\n\nTwo\n===\nthree", "{h2|One}{h2|Two}{p|three}"),
    ("- a\n- b\n  - c\n\n    d\n- e", "{ul|{li|a}{li|b{ul|{li|{p|c}{p|d}}}}{li|e}}"),
    ("3. a\n4. b", "{ol|{li|a}{li|b}}"),
    ("- [ ] a\n- [x] b", "{ul|{li|\u2610 a}{li|\u2611 b}}"),
    ("> a\n> > b\n\nc", "{blockquote|{p|a}{blockquote|{p|b}}}{p|c}"),
    ("```py\nx = '<b>'\n\n  y\n```\nz", "{pre|{code|x = '<b>'\n\n  y\n}}{p|z}"),
    ("~~~\n```\n~~~", "{pre|{code|```\n}}"),
    ("- a\n  ```\n  x\n  ```", "{ul|{li|a{pre|{code|x\n}}}}"),
    (
        "a|b\n-|-\n1|`x\\|y`",
        "{div|{table|{thead|{tr|{th|a}{th|b}}}{tbody|{tr|{td|1}{td|{code|x|y}}}}}}",
    ),
    ("a\n\n---\n\nb", "{p|a}{hr|}{p|b}"),
    (
        "see https://a.example/x_(y), and <http://b.example>.",
        "{p|see {a https://a.example/x_(y)|https://a.example/x_(y)}, and {a http://b.example/|http://b.example/}.}",
    ),
    ("[*t*](https://a.example/ 'x')", "{p|{a https://a.example/|{em|t}}{small| (a.example)}}"),
    (
        "[https://good.example](https://good.example@evil.example/)",
        "{p|{a https://good.example@evil.example/|https://good.example}{small| (evil.example)}}",
    ),
    (
        "[x](javascript:alert(1)) [y](//z.example) [z](/a) [d](data:text/html,x)",
        "{p|[x](javascript:alert(1)) [y](//z.example) [z](/a) [d](data:text/html,x)}",
    ),
    ("![p](https://a.example/p.png)", "{p|![p](https://a.example/p.png)}"),
    ("<b>x</b> &amp; <!-- c -->", "{p|<b>x</b> &amp; <!-- c -->}"),
    ("a  \nb\\\nc", "{p|a{br|}b{br|}c}"),
    ("    code\n\n    more\ntext", "{pre|{code|code\n\nmore}}{p|text}"),
    ("\u202eevil\u200b\u001b[31m", "{p|\ufffdevil\ufffd\u241b[31m}"),
]


async def test_markdown_becomes_nodes_in_whatever_pieces_it_comes(tmp_path: Path) -> None:
    dice = random.Random(7)
    async with open_page(tmp_path) as session:
        await session.page.run(SHOW)
        for source, wanted in CASES:
            assert await session.page.run(f"markdown({json.dumps([source])})") == wanted, source
            ended = f"{source}\n\n"
            cuts = sorted(dice.sample(range(1, len(ended)), min(5, len(ended) - 1)))
            for pieces in (
                list(ended),
                [ended[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)],
            ):
                shown = await session.page.run(f"markdown({json.dumps(pieces)})")
                assert shown == wanted, (source, pieces)


async def test_long_markdown_in_pieces_is_the_same_as_at_once(tmp_path: Path) -> None:
    dice = random.Random(11)
    parts = [source for source, _ in CASES]
    async with open_page(tmp_path) as session:
        await session.page.run(SHOW)
        for _ in range(20):
            source = "\n\n".join(dice.choice(parts) for _ in range(12)) + "\n\nend\n\nmore\n"
            cuts = sorted(dice.sample(range(1, len(source)), 30))
            pieces = [source[a:b] for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
            whole = await session.page.run(f"markdown({json.dumps([source])})")
            shown = await session.page.run(f"markdown({json.dumps(pieces)})")
            assert shown == whole


OUTPUTS: list[tuple[str, list[Any]]] = [
    ("a\x1b[31mb\x1b[0mc", ["a", ["fg1", "b"], "c"]),
    ("\x1b[1;4;38;5;196mx\x1b[22;24;39my", [["bold underlinecolor: rgb(255, 0, 0);", "x"], "y"]),
    (
        "\x1b[48;2;1;2;3mx\x1b[m\x1b[97;100my",
        [["background-color: rgb(1, 2, 3);", "x"], ["fg15 bg8", "y"]],
    ),
    ("10%\r100%\n", ["100%"]),
    ("abc\b\bX", ["aXc"]),
    ("abc\r\x1b[Kd", ["d"]),
    ("a\tb", ["a       b"]),
    ("a\x1b]0;title\x07b\x1b]8;;http://x.example\x1b\\c\x1bP1$r\x1b\\d", ["abcd"]),
    ("a\x1b[2Jb\x1b[6nc\x1b[?1049hd\x1b(Be\x1b7f\x9b6ng\x9dx\x9ch", ["abcdefgh"]),
    ("<b>\u202e&lt;\x07\x00", ["<b>\ufffd&lt;"]),
]


async def test_output_keeps_its_colours_and_nothing_else_in_whatever_pieces(
    tmp_path: Path,
) -> None:
    async with open_page(tmp_path) as session:
        await session.page.run(SHOW)
        for source, wanted in OUTPUTS:
            assert await session.page.run(f"output({json.dumps([source])})") == wanted, source
            assert await session.page.run(f"output({json.dumps(list(source))})") == wanted, source


async def test_the_newest_lines_of_long_output_stay(tmp_path: Path) -> None:
    async with open_page(tmp_path) as session:
        await session.page.run(SHOW)
        source = "".join(f"{number}\n" for number in range(5_000)) + "x" * 5_000
        shown = await session.page.run(f"output({json.dumps([source])})")
        assert len(shown) == 2_001
        assert shown[-2:] == ["4999", "x" * 2_000]


async def test_the_page_shows_what_is_invisible_as_the_terminal_does(tmp_path: Path) -> None:
    dice = random.Random(13)
    hidden = [chr(code) for first, last in HIDDEN for code in (first, (first + last) // 2, last)]
    plain = [
        "r",
        "1",
        "\u20e3",
        "\xe9",
        "\u0645",
        "\u4e00",
        "\u1820",
        "\u2764",
        "\U0001f469",
        "\n",
        "\x1b",
    ]
    parts = [*hidden, "\u200d", "\ufe0f", *plain * 3]
    texts = ["".join(dice.choices(parts, k=dice.randint(1, 12))) for _ in range(2_000)]
    async with open_page(tmp_path) as session:
        shown = await session.page.run(
            "import('./text.js').then(({ inert, inertLine }) => "
            f"{json.dumps(texts)}.map((each) => [inert(each), inertLine(each)]))"
        )
    assert shown == [[sanitize_text(each), sanitize_text(each, is_line=True)] for each in texts]
