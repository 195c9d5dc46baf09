"""Precision against speak rate as a picture: what each threshold of the score would give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from .figures import Point

_WIDTH, _HEIGHT = 720, 440
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 56, 24, 56
_COLOURS = ("#2563eb", "#dc2626", "#059669", "#9333ea", "#d97706", "#0891b2")
_STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #374151 }
.title { font-size: 15px; font-weight: 600; fill: #111827 }
.grid { stroke: #e5e7eb }
.axis { stroke: #9ca3af }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.exact { stroke-dasharray: 5 4; stroke-width: 1.5 }
.main { stroke-width: 3.5 }
.many { stroke-opacity: 0.5 }
@media (prefers-color-scheme: dark) {
  svg { background: #111827 }
  text { fill: #d1d5db }
  .title { fill: #f9fafb }
  .grid { stroke: #1f2937 }
  .axis { stroke: #6b7280 }
}"""
_LEGEND = "line: all that it changes stays; broken line: exactly right; dot: as it speaks by itself"
_TICKS = {0.1: 0.02, 0.2: 0.05, 0.3: 0.05, 0.4: 0.1, 0.5: 0.1, 0.6: 0.1, 0.8: 0.2, 1.0: 0.2}
"""The ranges of the axis, and the numbers on each."""
_IN_ROW = 3
_NAME = 28
_FEW_CURVES = 3
FEWEST = 5
"""Of so few suggestions a precision is not worth a point."""


def svg_of(title: str, curves: Mapping[str, Sequence[Point]], *, main: str = "") -> str:
    """Draw curves, each under its name: P(step) as a line, P(exact) as a broken one.

    The dot at the end of a line is the agent with its own threshold.

    Args:
        title: The title.
        curves: The curves to draw.
        main: The curve that stands out; it alone has a broken line then.
    """
    most = max((each.speaks for points in curves.values() for each in points), default=0.0)
    span = next(each for each in _TICKS if most <= each)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="{_LEFT}" y="24">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="42">{_LEGEND}</text>',
        *_axes(span),
    ]
    many = " many" if len(curves) > _FEW_CURVES else ""
    for number, (name, points) in enumerate(curves.items()):
        kinds = {"step": " main" if name == main else "", "exact": "" if main else many}
        if main not in ("", name):
            del kinds["exact"]
        parts += _curve(points, span, kinds, _COLOURS[number % len(_COLOURS)])
    parts += _names(list(curves))
    return "\n".join((*parts, "</svg>", ""))


def _place(speaks: float, share: float, span: float) -> tuple[str, str]:
    x = _LEFT + speaks / span * (_WIDTH - _LEFT - _RIGHT)
    y = _TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM)
    return f"{x:.1f}", f"{y:.1f}"


def _axes(span: float) -> Iterator[str]:
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
    for step in range(6):
        _, y = _place(0, step / 5, span)
        kind = "grid" if step else "axis"
        yield f'<line class="{kind}" x1="{_LEFT}" x2="{right}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y}" dy="4" text-anchor="end">{20 * step} %</text>'
    for number in range(round(span / _TICKS[span]) + 1):
        share = number * _TICKS[span]
        x, _ = _place(share, 0, span)
        yield f'<text x="{x}" y="{bottom + 20}" text-anchor="middle">{100 * share:.0f} %</text>'
    middle = (_LEFT + right) / 2
    where = f'x="{middle}" y="{_HEIGHT - 12}" text-anchor="middle"'
    yield f"<text {where}>how often it speaks, of all instances</text>"
    where = f'transform="translate(16 {(_TOP + bottom) / 2}) rotate(-90)" text-anchor="middle"'
    yield f"<text {where}>how often it is right then</text>"


def _curve(
    points: Sequence[Point], span: float, kinds: Mapping[str, str], colour: str
) -> Iterator[str]:
    drawn = [each for each in points if each.shown >= FEWEST] or points[-1:]
    for kind, more in kinds.items():
        places = [_place(each.speaks, getattr(each, kind), span) for each in drawn]
        path = " ".join(",".join(each) for each in places)
        yield f'<polyline class="line {kind}{more}" stroke="{colour}" points="{path}"/>'
        for x, y in places[-1:]:
            yield f'<circle cx="{x}" cy="{y}" r="4" fill="{colour}"/>'


def _names(names: Sequence[str]) -> Iterator[str]:
    """Yield the legend, in rows above the axis, where hardly any line is."""
    rows = -(-len(names) // _IN_ROW)
    for number, name in enumerate(names):
        colour = _COLOURS[number % len(_COLOURS)]
        at = _LEFT + number % _IN_ROW * 215
        down = _HEIGHT - _BOTTOM - 14 - (rows - 1 - number // _IN_ROW) * 16
        ends = f'x1="{at}" x2="{at + 16}" y1="{down}" y2="{down}"'
        yield f'<line class="line" stroke="{colour}" {ends}/>'
        short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
        yield f'<text x="{at + 22}" y="{down + 4}">{escape(short)}</text>'
