"""Look for bytes that break the codec, the splitter or the schema: `make fuzz`.

Mutations are guided by the branches that they reach (https://github.com/google/atheris). What must
hold is in `fuzz_target.py`, what is tried in `fuzz_mutations.py`. Inputs that reach something new
are kept in `.fuzz/corpus` for the next run. An input that breaks something is written to
`.fuzz/crash-…` and printed; once the cause is fixed it belongs in `tests/golden/fuzz`, from where
every run begins and which `--replay` tries.

`--fixed` tries mutations that are the same each time, without looking for new ones: that is what
`make test` does.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".fuzz"
MISSING = (
    "atheris is not installed. It has wheels for Linux on x86-64; there "
    "`pip install --group fuzz` installs it. Elsewhere only --replay and --fixed work."
)
FINDINGS = ("crash-*", "timeout-*", "oom-*", "leak-*")
"""How libFuzzer names the inputs that break something."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="how long to search (60)")
    parser.add_argument("--runs", type=int, default=-1, help="at most this many inputs (no limit)")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations (another each time)")
    parser.add_argument("--home", type=Path, default=HOME, help="where inputs are kept (.fuzz)")
    parser.add_argument(
        "--replay",
        type=Path,
        nargs="*",
        help="try these inputs once, or those every run begins with",
    )
    parser.add_argument(
        "--fixed", type=int, metavar="COUNT", help="try this many mutations, the same each time"
    )
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.replay is not None:
        return replay(options.replay)
    if options.fixed is not None:
        return try_fixed(options.fixed)
    if options.in_this_process:
        return fuzz(options.home, options.seconds, options.runs, options.seed)
    return search(options.home, sys.argv[1:] if arguments is None else arguments)


def replay(paths: Sequence[Path]) -> int:
    """Try inputs without mutating them; an exception shows what is wrong."""
    target: Any = importlib.import_module("fuzz_target")
    inputs = [path.read_bytes() for path in paths] or list(target.seeds())
    for data in inputs:
        target.check(data)
    print(f"{len(inputs)} inputs hold")
    return 0


def try_fixed(count: int) -> int:
    """Try mutations of the inputs that every run begins with, the same ones each time."""
    target: Any = importlib.import_module("fuzz_target")
    mutations: Any = importlib.import_module("fuzz_mutations")
    random = Random(15)
    inputs: list[bytes] = list(target.seeds())
    for _ in range(count):
        data: bytes = mutations.mutate(random.choice(inputs), random)
        if random.random() < 0.3:
            data = mutations.mutate(data + random.choice(inputs)[1:], random)
        try:
            target.check(data)
        except BaseException:
            print(f"this input breaks something: {data!r}", file=sys.stderr)
            raise
    print(f"{count} inputs hold")
    return 0


def search(home: Path, arguments: Sequence[str]) -> int:
    """Run the fuzzer, which ends its process, in one of its own; show what it found."""
    before = _findings(home)
    command = [sys.executable, __file__, *arguments, "--in-this-process"]
    code = subprocess.run(command, check=False).returncode
    found = sorted(_findings(home) - before)
    for path in found:
        print(_explanation(path), file=sys.stderr)
    return 1 if found else code


def _findings(home: Path) -> set[Path]:
    return {path for pattern in FINDINGS for path in home.glob(pattern)}


def _explanation(path: Path) -> str:
    """Say what to do with an input that breaks something; the log alone is enough to get it."""
    return (
        f"\nAn input that breaks something is kept in {path}. In base64:\n"
        f"  {b64encode(path.read_bytes()).decode()}\n"
        f"See what it breaks with `python scripts/fuzz.py --replay {path}`, fix the cause, and add "
        "the input\nto tests/golden/fuzz under a name that says what it is, so that it is tried in "
        "every run."
    )


def fuzz(home: Path, seconds: int, runs: int, seed: int) -> int:
    """Mutate until the time is over or something breaks; does not return, the fuzzer exits."""
    try:
        atheris: Any = importlib.import_module("atheris")
    except ImportError:
        print(MISSING, file=sys.stderr)
        return 2
    mutations: Any = importlib.import_module("fuzz_mutations")
    with atheris.instrument_imports(include=["parley"]):
        target: Any = importlib.import_module("fuzz_target")
    corpus = home / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(target.seeds()):
        (corpus / f"seed-{number:04}").write_bytes(data)
    dictionary = home / "words"
    dictionary.write_text("".join(f'"{_escaped(word)}"\n' for word in sorted(target.words())))
    options = [f"-max_total_time={seconds}", f"-runs={runs}", f"-seed={seed}", "-max_len=4096"]
    options += [f"-dict={dictionary}", f"-artifact_prefix={home}/", "-timeout=60"]

    def mutate_one(data: bytes, max_bytes: int, seed: int) -> bytes:
        random = Random(seed)
        is_blind = random.random() < 0.5
        mutated: bytes = (
            atheris.Mutate(data, max_bytes) if is_blind else mutations.mutate(data, random)
        )
        return mutated[:max_bytes]

    arguments = [sys.argv[0], *options, str(corpus)]
    atheris.Setup(arguments, target.check, custom_mutator=mutate_one)
    atheris.Fuzz()
    return 0


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    sys.exit(main())
