"""The ledger's tables: claims, moves, appends and linked refunds under conditions."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from hashlib import sha512
from typing import Any

import pytest

from quarterhour.aws.tables import query_pages
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import Event
from quarterhour.ledger.keys import held_key, linked_event_of, linked_range
from quarterhour.ledger.postings.partitions import partition_request
from quarterhour.ledger.postings.segments import postings_of, segment_item
from quarterhour.ledger.recording.claim_items import claim_item
from quarterhour.ledger.recording.claim_store import linked_request
from quarterhour.ledger.recording.claims import Claim, Claimed, Refundable
from quarterhour.ledger.recording.held_event import Held, HeldEvent, HeldReason, Hold, Reservation
from quarterhour.ledger.recording.linked import LinkedClaim, Lost
from quarterhour.ledger.recording.plan import (
    Found,
    NewSegment,
    PlannedSegment,
    RecordingRequest,
    ledger_values,
    plan_segments,
)
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour
from tests.contract.metered import Metered, Record, cost, metered
from tests.contract.storage import Storage
from tests.support.builders import alone, claim, event, linked_of, rerating, settings
from tests.support.builders import void as void_of
from tests.unit.registry.rate_cards.builders import rate_card

LATER = timedelta(minutes=20)


def in_time() -> bool:
    return True


def always(_: QuarterHour) -> bool:
    return True


def claimed_by(storage: Storage, one: Claim, request: str = "request") -> Claimed | None:
    (claimed,) = storage.claims.claim([one], request, in_time)
    assert not isinstance(claimed, Held)
    return claimed


def existing(storage: Storage, one: Claim) -> Claim:
    found = storage.claims.claims([one.identity])[one.identity]
    assert isinstance(found, Claim)
    return found


def ledger(storage: Storage, one: Claim) -> Iterator[dict[str, str]]:
    request = partition_request(storage.ledger_table, one.partition, 100)
    pages = query_pages(storage.dynamodb, request, Workers(1))
    return (posting for items in pages for item in items for posting in postings_of(item))


# ---------------------------------------------------------------- claims


def test_a_second_claim_of_an_event_returns_the_first(storage: Storage, own: str, at: datetime) -> None:
    first, second = claim(event(own), at), claim(event(own, amount="99"), at + LATER)
    assert claimed_by(storage, first, "one") == Claimed(first, fresh=True)
    assert claimed_by(storage, second, "other") == Claimed(first, fresh=False)
    assert existing(storage, first) == first


def test_a_claim_repeated_by_the_same_request_is_still_its_own(storage: Storage, own: str, at: datetime) -> None:
    one = claim(event(own), at)
    assert claimed_by(storage, one, "same") == claimed_by(storage, one, "same") == Claimed(one, fresh=True)


def test_of_concurrent_claims_one_is_fresh_and_all_return_the_same(storage: Storage, own: str, at: datetime) -> None:
    tries = [claim(event(own), at + timedelta(milliseconds=i)) for i in range(16)]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: claimed_by(storage, tries[number], str(number)), range(16)))
    assert sum(one.fresh for one in results if one) == 1
    assert {one.claim for one in results if one} == {existing(storage, tries[0])}


def test_each_of_many_claims_is_fresh_or_the_existing_one(storage: Storage, own: str, at: datetime) -> None:
    first = [claim(event(f"{own}-{i}"), at) for i in range(70)]
    second = [claim(event(f"{own}-{i}", amount="99"), at + LATER) for i in range(140)]
    storage.claims.claim(first, "one", in_time)
    assert storage.claims.claim(second, "other", in_time) == [
        *(Claimed(one, fresh=False) for one in first),
        *(Claimed(one, fresh=True) for one in second[70:]),
    ]


def test_claims_are_read_back_whole_however_many(storage: Storage, own: str, at: datetime) -> None:
    made = [claim(event(f"{own}-{i}", amount=f"{i}.50"), at, retention=timedelta(days=90)) for i in range(130)]
    assert all(storage.claims.claim(made, "request", in_time))
    found = storage.claims.claims([one.identity for one in made] + [Identity("shop", f"{own}-none")])
    assert found == {one.identity: one for one in made}


def test_a_claim_is_moved_once(storage: Storage, own: str, at: datetime) -> None:
    old = claim(event(own), at)
    claimed_by(storage, old)
    ours, theirs = (alone(old.moved(event(own), at + hours * LATER, settings())) for hours in (1, 2))
    assert storage.claims.move([(old, ours)]) == [ours]
    assert storage.claims.move([(old, theirs)]) == []
    assert existing(storage, old) == ours


def test_a_claim_that_is_moved_gets_and_loses_the_flag_of_a_prior_period(storage: Storage, own: str) -> None:
    sold = replace(event(own), time=datetime(2026, 9, 30, 12, tzinfo=UTC))
    old = claim(sold, datetime(2026, 10, 3, 23, tzinfo=UTC))
    claimed_by(storage, old)
    prior = alone(old.moved(sold, datetime(2026, 10, 4, tzinfo=UTC), settings()))
    assert storage.claims.move([(old, prior)]) == [prior]
    assert existing(storage, old) == prior
    assert (prior.period, prior.prior_period) == (Period(2026, 10), True)
    current = alone(prior.moved(sold, datetime(2026, 10, 5, tzinfo=UTC), settings(calendar=Calendar(grace_days=9))))
    assert storage.claims.move([(prior, current)]) == [current]
    assert existing(storage, old) == current
    assert (current.period, current.prior_period) == (Period(2026, 9), False)


def test_a_claim_that_is_moved_gets_and_loses_a_tax_point(storage: Storage, own: str, at: datetime) -> None:
    next_day = at.replace(hour=23, minute=30)
    old = claim(event(own), at)
    claimed_by(storage, old)
    ahead = settings(calendar=Calendar(timezone(timedelta(hours=1))))
    moved = alone(old.moved(event(own), next_day, ahead))
    assert moved.tax_point == next_day.date() + timedelta(days=1)
    assert storage.claims.move([(old, moved)]) == [moved]
    assert existing(storage, old) == moved
    again = alone(moved.moved(event(own), next_day + LATER, settings()))
    assert storage.claims.move([(moved, again)]) == [again]
    assert existing(storage, old) == again


def test_a_missing_claim_is_not_moved(storage: Storage, own: str, at: datetime) -> None:
    old = claim(event(own), at)
    assert storage.claims.move([(old, alone(old.moved(event(own), at + LATER, settings())))]) == []
    assert not storage.claims.claims([old.identity])


# ---------------------------------------------------------------- linked refunds


@pytest.fixture
def sale(storage: Storage, own: str, at: datetime) -> Claim:
    """The claim of a sale of 10.00."""
    one = claim(event(f"{own}-sale", amount="10.00", commission_rate="0.125"), at)
    assert claimed_by(storage, one)
    return one


def refund(sale: Claim, amount: str, at: datetime, name: str = "refund") -> LinkedClaim:
    """Plan a refund of a sale with its current claim."""
    sent = event(f"{sale.identity.id}-{name}", "sale.refunded", amount=amount, refers_to=sale.identity.id)
    return linked_of(sent, sale, at)


def left(storage: Storage, sale: Claim) -> Decimal:
    refundable = existing(storage, sale).refundable
    assert refundable
    return refundable.left


def test_a_refund_is_claimed_and_reduces_its_sale(storage: Storage, sale: Claim, at: datetime) -> None:
    planned = refund(sale, "-4.00", at)
    assert storage.claims.claim_linked(planned, "request") == Claimed(planned.claim, fresh=True)
    assert existing(storage, planned.claim) == planned.claim
    assert left(storage, sale) == Decimal("6.00")


def test_a_refund_against_an_outdated_sale_writes_no_claim(storage: Storage, sale: Claim, at: datetime) -> None:
    first, second = refund(sale, "-4.00", at, "first"), refund(sale, "-7.00", at, "second")
    storage.claims.claim_linked(first, "one")
    assert storage.claims.claim_linked(second, "other") == Lost()
    assert not storage.claims.claims([second.claim.identity])
    assert left(storage, sale) == Decimal("6.00")


@pytest.mark.parametrize(("request_", "fresh"), [("same", True), ("other", False)])
def test_a_refund_claimed_again_reduces_its_sale_once(
    storage: Storage, sale: Claim, at: datetime, request_: str, *, fresh: bool
) -> None:
    planned = refund(sale, "-4.00", at)
    storage.claims.claim_linked(planned, "same")
    again = refund(existing(storage, sale), "-4.00", at + LATER)
    assert storage.claims.claim_linked(again, request_) == Claimed(planned.claim, fresh=fresh)
    assert left(storage, sale) == Decimal("6.00")


def test_concurrent_refunds_never_exceed_the_sale(storage: Storage, sale: Claim, at: datetime) -> None:
    planned = [refund(sale, "-4.00", at, str(number)) for number in range(8)]

    def is_claimed(one: LinkedClaim) -> bool:
        return storage.claims.claim_linked(one, one.claim.identity.id) == Claimed(one.claim, fresh=True)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(is_claimed, planned)) == 1
    assert left(storage, sale) == Decimal("6.00")


def test_a_transaction_sent_again_with_its_token_takes_effect_once(storage: Storage, sale: Claim, at: datetime) -> None:
    """boto3 sends it again after an answer that was lost."""
    request = {**linked_request((storage.identity_table, storage.entity_table), refund(sale, "-4.00", at), "request")}
    for _ in range(2):
        storage.dynamodb.transact_write_items(**request, ClientRequestToken=sale.identity.id)
    assert left(storage, sale) == Decimal("6.00")


# ---------------------------------------------------------------- voids and adjustments


@pytest.fixture(scope="module")
def desk(storage: Storage) -> Metered:
    return metered(storage)


def void(sale: Claim, at: datetime, name: str = "void") -> LinkedClaim:
    """Plan a void of a sale with its current claim."""
    return linked_of(void_of(f"{sale.identity.id}-{name}", sale.identity.id), sale, at)


def listed(storage: Storage, sale: Claim) -> dict[Identity, Decimal | None]:
    """Return the events that are listed with a sale, and what each of them leaves of it."""
    found = map(linked_event_of, storage.entities.read(linked_range(sale.identity), 100))
    return {one.identity: one.left for one in found}


def test_a_void_takes_what_is_left_and_marks_its_sale_in_one_transaction(
    desk: Metered, sale: Claim, at: datetime, record_property: Record
) -> None:
    storage = desk.storage
    first = refund(sale, "-4.00", at)
    storage.claims.claim_linked(first, "request")
    planned = void(existing(storage, sale), at)
    bill = desk.bill(lambda: storage.claims.claim_linked(planned, "request"))
    record_property("claim a void", cost(bill))
    assert (bill.write_units, bill.read_units, bill.calls.total()) == (6, 0, 1)
    found = existing(storage, planned.claim)
    assert (found, found.amount, found.terms.commission(Decimal("-6.00"))) == (
        planned.claim,
        Decimal("-6.00"),
        Decimal("-0.75"),
    )
    voided = existing(storage, sale)
    assert voided.refundable == Refundable(Account("42", "GBP"), Decimal("0.00"))
    assert (voided.voided, voided.changes) == (planned.claim.identity, 2)
    assert listed(storage, sale) == {
        first.claim.identity: Decimal("6.00"),
        planned.claim.identity: Decimal("0.00"),
    }


def test_of_two_voids_of_one_sale_the_second_writes_nothing(storage: Storage, sale: Claim, at: datetime) -> None:
    first, second = void(sale, at, "first"), void(sale, at, "second")
    assert storage.claims.claim_linked(first, "one") == Claimed(first.claim, fresh=True)
    assert storage.claims.claim_linked(second, "other") == Lost()
    assert storage.claims.claim_linked(replace(second, claim=first.claim), "one") == Claimed(first.claim, fresh=True)
    assert not storage.claims.claims([second.claim.identity])
    assert list(listed(storage, sale)) == [first.claim.identity]


def test_a_void_of_a_free_sale_marks_it(storage: Storage, own: str, at: datetime) -> None:
    free = claim(event(f"{own}-free", amount="0"), at)
    claimed_by(storage, free)
    planned = linked_of(void_of(f"{own}-v", f"{own}-free"), free, at, amount="0")
    storage.claims.claim_linked(planned, "one")
    found = existing(storage, free)
    assert found.refundable
    assert (found.refundable.left, found.voided) == (Decimal(0), planned.claim.identity)


def test_an_adjustment_from_another_source_is_listed_with_its_sale_and_leaves_it(
    desk: Metered, sale: Claim, at: datetime, record_property: Record
) -> None:
    storage = desk.storage
    sent = event(
        f"{sale.identity.id}-a",
        "adjustment.recorded",
        amount="0",
        commission="-1.50",
        refers_to=sale.identity.id,
        refers_to_source="shop",
    )
    planned = linked_of(replace(sent, identity=Identity("till", sent.identity.id)), sale, at)
    bill = desk.bill(lambda: storage.claims.claim_linked(planned, "request"))
    record_property("claim an adjustment of a sale", cost(bill))
    assert (bill.write_units, bill.read_units, bill.calls.total()) == (4, 0, 1)
    assert existing(storage, planned.claim) == planned.claim
    assert existing(storage, sale) == sale
    assert listed(storage, sale) == {planned.claim.identity: Decimal("10.00")}
    again = replace(planned, claim=planned.claim._replace(position=claim(sent, at + LATER).position))
    assert storage.claims.claim_linked(again, "other") == Claimed(planned.claim, fresh=False)


# ---------------------------------------------------------------- re-ratings

RATE_CARDS = {
    ("rate-card:42", 1): rate_card(
        {"currency": "GBP", "charges": [{"name": "commission", "percent": "20", "fixed": "0.30"}]}
    ),
    ("rate-card:42", 2): rate_card({"percent": "5"}),
}


@pytest.fixture
def priced(storage: Storage, own: str, at: datetime) -> Claim:
    """The claim of a sale of 10.00 at the default rate."""
    one = claim(event(f"{own}-sale", amount="10.00"), at)
    assert claimed_by(storage, one)
    return one


def rerated(sale: Claim, version: int, at: datetime, name: str = "rerating") -> LinkedClaim:
    """Plan a re-rating of a sale with its current claim."""
    sent = rerating(f"{sale.identity.id}-{name}", version, of=sale.identity.id)
    facts = {"agency": "42", "currency": "GBP", "terms": "default", "recorded_at": iso_millis(at)}
    return linked_of(sent, sale, at, RATE_CARDS, amount="10.00", **facts)


def test_a_rerating_keeps_its_price_with_the_claim_of_its_sale(storage: Storage, priced: Claim, at: datetime) -> None:
    with_a_fee = rerated(priced, 1, at, "first")
    assert storage.claims.claim_linked(with_a_fee, "one") == Claimed(with_a_fee.claim, fresh=True)
    sale = existing(storage, priced)
    assert (sale, sale.terms) == (with_a_fee.after, priced.terms)
    plain = rerated(sale, 2, at, "second")
    storage.claims.claim_linked(plain, "one")
    assert existing(storage, priced) == plain.after
    back = refund(plain.after, "-10.00", at)
    storage.claims.claim_linked(back, "one")
    assert back.claim.terms.commission(Decimal("-10.00")) == Decimal("-0.5")


def test_of_a_rerating_and_a_refund_at_once_the_second_is_planned_again(
    storage: Storage, priced: Claim, at: datetime
) -> None:
    back, first, second = refund(priced, "-4.00", at), rerated(priced, 1, at), rerated(priced, 2, at, "second")
    storage.claims.claim_linked(first, "one")
    for outdated in (back, second):
        assert storage.claims.claim_linked(outdated, "other") == Lost()
    assert existing(storage, priced) == first.after
    assert storage.claims.claim_linked(first, "one") == Claimed(first.claim, fresh=True), "a lost response"


# ---------------------------------------------------------------- held events


def orphan(own: str, amount: str = "-4.00") -> Event:
    """Return a refund of a sale that nobody has sent."""
    return event(f"{own}-held", "sale.refunded", amount=amount, refers_to=f"{own}-sale")


def held_by(storage: Storage, one: Event) -> Claimed | Held | None:
    (result,) = storage.claims.hold([Hold.of(one, HeldReason.UNKNOWN_SALE)], in_time)
    return result


def stored(storage: Storage, one: Event) -> HeldEvent | None:
    values = storage.entities.get(held_key(one.identity))
    return HeldEvent.parse(values) if values else None


def discarded(storage: Storage, one: Event) -> None:
    storage.dynamodb.update_item(
        TableName=storage.identity_table,
        Key={"event": {"S": str(one.identity)}},
        UpdateExpression="SET discarded = :why",
        ExpressionAttributeValues={":why": {"S": "sent by a test"}},
    )


def test_a_held_event_reserves_its_identity_and_keeps_its_content(storage: Storage, own: str) -> None:
    one = orphan(own)
    assert held_by(storage, one) == Held(Reservation.of(one, HeldReason.UNKNOWN_SALE))
    found = stored(storage, one)
    assert found
    assert (found.event, found.reason) == (one, HeldReason.UNKNOWN_SALE)


def test_other_content_under_the_identity_of_a_held_event_changes_nothing(
    storage: Storage, own: str, at: datetime
) -> None:
    one, other = orphan(own), orphan(own, "-5.00")
    reserved = held_by(storage, one)
    assert held_by(storage, other) == reserved
    assert storage.claims.claim([claim(other, at)], "request", in_time) == [reserved]
    found = stored(storage, one)
    assert found
    assert found.event == one


def test_a_recorded_event_is_not_held(storage: Storage, own: str, at: datetime) -> None:
    one = claim(orphan(own), at)
    claimed_by(storage, one)
    assert held_by(storage, orphan(own)) == Claimed(one, fresh=False)
    assert stored(storage, orphan(own)) is None


def test_a_reservation_becomes_a_claim_once(storage: Storage, own: str, at: datetime) -> None:
    held_by(storage, orphan(own))
    first, second = claim(orphan(own), at), claim(orphan(own), at + LATER)
    assert storage.claims.claim_held([first], "one", in_time) == [Claimed(first, fresh=True, was_held=True)]
    assert storage.claims.claim_held([first], "one", in_time) == [Claimed(first, fresh=True, was_held=True)], (
        "a lost response"
    )
    assert storage.claims.claim_held([second], "other", in_time) == [Claimed(first, fresh=False)]
    assert existing(storage, first) == first


def test_the_reservation_of_other_content_and_a_discarded_one_do_not_become_a_claim(
    storage: Storage, own: str, at: datetime
) -> None:
    reserved = held_by(storage, orphan(own))
    assert storage.claims.claim_held([claim(orphan(own, "-5.00"), at)], "request", in_time) == [reserved]
    discarded(storage, orphan(own))
    (found,) = storage.claims.claim_held([claim(orphan(own), at)], "request", in_time)
    assert isinstance(found, Held)
    assert found.reservation.discarded == "sent by a test"


def test_a_held_refund_is_claimed_against_its_sale_once(storage: Storage, own: str, sale: Claim, at: datetime) -> None:
    held_by(storage, orphan(own))
    planned = replace(refund(sale, "-4.00", at, "held"), was_held=True)
    planned = replace(planned, claim=claim_of_refund(own, sale, at))
    assert storage.claims.claim_linked(planned, "one") == Claimed(planned.claim, fresh=True, was_held=True)
    assert storage.claims.claim_linked(planned, "other") == Claimed(planned.claim, fresh=False)
    assert left(storage, sale) == Decimal("6.00")


def claim_of_refund(own: str, sale: Claim, at: datetime) -> Claim:
    return linked_of(orphan(own), sale, at).claim


def test_a_discarded_refund_is_not_claimed_against_its_sale(
    storage: Storage, own: str, sale: Claim, at: datetime
) -> None:
    held_by(storage, orphan(own))
    discarded(storage, orphan(own))
    planned = replace(refund(sale, "-4.00", at, "held"), was_held=True, claim=claim_of_refund(own, sale, at))
    assert storage.claims.claim_linked(planned, "one") == Lost()
    assert left(storage, sale) == Decimal("10.00")


def test_a_refund_that_was_never_held_does_not_replace_a_reservation(
    storage: Storage, own: str, sale: Claim, at: datetime
) -> None:
    held_by(storage, orphan(own))
    reserved = Reservation.of(orphan(own), HeldReason.UNKNOWN_SALE)
    planned = replace(refund(sale, "-4.00", at, "held"), claim=claim_of_refund(own, sale, at))
    assert storage.claims.claim_linked(planned, "one") == Lost()
    assert storage.claims.claims([orphan(own).identity]) == {orphan(own).identity: reserved}
    assert left(storage, sale) == Decimal("10.00")


def test_the_item_of_a_held_event_is_deleted_again_and_again(storage: Storage, own: str) -> None:
    held_by(storage, orphan(own))
    for _ in range(2):
        storage.claims.forget_held([orphan(own).identity])
        assert stored(storage, orphan(own)) is None


# ---------------------------------------------------------------- appends


def planned(own: str, at: datetime, count: int, **data: Any) -> PlannedSegment:
    """Return a segment of some sales, before they are claimed."""
    sold = [event(f"{own}-{i}", **data) for i in range(count)]
    (made,) = plan_segments([(claim(one, at), one) for one in sold], RecordingRequest(own, at, settings()), at)
    return made


def whole(made: PlannedSegment) -> NewSegment:
    return NewSegment(made.key, made.events, {one.key: one for one in made.claims})


def test_a_segment_is_read_back_at_once_unchanged(storage: Storage, own: str, at: datetime) -> None:
    data: dict[str, Any] = {"customer": "Zoë ✓", "extra": {"note": "x" * 4000, "deep": {"a": [1, None]}}}
    made = planned(own, at, 3, **data)
    assert storage.segments.append([whole(made)], always) == set(whole(made).claims)
    assert storage.segments.look_up(made.claims) == Found(list(made.claims), [], [])
    held = list(ledger(storage, made.claims[0]))
    assert held == [ledger_values(event(one.identity.id, **data), one) for one in made.claims]


def test_a_segment_of_64_kilobytes_is_read_back(storage: Storage, own: str, at: datetime) -> None:
    sold = [event(f"{own}-{i}", extra={"note": sha512(str(i).encode()).hexdigest()}) for i in range(500)]
    segments = plan_segments([(claim(one, at), one) for one in sold], RecordingRequest(own, at, settings()), at)
    assert max(len(one.events) for one in segments) > 32 << 10
    appended = storage.segments.append([whole(one) for one in segments], always)
    assert len(appended) == 500
    assert len(list(ledger(storage, claim(at=at)))) == 500


def test_an_append_repeated_writes_nothing_twice(storage: Storage, own: str, at: datetime) -> None:
    made = whole(planned(own, at, 60))
    for _ in range(3):
        assert storage.segments.append([made], always) == set(made.claims)
    assert len(list(ledger(storage, claim(at=at)))) == 60


def test_a_void_keeps_a_segment_from_being_appended(storage: Storage, own: str, at: datetime) -> None:
    made = planned(own, at, 60)
    assert storage.segments.look_up(made.claims) == Found([], [], list(made.claims))
    for _ in range(2):
        assert storage.segments.fence(made.claims, always) == Found([], list(made.claims), [])
    assert storage.segments.append([whole(made)], always) == set()
    assert not list(ledger(storage, claim(at=at)))
    assert storage.segments.look_up(made.claims) == Found([], list(made.claims), [])


def test_a_void_that_comes_too_late_finds_the_events(storage: Storage, own: str, at: datetime) -> None:
    made = planned(own, at, 60)
    storage.segments.append([whole(made)], always)
    assert storage.segments.fence(made.claims, always) == Found(list(made.claims), [], [])
    assert len(list(ledger(storage, claim(at=at)))) == 60


def test_of_a_segment_and_a_void_at_once_one_is_there(storage: Storage, own: str, at: datetime) -> None:
    for number in range(10):
        made = planned(f"{own}-{number}", at + timedelta(milliseconds=number), 5)
        with ThreadPoolExecutor(4) as pool:
            voids = [pool.submit(storage.segments.fence, made.claims, always) for _ in range(2)]
            appends = [pool.submit(storage.segments.append, [whole(made)], always) for _ in range(2)]
        found = [one.result() for one in voids]
        appended = [one.result() for one in appends]
        assert found[0] == found[1]
        assert appended[0] == appended[1] == {one.key for one in found[0].posted}
        assert len(found[0].posted) in {0, 5}


def test_nothing_is_appended_to_a_quarter_hour_that_is_not_open(storage: Storage, own: str, at: datetime) -> None:
    shut, open_ = planned(f"{own}-shut", at, 20), planned(f"{own}-open", at + LATER, 20)

    def is_open(quarter_hour: QuarterHour) -> bool:
        return quarter_hour == QuarterHour.at(at + LATER)

    assert storage.segments.append([whole(shut), whole(open_)], is_open) == set(whole(open_).claims)
    assert storage.segments.fence(shut.claims, is_open) == Found([], [], list(shut.claims))
    assert not list(ledger(storage, claim(at=at)))


def test_claims_are_looked_up_in_any_number_of_segments(storage: Storage, own: str, at: datetime) -> None:
    segments = [planned(f"{own}-{number}", at + timedelta(milliseconds=number), 2) for number in range(120)]
    storage.segments.append([whole(one) for one in segments[:110]], always)
    claims = [one for made in segments for one in made.claims]
    assert storage.segments.look_up(claims) == Found(claims[:220], [], claims[220:])
    assert storage.segments.look_up([]) == Found([], [], [])


# ---------------------------------------------------------------- costs


def test_claim_and_append_cost_a_unit_for_each_kibibyte(storage: Storage, own: str, at: datetime) -> None:
    """DynamoDB Local counts no PartiQL: so the claim is put here."""
    one = claim(event(own), at)
    put = storage.dynamodb.put_item(
        TableName=storage.identity_table,
        Item=claim_item(one, "request"),
        ReturnConsumedCapacity="TOTAL",
    )
    assert put["ConsumedCapacity"]["CapacityUnits"] == 1
    noise = "".join(f"{number * 7919 % 9973:x}" for number in range(9_000))
    for size, units in ((10, 1), (3000, 2)):
        made = whole(planned(f"{own}-{size}", at, 1, extra={"note": noise[:size]}))
        item = segment_item(made.key, 1, made.events)
        response = storage.dynamodb.put_item(TableName=storage.ledger_table, Item=item, ReturnConsumedCapacity="TOTAL")
        assert response["ConsumedCapacity"]["CapacityUnits"] == units
