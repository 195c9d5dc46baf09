"""Fill in the middle: the model sees the text before and after the cursor, and writes between.

Each family of models has its own tokens for that. They know nothing of edits: what they
propose begins at the cursor.
"""

from __future__ import annotations

from msgspec import Struct

from parley.nes.model._api import Completion, Prompt
from parley.nes.model._situation import Situation

from .base import Rewrite, until

_MAX_TOKENS = 96
_OPENING, _CLOSING = "([{", ")]}"


class FillIn(Struct, frozen=True, kw_only=True):
    """One family."""

    name: str
    layout: str
    """The prompt, with `{prefix}` and `{suffix}` in it."""
    reserved: tuple[str, ...]
    stop: tuple[str, ...]
    is_chat: bool = False

    def prompt(self, situation: Situation) -> Prompt:
        """Return the text before and after the cursor."""
        prefix, suffix = _halves(situation)
        return Prompt(
            text=self.layout.format(prefix=prefix, suffix=suffix),
            stop=self.stop,
            max_tokens=_MAX_TOKENS,
        )

    def rewrite(self, completion: Completion, situation: Situation) -> Rewrite | None:
        """Put the answer at the cursor; a last line that was cut off is left out."""
        text = until(completion.text, *self.reserved, *self.stop)
        if completion.is_cut:
            text = text.rpartition("\n")[0]
        text = _without_echo(text, _halves(situation)[1])
        if not text.strip():
            return None
        head, tail = situation.window.marked
        if tail == "" and not situation.window.after:
            text = text.rstrip("\n")
        return Rewrite(head + text + tail, len(head + text))


def _halves(situation: Situation) -> tuple[str, str]:
    window = situation.window
    head, tail = window.marked
    below = f"\n{window.after}" if window.after else ""
    return window.before + head, tail + below


def _without_echo(text: str, suffix: str) -> str:
    """Remove from the end of a text what already follows the cursor."""
    for size in range(min(len(text), len(suffix)), 0, -1):
        echo = suffix[:size]
        if text.endswith(echo) and _is_echo(echo, text):
            return text[:-size]
    return text


def _is_echo(echo: str, text: str) -> bool:
    """Return whether an echo is meant: it is long, or closes what the text did not open."""
    bare = echo.strip()
    if len(bare) >= 4 or not bare:
        return bool(bare) or echo.startswith("\n")
    return any(_depths(text, one, other) for one, other in zip(_OPENING, _CLOSING, strict=True))


def _depths(text: str, opening: str, closing: str) -> bool:
    return text.count(closing) > text.count(opening)


_TEXT_END = "<|endoftext|>"
_PIPED = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
_PIPED_LAYOUT = "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>"
_FAMILIES = (
    FillIn(
        name="qwen",
        layout=_PIPED_LAYOUT,
        reserved=(*_PIPED, "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<|im_end|>"),
        stop=(_TEXT_END, "<|fim_pad|>", "<|file_sep|>", "<|im_end|>"),
    ),
    FillIn(
        name="code_gemma",
        layout=_PIPED_LAYOUT,
        reserved=(*_PIPED, "<|file_separator|>", "<end_of_turn>", "<eos>"),
        stop=("<|file_separator|>", "<end_of_turn>", "<eos>", "<|fim_prefix|>"),
    ),
    FillIn(
        name="star_coder",
        layout="<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>",
        reserved=("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<fim_pad>", "<file_sep>"),
        stop=(_TEXT_END, "<file_sep>", "<fim_pad>", "<fim_prefix>"),
    ),
    FillIn(
        name="deepseek_coder",
        layout="<｜fim▁begin｜>{prefix}<｜fim▁hole｜>{suffix}<｜fim▁end｜>",  # noqa: RUF001
        reserved=("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", "<｜end▁of▁sentence｜>"),  # noqa: RUF001
        stop=("<｜end▁of▁sentence｜>", "<｜fim▁begin｜>", "<|EOT|>"),  # noqa: RUF001
    ),
    FillIn(
        name="code_llama",
        layout="<PRE> {prefix} <SUF>{suffix} <MID>",
        reserved=("<PRE>", "<SUF>", "<MID>", "<EOT>", "</s>"),
        stop=("<EOT>", "</s>", "<PRE>"),
    ),
    FillIn(
        name="codestral",
        layout="[SUFFIX]{suffix}[PREFIX]{prefix}",
        reserved=("[SUFFIX]", "[PREFIX]", "[MIDDLE]", "</s>"),
        stop=("</s>", "[SUFFIX]", "[PREFIX]"),
    ),
    FillIn(
        name="glm",
        layout="<|code_prefix|>{prefix}<|code_suffix|>{suffix}<|code_middle|>",
        reserved=("<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", "<|user|>"),
        stop=(_TEXT_END, "<|user|>", "<|observation|>", "<|code_prefix|>"),
    ),
)

FILL_IN_FORMATS = {each.name: each for each in _FAMILIES}
