"""Claims: position, period and terms of an event, fixed when it is claimed, and moved with it."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.recording.claim_items import claim_item, claim_of
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model import clock
from quarterhour.model.identifiers import Identity, Partition, Position
from quarterhour.model.periods import Calendar, Period, time_zone
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import (
    AT,
    QUARTER_HOUR,
    alone,
    claim,
    event,
    identities,
    instants,
    linked_of,
    settings,
    utc,
    void,
)


def test_a_claim_has_a_position_of_now_in_the_current_quarter_hour() -> None:
    claimed = claim(event(), AT)
    assert claimed.receipt == {
        "recorded_at": "2026-10-23T01:30:12.345Z",
        "partition": "202610230130#00",
        "position": str(Position.of(Identity("shop", "order-1").hash, AT).at(0)),
    }
    assert claimed.key == (claimed.receipt["partition"], claimed.receipt["position"])
    assert (claimed.period, claimed.prior_period) == (Period(2026, 10), False)


def test_the_events_own_time_does_not_decide_its_quarter_hour() -> None:
    late = replace(event(), time=AT - timedelta(days=400))
    assert claim(late).partition.quarter_hour == QUARTER_HOUR


@given(identity=identities, at=instants, shards=st.integers(1, 64))
def test_a_claims_receipt_partition_and_position_agree(identity: Identity, at: datetime, shards: int) -> None:
    claimed = claim(replace(event(), identity=identity), at, shards=shards)
    assert claimed.partition.quarter_hour == QuarterHour.at(claimed.position.recorded_at)
    assert claimed.receipt["recorded_at"] == clock.iso_millis(at)


def test_a_claim_is_of_the_content_with_its_digest_whole_or_shortened() -> None:
    sold, other = event(amount="10.00"), event(amount="10.01")
    made = claim(sold)
    assert len(made.digest) == 32
    for one in (made, made._replace(digest=sold.digest)):
        assert one.is_of(sold)
        assert not one.is_of(other)


def test_an_identity_is_remembered_for_its_retention_or_for_ever() -> None:
    assert claim().expires_at is None
    expires = claim(retention=timedelta(days=30)).expires_at
    assert expires == int((AT + timedelta(days=30)).timestamp())


def test_only_the_claim_of_a_sale_has_a_refundable_amount() -> None:
    refundable = claim(event(amount="12.50")).refundable
    assert refundable is not None
    assert (str(refundable.account), refundable.left) == ("42#GBP", Decimal("12.50"))
    assert claim(event(type_="adjustment.recorded")).refundable is None
    assert claim(event(type_="sale.refunded", amount="-1")).refundable is None


def test_a_moved_claim_is_in_the_current_quarter_hour_on_the_same_terms() -> None:
    old = claim(event(commission_rate="0.2"), shards=4, retention=timedelta(days=1))
    changed = settings(shards=4, commission_rate=Decimal("0.5"), retention=timedelta(days=9))
    new = alone(old.moved(event(commission_rate="0.2"), utc("02:00"), changed), 4)
    assert new.partition == Partition(QuarterHour.parse("202610230200"), old.partition.shard)
    assert new.position == Position.of(old.identity.hash, utc("02:00")).at(0)
    for name in ("identity", "digest", "terms", "refundable"):
        assert getattr(new, name) == getattr(old, name)


def test_a_moved_claim_is_remembered_as_long_as_a_new_one() -> None:
    """Its event is recorded now. If the claim expired with its first try, the event could soon be recorded again."""
    old = claim(event(), retention=timedelta(days=1))
    for retention in (timedelta(days=9), None):
        changed = settings(retention=retention)
        now = utc("02:00")
        assert old.moved(event(), now, changed).expires_at == claim(event(), now, retention=retention).expires_at


IN_SEPTEMBER = replace(event(), time=datetime(2026, 9, 30, 12, tzinfo=UTC))
"""A sale of a month that is cut off at midnight of 4 October."""


@pytest.mark.parametrize(
    ("recorded_at", "period"),
    [
        (datetime(2026, 10, 3, 23, 59, tzinfo=UTC), (Period(2026, 9), False)),
        (datetime(2026, 10, 4, tzinfo=UTC), (Period(2026, 10), True)),
    ],
)
def test_a_claim_has_the_period_of_the_event_when_it_is_claimed(
    recorded_at: datetime, period: tuple[Period, bool]
) -> None:
    claimed = claim(IN_SEPTEMBER, recorded_at)
    assert (claimed.period, claimed.prior_period) == period


def test_a_claim_that_moves_past_the_cut_off_moves_to_the_next_period() -> None:
    old = claim(IN_SEPTEMBER, datetime(2026, 10, 3, 23, 59, tzinfo=UTC))
    new = old.moved(IN_SEPTEMBER, datetime(2026, 10, 4, 0, 5, tzinfo=UTC), settings())
    assert (new.period, new.prior_period) == (Period(2026, 10), True)
    values = ledger_values(IN_SEPTEMBER, new)
    assert (values["period"], values["prior_period"]) == ("2026-10", "1")


# ---------------------------------------------------------------- tax points

AMSTERDAM = Calendar(time_zone("Europe/Amsterdam"))


@pytest.mark.parametrize(
    ("time", "tax_point"),
    [
        (None, date(2026, 10, 23)),
        (datetime(2026, 10, 31, 22, 59, tzinfo=UTC), date(2026, 10, 31)),
        (datetime(2026, 10, 31, 23, 0, tzinfo=UTC), date(2026, 11, 1)),
    ],
)
def test_the_tax_point_of_a_sale_is_its_business_date(time: datetime | None, tax_point: date) -> None:
    sold = replace(event(), time=time)
    claimed = claim(sold, calendar=AMSTERDAM)
    assert claimed.tax_point == tax_point
    assert ledger_values(sold, claimed)["tax_point"] == tax_point.isoformat()


@given(time=st.none() | instants, at=instants)
def test_a_stored_claim_gives_the_posting_of_the_claim(time: datetime | None, at: datetime) -> None:
    sold = replace(event(), time=time)
    claimed = claim(sold, at, calendar=AMSTERDAM)
    stored = claim_of(claim_item(claimed, "r1"))
    assert stored == claimed
    assert ledger_values(sold, stored) == ledger_values(sold, claimed)


def test_a_claim_stores_a_tax_point_only_if_it_is_another_date_than_that_of_its_recording() -> None:
    assert "tax_point" not in claim_item(claim(), "r1")
    earlier = claim(replace(event(), time=AT - timedelta(days=1)))
    assert claim_item(earlier, "r1")["tax_point"] == {"S": "2026-10-22"}


def test_a_claim_that_moves_past_midnight_has_the_date_of_its_new_recording_unless_the_event_has_a_time() -> None:
    after = AT + timedelta(days=1)
    assert claim().moved(event(), after, settings()).tax_point == date(2026, 10, 24)
    timed = replace(event(), time=AT)
    assert claim(timed).moved(timed, after, settings()).tax_point == date(2026, 10, 23)


def test_a_correction_has_the_tax_point_of_its_sale_also_after_it_has_moved() -> None:
    later = AT + timedelta(days=30)
    correction = void()
    claimed = linked_of(correction, claim(event()), later, tax_point="2026-10-05", time="2026-10-07T00:00:00Z").claim
    assert claimed.tax_point == date(2026, 10, 5)
    stored = claim_of(claim_item(claimed, "r1"))
    assert stored.moved(correction, later + timedelta(days=1), settings()).tax_point == date(2026, 10, 5)
