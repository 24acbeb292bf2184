"""Recording, the pure part: phases, claims, next steps, outcomes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.held.held_event import Held, HeldReason, Reservation
from quarterhour.ledger.plan import (
    SAFETY,
    Claimed,
    Phase,
    Verdict,
    claimed_events,
    commission_too_long,
    first_of_each,
    ledger_values,
    next_step,
    outcomes,
)
from quarterhour.ledger.posting import Posting
from quarterhour.ledger.pricing import CommissionTerms
from quarterhour.model import clock
from quarterhour.model.errors import FieldProblem, SettingsError
from quarterhour.model.identifiers import Identity, Partition, Position
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import AT, QUARTER_HOUR, claim, event, identities, instants, rejection, settings, utc

MICROSECOND = timedelta(microseconds=1)
RECORDED, DUPLICATE, CONFLICT, REJECTED, UNAVAILABLE, HELD = Verdict


# ---------------------------------------------------------------- phases of a quarter-hour


@pytest.mark.parametrize(
    ("now", "phase"),
    [
        (utc("01:30:00"), Phase.OPEN),
        (utc("01:45:00"), Phase.OPEN),
        # 120 s of grace, less the 30 s an ingest may live and the 5 s of safety.
        (utc("01:46:25") - MICROSECOND, Phase.OPEN),
        (utc("01:46:25"), Phase.CLOSING),
        (utc("01:47:00") - MICROSECOND, Phase.CLOSING),
        (utc("01:47:00"), Phase.FINAL),
        (utc("23:59:59"), Phase.FINAL),
    ],
)
def test_a_quarter_hour_is_open_then_closing_then_final(now: datetime, phase: Phase) -> None:
    assert settings().phase(QUARTER_HOUR, now) is phase


@given(
    issued=instants,
    now=st.timedeltas(timedelta(0), timedelta(hours=2)),
    grace=st.integers(0, 3600),
    longest_run=st.integers(0, 900),
)
def test_an_ingest_that_appends_to_an_open_quarter_hour_has_ended_when_the_quarter_hour_is_final(
    issued: datetime, now: timedelta, grace: int, longest_run: int
) -> None:
    try:
        agreed = settings(grace=timedelta(seconds=grace), longest_run=timedelta(seconds=longest_run))
    except SettingsError:
        return
    quarter_hour = QuarterHour.at(issued)
    later = issued + now
    if agreed.phase(quarter_hour, issued) is Phase.OPEN and agreed.phase(quarter_hour, later) is Phase.FINAL:
        assert later >= issued + agreed.longest_run + SAFETY


@given(st.timedeltas(timedelta(0), timedelta(minutes=15) - MICROSECOND))
def test_a_quarter_hour_is_open_during_its_quarter_hour(into: timedelta) -> None:
    assert settings(grace=timedelta(seconds=35)).phase(QUARTER_HOUR, QUARTER_HOUR.start + into) is Phase.OPEN


@pytest.mark.parametrize("grace", [0, 30, 34])
def test_a_grace_in_which_an_ingest_could_still_write_is_refused(grace: int) -> None:
    with pytest.raises(SettingsError, match=f"a grace of {grace} s is too short: 35 s at least"):
        settings(grace=timedelta(seconds=grace))
    assert settings(grace=timedelta(seconds=35)).grace == timedelta(seconds=35)


# ---------------------------------------------------------------- claims


def test_a_claim_has_a_position_of_now_in_the_current_quarter_hour() -> None:
    claimed = claim(event(), AT)
    assert claimed.receipt == {
        "recorded_at": "2026-10-23T01:30:12.345Z",
        "partition": "202610230130#00",
        "position": str(Position.of(Identity("shop", "order-1"), AT)),
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
    new = old.moved(
        event(commission_rate="0.2"),
        utc("02:00"),
        settings(shards=4, commission_rate=Decimal("0.5"), retention=timedelta(days=9)),
    )
    assert new.partition == Partition(QuarterHour.parse("202610230200"), old.partition.shard)
    assert new.position == Position.of(old.identity, utc("02:00"))
    for name in ("identity", "digest", "terms", "expires_at", "refundable"):
        assert getattr(new, name) == getattr(old, name)


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


def test_a_claim_of_an_earlier_version_gets_a_period_when_it_moves() -> None:
    of_earlier = replace(claim(IN_SEPTEMBER), period=None)
    assert "period" not in ledger_values(IN_SEPTEMBER, of_earlier), "the same bytes as at the first try"
    with_zone = settings(calendar=Calendar(timezone(timedelta(hours=12)), 0))
    new = of_earlier.moved(IN_SEPTEMBER, datetime(2026, 10, 1, 12, tzinfo=UTC), with_zone)
    assert (new.period, new.prior_period) == (Period(2026, 10), False), "12 hours ahead of UTC it is 1 October"


# ---------------------------------------------------------------- ledger items


def test_a_ledger_item_holds_the_whole_event_as_text() -> None:
    sold = event(
        amount="-12.50", type_="adjustment.recorded", currency="JPY", product="tea", extra={"a": Decimal("1.0")}
    )
    assert ledger_values(sold, claim(sold)) == {
        "quarter_hour": "202610230130#00",
        "position": str(Position.of(Identity("shop", "order-1"), AT)),
        "recorded_at": "2026-10-23T01:30:12.345Z",
        "source": "shop",
        "id": "order-1",
        "type": "adjustment.recorded",
        "agency": "42",
        "currency": "JPY",
        "amount": "-12.50",
        "commission_rate": "0.10",
        "commission": "-1.2500",
        "schema": "1",
        "product": "tea",
        "extra": '{"a":1.0}',
        "terms": "default",
        "period": "2026-10",
    }


def test_a_ledger_item_has_the_events_own_time_in_utc() -> None:
    sold = replace(event(), time=utc("01:30:00.5"))
    assert ledger_values(sold, claim(sold))["time"] == "2026-10-23T01:30:00.500000Z"


@given(at=instants, retried=instants, amount=st.decimals(0, 10**9, places=4))
def test_the_same_claim_always_gives_the_same_ledger_item(at: datetime, retried: datetime, amount: Decimal) -> None:
    first, again = event(amount=amount), event(amount=amount)
    claimed = claim(first, at)
    with clock.using(clock.ManualClock(retried)):
        assert ledger_values(again, claimed) == ledger_values(first, claimed)


@given(digits=st.integers(0, 10**20), exponent=st.integers(-5, 15), rate=st.sampled_from(["0.10", "1", "0E+5"]))
def test_a_retry_with_numbers_in_another_notation_gives_the_same_ledger_item(
    digits: int, exponent: int, rate: str
) -> None:
    number = Decimal(digits).scaleb(exponent)
    as_number = event(amount=number, commission_rate=Decimal(rate))
    as_text = event(amount=f"{number:f}", commission_rate=f"{Decimal(rate):f}")
    claimed = claim(as_number)
    assert as_text.digest == claimed.digest
    assert ledger_values(as_text, claimed) == ledger_values(as_number, claimed)
    assert claim(as_text) == claimed


def test_a_ledger_item_is_read_back_as_a_posting_with_the_same_values() -> None:
    sold = event(amount="12.50", customer="c7")
    claimed = claim(sold)
    item = {name: {"S": value} for name, value in ledger_values(sold, claimed).items()}
    assert Posting.of(item) == Posting(
        claimed.partition, sold.account, Decimal("12.50"), Decimal("1.2500"), AT, "c7", Period(2026, 10)
    )


def test_a_ledger_item_without_a_period_counts_in_its_month_in_utc() -> None:
    values = ledger_values(event(), replace(claim(event(), datetime(2026, 8, 31, 23, 59, tzinfo=UTC)), period=None))
    assert Posting.of({name: {"S": value} for name, value in values.items()}).period == Period(2026, 8)


def test_an_old_claim_without_an_origin_gives_the_ledger_item_of_its_time() -> None:
    old = replace(claim(), terms=CommissionTerms(Decimal("0.10"), ""))
    assert ledger_values(event(), old).keys() == ledger_values(event(), claim()).keys() - {"terms"}


def test_the_rejection_of_a_commission_that_is_too_long_names_the_expectation() -> None:
    refused = commission_too_long(event(amount="1" * 38))
    assert (refused.source, refused.id) == ("shop", "order-1")
    assert [one.field for one in refused.problems] == ["data.amount"]


# ---------------------------------------------------------------- next steps of claims without an event


@pytest.mark.parametrize(
    ("now", "needs"),
    [
        (utc("01:30:30"), "append"),
        (utc("01:46:25") - MICROSECOND, "append"),
        (utc("01:46:25"), "wait"),
        (utc("01:47:00") - MICROSECOND, "wait"),
        (utc("01:47:00"), "move"),
    ],
)
def test_a_claim_without_its_event_is_appended_waits_or_moves_by_the_phase_of_its_quarter_hour(
    now: datetime, needs: str
) -> None:
    absent = claim()
    step = next_step([absent], now, settings())
    assert {name: getattr(step, name) for name in ("append", "wait", "move")} == {
        "append": [],
        "wait": [],
        "move": [],
        needs: [absent],
    }


@given(st.lists(instants, max_size=10), instants)
def test_each_claim_has_exactly_one_next_step(made: list[datetime], now: datetime) -> None:
    absent = [claim(event(str(i)), at) for i, at in enumerate(made)]
    step = next_step(absent, now, settings())
    assert sorted([*step.append, *step.move, *step.wait], key=str) == sorted(absent, key=str)
    assert all(settings().phase(one.partition.quarter_hour, now) is Phase.FINAL for one in step.move)


# ---------------------------------------------------------------- outcomes

OTHER = event(amount="99.00")


@pytest.mark.parametrize(
    ("item", "claimed", "stands", "verdict"),
    [
        (event(), Claimed(claim(), fresh=True), True, RECORDED),
        (event(), Claimed(claim(), fresh=False), True, DUPLICATE),
        (event(), Claimed(claim(OTHER), fresh=False), True, CONFLICT),
        (event(), Claimed(claim(OTHER), fresh=False), False, CONFLICT),
        (event(), Claimed(claim(), fresh=True), False, UNAVAILABLE),
        (event(), Claimed(claim(), fresh=False), False, UNAVAILABLE),
        (event(), None, False, UNAVAILABLE),
        (rejection(), None, False, REJECTED),
        (rejection(), Claimed(claim(), fresh=True), True, REJECTED),
    ],
)
def test_the_outcome_of_an_item_follows_from_its_claim_and_the_ledger(
    item: Event | Rejection,
    claimed: Claimed | None,
    stands: bool,  # noqa: FBT001 - a table's column
    verdict: Verdict,
) -> None:
    identity = event().identity
    claims = {identity: claimed} if claimed else {}
    recorded = {identity: claimed.claim} if claimed and stands else {}
    (outcome,) = outcomes([item], claims, recorded, {}, {})
    assert outcome.verdict is verdict
    assert (outcome.source, outcome.id) == ("shop", "order-1")
    in_ledger = verdict in {RECORDED, DUPLICATE}
    assert (outcome.receipt is not None) == in_ledger
    assert bool(outcome.problems) != in_ledger


RESERVED = Reservation.of(event(), HeldReason.UNREGISTERED_AGENCY)


@pytest.mark.parametrize(
    ("item", "reservation", "verdict", "problem"),
    [
        (event(), RESERVED, HELD, "is no registered agency: 42"),
        (OTHER, RESERVED, CONFLICT, "was held before with other content"),
        (
            event(),
            replace(RESERVED, discarded="sent twice"),
            REJECTED,
            "was held, and discarded by an operator: sent twice",
        ),
        (OTHER, replace(RESERVED, discarded="sent twice"), CONFLICT, "was held before with other content"),
    ],
)
def test_the_outcome_of_an_event_that_is_held_follows_from_its_reservation(
    item: Event, reservation: Reservation, verdict: Verdict, problem: str
) -> None:
    refused = {(item.identity, item.digest): rejection()}
    (outcome,) = outcomes([item], {}, {}, refused, {item.identity: Held(reservation)})
    assert (outcome.verdict, [one.problem for one in outcome.problems]) == (verdict, [problem])
    assert (outcome.reason is not None) == (verdict is HELD)
    shown = outcome.as_dict(0)
    assert shown.get("held", shown.get("errors")) == (
        {"reason": "unregistered_agency", "problems": [outcome.problems[0].as_dict()]}
        if verdict is HELD
        else [outcome.problems[0].as_dict()]
    )


def test_a_held_event_that_its_sale_does_not_allow_is_held_with_that_reason() -> None:
    why = (FieldProblem("data.amount", "is -20, more than is left of the sale", "-10 at the most"),)
    (outcome,) = outcomes([event()], {}, {}, {}, {event().identity: Held(RESERVED, why)})
    assert (outcome.verdict, outcome.problems) == (HELD, why)


def test_the_receipt_names_the_current_position_of_the_event() -> None:
    old = claim()
    new = old.moved(event(commission_rate="0.2"), utc("02:00"), settings())
    (outcome,) = outcomes([event()], {old.identity: Claimed(old, fresh=False)}, {old.identity: new}, {}, {})
    assert outcome.receipt == new.receipt


@pytest.mark.parametrize(
    ("items", "fresh", "verdicts"),
    [
        ([event(), event()], True, [RECORDED, DUPLICATE]),
        ([event(), event(), event()], False, [DUPLICATE, DUPLICATE, DUPLICATE]),
        ([event(), OTHER, event()], True, [RECORDED, CONFLICT, DUPLICATE]),
        ([OTHER, event(), event()], False, [CONFLICT, DUPLICATE, DUPLICATE]),
        ([rejection(), event()], True, [REJECTED, RECORDED]),
    ],
)
def test_an_identity_that_is_twice_in_a_request_is_recorded_once(
    items: list[Event | Rejection],
    fresh: bool,  # noqa: FBT001 - a table's column
    verdicts: list[Verdict],
) -> None:
    claimed = claim()
    found = outcomes(items, {claimed.identity: Claimed(claimed, fresh)}, {claimed.identity: claimed}, {}, {})
    assert [outcome.verdict for outcome in found] == verdicts
    assert {str(outcome.receipt) for outcome in found if outcome.receipt} == {str(claimed.receipt)}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2"])), min_size=1, max_size=8), st.data())
def test_every_combination_of_items_and_claims_has_the_outcome_of_the_rules(
    sent: list[tuple[str, str]], draw: st.DataObject
) -> None:
    items = [event(id_, amount=amount) for id_, amount in sent]
    claims: dict[Identity, Claimed] = {}
    for identity in {item.identity for item in items}:
        content = draw.draw(st.sampled_from(["1", "2", "earlier", None]))
        if content:
            content_ = event(identity.id, amount="7" if content == "earlier" else content)
            claims[identity] = Claimed(claim(content_), fresh=content != "earlier" and draw.draw(st.booleans()))
    recorded = {one: claims[one].claim for one in claims if draw.draw(st.booleans())}
    answered = outcomes(items, claims, recorded, {}, {})
    for item, outcome in zip(items, answered, strict=True):
        same = item.identity in claims and claims[item.identity].claim.digest == item.digest
        if item.identity not in claims:
            assert outcome.verdict is UNAVAILABLE
        elif not same:
            assert outcome.verdict is CONFLICT
        elif item.identity not in recorded:
            assert outcome.verdict is UNAVAILABLE
        else:
            assert outcome.verdict in {RECORDED, DUPLICATE}
    new = [outcome.id for outcome in answered if outcome.verdict is RECORDED]
    assert len(set(new)) == len(new)
    fresh = {one.id for one, claimed in claims.items() if claimed.fresh and one in recorded}
    matching = {item.identity.id for item in claimed_events(items, claims).values()}
    assert set(new) == fresh & matching


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2"])), max_size=8))
def test_the_first_event_of_an_identity_is_the_one_that_claims(sent: list[tuple[str, str]]) -> None:
    items = [event(id_, amount=amount) for id_, amount in sent]
    firsts = first_of_each(items)
    assert [one.identity for one in firsts] == list(dict.fromkeys(item.identity for item in items))
    assert all(items[[item.identity for item in items].index(one.identity)] is one for one in firsts)


def test_only_the_claimed_content_is_appended() -> None:
    claims = {OTHER.identity: Claimed(claim(OTHER), fresh=False)}
    assert claimed_events([event(), OTHER], claims) == {OTHER.identity: OTHER}
    assert claimed_events([event()], claims) == {}
    assert claimed_events([event()], {}) == {}


def test_a_conflict_does_not_reveal_the_position_of_the_other_event() -> None:
    claimed = Claimed(claim(OTHER), fresh=False)
    (outcome,) = outcomes([event()], {OTHER.identity: claimed}, {OTHER.identity: claimed.claim}, {}, {})
    assert "receipt" not in outcome.as_dict(0)
