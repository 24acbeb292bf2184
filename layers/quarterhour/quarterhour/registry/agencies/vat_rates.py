"""The VAT rates of the European Union's member states and of the United Kingdom by date, pure.

Sources: the European Commission's database "Taxes in Europe" (TEDB), https://ec.europa.eu/taxation_customs/tedb/, with
its list "VAT rates applied in the Member States", as of 4 October 2026; for the United Kingdom
https://www.gov.uk/vat-rates, as of the same day. Rates of regions (Corsica, the Azores, Jungholz and others) are among
their country's. The table begins with 2017: before, the first rates of each country are taken.
"""

from bisect import bisect
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final

LAST_CHECKED: Final = date(2026, 10, 4)
"""The day of which the table is."""

_RATES: Final[Mapping[str, Mapping[str, str]]] = {
    "AT": {
        "": "20 10 13 19",
        "2020-07-01": "20 5 10 13 19",
        "2022-01-01": "20 10 13 19",
        "2026-07-01": "20 4.9 10 13 19",
    },
    "BE": {"": "21 6 12"},
    "BG": {"": "20 9"},
    "CY": {"": "19 5 9", "2023-07-01": "19 3 5 9"},
    "CZ": {"": "21 10 15", "2024-01-01": "21 12"},
    "DE": {"": "19 7", "2020-07-01": "16 5", "2021-01-01": "19 7"},
    "DK": {"": "25"},
    "EE": {
        "": "20 9",
        "2022-08-01": "20 5 9",
        "2024-01-01": "22 5 9",
        "2025-01-01": "22 9 13",
        "2025-07-01": "24 9 13",
    },
    "ES": {
        "": "21 4 10",
        "2021-06-26": "21 4 5 10",
        "2024-10-01": "21 2 4 5 7.5 10",
        "2025-01-01": "21 4 10",
    },
    "FI": {"": "24 10 14", "2024-09-01": "25.5 10 14", "2026-01-01": "25.5 10 13.5"},
    "FR": {"": "20 0.9 1.05 1.75 2.1 5.5 8.5 10 13"},
    "GB": {"": "20 5", "2021-10-01": "20 5 12.5", "2022-04-01": "20 5"},
    "GR": {"": "24 4 6 9 13 17"},
    "HR": {"": "25 5 13"},
    "HU": {"": "27 5 18"},
    "IE": {"": "23 4.8 9 13.5", "2020-09-01": "21 4.8 9 13.5", "2021-03-01": "23 4.8 9 13.5"},
    "IT": {"": "22 4 5 10"},
    "LT": {"": "21 5 9", "2026-01-01": "21 5 12"},
    "LU": {"": "17 3 8 14", "2023-01-01": "16 3 7 13", "2024-01-01": "17 3 8 14"},
    "LV": {"": "21 5 12"},
    "MT": {"": "18 5 7", "2024-01-01": "18 5 7 12"},
    "NL": {"": "21 6", "2019-01-01": "21 9"},
    "PL": {"": "23 4 5 7 8"},
    "PT": {"": "23 4 5 6 9 12 13 16 18 22"},
    "RO": {"": "19 5 9", "2025-08-01": "21 9 11"},
    "SE": {"": "25 6 12"},
    "SI": {"": "22 5 9.5"},
    "SK": {"": "20 10", "2023-01-01": "20 5 10", "2025-01-01": "23 5 19"},
}
"""By country and first day: the standard rate, then all others but 0."""
_OF: Final = {"MC": "FR", "IM": "GB"}
"""Countries with the VAT of another one."""


@lru_cache(maxsize=4096)
def vat_rates(country: str, day: date) -> tuple[Decimal, ...] | None:
    """Return the rates of a country on a day, the standard rate first; ``None`` for a country that is not known."""
    by_day = _RATES.get(_OF.get(country, country))
    if by_day is None:
        return None
    days = sorted(by_day)
    text = by_day[days[bisect(days, day.isoformat()) - 1]]
    return tuple(map(Decimal, text.split()))
