"""The routes of sales by location."""

from typing import Final

from quarterhour_tools.openapi import responses as a
from quarterhour_tools.openapi.description import Group, read
from quarterhour_tools.openapi.parameters import DAYS

LOCATIONS: Final = Group(
    "Locations",
    {
        "GET /locations": read(
            "locations_list_sales",
            a.Page[a.LocationSales],
            "Like the sales at [one location](#get-locationslocation), but of all; by country, if there is no `level`.",
            parameters=DAYS,
        ),
        "GET /locations/{location}": read(
            "locations_list_sales_within",
            a.Page[a.LocationSales],
            """
            The sales are by currency. A location is a path from the country down, as events name it in `location`:
            `GB`, `GB#London`. In a request `#` is written `%23`. `level` splits the location: with `level=2`, `GB` is
            shown as `GB#London`, `GB#Leeds` and so on. A location that is not that deep is shown as itself.

            The report that seals a quarter-hour writes the figures, so they are as old as the last report. A page reads
            31 days.
            """,
            parameters=DAYS,
        ),
    },
)
