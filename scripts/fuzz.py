"""Look for bytes that break the codec, the splitter or the schema: `make fuzz`.

Mutations are guided by the branches that they reach (https://github.com/google/atheris). What must
hold is in `fuzz_target.py`, what is tried in `fuzz_mutations.py`. Inputs that reach something new
are kept in `.fuzz/corpus` for the next run; one that breaks something is written to `.fuzz/`, to be
tried again with `--replay`.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

HOME = Path(__file__).resolve().parents[1] / ".fuzz"
MISSING = (
    "atheris is not installed. It has wheels for Linux on x86-64; there "
    "`pip install --group fuzz` installs it. Elsewhere only --replay works."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=60, help="how long (60)")
    parser.add_argument("--runs", type=int, default=-1, help="at most so many inputs (no limit)")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations (another each time)")
    parser.add_argument("--home", type=Path, default=HOME, help="where inputs are kept (.fuzz)")
    parser.add_argument(
        "--replay", type=Path, nargs="*", help="try these inputs once, or what is begun with"
    )
    options = parser.parse_args(arguments)
    if options.replay is not None:
        return replay(options.replay)
    return fuzz(options.home, options.seconds, options.runs, options.seed)


def replay(paths: Sequence[Path]) -> int:
    """Try inputs without mutating them; an exception shows what is wrong."""
    target: Any = importlib.import_module("fuzz_target")
    inputs = [path.read_bytes() for path in paths] or list(target.seeds())
    for data in inputs:
        target.check(data)
    print(f"{len(inputs)} inputs hold")
    return 0


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
    options += [f"-dict={dictionary}", f"-artifact_prefix={home}/", "-timeout=10"]

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
