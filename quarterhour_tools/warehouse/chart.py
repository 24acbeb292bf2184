"""A quick chart of a query's rows: bars in a terminal, or a page of HTML. There is a chart for each currency."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Final, NamedTuple

from quarterhour.model.fields import printable
from quarterhour.web.html.chart import Bar, bar_chart
from quarterhour.web.html.markup import Html, Row, escaped, heading, name, page, paragraph, section, table
from quarterhour_tools.errors import ToolError
from quarterhour_tools.warehouse.results import CURRENCY, Result

MOST_BARS: Final = 400
"""The most bars of all charts of a query together."""
_WIDTH: Final = 50
"""Characters of the longest bar in a terminal."""
_LONGEST_LABEL: Final = 32
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


class Chart(NamedTuple):
    """A chart: what its figures are, and its bars."""

    title: str
    bars: tuple[Bar, ...]


class Charts(NamedTuple):
    """The charts of a query, one for each currency; ``cut``: whether there were more rows than bars."""

    charts: tuple[Chart, ...]
    cut: bool


def charts_of(result: Result, figure: str | None) -> Charts:
    """Return the charts of a column, or without one of the first column of decimals or of other numbers.

    Columns of text and of dates label the bars. Raises ``ToolError`` if there is no such column of numbers.
    """
    chosen = _chosen(result, figure)
    currency = result.columns.index(CURRENCY) if CURRENCY in result.columns else None
    labels = [at for at in range(len(result.columns)) if at != currency and not result.is_number(at)]
    bars: dict[str, list[Bar]] = {}
    texts = result.texts()
    for row in islice(texts, MOST_BARS):
        of_currency = "" if currency is None else row[currency] or ""
        label = " ".join(row[at] or "-" for at in labels)
        bars.setdefault(of_currency, []).append(Bar(label, row[chosen] or "0"))
    title = result.columns[chosen]
    charts = (Chart(f"{title}, {code}" if code else title, tuple(some)) for code, some in bars.items())
    return Charts(tuple(charts), next(texts, None) is not None)


def _chosen(result: Result, figure: str | None) -> int:
    if figure is not None:
        if figure not in result.columns or not result.is_number(result.columns.index(figure)):
            raise ToolError(f"{figure!r} is no column of numbers of the query: it has {', '.join(result.columns)}")
        return result.columns.index(figure)
    numbers = [at for at in range(len(result.columns)) if result.is_number(at)]
    if not numbers:
        raise ToolError("the query has no column of numbers to draw")
    return next((at for at in numbers if result.is_decimal(at)), numbers[0])


def as_lines(charts: Charts) -> Iterator[str]:
    """Yield the lines of the charts for a terminal; a bar of a figure below 0 is drawn with another sign."""
    for chart in charts.charts:
        yield printable(chart.title)
        labels = [_shortened(printable(bar.label)) for bar in chart.bars]
        width = max(map(len, labels))
        most = max(abs(Decimal(bar.figure)) for bar in chart.bars)
        for label, bar in zip(labels, chart.bars, strict=True):
            yield f"  {label:{width}}  {_drawn(Decimal(bar.figure), most)} {bar.figure}"
    if charts.cut:
        yield _CUT


def as_page(title: str, charts: Charts) -> bytes:
    """Return the charts and their figures as a page, which loads nothing."""
    parts = [section(chart.title, bar_chart(chart.title, chart.bars), _table(chart)) for chart in charts.charts]
    if charts.cut:
        parts.append(paragraph(escaped(_CUT), "mark"))
    return page(title, [heading(title)], parts)


_CUT: Final = f"... more rows are left out: a query has at most {MOST_BARS} bars"


def _table(chart: Chart) -> Html:
    rows = [Row((name(bar.label),), (bar.figure,)) for bar in chart.bars]
    return table(chart.title, ("",), (chart.title,), rows)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…"


def _drawn(value: Decimal, most: Decimal) -> str:
    if not most or not value:
        return ""
    if value < 0:
        return "░" * max(1, int(-value * _WIDTH / most))
    eighths = max(1, int(value * _WIDTH * 8 / most))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
