"""The types of files as editors name them in `languageId`, by the ending of the file's name."""

from __future__ import annotations

from pathlib import PurePath

PLAIN = "plaintext"
"""A file of no type that is known."""
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
"""The types, by ending."""


def language_id_of(name: str) -> str:
    """Return the type of a file by its name or its path."""
    return LANGUAGE_IDS.get(PurePath(name).suffix.lower(), PLAIN)
