"""Planning of counter repairs: what is final, and which counters differ from the sealed ledger."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from quarterhour.counters.plan import CounterChange, changes, watermark
from quarterhour.counters.windows import AccountState
from quarterhour.maintenance.rebuild.plan import LAST_SEQUENCE, differing, final_through, lifetimes, quarter_hour_fix
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.model.totals import Totals
from tests.support.counter_table import RETENTION

ACCOUNT = Account("42", "GBP")
ROLLOVER = QuarterHour.parse("202610230130")
DAY = date(2026, 10, 23)
OCTOBER = Period(2026, 10)


@pytest.mark.parametrize(
    ("now", "final"),
    [
        (datetime(2026, 10, 24, 23, 59, tzinfo=UTC), "202610212345"),
        (datetime(2026, 10, 25, 0, 0, tzinfo=UTC), "202610222345"),
        (datetime(2026, 10, 26, 0, 0, tzinfo=UTC), "202610230130"),
    ],
)
def test_sealed_quarter_hours_of_days_that_ended_two_days_ago_are_final(now: datetime, final: str) -> None:
    assert final_through(ROLLOVER, now) == QuarterHour.parse(final)


def test_lifetimes_are_the_totals_of_final_runs_and_name_the_accounts_of_all_runs() -> None:
    one, two, other = Totals(1, Decimal(5)), Totals(2, Decimal(7)), Account("7", "GBP")
    final = QuarterHour.last_of(DAY)
    runs = [
        (final.start, {ACCOUNT: {OCTOBER: one}}),
        (final.end, {ACCOUNT: {OCTOBER: two, OCTOBER.previous: one}}),
        (final.next.end, {ACCOUNT: {OCTOBER: one}, other: {OCTOBER: two}}),
    ]
    assert lifetimes(runs, None, final) == {ACCOUNT: {OCTOBER: one + two, OCTOBER.previous: one}, other: {}}
    assert lifetimes(runs, other, final) == {other: {}}
    assert lifetimes([], ACCOUNT, final) == {ACCOUNT: {}}


def test_quarter_hours_with_wrong_missing_or_surplus_counters_differ() -> None:
    right, wrong = ROLLOVER, ROLLOVER.next
    missing_, spare, moved = (QuarterHour(wrong.start + number * LENGTH) for number in (1, 2, 3))
    one, two = {OCTOBER: Totals(1, Decimal(5))}, {OCTOBER: Totals(2, Decimal(7))}
    sealed = {right: one, wrong: one, missing_: one, moved: one}
    counted = {right: one, wrong: two, spare: two, moved: {OCTOBER.previous: one[OCTOBER]}}
    assert differing(sealed, counted) == [wrong, missing_, spare, moved]


def test_the_watermark_of_a_repaired_quarter_hour_is_at_the_end_for_every_shard() -> None:
    missing_ = {OCTOBER: Totals(1, Decimal(5), Decimal(0), Decimal(1))}
    fix = quarter_hour_fix(AccountState(ACCOUNT), ROLLOVER, missing_, [], {})
    assert set(fix.leaving) == {"QUARTER#202610230130", "DAY#2026-10-23", "PERIOD#2026-10"}
    stored, planned = changes(AccountState(ACCOUNT), fix.after, fix.leaving, {}, RETENTION)
    own = {one.values["sk"]: one.values for one in planned if isinstance(one, CounterChange)}
    assert {watermark(Partition(ROLLOVER, shard), stored, own["QUARTER#202610230130"]) for shard in range(64)} == {
        LAST_SEQUENCE
    }
    assert len(LAST_SEQUENCE) == 40
