"""Which lines of a program's stderr are shown when it has failed."""

from __future__ import annotations

import pytest

from parley._stderr_excerpt import stderr_excerpt

LOG = "".join(f"2026-03-01T10:00:{n:02} INFO  agent: step {n}, 0 errors\n" for n in range(40))

NODE = """\
node:internal/modules/cjs/loader:1143
  throw err;
  ^

Error: Cannot find module '/opt/agent/dist/index.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1140:15)
    at Module._load (node:internal/modules/cjs/loader:981:27)
    at onErrorHandler (/opt/agent/lib/errors.js:3:1)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.11.0
"""
NODE_REJECTION = """\
/opt/agent/index.js:12
    throw new Error("quota exceeded");
          ^

ProviderError: quota exceeded
    at main (/opt/agent/index.js:12:11)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)

Node.js v22.1.0
"""
RUST = """\
thread 'main' panicked at src/config.rs:10:42:
called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound }
stack backtrace:
   0: rust_begin_unwind
             at /rustc/25ef9e3/library/std/src/panicking.rs:692:5
   1: core::panicking::panic_fmt
             at /rustc/25ef9e3/library/core/src/panicking.rs:75:14
   2: agent::config::load
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""
RUST_ANYHOW = """\
\x1b[2m2026-03-01T10:00:00Z\x1b[0m \x1b[32m INFO\x1b[0m agent: reading errors.toml
\x1b[2m2026-03-01T10:00:01Z\x1b[0m \x1b[33m WARN\x1b[0m agent: slow disk
loading plugins
loading themes
loading keys
Error: could not start the session

Caused by:
    0: reading the database
    1: No such file or directory (os error 2)
"""
GO = """\
loading config
starting server
session opened
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x48f2b6]

goroutine 1 [running]:
main.(*Server).handleError(0x0)
\t/home/ada/agent/server.go:18 +0x16
main.main()
\t/home/ada/agent/main.go:8 +0x1d

goroutine 7 [chan receive]:
main.(*Server).failures(0xc000012345)
\t/home/ada/agent/server.go:40 +0x16
exit status 2
"""
PYTHON = """\
DEBUG:asyncio:Using selector: EpollSelector
Traceback (most recent call last):
  File "/opt/agent/cache.py", line 3, in get
    return self.entries[key]  # no error here
KeyError: 'model'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/agent/main.py", line 41, in <module>
    main()
    ~~~~^^
  File "/opt/agent/main.py", line 30, in main
    raise Overloaded("try again later")
agent.Overloaded: try again later
"""


@pytest.mark.parametrize(
    ("stderr", "shown"),
    [
        (NODE, ["Error: Cannot find module '/opt/agent/dist/index.js'"]),
        (NODE_REJECTION, ["ProviderError: quota exceeded"]),
        (
            RUST,
            [
                "thread 'main' panicked at src/config.rs:10:42:",
                "called `Result::unwrap()` on an `Err` value: Os { code: 2, kind: NotFound }",
            ],
        ),
        (
            RUST_ANYHOW,
            [
                "Error: could not start the session",
                "Caused by:",
                "    0: reading the database",
                "    1: No such file or directory (os error 2)",
            ],
        ),
        (
            GO,
            [
                "panic: runtime error: invalid memory address or nil pointer dereference",
                "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x48f2b6]",
            ],
        ),
        (PYTHON, ["KeyError: 'model'", "agent.Overloaded: try again later"]),
    ],
    ids=["node", "node-rejection", "rust", "rust-anyhow", "go", "python"],
)
@pytest.mark.parametrize("before", ["", LOG], ids=["alone", "logged"])
def test_of_a_crash_the_reason_is_shown_without_its_stack(
    stderr: str, shown: list[str], before: str
) -> None:
    assert stderr_excerpt(before + stderr).splitlines() == shown


def test_an_error_that_many_log_lines_follow_is_found() -> None:
    assert stderr_excerpt(f"ERROR agent: disk is full, see INFO\n{LOG}ready\n" * 2) == (
        "ERROR agent: disk is full, see INFO\nready\n" * 2
    ).removesuffix("\n")
    many = "".join(f"line {number}\n" for number in range(50))
    assert stderr_excerpt(f"{many}fatal: no space left on device\n{many}") == (
        "fatal: no space left on device"
    )


@pytest.mark.parametrize(
    "noise",
    [
        "INFO:     Application startup complete, no errors",
        "[info] listening, errors go to stderr",
        "info: error reporting is on",
        'time=10:00 level=info msg="error reporting is on"',
        '{"level":"debug","msg":"retrying after an error"}',
        "npm notice New version of errors available!",
        "2026-03-01 10:00:00,123 - agent - DEBUG - error count 0",
        "[2026-03-01 10:00:00] [INFO] errors: 0",
    ],
)
def test_log_lines_below_a_warning_are_left_out(noise: str) -> None:
    assert stderr_excerpt(f"please log in\n{noise}\n") == "please log in"
    lines = "".join(f"line {number}\n" for number in range(10))
    assert stderr_excerpt(f"{lines}error: no login\n{noise}\n") == "error: no login"


def test_a_few_lines_are_shown_whole() -> None:
    text = "error: not logged in\nRun `agent login` first.\n"
    assert stderr_excerpt(text) == text.rstrip()


def test_without_an_error_the_last_lines_are_shown() -> None:
    lines = [f"line {number}" for number in range(100)]
    assert stderr_excerpt("\n".join(lines)).splitlines() == lines[-20:]
    assert stderr_excerpt(LOG).splitlines() == LOG.splitlines()[-20:]
    assert stderr_excerpt(" \n\n") == ""


def test_colors_go_and_other_escapes_are_made_visible() -> None:
    assert stderr_excerpt("\x1b[1;31merror\x1b[0m: no\x1b[K\n\x1b[2Jdone") == "error: no\n␛[2Jdone"
    assert stderr_excerpt("\rloading 1 %\rloading 2 %\r\nfailed\r\n") == "loading 2 %\nfailed"


def test_what_is_shown_is_bounded() -> None:
    errors = "".join(f"error {number}: {'x' * 1000}\n" for number in range(1000))
    assert len(stderr_excerpt(errors)) <= 4000
    few = "".join(f"error {number}\n" for number in range(100))
    assert stderr_excerpt(few).splitlines() == [f"error {number}" for number in range(90, 100)]
    assert len(stderr_excerpt("x" * 100_000)) <= 4000
