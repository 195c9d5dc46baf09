"""Sessions in Python that must end with the right suggestion."""

from __future__ import annotations

from .editing_session import Session

__all__ = ["SESSIONS"]

_CALLS = """\
def test_a():
    self.assertEqual(one, 1)
    self.assertEqual(two, 2)
    self.assertEqual(three, 3)
    self.assertEqual(four, 4)
"""
_LOCAL = """\
def area(width, height):
    size = width * height
    if size > 10:
        print(size)
    return size
"""
_CLASS = """\
class Basket:
    def __init__(self):
        self.things = []

    def add(self, thing):
        self.things.append(thing)

    def count(self):
        return len(self.things)
"""
_IMPORTS = """\
import os
import sys

from json import dumps


def main():
    print(os.getcwd(), sys.argv, dumps({}))
"""

SESSIONS = (
    Session(
        name="a repeated call becomes an assertion for the third time",
        text=_CALLS,
        typed=(
            ("self.assertEqual(one, 1)", "assert one == 1"),
            ("self.assertEqual(two, 2)", "assert two == 2"),
        ),
        wanted="assert three == 3",
    ),
    Session(
        name="a local variable is renamed where it is used",
        text=_LOCAL,
        typed=(("size = width * height", "total = width * height"),),
        wanted="if total > 10:",
    ),
    Session(
        name="a local variable is renamed at the next places after one was done",
        text=_LOCAL,
        typed=(
            ("size = width * height", "total = width * height"),
            ("if size > 10", "if total > 10"),
            ("print(size)", "print(total)"),
        ),
        wanted="return total",
    ),
    Session(
        name="a parameter is renamed in the body",
        text="def greet(who):\n    text = 'Hello ' + who\n    return text\n",
        typed=(("greet(who)", "greet(name)"),),
        wanted="text = 'Hello ' + name",
    ),
    Session(
        name="an attribute is renamed where it is used",
        text=_CLASS,
        typed=(("self.things = []", "self.items = []"),),
        wanted="self.items.append(thing)",
    ),
    Session(
        name="a method is renamed where it is called",
        text=_CLASS + "\n\nbasket = Basket()\nbasket.add(1)\nprint(basket.count())\n",
        typed=(("def count(self)", "def size(self)"),),
        wanted="print(basket.size())",
    ),
    Session(
        name="a function is renamed where it is called",
        text="def load(path):\n    return open(path)\n\n\na = load('a')\n\nb = load('b')\n",
        typed=(("def load(path)", "def read(path)"),),
        wanted="a = read('a')",
    ),
    Session(
        name="a class is renamed where it is used",
        text="class Old:\n    pass\n\n\ndef make():\n    return Old()\n",
        typed=(("class Old", "class Fresh"),),
        wanted="return Fresh()",
    ),
    Session(
        name="a constant is renamed where it is used",
        text="LIMIT = 3\n\n\ndef check(n):\n    return n < LIMIT\n",
        typed=(("LIMIT = 3", "MAX_ITEMS = 3"),),
        wanted="return n < MAX_ITEMS",
    ),
    Session(
        name="an imported name is renamed where it is used",
        text="from lib import fetch\n\n\ndef main():\n    return fetch(1)\n",
        typed=(("import fetch", "import fetch_all"),),
        wanted="return fetch_all(1)",
    ),
    Session(
        name="an alias of an import is renamed where it is used",
        text="import numpy as np\n\n\ndef main():\n    return np.zeros(3)\n",
        typed=(("as np", "as num"),),
        wanted="return num.zeros(3)",
    ),
    Session(
        name="a module of the standard library is imported when it is used",
        text=_IMPORTS,
        typed=(("def main():\n", "def main():\n    print(re.escape('a'))\n"),),
        wanted="import re",
    ),
    Session(
        name="a member of the standard library is imported when it is used",
        text=_IMPORTS,
        typed=(("def main():\n", "def main():\n    print(Path('.'))\n"),),
        wanted="from pathlib import Path",
    ),
    Session(
        name="a name is added to an import that is there",
        text="from typing import Any\n\n\ndef main(x: Any):\n    pass\n",
        typed=(("main(x: Any)", "main(x: Any, y: Optional[int])"),),
        wanted="from typing import Any, Optional",
    ),
    Session(
        name="a name is imported as another open file does",
        text="import os\n\n\ndef main():\n    os.getcwd()\n",
        typed=(("    os.getcwd()", "    os.getcwd()\n    fetch(1)"),),
        others={"b.py": "from lib.net import fetch\n\nfetch(2)\n"},
        wanted="from lib.net import fetch",
    ),
    Session(
        name="an import goes when its last use goes",
        text=_IMPORTS,
        typed=(("print(os.getcwd(), sys.argv, dumps({}))", "print(os.getcwd(), sys.argv)"),),
        gone="from json import dumps",
    ),
    Session(
        name="a name goes from an import when its last use goes",
        text="from typing import Any, Dict, List\n\na: Any = 1\nb: Dict = {}\nc: List = []\n",
        typed=(("b: Dict = {}\n", ""),),
        wanted="from typing import Any, List",
        mood="eager",
    ),
    Session(
        name="a line that is the same is changed in the same way",
        text="def a():\n    return None  # todo\n\n\ndef b():\n    return None  # todo\n",
        typed=(("def a():\n    return None  # todo", "def a():\n    return 0"),),
        wanted="return 0",
    ),
    Session(
        name="quotes change a third time",
        text="a = get('one')\nb = get('two')\nc = get('three')\n",
        typed=(("get('one')", 'get("one")'), ("get('two')", 'get("two")')),
        wanted='c = get("three")',
    ),
    Session(
        name="await comes a third time",
        text="async def main():\n    a = fetch(1)\n    b = fetch(2)\n    c = fetch(3)\n",
        typed=(("a = fetch(1)", "a = await fetch(1)"), ("b = fetch(2)", "b = await fetch(2)")),
        wanted="c = await fetch(3)",
    ),
    Session(
        name="an annotation comes a third time",
        text="def a(x):\n    pass\n\n\ndef b(x):\n    pass\n\n\ndef c(x):\n    pass\n",
        typed=(("def a(x):", "def a(x: int):"), ("def b(x):", "def b(x: int):")),
        wanted="def c(x: int):",
    ),
    Session(
        name="a return annotation comes a third time",
        text="def test_a():\n    pass\n\n\ndef test_b():\n    pass\n\n\ndef test_c():\n    pass\n",
        typed=(
            ("def test_a():", "def test_a() -> None:"),
            ("def test_b():", "def test_b() -> None:"),
        ),
        wanted="def test_c() -> None:",
    ),
    Session(
        name="an argument is added to the third call",
        text="log('a')\nlog('b')\nlog('c')\nlog('d')\n",
        typed=(("log('a')", "log('a', level=1)"), ("log('b')", "log('b', level=1)")),
        wanted="log('c', level=1)",
    ),
    Session(
        name="an argument is taken from the third call",
        text="send(a, timeout=5)\nsend(b, timeout=5)\nsend(c, timeout=5)\n",
        typed=(("send(a, timeout=5)", "send(a)"), ("send(b, timeout=5)", "send(b)")),
        wanted="send(c)",
    ),
    Session(
        name="a keyword that is gone goes from the call",
        text="def send(data, retry=1):\n    return data\n\n\nsend(1, retry=2)\n",
        typed=(("send(data, retry=1)", "send(data)"),),
        wanted="send(1)",
    ),
    Session(
        name="a keyword that is renamed is renamed in the call",
        text="def send(data, retry=1):\n    return retry\n\n\nsend(1, retry=2)\n",
        typed=(("send(data, retry=1)", "send(data, tries=1)"), ("return retry", "return tries")),
        wanted="send(1, tries=2)",
    ),
    Session(
        name="numbers go on",
        text="RED = 1\n\n\ndef f():\n    pass\n",
        typed=(("RED = 1\n", "RED_1 = 1\nRED_2 = 2\nRED_3 = 3\n"),),
        wanted="RED_4 = 4",
    ),
    Session(
        name="powers of two go on",
        text="\n",
        typed=(("\n", "A = 1\nB = 2\nC = 4\n\n"),),
        wanted="D = 8",
    ),
    Session(
        name="days go on",
        text="days = [\n]\n",
        typed=(("days = [\n", 'days = [\n    "Monday",\n    "Tuesday",\n    "Wednesday",\n'),),
        wanted='"Thursday",',
    ),
    Session(
        name="letters go on",
        text="points = {\n}\n",
        typed=(("points = {\n", "points = {\n    'a': 10,\n    'b': 20,\n    'c': 30,\n"),),
        wanted="'d': 40,",
    ),
    Session(
        name="hexadecimal numbers go on",
        text="\n",
        typed=(("\n", "F1 = 0x0A\nF2 = 0x0B\nF3 = 0x0C\n\n"),),
        wanted="F4 = 0x0D",
    ),
    Session(
        name="a decorator comes a third time",
        text="def test_a():\n    pass\n\n\ndef test_b():\n    pass\n\n\ndef test_c():\n    pass\n",
        typed=(
            ("def test_a():", "@slow\ndef test_a():"),
            ("def test_b():", "@slow\ndef test_b():"),
        ),
        wanted="@slow",
        mood="eager",
    ),
    Session(
        name="a comment is deleted a third time",
        text="a = 1  # noqa\nb = 2  # noqa\nc = 3  # noqa\n",
        typed=(("a = 1  # noqa", "a = 1"), ("b = 2  # noqa", "b = 2")),
        wanted="c = 3",
    ),
    Session(
        name="what was copied elsewhere is deleted",
        text=(
            "def one():\n    print(1)\n    alpha = compute_alpha()\n"
            "    beta = compute_beta(alpha)\n"
            "    gamma = compute_gamma(beta)\n    return gamma\n\n\ndef two():\n    pass\n"
        ),
        typed=(
            (
                "def two():\n    pass\n",
                "def two():\n    alpha = compute_alpha()\n    beta = compute_beta(alpha)\n"
                "    gamma = compute_gamma(beta)\n    return gamma\n",
            ),
        ),
        gone="alpha = compute_alpha()",
        trigger="manual",
    ),
    Session(
        name="a rename in another open file follows the import",
        text="def load(path):\n    return path\n",
        typed=(("def load(path)", "def read(path)"),),
        others={"b.py": "from app import load\n\nload('x')\n"},
        jump="from app import load",
        mood="eager",
    ),
    Session(
        name="a version is replaced wherever it stands",
        text="# since 1.0\na = 1\n\n# since 1.0\nb = 2\n\n# since 1.0\nc = 3\n",
        typed=(
            ("# since 1.0\na", "# since 0.11\na"),
            ("# since 1.0\nb", "# since 0.11\nb"),
        ),
        wanted="# since 0.11",
    ),
    Session(
        name="what is imported from elsewhere now goes from its old place",
        text=(
            "import os\n\nfrom .compat import OrderedDict\nfrom .compat import quote\n\n"
            "print(OrderedDict(), quote(os.name))\n"
        ),
        typed=(("import os\n", "import os\nfrom collections import OrderedDict\n"),),
        gone="from .compat import OrderedDict",
    ),
    Session(
        name="names that have a statement each get one each",
        text=(
            "from flask import Flask\nfrom flask import g\nfrom flask import session\n\n\n"
            "def main(app: Flask):\n    return g.x, session\n"
        ),
        typed=(("return g.x, session", "return g.x, session, request.url"),),
        others={"b.py": "from flask import request\n\nrequest.url\n"},
        wanted="from flask import request",
    ),
    Session(
        name="an annotation is rewritten around another type",
        text=(
            "def one(a: Optional[int]) -> None:\n    pass\n\n\n"
            "def two(b: Optional[str]) -> None:\n    pass\n\n\n"
            "def six(c: Optional[Dict[str, int]]) -> None:\n    pass\n"
        ),
        typed=(
            ("one(a: Optional[int])", "one(a: int | None)"),
            ("two(b: Optional[str])", "two(b: str | None)"),
        ),
        wanted="def six(c: Dict[str, int] | None) -> None:",
    ),
    Session(
        name="a call goes with the function",
        text="def setup():\n    pass\n\n\ndef main():\n    setup()\n    print(1)\n",
        typed=(("def setup():\n    pass\n\n\n", ""),),
        gone="setup()",
        mood="eager",
    ),
)
