"""Check that a tag may be released: it names the version, and the changelog has a section for it.

The release workflow runs it before it builds anything.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def package_version() -> str:
    """Return the version in `src/parley/__init__.py`, without importing Parley."""
    source = (ROOT / "src" / "parley" / "__init__.py").read_text()
    (version,) = re.findall(r'^__version__ = "(.*)"$', source, re.MULTILINE)
    return str(version)


def changelog_section(changelog: str, title: str) -> str | None:
    """Return the text below a heading of the second level, or None if there is no such heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    return found and found[1].strip()


def find_problem(tag: str, version: str, changelog: str) -> str | None:
    """Return why a tag may not be released, or None if it may."""
    if tag != f"v{version}":
        return f'the tag is "{tag}", but the package is version {version}. Tag "v{version}".'
    if not changelog_section(changelog, version):
        return f'CHANGELOG.md says nothing below "## {version}".'
    if changelog_section(changelog, "Unreleased"):
        return f'CHANGELOG.md has entries below "## Unreleased". Move them to "## {version}".'
    return None


def main() -> int:
    """Check the tag on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tag", help='the tag, such as "v1.2.3"')
    tag = parser.parse_args().tag
    version = package_version()
    problem = find_problem(tag, version, (ROOT / "CHANGELOG.md").read_text())
    print(problem or f"{tag} can be released")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
