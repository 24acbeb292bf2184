"""Who has collected the customers' money, pure: the net of a statement's lines by collector."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, NamedTuple

from quarterhour.model import money
from quarterhour.registry.agencies.agency import BY_MARKETPLACE
from quarterhour.statements.document.tax import TaxSpan

CollectorOn = Callable[[date], str]
"""Returns who collects the customers' money of the sales of a day."""


class Collected(NamedTuple):
    """The exact net of the lines whose money one side has collected; within a span, no tax point is the other's."""

    by: str
    net: Decimal
    tax_points: tuple[TaxSpan, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the row as a statement shows it."""
        spans = [span.as_dict() for span in self.tax_points]
        return {"by": self.by, "net": money.plain(self.net), "tax_points": spans}


def collected(nets: Mapping[date, Decimal], collector_on: CollectorOn) -> list[Collected]:
    """Return the nets by who has collected them, by first tax point.

    ``nets``: those of the lines of each tax point. That of a correction is the day of its sale, so it follows its sale.
    """
    sums: dict[str, Decimal] = {}
    spans: dict[str, list[TaxSpan]] = {}
    before = None
    for day in sorted(nets):
        by = collector_on(day)
        sums[by] = money.add(sums.get(by, money.ZERO), nets[day])
        of_row = spans.setdefault(by, [])
        if by == before:
            of_row[-1] = of_row[-1]._replace(last=day)
        else:
            of_row.append(TaxSpan(day, day))
        before = by
    return [Collected(by, net, tuple(spans[by])) for by, net in sums.items()]


def is_paid_out(document: Mapping[str, Any]) -> bool:
    """Return whether the marketplace pays out a credit of a document: it collects, or the document has proceeds.

    ``document``: the content of ``statement.json``.
    """
    return document["collects"] == BY_MARKETPLACE or not Decimal(document["proceeds"]).is_zero()


def by_marketplace(rows: Iterable[Collected]) -> Decimal:
    """Return the net that the marketplace has collected."""
    return money.total(row.net for row in rows if row.by == BY_MARKETPLACE)
