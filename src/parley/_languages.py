"""Language ids, which editors send as `languageId`, by the ending of a file's name."""

from __future__ import annotations

from pathlib import PurePath

PLAIN = "plaintext"
"""The language id of a file whose ending is not in the table."""
LANGUAGE_IDS = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascriptreact",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "typescriptreact",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
    ".md": "markdown",
    ".json": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".sh": "shellscript",
}
"""The language ids, by ending."""


def language_id_of(name: str) -> str:
    """Return the language id of a file by its name, its path or its URI."""
    return LANGUAGE_IDS.get(PurePath(name).suffix.lower(), PLAIN)
