"""Sessions in other languages, and in none, that must end with the right suggestion."""

from __future__ import annotations

from .editing_session import Session

__all__ = ["SESSIONS"]

SESSIONS = (
    Session(
        name="javascript: a function is renamed where it is called",
        path="app.js",
        language="javascript",
        text="function load(path) {\n  return path;\n}\n\nconst a = load('a');\n",
        typed=(("function load(", "function read("),),
        wanted="const a = read('a');",
    ),
    Session(
        name="javascript: a constant is renamed in its scope",
        path="app.js",
        language="javascript",
        text="function f() {\n  const size = 1;\n  log('x');\n  return size + 1;\n}\n",
        typed=(("const size = 1", "const total = 1"),),
        wanted="return total + 1;",
    ),
    Session(
        name="javascript: var becomes const a third time",
        path="app.js",
        language="javascript",
        text="var one = get(1);\nvar two = get(2);\nvar three = get(3);\n",
        typed=(("var one", "const one"), ("var two", "const two")),
        wanted="const three = get(3);",
    ),
    Session(
        name="javascript: an imported name is renamed where it is used",
        path="app.mjs",
        language="javascript",
        text=(
            "import { fetchOne } from './net.js';\n\nexport function f() {\n"
            "  return fetchOne(1);\n}\n"
        ),
        typed=(("{ fetchOne }", "{ fetchAll }"),),
        wanted="return fetchAll(1);",
    ),
    Session(
        name="typescript: a parameter is renamed in the body",
        path="app.ts",
        language="typescript",
        text=(
            "export function greet(who: string): string {\n  const x = 1;\n"
            "  return 'Hi ' + who;\n}\n"
        ),
        typed=(("greet(who: string)", "greet(name: string)"),),
        wanted="return 'Hi ' + name;",
    ),
    Session(
        name="typescript: an interface is renamed where it is used",
        path="app.ts",
        language="typescript",
        text=(
            "interface Thing {\n  id: number;\n}\n\n"
            "function f(x: Thing): number {\n  return x.id;\n}\n"
        ),
        typed=(("interface Thing", "interface Item"),),
        wanted="function f(x: Item): number {",
    ),
    Session(
        name="typescript: a type becomes another one for the third time",
        path="app.ts",
        language="typescript",
        text="let a: any = f(1);\nlet b: any = f(2);\nlet c: any = f(3);\n",
        typed=(("a: any", "a: unknown"), ("b: any", "b: unknown")),
        wanted="let c: unknown = f(3);",
    ),
    Session(
        name="tsx: a component is renamed where it is used",
        path="app.tsx",
        language="typescriptreact",
        text=(
            "function Old() {\n  return <p>hi</p>;\n}\n\nexport function App() {\n"
            "  return <Old />;\n}\n"
        ),
        typed=(("function Old()", "function Fresh()"),),
        wanted="return <Fresh />;",
    ),
    Session(
        name="go: a function is renamed where it is called",
        path="main.go",
        language="go",
        text=(
            "package main\n\nfunc load(p string) string {\n\treturn p\n}\n\n"
            'func main() {\n\tload("a")\n}\n'
        ),
        typed=(("func load(", "func read("),),
        wanted='read("a")',
    ),
    Session(
        name="go: a variable is renamed where it is used",
        path="main.go",
        language="go",
        text="package main\n\nfunc f() int {\n\tsize := 1\n\tprintln()\n\treturn size\n}\n",
        typed=(("size := 1", "total := 1"),),
        wanted="return total",
    ),
    Session(
        name="go: errors are wrapped a third time",
        path="main.go",
        language="go",
        text="package main\n\nfunc f() {\n\tlog(one, err)\n\tlog(two, err)\n\tlog(three, err)\n}\n",
        typed=(("log(one, err)", "log(one, wrap(err))"), ("log(two, err)", "log(two, wrap(err))")),
        wanted="log(three, wrap(err))",
    ),
    Session(
        name="rust: a function is renamed where it is called",
        path="main.rs",
        language="rust",
        text="fn load(p: u8) -> u8 {\n    p\n}\n\nfn main() {\n    load(1);\n}\n",
        typed=(("fn load(", "fn read("),),
        wanted="read(1);",
    ),
    Session(
        name="rust: a variable is renamed where it is used",
        path="main.rs",
        language="rust",
        text="fn f() -> u8 {\n    let size = 1;\n    g();\n    size + 1\n}\n",
        typed=(("let size = 1", "let total = 1"),),
        wanted="total + 1",
    ),
    Session(
        name="rust: unwrap becomes a question mark a third time",
        path="main.rs",
        language="rust",
        text=(
            "fn f() {\n    let a = get(1).unwrap();\n    let b = get(2).unwrap();\n"
            "    let c = get(3).unwrap();\n}\n"
        ),
        typed=(("get(1).unwrap()", "get(1)?"), ("get(2).unwrap()", "get(2)?")),
        wanted="let c = get(3)?;",
    ),
    Session(
        name="java: a local variable is renamed where it is used",
        path="A.java",
        language="java",
        text="class A {\n  int f() {\n    int size = 1;\n    g();\n    return size;\n  }\n}\n",
        typed=(("int size = 1", "int total = 1"),),
        wanted="return total;",
    ),
    Session(
        name="java: a parameter is renamed where it is used",
        path="A.java",
        language="java",
        text="class A {\n  int f(int size) {\n    g();\n    return size;\n  }\n}\n",
        typed=(("f(int size)", "f(int total)"),),
        wanted="return total;",
    ),
    Session(
        name="java: a type argument changes a third time",
        path="A.java",
        language="java",
        text="class A {\n  List<Object> a;\n  List<Object> b;\n  List<Object> c;\n}\n",
        typed=(("List<Object> a", "List<String> a"), ("List<Object> b", "List<String> b")),
        wanted="List<String> c;",
    ),
    Session(
        name="c: a function is renamed where it is called",
        path="main.c",
        language="c",
        text=(
            "static int load(int p) {\n    return p;\n}\n\nint main(void) {\n"
            "    return load(1);\n}\n"
        ),
        typed=(("static int load(", "static int fetch("),),
        wanted="return fetch(1);",
    ),
    Session(
        name="c: enumerators go on",
        path="main.h",
        language="c",
        text="enum color {\n};\n",
        typed=(
            (
                "enum color {\n",
                "enum color {\n    COLOR_0 = 0,\n    COLOR_1 = 1,\n    COLOR_2 = 2,\n",
            ),
        ),
        wanted="COLOR_3 = 3,",
    ),
    Session(
        name="c++: a local variable is renamed where it is used",
        path="main.cpp",
        language="cpp",
        text="int f() {\n    int size = 1;\n    g();\n    return size;\n}\n",
        typed=(("int size = 1", "int total = 1"),),
        wanted="return total;",
    ),
    Session(
        name="c++: NULL becomes nullptr a third time",
        path="main.cpp",
        language="cpp",
        text="void f() {\n    a = NULL;\n    b = NULL;\n    c = NULL;\n}\n",
        typed=(("a = NULL", "a = nullptr"), ("b = NULL", "b = nullptr")),
        wanted="c = nullptr;",
    ),
    Session(
        name="plain text: a word changes a third time",
        path="notes.txt",
        language="plaintext",
        text="- see the manual\n- read the manual\n- burn the manual\n",
        typed=(("see the manual", "see the handbook"), ("read the manual", "read the handbook")),
        wanted="- burn the handbook",
    ),
    Session(
        name="markdown: headings go on",
        path="notes.md",
        language="markdown",
        text="\n",
        typed=(("\n", "- Step 1: x\n- Step 2: x\n- Step 3: x\n\n"),),
        wanted="- Step 4: x",
    ),
    Session(
        name="a question with history alone",
        text="def f():\n    a = await g(1)\n    b = await g(2)\n    c = g(3)\n",
        history=(
            "@@ -2,1 +2,1 @@\n-    a = g(1)\n+    a = await g(1)\n",
            "@@ -3,1 +3,1 @@\n-    b = g(2)\n+    b = await g(2)\n",
        ),
        wanted="c = await g(3)",
    ),
    Session(
        name="a question with a history whose diffs have no heads",
        text="def read():\n    pass\n\n\na = load()\n",
        history=("-def load():\n+def read():\n     pass\n",),
        wanted="a = read()",
    ),
)
