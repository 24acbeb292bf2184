"""The totals of a sealed part, as a separate object: what publishing needs of its lines.

Gzipped JSON lines. The first is the sealed file; each other one is the totals of an account in a period, of a location
in a currency, or of a product, or the number of events that the default commission rate charged.
"""

import json
from collections.abc import Iterator
from decimal import Decimal
from io import BytesIO
from itertools import islice
from typing import IO, Any, Final

from quarterhour.model import money
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, ChargeTotals
from quarterhour.model.identifiers import SEPARATOR, Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.reports.packing import packed, unpacked
from quarterhour.reports.plan import PartTotals, SealedFile
from quarterhour.reports.product_figures import ProductFigures

_LOCATION: Final = "location"
_PERIOD: Final = "period"
_PRODUCT: Final = "product"
_DEFAULT_RATE: Final = "default rate"
_ROWS_AT_A_TIME: Final = 10_000


def pack(sealed: SealedFile, totals: PartTotals) -> bytes:
    """Return the object of a part's totals; the same lines give the same bytes."""
    content = BytesIO()
    with packed(content) as file:
        for row in _rows(sealed, totals):
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")
    return content.getvalue()


def _rows(sealed: SealedFile, totals: PartTotals) -> Iterator[list[Any]]:
    yield sealed.as_list()
    for (account, period), one in totals.periods.items():
        yield [_PERIOD, f"{period}{SEPARATOR}{account.agency}", account.currency, *_figures(one)]
    for (location, currency), one in totals.locations.items():
        yield [_LOCATION, location, currency, *_figures(one)]
    for product, sold in totals.products.items():
        yield [_PRODUCT, *product, *sold.as_list()]
    if totals.default_rate_events:
        yield [_DEFAULT_RATE, totals.default_rate_events]


def _figures(totals: Totals) -> list[Any]:
    figures = map(money.plain, (totals.gross, totals.refunds, totals.commission, totals.payments))
    return [totals.events, *figures, *([totals.charges.as_dict()] if totals.charges else [])]


def unpack(file: IO[bytes]) -> tuple[SealedFile, Iterator[PartTotals]]:
    """Return the sealed file of a part, and its totals in pieces of bounded size.

    Reading raises ``ValueError`` if the object is damaged.
    """
    rows = _read_rows(file)
    return SealedFile.of(next(rows, [])), _pieces(rows)


def _read_rows(file: IO[bytes]) -> Iterator[list[Any]]:
    with unpacked(file) as content:
        yield from map(json.loads, content)


def _pieces(rows: Iterator[list[Any]]) -> Iterator[PartTotals]:
    while some := list(islice(rows, _ROWS_AT_A_TIME)):
        counted = sum(row[1] for row in some if row[0] == _DEFAULT_RATE)
        piece = PartTotals(default_rate_events=counted)
        for kind, *row in some:
            if kind == _PERIOD:
                period, _, agency = row[0].partition(SEPARATOR)
                piece.periods[Account(agency, row[1]), Period.parse(period)] = _totals(row)
            elif kind == _LOCATION:
                piece.locations[row[0], row[1]] = _totals(row)
            elif kind == _PRODUCT:
                agency, currency, category, product, *figures = row
                piece.products[agency, currency, category, product] = ProductFigures.of(figures)
        yield piece


def _totals(row: list[Any]) -> Totals:
    _, _, events, gross, refunds, commission, payments, *charges = row
    figures = map(Decimal, (gross, refunds, commission, payments))
    return Totals(events, *figures, charges=ChargeTotals.of(charges[0]) if charges else NO_CHARGE_TOTALS)
