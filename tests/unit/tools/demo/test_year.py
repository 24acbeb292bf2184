"""The demo's year: reproducible, its registrations valid, and what it must hold added up without the ledger's code."""

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from quarterhour.registry.agencies.agency import Agency, read_agency
from quarterhour.registry.owner import Owner, read_owner
from quarterhour_tools.demo.marketplace import DayLine
from quarterhour_tools.demo.year import Calendar, PaidSums, YearSums, first_of, marketplace_year, void
from quarterhour_tools.demo.year_agencies import AGENCIES, CLIENT, FAILS, OWNER, UNREGISTERED

UNTIL = datetime(2026, 12, 9, 16, 40, tzinfo=UTC)
CALENDAR = Calendar(UNTIL)


def lines(calendar: Calendar = CALENDAR, seed: int = 7) -> list[DayLine]:
    return [line for day in marketplace_year(calendar, seed).values() for line in day]


def test_the_same_seed_and_the_same_end_give_the_same_year() -> None:
    year = lines()
    assert year == lines()
    assert year != lines(seed=8)
    assert 10_000 < len(year) < 25_000


def test_forty_agencies_can_be_registered_as_they_are() -> None:
    assert len({agency.id for agency in AGENCIES}) == len({agency.name for agency in AGENCIES}) == 40
    read = [read_agency(agency.content) for agency in AGENCIES]
    assert [one for one in read if not isinstance(one, Agency)] == []
    assert {one.collects for one in read if isinstance(one, Agency)} == {"agency", "marketplace"}
    assert isinstance(read_owner({**OWNER, "payment_days": Decimal(OWNER["payment_days"])}), Owner)
    assert {agency.country for agency in AGENCIES} == {"DE", "FR", "ES", "NL", "PL", "GR", "GB", "JP"}
    assert {currency for agency in AGENCIES for currency in agency.currencies} == {"EUR", "GBP", "JPY"}


@pytest.mark.parametrize(
    "end", [UNTIL, datetime(2026, 3, 1, 0, 30, tzinfo=UTC), datetime(2024, 2, 29, 23, 59, tzinfo=UTC)]
)
def test_every_line_is_sent_after_its_time_in_its_month_and_before_the_end(end: datetime) -> None:
    calendar = Calendar(end)
    for day, sent in marketplace_year(calendar).items():
        for line in sent:
            time = datetime.fromisoformat(line.body["time"])
            assert time <= line.sent == calendar.sent_on(day) <= end
            assert (time.year, time.month) == (line.sent.year, line.sent.month)
        assert sent[0].body["time"] == max(line.body["time"] for line in sent)


def test_the_year_begins_twelve_months_before_its_last_month() -> None:
    assert next(iter(CALENDAR.days())) == date(2025, 12, 1)
    assert [CALENDAR.month(before) for before in (0, 1, 12)] == [
        date(2026, 12, 1),
        date(2026, 11, 1),
        date(2025, 12, 1),
    ]
    assert first_of(date(2026, 1, 31), -1) == date(2025, 12, 1)


def test_one_agency_grows_one_fails_and_the_last_month_has_what_finance_must_decide() -> None:
    year = lines()
    sold = Counter((line.body["subject"], line.body["time"][:7]) for line in year if line.kind == "sale")
    assert sold["24", "2026-11"] > 4 * sold["24", "2025-12"]
    assert sold[FAILS, "2025-12"] > 30
    assert (sold[FAILS, "2026-09"], sold[FAILS, "2026-11"]) == (0, 0)
    assert {month for agency, month in sold if agency == UNREGISTERED} == {"2026-11"}
    dollars = [line.body for line in year if line.body["data"]["currency"] == "USD"]
    assert {(one["subject"], one["time"][:7]) for one in dollars} == {(CLIENT, "2026-11")}
    held = Counter(line.kind for line in year if line.verdict == "held")
    assert held == {"refund of no sale": 3, "sale of a closed agency": 2}


def sale(agency: str, amount: str, id_: str, **more: str) -> dict[str, object]:
    data = {"amount": amount, "currency": "GBP", "category": "fiction", "location": "GB#Leeds", **more}
    return {
        "source": "shop",
        "id": id_,
        "type": "sale.recorded",
        "subject": agency,
        "time": "2026-11-03T10:00:00+00:00",
        "data": data,
    }


def summed(*bodies: dict[str, object]) -> dict[tuple[str, str, str], PaidSums]:
    sums = YearSums()
    sums.add(DayLine(UNTIL, "", "recorded", body) for body in bodies)
    return sums.months


def test_sums_follow_the_rate_cards_and_give_back_what_was_charged() -> None:
    sums = summed(
        sale("42", "100.00", "a"),  # 8 %
        sale("42", "50.00", "b", category="rare books"),  # 10 % and 0.30
        sale("42", "2.00", "c", category="rare books"),  # 0.50, so the minimum of 1
        {
            **sale("42", "0", "a-R"),
            "type": "sale.refunded",
            "data": {"amount": "-25.00", "currency": "GBP", "refers_to": "a"},
        },
        void(sale("42", "50.00", "b", category="rare books"), "entered twice"),
        {**sale("42", "0", "p"), "type": "payment.recorded", "data": {"amount": "7.00", "currency": "GBP"}},
    )
    # Commission: 8 + 5.30 + 1, less 2 and 5.30.
    expected = PaidSums(6, Decimal("152.00"), Decimal("-75.00"), Decimal("7.00"), Decimal("7.00"))
    assert sums == {("42", "GBP", "2026-11"): expected}


@pytest.mark.parametrize(
    ("agency", "more", "commission"),
    [
        ("45", {}, "8.000"),  # food in Great Britain
        ("45", {"location": "FR#Paris"}, "7.500"),
        ("49", {}, "10.00"),  # no rate card
        ("kiosk-9", {}, "10.00"),
        ("46", {"currency": "JPY"}, "50"),  # 11 % and 30 are 41, less than the minimum
    ],
)
def test_a_commission_is_that_of_the_most_specific_rule(agency: str, more: dict[str, str], commission: str) -> None:
    (sums,) = summed(sale(agency, "100", "a", **more)).values()
    assert sums.commission == Decimal(commission)
