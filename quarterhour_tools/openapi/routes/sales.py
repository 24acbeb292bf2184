"""The routes of sales, by location and by product."""

from typing import Final

from quarterhour.reports.projections.api import LocationSales, Sold
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import Group, read
from quarterhour_tools.openapi.parameters import BY, DAYS

SALES: Final = Group(
    "Sales",
    {
        "GET /sales": read(
            "sales_list",
            Page[Sold],
            """
            The sales of a day by product: those of an `agency`, or without it of the marketplace. With `by=category` by
            category, with `by=day` in total. A person with the role `agency` sees the sales of their own agency.

            Payments are not included. A refund or a void counts in the category of its sale, and under the product
            that it names itself. To get the figures of
            several days, add up the sums, and take the least `lowest`, the greatest `highest`, and the `latest` of the
            last `latest_at`.

            The report that seals a quarter-hour writes the figures, so they are as old as the last report.
            A page reads 31 days. A run names 20,000 products, each of an
            agency, category and currency. What it sold beyond these is one entry with `others`; the entries of single
            products can then lack some. `quarterhour sql` ([SQL](sql.md)) has all.
            """,
            parameters={**DAYS, "by": BY},
        ),
        "GET /locations": read(
            "locations_list_sales",
            Page[LocationSales],
            "Like the sales at [one location](#get-locationslocation), but of all; by country, if there is no `level`.",
            parameters=DAYS,
        ),
        "GET /locations/{location}": read(
            "locations_list_sales_within",
            Page[LocationSales],
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
