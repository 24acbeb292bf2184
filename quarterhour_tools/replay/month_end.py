"""The end of the demo's month: who is on its statements, a correction after the cut-off, and the expected statements.

The expected figures are plain Decimal sums, without the ledger's own code.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final, NamedTuple

from quarterhour_tools.operations.remote import segment
from quarterhour_tools.replay.marketplace import (
    DEFAULT_COMMISSION_RATE,
    MIDNIGHT,
    MINOR_DIGITS,
    ZERO,
    DayLine,
    EventBody,
    ExpectedSums,
)
from quarterhour_tools.replay.replay import Document

MONTH: Final = f"{MIDNIGHT:%Y-%m}"
"""The period of the day."""
NEXT_MONTH: Final = f"{MIDNIGHT.replace(day=1) + timedelta(days=32):%Y-%m}"
OWNER: Final[EventBody] = {
    "legal_name": "Corner Market Ltd",
    "address": "1 Dock Street\nLondon E1 8JN",
    "country": "GB",
    "contact": "billing@corner-market.example",
}
"""Who issues the statements."""
AGENCIES: Final[Mapping[str, EventBody]] = {
    "42": {"legal_name": "Harbour Books Ltd", "country": "GB", "tax": {"scheme": "standard", "percent": "20"}},
    "harbour-lights": {
        "legal_name": "Harbour Lights LLP",
        "country": "GB",
        "tax": {"scheme": "standard", "percent": "20"},
    },
    "Café Lumière": {"legal_name": "Café Lumière SARL", "country": "FR", "tax": {"scheme": "reverse_charge"}},
    "outlet-store": {"legal_name": "Outlet Inc.", "country": "US", "tax": {"scheme": "exempt"}},
    "sakura": {"legal_name": "株式会社さくら", "country": "JP", "tax": {"scheme": "reverse_charge"}},
}
"""The registered agencies. `al-mina` has no tax profile, so its statement is made and not issued."""
PAID_ON: Final = datetime.fromisoformat(f"{NEXT_MONTH}-08T10:00:00+00:00")
_PREFERRED: Final = "42"

StatementKey = tuple[str, str, str]
"""Period, agency and currency of a statement."""


class StatementFigures(NamedTuple):
    """The figures of a statement."""

    net: Decimal
    commission: Decimal
    tax: Decimal
    payments: Decimal
    closing: Decimal


@dataclass(frozen=True, slots=True)
class Correction:
    """A sale that is disputed and voided after its month was sealed, and the payment of that month's statement."""

    sale: EventBody

    @property
    def account(self) -> tuple[str, str]:
        """The agency and the currency."""
        return self.sale["subject"], self.sale["data"]["currency"]

    @property
    def disputes(self) -> str:
        """The path of the disputes of the sale's statement."""
        return f"/statements/{'/'.join(map(segment, self.account))}/{MONTH}/disputes"

    @property
    def dispute(self) -> EventBody:
        """The body of the dispute of the sale's line."""
        return {"source": self.sale["source"], "id": self.sale["id"], "reason": "never delivered"}

    @property
    def resolution(self) -> EventBody:
        """The correction that a resolved dispute names."""
        return {"source": self.sale["source"], "id": self._void}

    @property
    def _void(self) -> str:
        return f"{self.sale['id']}-V"

    def lines(self, paid: Decimal) -> Iterator[bytes]:
        """Yield the void and the payment as NDJSON. The void has the time of its sale, so it belongs to that month."""
        common = {name: self.sale[name] for name in ("specversion", "source", "subject")}
        currency = self.sale["data"]["currency"]
        void = {"currency": currency, "refers_to": self.sale["id"], "reason": "never delivered"}
        payment = {"currency": currency, "amount": f"{paid:f}", "reason": f"statement of {MONTH}"}
        for id_, type_, time, data in (
            (self._void, "sale.voided", self.sale["time"], void),
            (f"paid-{MONTH}", "payment.recorded", PAID_ON.isoformat(), payment),
        ):
            yield json.dumps({**common, "id": id_, "type": type_, "time": time, "data": data}).encode() + b"\n"


def month_end_documents() -> Iterator[Document]:
    """Yield the documents of the owner and of the agencies."""
    yield Document("/documents/owner", OWNER)
    for agency, content in AGENCIES.items():
        yield Document(f"/agencies/{segment(agency)}", content)


def correction_of(day: Sequence[DayLine]) -> Correction:
    """Return the correction of a day: of its first sale that nothing refers to, of the first agency if it has one."""
    named = {(line.body["source"], (line.body.get("data") or {}).get("refers_to")) for line in day}
    sales = [
        line.body
        for line in day
        if (line.kind, line.verdict) == ("sale", "recorded") and (line.body["source"], line.body["id"]) not in named
    ]
    return Correction(min(sales, key=lambda sale: bool(sale["subject"] != _PREFERRED)))


def expected_statements(
    accounts: Mapping[str, ExpectedSums], correction: Correction
) -> dict[StatementKey, StatementFigures]:
    """Return the expected statements of the day's month and of the next, by period, agency and currency."""
    expected: dict[StatementKey, StatementFigures] = {}
    for name, sums in accounts.items():
        agency, currency = name.split("#")
        expected[MONTH, agency, currency] = _figures((agency, currency), sums.gross + sums.refunds, sums.commission)
    data = correction.sale["data"]
    back = -Decimal(data["amount"])
    rate = Decimal(data.get("commission_rate", DEFAULT_COMMISSION_RATE))
    for (_, agency, currency), before in list(expected.items()):
        opening = before.closing
        if (agency, currency) == correction.account:
            expected[NEXT_MONTH, agency, currency] = _figures((agency, currency), back, back * rate, opening, opening)
        elif opening:
            expected[NEXT_MONTH, agency, currency] = _figures((agency, currency), ZERO, ZERO, opening)
    return expected


def _figures(
    account: tuple[str, str], net: Decimal, exact: Decimal, opening: Decimal = ZERO, payments: Decimal = ZERO
) -> StatementFigures:
    agency, currency = account
    commission = _rounded(exact, currency)
    tax = AGENCIES.get(agency, {}).get("tax", {})
    taxed = _rounded(commission * Decimal(tax.get("percent", 0)) / 100, currency)
    return StatementFigures(net, commission, taxed, payments, opening + commission + taxed - payments)


def _rounded(value: Decimal, currency: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-MINOR_DIGITS[currency]), ROUND_HALF_EVEN)


def differing_statements(
    expected: Mapping[StatementKey, StatementFigures], actual: Mapping[StatementKey, StatementFigures]
) -> Iterable[str]:
    """Yield a message for each statement that is not as expected."""
    for key in sorted({*expected, *actual}):
        if expected.get(key) != actual.get(key):
            yield f"the statement of {' '.join(key)} differs"
