"""Sessions in which nothing must be suggested."""

from __future__ import annotations

from .editing_session import Session

__all__ = ["SESSIONS"]

_LOCAL = (
    "def area(width, height):\n    size = width * height\n"
    "    if size > 10:\n        print(size)\n    return size\n"
)
_TWO = "def f():\n    size = 1\n    return size\n\n\ndef g():\n    size = 2\n    return size\n"
_ASSERTS = "self.assertEqual(one, 1)\nself.assertEqual(two, 2)\nself.assertEqual(three, 3)\n"
_IMPORTS = "import os\nimport sys\n\n\ndef main():\n    print(os.getcwd(), sys.argv)\n"

SESSIONS = (
    Session(name="an empty file", text=""),
    Session(name="a file in which nothing was done", text=_LOCAL),
    Session(name="a first line in an empty file", text="", typed=()),
    Session(
        name="an edit that has nothing to do with anything",
        text=_LOCAL,
        typed=(("if size > 10", "if size > 11"),),
    ),
    Session(
        name="a new function is written",
        text=_LOCAL,
        typed=(("    return size\n", "    return size\n\n\ndef double(x):\n    return x * 2\n"),),
    ),
    Session(
        name="a comment is written",
        text=_LOCAL,
        typed=(("    if size", "    # Only large ones.\n    if size"),),
    ),
    Session(
        name="a docstring is written",
        text=_LOCAL,
        typed=(("    size = ", '    """Return the area."""\n    size = '),),
    ),
    Session(
        name="blanks change",
        text=_LOCAL,
        typed=(("size = width", "size  =  width"),),
    ),
    Session(
        name="blank lines come",
        text=_LOCAL,
        typed=(("    if size", "\n    if size"),),
    ),
    Session(
        name="a rename is taken back",
        text=_LOCAL,
        typed=(("size = width", "total = width"),),
        undone=1,
    ),
    Session(
        name="two changes are taken back",
        text=_LOCAL,
        typed=(("size = width", "total = width"), ("if size", "if total")),
        undone=2,
    ),
    Session(
        name="one of two changes is taken back",
        text=_ASSERTS,
        typed=(
            ("self.assertEqual(one, 1)", "assert one == 1"),
            ("self.assertEqual(two, 2)", "assert two == 2"),
        ),
        undone=1,
    ),
    Session(
        name="the editor says undo",
        text=_LOCAL,
        typed=(("size = width", "total = width"),),
        actions=("undo",),
    ),
    Session(
        name="half a name is typed",
        text=_LOCAL,
        typed=(("size = width * height", " = width * height"), ("     = width", "    t")),
        keys="o",
    ),
    Session(
        name="half a new name is typed in its use",
        text="import os\n\n\ndef f():\n    return 1\n",
        typed=(("return 1", "return "),),
        keys="re",
    ),
    Session(
        name="half a module's name is typed",
        text="import os\n\n\ndef f():\n    os.getcwd()\n",
        typed=(("    os.getcwd()", "    os.getcwd()\n    "),),
        keys="json",
    ),
    Session(
        name="a name in another function is another name",
        text=_TWO,
        typed=(("size = 1\n    return size", "total = 1\n    return total"),),
    ),
    Session(
        name="a rejected rename does not come again",
        text="def greet(who):\n    return 'Hello ' + who\n",
        typed=(("greet(who)", "greet(name)"),),
        rejected=1,
    ),
    Session(
        name="a rejected repetition does not come again",
        text="a = get('one')\nb = get('two')\nc = get('three')\n",
        typed=(("get('one')", 'get("one")'), ("get('two')", 'get("two")')),
        rejected=1,
    ),
    Session(
        name="after two rejections the same change is not proposed elsewhere",
        text="a = get('one')\nb = get('two')\nc = get('three')\nd = get('four')\ne = get('five')\n",
        typed=(("get('one')", 'get("one")'), ("get('two')", 'get("two")')),
        rejected=2,
    ),
    Session(
        name="a string has a word that is a name",
        text="def f():\n    size = 1\n    print(size, 'size of the box')\n",
        typed=(("size = 1\n    print(size,", "total = 1\n    print(total,"),),
    ),
    Session(
        name="a comment has a word that is a name",
        text="def f():\n    # size is one\n    size = 1\n    return size\n",
        typed=(("    size = 1\n    return size", "    total = 1\n    return total"),),
    ),
    Session(
        name="an attribute has the name of a variable",
        text="def f(box):\n    size = 1\n    return size + box.size\n",
        typed=(("size = 1\n    return size +", "total = 1\n    return total +"),),
    ),
    Session(
        name="the old name is kept on purpose",
        text="def load(path):\n    return path\n",
        typed=(
            ("def load(path):", "def read(path):"),
            ("    return path\n", "    return path\n\n\nload = read\n"),
        ),
        others={"b.py": "from app import load\n\nload('x')\n"},
    ),
    Session(
        name="an import is used later in the file",
        text=_IMPORTS + "\n\ndef more():\n    return os.sep\n",
        typed=(("print(os.getcwd(), sys.argv)", "print(sys.argv)"),),
    ),
    Session(
        name="a name is imported under a condition",
        text=(
            "try:\n    import json\nexcept ImportError:\n    json = None\n\n\ndef f():\n    pass\n"
        ),
        typed=(("    pass", "    return json.dumps({})"),),
    ),
    Session(
        name="a star import may bring the name",
        text="from lib import *\n\n\ndef f():\n    pass\n",
        typed=(("    pass", "    return fetch(1)"),),
    ),
    Session(
        name="a builtin needs no import",
        text="def f():\n    pass\n",
        typed=(("    pass", "    return sorted(range(3))"),),
    ),
    Session(
        name="nobody knows where a name comes from",
        text="def f():\n    pass\n",
        typed=(("    pass", "    return fetch_everything(1)"),),
    ),
    Session(
        name="a parameter is used, not imported",
        text="def f():\n    pass\n",
        typed=(("def f():\n    pass", "def f(json):\n    return json.dumps({})"),),
    ),
    Session(
        name="an import is added and then used",
        text="def f():\n    pass\n",
        typed=(("def f", "import json\n\n\ndef f"), ("    pass", "    return json.dumps({})")),
    ),
    Session(
        name="an import that was never used is not my business",
        text="import os\n\n\ndef f():\n    return 1\n",
        typed=(("return 1", "return 2"),),
    ),
    Session(
        name="one number is no progression",
        text="\n",
        typed=(("\n", "A = 1\n\n"),),
    ),
    Session(
        name="numbers without a rule",
        text="\n",
        typed=(("\n", "A = 3\nB = 17\nC = 5\n\n"),),
    ),
    Session(
        name="the progression is there already",
        text="A_4 = 4\n",
        typed=(("A_4", "A_1 = 1\nA_2 = 2\nA_3 = 3\nA_4"),),
    ),
    Session(
        name="a number changes once",
        text="a = 1\nb = 1\nc = 1\n",
        typed=(("a = 1", "a = 2"),),
    ),
    Session(
        name="a diagnostic that nobody understands",
        text="x = 1\n",
        problems=(("x = 1", "This is not nice"),),
    ),
    Session(
        name="a diagnostic of an undefined name that is like nothing",
        text="x = qwertz(1)\n",
        problems=(("qwertz", "undefined name 'qwertz'"),),
    ),
    Session(
        name="javascript: a name in another function is another name",
        path="a.js",
        language="javascript",
        text=(
            "function f() {\n  const size = 1;\n  return size;\n}\n\n"
            "function g(size) {\n  return size;\n}\n"
        ),
        typed=(("const size = 1;\n  return size;", "const total = 1;\n  return total;"),),
    ),
    Session(
        name="javascript: a property has the name of a variable",
        path="a.js",
        language="javascript",
        text="function f(box) {\n  const size = 1;\n  return size + box.size;\n}\n",
        typed=(("const size = 1;\n  return size +", "const total = 1;\n  return total +"),),
    ),
    Session(
        name="rust: an unrelated edit",
        path="a.rs",
        language="rust",
        text="fn f() -> u8 {\n    let a = 1;\n    let b = 2;\n    a + b\n}\n",
        typed=(("let a = 1", "let a = 3"),),
    ),
    Session(
        name="go: an unrelated edit",
        path="a.go",
        language="go",
        text=(
            'package main\n\nfunc f() string {\n\treturn "a"\n}\n\n'
            'func g() string {\n\treturn "b"\n}\n'
        ),
        typed=(('return "a"', 'return "c"'),),
    ),
    Session(
        name="plain text: a word changes once",
        path="a.txt",
        language="plaintext",
        text="the cat sat\nthe cat ran\n",
        typed=(("the cat sat", "the dog sat"),),
    ),
    Session(
        name="the change would break the syntax",
        text="f(1)\ng(2)\nh(3, k(4))\n",
        typed=(("f(1)", "f(1"), ("g(2)", "g(2")),
    ),
    Session(
        name="the sweep is done",
        text="a = get('one')\nb = get('two')\nc = 3\n",
        typed=(("get('one')", 'get("one")'), ("get('two')", 'get("two")')),
    ),
    Session(
        name="every use is renamed",
        text="def f(who):\n    return who\n",
        typed=(("f(who)", "f(name)"), ("return who", "return name")),
    ),
)
