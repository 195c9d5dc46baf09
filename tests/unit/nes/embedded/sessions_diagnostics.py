"""Sessions with diagnostics whose messages name the fix."""

from __future__ import annotations

from .editing_session import Session

__all__ = ["SESSIONS"]

_PY = "import os\nimport sys\n\nprint(sys.argv)\n"

SESSIONS = (
    Session(
        name="pyflakes: an undefined name is imported",
        text="def f():\n    return json.dumps({})\n",
        problems=(("json", "undefined name 'json'"),),
        wanted="import json",
    ),
    Session(
        name="ruff: an undefined name is imported",
        text="import os\n\n\ndef f():\n    return Path(os.getcwd())\n",
        problems=(("Path", "Undefined name `Path`"),),
        wanted="from pathlib import Path",
    ),
    Session(
        name="pyright: a misspelt name is mended",
        text="def f(width):\n    return widht + 1\n",
        problems=(("widht", '"widht" is not defined'),),
        wanted="return width + 1",
    ),
    Session(
        name="mypy: an undefined name is mended",
        text="total = 1\nprint(totl)\n",
        problems=(("totl", 'Name "totl" is not defined'),),
        wanted="print(total)",
    ),
    Session(
        name="mypy: an attribute is what was meant",
        text="x = box.widht\n",
        problems=(("widht", '"Box" has no attribute "widht"; maybe "width"?'),),
        wanted="x = box.width",
    ),
    Session(
        name="pyflakes: an unused import goes",
        text=_PY,
        problems=(("import os", "'os' imported but unused"),),
        gone="import os",
    ),
    Session(
        name="ruff: an unused name goes from an import",
        text="from typing import Any, List\n\nx: Any = 1\n",
        problems=(("List", "`typing.List` imported but unused"),),
        wanted="from typing import Any",
    ),
    Session(
        name="pyright: an unused import goes",
        text=_PY,
        problems=(("import os", 'Import "os" is not accessed'),),
        gone="import os",
    ),
    Session(
        name="ruff: an unused variable goes",
        text="def f():\n    x = 1\n    return 2\n",
        problems=(("x = 1", "Local variable `x` is assigned to but never used"),),
        gone="x = 1",
    ),
    Session(
        name="python: a colon is missing",
        text="def f(x)\n    return x\n",
        problems=(("def f(x)", "SyntaxError: expected ':'"),),
        wanted="def f(x):",
    ),
    Session(
        name="python: a bracket was never closed",
        text="x = f(1, 2\ny = 3\n",
        problems=(("x = f(1, 2", "'(' was never closed"),),
        wanted="x = f(1, 2)",
    ),
    Session(
        name="tsc: a name is what was meant",
        path="a.ts",
        language="typescript",
        text="const width = 1;\nconsole.log(widht);\n",
        problems=(("widht", "Cannot find name 'widht'. Did you mean 'width'?"),),
        wanted="console.log(width);",
    ),
    Session(
        name="tsc: a property is what was meant",
        path="a.ts",
        language="typescript",
        text="const n = box.lenght;\n",
        problems=(
            ("lenght", "Property 'lenght' does not exist on type 'Box'. Did you mean 'length'?"),
        ),
        wanted="const n = box.length;",
    ),
    Session(
        name="tsc: an unused import goes",
        path="a.ts",
        language="typescript",
        text="import { a, b } from './x';\n\na();\n",
        problems=(("b } from", "'b' is declared but its value is never read."),),
        wanted="import { a } from './x';",
    ),
    Session(
        name="eslint: an import that is not used goes",
        path="a.js",
        language="javascript",
        text="import fs from 'fs';\n\nrun();\n",
        problems=(("fs from", "'fs' is defined but never used."),),
        gone="import fs from 'fs';",
    ),
    Session(
        name="rustc: an unused import goes",
        path="a.rs",
        language="rust",
        text="use std::fmt;\n\nfn main() {}\n",
        problems=(("std::fmt", "unused import: `std::fmt`"),),
        gone="use std::fmt;",
    ),
    Session(
        name="rustc: an unused variable gets an underscore",
        path="a.rs",
        language="rust",
        text="fn main() {\n    let size = 1;\n}\n",
        problems=(("size", "unused variable: `size`"),),
        wanted="let _size = 1;",
    ),
    Session(
        name="rustc: a variable is not mutable",
        path="a.rs",
        language="rust",
        text="fn main() {\n    let mut size = 1;\n    f(size);\n}\n",
        problems=(("mut size", "variable does not need to be mutable"),),
        wanted="let size = 1;",
    ),
    Session(
        name="go: an unused import goes",
        path="a.go",
        language="go",
        text='package main\n\nimport (\n\t"fmt"\n\t"os"\n)\n\nfunc main() { fmt.Println() }\n',
        problems=(('"os"', '"os" imported and not used'),),
        gone='"os"',
    ),
    Session(
        name="java: a semicolon is missing",
        path="A.java",
        language="java",
        text="class A {\n  int f() {\n    return 1\n  }\n}\n",
        problems=(("return 1", "';' expected"),),
        wanted="return 1;",
    ),
    Session(
        name="clang: an identifier is what was meant",
        path="a.c",
        language="c",
        text="int main(void) {\n    int width = 1;\n    return widht;\n}\n",
        problems=(("widht", "use of undeclared identifier 'widht'; did you mean 'width'?"),),
        wanted="return width;",
    ),
    Session(
        name="clang: a semicolon is missing",
        path="a.cpp",
        language="cpp",
        text="int main() {\n    int x = 1\n    return x;\n}\n",
        problems=(("int x = 1", "expected ';' at end of declaration"),),
        wanted="int x = 1;",
    ),
    Session(
        name="a misspelt name, of which only the line is known",
        text="def f(items):\n    return sum(itmes)\n",
        problems=(
            ("    return sum(itmes)", "name 'itmes' is not defined. Did you mean: 'items'?"),
        ),
        wanted="return sum(items)",
    ),
    Session(
        name="a call lacks an argument: the place is known and the text is not",
        text="def f(a, b):\n    return a\n\n\nx = f(1)\n",
        problems=(("f(1)", "missing 1 required positional argument: 'b'"),),
        jump="x = f(1)",
    ),
)
