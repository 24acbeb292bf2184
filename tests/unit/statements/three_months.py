"""Three months whose drafts are released, and a statement that is cancelled and replaced; tests take copies."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from quarterhour.model.clock import iso_millis
from quarterhour.model.periods import Calendar, Period, time_zone
from quarterhour.registry.agencies.agency import EXEMPT, REVERSE_CHARGE, STANDARD, TaxProfile, TaxRate
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.base_currency import Pins
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.releases.requests import Desired, DraftRequest
from tests.support.sealing import Objects, line, seal
from tests.support.statements_in_memory import StatementRuns

ZONE = "Europe/London"
SETTINGS = StatementSettings(Calendar(time_zone(ZONE), 3, Period(2026, 10)), ZONE, "1.0", "EUR")
PROFILES = {
    "42": TaxProfile(STANDARD, Decimal("19.5"), "GB123456789"),
    "7": TaxProfile(REVERSE_CHARGE, vat_id="DE123456789"),
    "8": TaxProfile(EXEMPT),
    "books": TaxProfile(STANDARD, Decimal(7)),
    "ünï 7/..": TaxProfile(EXEMPT, by_category={"print": TaxRate(STANDARD, Decimal(5))}),
}
LONG = "ünï 7/.."
NOVEMBER, DECEMBER = "statements/2026-11/", "statements/2026-12/"


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00").astimezone(UTC)


def sold(when: str, id_: str, amount: str = "12.50", account: str = "42#GBP", **changed: str) -> Any:
    """Return the ledger item of a line; its period is the month of its recording, unless it says another.

    Its tax point is its business date.
    """
    recorded = at(when)
    sold_at = datetime.fromisoformat(changed["time"]) if "time" in changed else recorded
    tax_point = sold_at.astimezone(ZoneInfo(ZONE)).date().isoformat()
    facts = {"recorded_at": iso_millis(recorded), "period": when[:7], "tax_point": tax_point, **changed}
    return line(recorded, id_, amount, account, **facts)


def paid(when: str, id_: str, amount: str, account: str = "42#GBP") -> Any:
    return sold(when, id_, amount, account, type="payment.recorded", commission="0", commission_rate="0")


def adjusted(when: str, id_: str, commission: str, **changed: str) -> Any:
    arithmetic = f"named={commission}"
    return sold(when, id_, "0", type="adjustment.recorded", commission=commission, arithmetic=arithmetic, **changed)


RATE = ExchangeRate(Decimal("0.87"), "ECB", "EUR", at("2026-10-30 15:00"))
PINS: Mapping[str, Pins] = {
    "202611030000": {"GBP": RATE},
    "202611030015": {"BHD": None, "GBP": RATE},
    "202611040000": {"GBP": RATE},
    "202611150900": {"GBP": replace(RATE, units_per_base=Decimal("0.88"))},
    "202611150915": {"GBP": RATE, "JPY": None},
    "202612040000": {"GBP": RATE},
    "202701050000": {"GBP": RATE},
}


@cache
def sealed() -> Objects:
    """Return three months whose drafts are released, each month in one release; change a copy.

    The fourth release cancels November's statement of 42 in GBP, and the fifth replaces it.
    """
    objects, runs = three_months()
    for hour, desired in (("09", Desired.CANCEL), ("10", Desired.RELEASE)):
        decide(runs, "2026-11", desired, at(f"2027-01-06 {hour}:00"))
        assert runs.run(at(f"2027-01-06 {hour}:05")) == []
    return objects


def decide(runs: StatementRuns, period: str, desired: Desired, now: datetime) -> None:
    """Decide about a draft of 42 in GBP: the next run carries it out."""
    (draft,) = (one for one in runs.drafts if (str(one.period), str(one.account)) == (period, "42#GBP"))
    runs.decide(draft, DraftRequest(desired, "a wrong name", len(draft.decisions)), now)


def three_months() -> tuple[Objects, StatementRuns]:
    """Return the reports and the statements of three months, and what made them.

    They have lines of all kinds and parts. The reports have gaps between them.
    """
    objects: Objects = {}
    old = [sold("2026-10-31 22:01", "o1"), sold("2026-10-31 22:20", "o2", "-3.005", f"{LONG}#GBP")]
    run = seal(objects, "202610312200", "202610312215", old, ("", ""))
    early = [
        sold("2026-11-03 00:01", "e1", "7.77", time="2026-10-30T10:00:00Z", product='a,"b"\nc'),
        sold("2026-11-03 00:02", "e2", "0.125", order_id="1", terms="card 1"),
        sold("2026-11-03 00:03", "e3", "100", "7#EUR"),
        sold("2026-11-03 00:16", "e4", "-0.005", "8#BHD"),
        sold("2026-11-03 00:17", "e5", "20.00", "books#GBP", location="GB#London"),
    ]
    run = seal(objects, "202611030000", "202611030015", early, run, base="EUR", pins=PINS)
    cut_off = [sold("2026-11-04 00:05", "c1", "2.00", time="2026-10-30T10:00:00Z", prior_period="1")]
    run = seal(objects, "202611040000", "202611040015", cut_off, run, base="EUR", pins=PINS)
    runs = StatementRuns(objects, SETTINGS, PROFILES)
    assert runs.run(at("2026-11-04 00:32")) == ["2026-10"]
    middle = [
        sold("2026-11-15 09:00", "m1", "10.00", order_id="1", terms="card 1"),
        sold("2026-11-15 09:01", "m2", "-4.00", type="sale.voided", reason="sold twice", refers_to="m1"),
        sold("2026-11-15 09:02", "m3", "-1.50", time="2026-11-02T00:00:00Z"),
        adjusted("2026-11-15 09:03", "m4", "0.33", refers_to="m1"),
        adjusted("2026-11-15 09:04", "m5", "250.00", kind="opening"),
        paid("2026-11-15 09:05", "m6", "100.00"),
        sold("2026-11-15 09:06", "m7", "0", type="view.recorded"),
        sold("2026-11-15 09:07", "m8", "5", period="2026-10", quarter_hour="202611150900#09"),
        sold("2026-11-15 09:16", "m9", "1001", "42#JPY"),
        sold("2026-11-15 09:17", "m10", "-50.00", "7#EUR"),
        sold("2026-11-15 09:17", "m11", "-7.00", f"{LONG}#GBP", category="print"),
        paid("2026-11-15 09:18", "m12", "-3.00", "books#GBP"),
    ]
    run = seal(objects, "202611150900", "202611150915", middle, run, base="EUR", pins=PINS, shards=16, parts=2)
    late = [sold("2026-12-04 00:01", "l1", "9.99", period="2026-12"), sold("2026-12-04 00:02", "l2", "1.00", "9#GBP")]
    run = seal(objects, "202612040000", "202612040015", late, run, base="EUR", pins=PINS)
    assert runs.run(at("2026-12-04 00:32")) == ["2026-11"]
    last = [sold("2027-01-05 00:01", "x1", "3", time="2026-12-24T00:00:00Z", prior_period="1")]
    run = seal(objects, "202701050000", "202701050000", last, run, base="EUR", pins=PINS)
    assert runs.run(at("2027-01-05 00:17")) == ["2026-12"]
    return objects, runs
