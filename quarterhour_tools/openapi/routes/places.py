"""The routes of sales by place."""

from typing import Final

from quarterhour_tools.openapi import responses as a
from quarterhour_tools.openapi.description import Group, read
from quarterhour_tools.openapi.parameters import DAYS

PLACES: Final = Group(
    "Places",
    {
        "GET /locations": read(
            "locations_list_sales",
            a.Page[a.PlaceSales],
            "Like the sales at [one place](#get-locationsplace), of all places; by country, if there is no `level`.",
            parameters=DAYS,
        ),
        "GET /locations/{place}": read(
            "locations_list_sales_within",
            a.Page[a.PlaceSales],
            """
            The sales are by currency. A place is a path from the country down, as events name it in `location`: `GB`,
            `GB#London`. In a request `#` is written `%23`. `level` splits the place: with `level=2`, `GB` is shown as
            `GB#London`, `GB#Leeds` and so on. A location that is not that deep is shown as itself.

            The report that seals a quarter-hour writes the figures, so they are as old as the last report. A page reads
            31 days.
            """,
            parameters=DAYS,
        ),
    },
)
