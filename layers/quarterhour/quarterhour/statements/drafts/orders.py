"""The orders of a statement, pure: its lines summed up by order, kind and product, corrections below their order."""

import csv
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from quarterhour.model import money
from quarterhour.reports.lines import COLUMNS, unescape_formula
from quarterhour.statements.drafts.figures import CHARGED, SOLD, Kind, Sum, kind_of

GROUPED_LINES: Final = 200
"""The most lines of a statement that are grouped by order and product; the others are in its CSV file alone."""

_TEXTS: Final = ("type", "kind", "terms", "source", "id", "order_id", "product", "refers_to_source", "refers_to")
_CELLS: Final = itemgetter(*(COLUMNS.index(name) for name in (*_TEXTS, "amount", "commission")))
_DIGITS: Final = re.compile(r"([0-9]+)")
_KINDS: Final = tuple(Kind)


class OrderLine(NamedTuple):
    """The cells of a line that are summed up by order; ``kind`` and ``refers_to`` are the columns of these names."""

    type: str
    kind: str
    terms: str
    source: str
    id: str
    order: str
    product: str
    refers_to_source: str
    refers_to: str
    amount: Decimal
    commission: Decimal

    @property
    def target(self) -> tuple[str, str]:
        """Source and id of what the line corrects; no line has them if it corrects nothing."""
        return self.refers_to_source or self.source, self.refers_to


class _Group(NamedTuple):
    """What the lines of one row have in common; ``sale``: the id of the sale that they correct, if it has no order."""

    order: str
    sale: str
    kind: Kind
    product: str

    @property
    def rank(self) -> tuple[Any, ...]:
        """The place of the row: numbers in orders count as numbers, and lines of no order come last."""
        reference = self.order or self.sale
        parts = [int(part) if index % 2 else part for index, part in enumerate(_DIGITS.split(reference))]
        return not reference, parts, reference, _KINDS.index(self.kind), self.product


def order_lines(text: Iterable[str], most: int) -> Iterator[OrderLine]:
    """Yield at most so many of the lines in a statement's text."""
    for row in islice(csv.reader(text, strict=True), most):
        *texts, amount, commission = _CELLS(row)
        type_, kind, terms, source, id_, order, product, of_source, refers_to = map(unescape_formula, texts)
        money_of_line = Decimal(amount), Decimal(commission)
        yield OrderLine(type_, kind, terms, source, id_, order, product, of_source, refers_to, *money_of_line)


def orders_of(lines: Iterable[OrderLine]) -> list[dict[str, Any]]:
    """Return the sums of lines by order, kind and product, in the order of the orders: corrections follow their sales.

    ``lines``: at most ``GROUPED_LINES``. Lines without a charge, such as payments, are left out. A correction that
    names no order has that of its sale, if the sale is among the lines; otherwise ``sale`` names the sale. A void that
    takes a refund back is as the refund is, if that is among the lines.
    """
    charged = [(kind, line) for line in lines if (kind := kind_of(line.type, line.kind, line.terms)) in CHARGED]
    sales = {(line.source, line.id): line for kind, line in charged if kind is Kind.SALES}
    refunds = {(line.source, line.id): line for kind, line in charged if kind is Kind.REFUNDS}
    sums: dict[_Group, Sum] = {}
    for kind, line in charged:
        refund = refunds.get(line.target, line)
        sale = sales.get(refund.target)
        order = line.order or refund.order or (sale.order if sale else "")
        product = line.product or refund.product or (sale.product if sale else "")
        group = _Group(order, "" if order else refund.refers_to, kind, product)
        sums.setdefault(group, Sum()).add(1, _net(kind, line), line.commission)
    return [
        {
            "order": group.order or None,
            "sale": group.sale or None,
            "kind": group.kind.value,
            "product": group.product or None,
            **sums[group].as_dict("net"),
        }
        for group in sorted(sums, key=lambda group: group.rank)
    ]


def _net(kind: Kind, line: OrderLine) -> Decimal:
    return line.amount if kind in SOLD else money.ZERO
