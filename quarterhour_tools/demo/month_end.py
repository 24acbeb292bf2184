"""The end of the demo's month: who is on its statements, what happens afterwards, and the expected statements.

The expected figures are plain Decimal sums, without the ledger's own code.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final, NamedTuple

from quarterhour_tools.demo.marketplace import (
    DEFAULT_COMMISSION_RATE,
    MIDNIGHT,
    MINOR_DIGITS,
    ZERO,
    DayLine,
    EventBody,
    ExpectedSums,
)
from quarterhour_tools.replay.replay import Document
from quarterhour_tools.target.remote import segment

MONTH: Final = f"{MIDNIGHT:%Y-%m}"
"""The period of the day."""
NEXT_MONTH: Final = f"{MIDNIGHT.replace(day=1) + timedelta(days=32):%Y-%m}"
OWNER: Final[EventBody] = {
    "legal_name": "Corner Market Ltd",
    "address": "1 Dock Street\nLondon E1 8JN",
    "country": "GB",
    "vat_id": "GB980780684",
    "iban": "GB82 WEST 1234 5698 7654 32",
    "contact": "billing@corner-market.example",
}
"""Who issues the statements."""
_FIRST_DAY: Final = f"{MONTH}-01T00:00:00Z"
AGENCIES: Final[Mapping[str, EventBody]] = {
    "42": {
        "legal_name": "Harbour Books Ltd",
        "address": "1 Quay Street\nBristol BS1 4ER",
        "country": "GB",
        "tax": {"scheme": "standard", "percent": "20"},
    },
    "harbour-lights": {
        "legal_name": "Harbour Lights LLP",
        "address": "2 Quay Street\nBristol BS1 4ER",
        "country": "GB",
        "tax": {"scheme": "standard", "percent": "20"},
    },
    "Café Lumière": {
        "legal_name": "Café Lumière SARL",
        "address": "1 Quai du Port\n13002 Marseille",
        "country": "FR",
        "tax": {"scheme": "reverse_charge", "vat_id": "FR40303265045"},
        "collects": "marketplace",
    },
    "outlet-store": {
        "legal_name": "Outlet Inc.",
        "address": "1 Pier Avenue\nNew York, NY 10014",
        "country": "US",
        "tax": {"scheme": "outside_scope"},
    },
    "sakura": {
        "legal_name": "株式会社さくら",
        "address": "横浜市中区海岸通1",
        "country": "JP",
        "tax": {"scheme": "outside_scope"},
        "collects": "marketplace",
    },
}
"""The agencies that are registered before the month ends. Of two, the marketplace holds the customers' money."""
LATE: Final = "al-mina"
"""The agency that is registered after its draft was made: until then, the draft waits."""
LATE_AGENCY: Final[EventBody] = {
    "legal_name": "Al Mina Trading Co.",
    "address": "Gulf Road 1\nKuwait City",
    "country": "KW",
    "tax": {"scheme": "outside_scope"},
    "valid_from": _FIRST_DAY,
}
MOVED: Final = "harbour-lights"
"""The agency whose statement has an old address, so it is cancelled and issued again."""
MOVED_AGENCY: Final[EventBody] = {
    **AGENCIES[MOVED],
    "address": "7 Lamp Lane\nBristol BS1 6QH",
    "valid_from": _FIRST_DAY,
}
WRONG: Final = "it has the old address"
"""Why the statement is cancelled."""
PAID_ON: Final = datetime.fromisoformat(f"{NEXT_MONTH}-08T10:00:00+00:00")
PREFERRED: Final = "42"
"""The agency whose sale is corrected, if it has one."""

StatementKey = tuple[str, str, str, int]
"""Period, agency, currency and revision of a document."""


class StatementFigures(NamedTuple):
    """The figures of a statement."""

    net: Decimal
    commission: Decimal
    tax: Decimal
    proceeds: Decimal
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
    return Correction(min(sales, key=lambda sale: bool(sale["subject"] != PREFERRED)))


def expected_statements(
    accounts: Mapping[str, ExpectedSums], correction: Correction
) -> dict[StatementKey, StatementFigures]:
    """Return the expected documents of the day's month and of the next, by period, agency, currency and revision.

    An account without lines in the next month has no statement of it.
    """
    expected: dict[StatementKey, StatementFigures] = {}
    for name, sums in accounts.items():
        agency, currency = name.split("#")
        one = _figures((agency, currency), sums.gross + sums.refunds, sums.commission)
        expected[MONTH, agency, currency, 1] = one
        if agency == MOVED:
            back = StatementFigures(*(-value for value in one))._replace(closing=ZERO)
            expected |= {(MONTH, agency, currency, 2): back, (MONTH, agency, currency, 3): one}
    data = correction.sale["data"]
    back_sold = -Decimal(data["amount"])
    rate = Decimal(data.get("commission_rate", DEFAULT_COMMISSION_RATE))
    sums = accounts["#".join(correction.account)]
    first = expected[MONTH, *correction.account, 1]
    before = _before(correction.account, first, sums.gross + sums.refunds, sums.commission)
    corrected = _figures(correction.account, back_sold, back_sold * rate, before)
    return expected | {(NEXT_MONTH, *correction.account, 1): corrected}


class _Before(NamedTuple):
    """What the statement before leaves: its closing balance, which is paid, and what rounding left of its figures."""

    closing: Decimal = ZERO
    commission: Decimal = ZERO
    tax: Decimal = ZERO
    proceeds: Decimal = ZERO


_NOTHING: Final = _Before()


def _before(account: tuple[str, str], shown: StatementFigures, net: Decimal, exact: Decimal) -> _Before:
    """Return what the first statement of an account leaves."""
    left = (
        exact - shown.commission,
        _tax(account, shown.commission) - shown.tax,
        _collected(account, net) - shown.proceeds,
    )
    return _Before(shown.closing, *left)


def _figures(account: tuple[str, str], net: Decimal, exact: Decimal, before: _Before = _NOTHING) -> StatementFigures:
    _, currency = account
    commission = _rounded(exact + before.commission, currency)
    taxed = _rounded(_tax(account, commission) + before.tax, currency)
    proceeds = _rounded(_collected(account, net) + before.proceeds, currency)
    return StatementFigures(net, commission, taxed, proceeds, before.closing, commission + taxed - proceeds)


def _tax(account: tuple[str, str], commission: Decimal) -> Decimal:
    return commission * Decimal(AGENCIES.get(account[0], LATE_AGENCY)["tax"].get("percent", 0)) / 100


def _collected(account: tuple[str, str], net: Decimal) -> Decimal:
    """Return the net if the marketplace has it."""
    return net if AGENCIES.get(account[0], LATE_AGENCY).get("collects") == "marketplace" else ZERO


def _rounded(value: Decimal, currency: str) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-MINOR_DIGITS[currency]), ROUND_HALF_EVEN)


def differing_statements(
    expected: Mapping[StatementKey, StatementFigures], actual: Mapping[StatementKey, StatementFigures]
) -> Iterable[str]:
    """Yield a message for each statement that is not as expected."""
    for key in sorted({*expected, *actual}):
        if expected.get(key) != actual.get(key):
            yield f"the statement of {' '.join(map(str, key))} differs"
