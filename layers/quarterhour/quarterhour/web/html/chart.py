"""A small bar chart as SVG within a page."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.web.html.markup import NOTHING, Html, escaped

_HEIGHT: Final = 1000
_WIDTH: Final = 100
"""Of the place of a bar."""
_WIDEST: Final = 80
_SHARE: Final = 5
"""The most percent of the chart that a bar is wide, so that a few bars are no walls."""
_LABELLED: Final = 8
"""The most bars that all have their labels below; of more, the first and the last have."""


CAPTIONS: Final = ("Highest: {figure} ({label})", ". Lowest: {figure} ({label})")
"""How a chart's highest figure is named, and then its lowest, if that is below 0."""


class Bar(NamedTuple):
    """A bar: its label, and a figure as it is stored. ``written``: the figure as people read it, if that differs."""

    label: str
    figure: str
    written: str = ""

    def fill(self, caption: str) -> str:
        """Return a caption with the figure and the label in it."""
        return caption.format(figure=self.written or self.figure, label=self.label)


def bar_chart(title: str, bars: Sequence[Bar], captions: tuple[str, str] = CAPTIONS) -> Html:
    """Return a chart of the bars with its highest and lowest figure; nothing if all figures are 0.

    ``title`` says what the bars are and in which unit. Bars are drawn to a thousandth of the height.
    """
    values = [Decimal(bar.figure) for bar in bars]
    top, bottom = max(values, default=Decimal(0)), min(values, default=Decimal(0))
    highest, lowest = bars[values.index(top)] if bars else None, bars[values.index(bottom)] if bars else None
    top, bottom = max(top, Decimal(0)), min(bottom, Decimal(0))
    if top == bottom or highest is None or lowest is None:
        return NOTHING
    zero = _at(Decimal(0), top, bottom)
    bar_width = min(_WIDEST, len(bars) * _SHARE)
    drawn = "".join(
        _rectangle(index * _WIDTH + (_WIDTH - bar_width) // 2, bar_width, zero, _at(value, top, bottom), bar)
        for index, (bar, value) in enumerate(zip(bars, values, strict=True))
        if value
    )
    extremes = highest.fill(captions[0])
    if bottom < 0:
        extremes += lowest.fill(captions[1])
    width = len(bars) * _WIDTH
    return Html(
        f"<figure>\n<figcaption>{escaped(extremes)}</figcaption>\n"
        f'<svg role="img" aria-label="{escaped(title)}. {escaped(extremes)}" '
        f'viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none">{drawn}'
        f'<path d="M0 {zero}H{width}"/></svg>\n'
        f"{_axis([bar.label for bar in bars])}\n</figure>"
    )


def _at(value: Decimal, top: Decimal, bottom: Decimal) -> int:
    """Return how far down a value is drawn."""
    return int((top - value) * _HEIGHT / (top - bottom))


def _axis(labels: Sequence[str]) -> Html:
    kind, shown = ("axis each", labels) if len(labels) <= _LABELLED else ("axis", (labels[0], labels[-1]))
    spans = "".join(f"<span>{escaped(label)}</span>" for label in shown)
    return Html(f'<div class="{kind}">{spans}</div>')


def _rectangle(x: int, width: int, zero: int, end: int, bar: Bar) -> str:
    return (
        f'<rect x="{x}" y="{min(zero, end)}" width="{width}" height="{abs(zero - end)}">'
        f"<title>{escaped(bar.label)}: {escaped(bar.written or bar.figure)}</title></rect>"
    )
