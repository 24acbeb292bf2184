"""Charts of sealed files in a Jupyter notebook: each is the last expression of a cell."""

from contextlib import ExitStack
from pathlib import Path
from typing import Final, Self

from quarterhour.web.html.chart import bar_chart
from quarterhour.web.html.markup import escaped
from quarterhour_tools.bucket import Folder
from quarterhour_tools.emulator.template import TEMPLATE, Template
from quarterhour_tools.warehouse.chart import Charts, charts_of
from quarterhour_tools.warehouse.database import opened
from quarterhour_tools.warehouse.results import Result
from quarterhour_tools.warehouse.tables import Declared

_STYLE: Final = (
    ".quarterhour svg{display:block;width:100%;height:8rem;fill:#1d5bbf}"
    ".quarterhour .axis{display:flex;justify-content:space-between}"
    ".quarterhour .each span{flex:1;text-align:center}"
)


class Drawing:
    """Charts that a notebook shows."""

    def __init__(self, charts: Charts) -> None:
        self._charts = charts.charts

    def _repr_html_(self) -> str:
        drawn = "".join(
            f"<h4>{escaped(chart.title)}</h4>{bar_chart(chart.title, chart.bars)}" for chart in self._charts
        )
        return f'<div class="quarterhour"><style>{_STYLE}</style>{drawn}</div>'


class Sealed:
    """The sealed files of a folder, opened for a notebook; use it as a context manager or ``close`` it."""

    def __init__(self, folder: str, memory: str = "1GB") -> None:
        """Raise ``ToolError`` if the folder does not exist."""
        Folder(Path(folder))
        self._declared = Declared.of(Template.load(TEMPLATE))
        self._context = ExitStack()
        self._database = self._context.enter_context(opened(Path(folder), self._declared, memory))

    def named(self, name: str, figure: str | None = None) -> Drawing:
        """Draw a named query; ``figure`` is the column, by default the first with amounts. Raises as ``chart`` does."""
        return self.chart(self._declared.query(name).sql, figure)

    def chart(self, sql: str, figure: str | None = None) -> Drawing:
        """Draw a query; raise ``ToolError`` if it cannot be run or has no column of numbers."""
        return Drawing(charts_of(Result(self._database.run(sql)), figure))

    def close(self) -> None:
        """Close the database."""
        self._context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
