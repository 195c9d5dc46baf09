"""Prompt formats by the names that the ecosystem uses."""

from __future__ import annotations

import re

from parley.errors import ConfigError

from .base import PromptFormat, Rewrite
from .chat import Chat
from .fim import FILL_IN_FORMATS
from .mercury import Mercury
from .sweep import Sweep
from .zeta import Zeta, Zeta2, Zeta21

__all__ = ["FORMATS", "PromptFormat", "Rewrite", "format_named"]


FORMATS: dict[str, PromptFormat] = {
    "zeta": Zeta(),
    "zeta2": Zeta2(),
    "zeta2_1": Zeta21(),
    "sweep": Sweep(),
    "mercury": Mercury(),
    **FILL_IN_FORMATS,
    "chat": Chat(),
}

_MODELS = (
    (r"zeta[-_]?2[._-]1", "zeta2_1"),
    (r"zeta[-_]?2", "zeta2"),
    (r"zeta", "zeta"),
    (r"sweep-next-edit", "sweep"),
    (r"mercury.*edit", "mercury"),
    (r"instruct|chat|[-_]it(?![a-z0-9])", "chat"),
    (r"qwen[\d.]*-?coder", "qwen"),
    (r"codestral", "codestral"),
    (r"starcoder", "star_coder"),
    (r"deepseek-coder", "deepseek_coder"),
    (r"code-?llama", "code_llama"),
    (r"code-?gemma", "code_gemma"),
    (r"codegeex|glm-?4?\.?\d*-?(?:base|code)", "glm"),
)
"""Formats by parts of the names of models, the more specific first."""


def format_named(name: str, model: str = "") -> PromptFormat:
    """Return a format; `infer` takes the one that fits the model's name, or a chat.

    Raises:
        ConfigError: There is no such format.
    """
    if name == "infer":
        bare = model.lower()
        name = next((found for pattern, found in _MODELS if re.search(pattern, bare)), "chat")
    if name not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise ConfigError(f"there is no prompt format {name!r}; choose from {known} and infer")
    return FORMATS[name]
