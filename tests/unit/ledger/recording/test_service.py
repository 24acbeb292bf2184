"""Recording a request: its calls in their order, and its outcomes; without AWS."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.aws.retries import ATTEMPTS
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.postings.segments import LedgerKey, SegmentKey, identity_of, postings_of, segment_item
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.recording.linked import LinkedClaim, Lost
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.ledger.recording.plan import (
    Found,
    NewSegment,
    PlannedSegment,
    RecordingRequest,
    plan_segments,
)
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock, iso_millis
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.agencies.registration import Registration
from quarterhour.registry.documents.timeline import Start
from quarterhour.registry.rate_cards.plan import NO_RATE_CARDS, RateCardQuery, RateCards, Version
from tests.support import customers
from tests.support.builders import AT, QUARTER_HOUR, claim, event, rejection, rerating, settings, utc, void
from tests.support.clocks import Waits
from tests.unit.registry.rate_cards.builders import rate_card

RECORDED, DUPLICATE, CONFLICT, REJECTED, UNAVAILABLE, HELD = Verdict
OTHER_REQUEST = "request-of-another"
LONG = Decimal("1." + "1" * 20)
"""An amount whose commission at ``LONG_RATE`` has too many digits."""
LONG_RATE = Decimal("0." + "1" * 20)


def may_replace(reservation: Reservation, claim: Claim) -> bool:
    """Return whether the condition of the write holds that replaces a reservation by a claim."""
    return reservation.digest.startswith(claim.digest) and reservation.discarded is None


class Tables:
    """The ledger's tables in memory, with the calls of ``ClaimStore`` and ``SegmentStore``.

    ``before`` and ``after``: functions that run once, before or after the call of that name. ``down``: the calls that
    fail as unavailable.
    """

    def __init__(self) -> None:
        self.claimed: dict[Identity, tuple[Claim, str]] = {}
        self.reserved: dict[Identity, Reservation] = {}
        self.held: dict[Identity, Event] = {}
        self.segments: dict[SegmentKey, list[dict[str, str]]] = {}
        """The postings of each segment; a void has none."""
        self.listed: set[tuple[Identity, Identity]] = set()
        self.calls: list[str] = []
        self.prepared: list[tuple[int, QuarterHour]] = []
        self.before: dict[str, Callable[[], object]] = {}
        self.after: dict[str, Callable[[], object]] = {}
        self.down: set[str] = set()

    def _begin(self, call: str) -> None:
        self.calls.append(call)
        self.before.pop(call, bool)()
        if call in self.down:
            raise UnavailableError(f"{call} is down")

    def _end(self, call: str) -> None:
        self.after.pop(call, bool)()

    def prepare(self, shards: int, before: QuarterHour) -> None:
        self._begin("prepare")
        self.prepared.append((shards, before))
        self._end("prepare")

    def claim(self, claims: Sequence[Claim], request: str, in_time: Callable[[], bool]) -> list[Claimed | Held | None]:
        self._begin("claim")
        result = [
            (self.held_one(one.identity) or self.claim_one(one, request)) if in_time() else None for one in claims
        ]
        self._end("claim")
        return result

    def hold(self, holds: Sequence[Hold], in_time: Callable[[], bool]) -> list[Claimed | Held | None]:
        self._begin("hold")
        return [self.hold_one(one) if in_time() else None for one in holds]

    def hold_one(self, hold: Hold) -> Claimed | Held:
        identity = hold.event.identity
        if identity in self.claimed:
            return Claimed(self.claimed[identity][0], fresh=False)
        if identity not in self.reserved:
            self.reserved[identity], self.held[identity] = hold.reservation, hold.event
        return Held(self.reserved[identity])

    def held_one(self, identity: Identity) -> Held | None:
        reservation = self.reserved.get(identity)
        return Held(reservation) if reservation else None

    def claim_held(
        self, claims: Sequence[Claim], request: str, in_time: Callable[[], bool]
    ) -> list[Claimed | Held | None]:
        self._begin("claim_held")
        return [self.claim_held_one(one, request) if in_time() else None for one in claims]

    def claim_held_one(self, new: Claim, request: str) -> Claimed | Held:
        reservation = self.reserved.get(new.identity)
        if reservation and not may_replace(reservation, new):
            return Held(reservation)
        self.reserved.pop(new.identity, None)
        return replace(self.claim_one(new, request), was_held=reservation is not None)

    def forget_held(self, identities: Sequence[Identity]) -> None:
        self._begin("forget_held")
        for identity in identities:
            self.held.pop(identity, None)

    def claim_one(self, new: Claim, request: str) -> Claimed:
        valid, owner = self.claimed.setdefault(new.identity, (new, request))
        return Claimed(valid, fresh=owner == request)

    def claims(self, identities: Sequence[Identity]) -> dict[Identity, Claim | Reservation]:
        self._begin("claims")
        assert len(set(identities)) == len(identities), "a batch names each key once"
        result: dict[Identity, Claim | Reservation] = {
            one: self.claimed[one][0] for one in identities if one in self.claimed
        }
        result |= {one: self.reserved[one] for one in identities if one in self.reserved}
        self._end("claims")
        return result

    def claim_all_linked(
        self, linked: Sequence[LinkedClaim], request: str, in_time: Callable[[], bool]
    ) -> list[Claimed | Lost | None]:
        return [self.claim_linked(one, request) if in_time() else None for one in linked]

    def claim_linked(self, linked: LinkedClaim, request: str) -> Claimed | Lost | None:
        try:
            self._begin("claim_linked")
        except UnavailableError:
            return None
        if linked.claim.identity in self.claimed:
            return self.claim_one(linked.claim, request)
        sale, owner = self.claimed[linked.before.identity]
        self.listed.add((linked.before.identity, linked.claim.identity))
        if sale != linked.before:
            return Lost()
        reservation = self.reserved.get(linked.claim.identity)
        if linked.was_held != (reservation is not None and may_replace(reservation, linked.claim)):
            return Lost()
        self.claimed[sale.identity] = linked.after, owner
        self.reserved.pop(linked.claim.identity, None)
        return replace(self.claim_one(linked.claim, request), was_held=linked.was_held)

    def reduce(self, sale: Identity, left: Decimal) -> None:
        existing, owner = self.claimed[sale]
        assert existing.refundable
        self.claimed[sale] = existing._replace(refundable=replace(existing.refundable, left=left)), owner

    def left(self, sale: Identity) -> Decimal:
        existing, _ = self.claimed[sale]
        assert existing.refundable
        return existing.refundable.left

    def move(self, moves: Sequence[tuple[Claim, Claim]]) -> list[Claim]:
        return [new for old, new in moves if self.move_one(old, new)]

    def move_one(self, old: Claim, new: Claim) -> bool:
        self._begin("move")
        existing, owner = self.claimed[old.identity]
        if existing.position != old.position:
            return False
        self.claimed[old.identity] = existing._replace(partition=new.partition, position=new.position), owner
        return True

    @property
    def ledger(self) -> dict[LedgerKey, dict[str, str]]:
        """The postings by their keys."""
        postings = [one for some in self.segments.values() for one in some]
        return {(one["quarter_hour"], one["position"]): one for one in postings}

    def look_up(self, claims: Sequence[Claim]) -> Found:
        self._begin("look_up")
        result = self._found(claims)
        self._end("look_up")
        return result

    def _found(self, claims: Sequence[Claim]) -> Found:
        assert len(set(claims)) == len(claims), "a batch names each key once"
        found = Found([], [], [])
        for one in claims:
            if one.key in self.ledger and identity_of(self.ledger[one.key]) == one.identity:
                found.posted.append(one)
            elif one.segment in self.segments:
                found.passed_over.append(one)
            else:
                found.absent.append(one)
        return found

    def fence(self, claims: Sequence[Claim], may_append: Callable[[QuarterHour], bool]) -> Found:
        if claims:
            self._begin("fence")
        for one in claims:
            if may_append(one.partition.quarter_hour):
                self.segments.setdefault(one.segment, [])
        return self._found(claims)

    def postings(self, claims: Sequence[Claim]) -> dict[Identity, dict[str, str]]:
        self._begin("postings")
        assert len(set(claims)) == len(claims), "a batch names each key once"
        result = {one.identity: self.ledger[one.key] for one in claims if one.key in self.ledger}
        self._end("postings")
        return result

    def append(self, segments: Sequence[NewSegment], may_append: Callable[[QuarterHour], bool]) -> set[LedgerKey]:
        if segments:
            self._begin("append")
        for one in segments:
            if may_append(one.key.partition.quarter_hour) and one.key not in self.segments:
                self.segments[one.key] = postings_of(segment_item(one.key, len(one.claims), one.events))
        found = self.ledger
        return {
            key
            for one in segments
            for key, claimed in one.claims.items()
            if key in found and identity_of(found[key]) == claimed.identity
        }


class Desk:
    """A recorder over tables in memory."""

    def __init__(
        self,
        tables: Tables,
        rate_cards: RateCards | Exception = NO_RATE_CARDS,
        tokens: Mapping[str, str] | None = None,
        **changed: object,
    ) -> None:
        self.tables = tables
        self.queries: list[Collection[RateCardQuery]] = []
        self._rate_cards = rate_cards
        stub: Any = tables
        self.registrations: dict[str, Registration] | Exception = {}
        self.looked_up: list[list[str]] = []
        vault = customers.tokens if tokens is None else lambda _names: tokens
        readers = self._read_rate_cards, self._read_registrations
        self.recorder = Recorder(lambda: settings(**changed), stub, stub, *readers, vault)

    def _read_registrations(self, agencies: Collection[str], _: datetime) -> dict[str, Registration]:
        self.looked_up.append(sorted(agencies))
        if isinstance(self.registrations, Exception):
            raise self.registrations
        return {agency: self.registrations.get(agency, Registration.NONE) for agency in agencies}

    def _read_rate_cards(self, queries: Collection[RateCardQuery], _: Collection[Version]) -> RateCards:
        self.queries.append(queries)
        if isinstance(self._rate_cards, Exception):
            raise self._rate_cards
        return self._rate_cards

    def record(self, *items: Event | Rejection, request: str = "request-1", seconds: float = 30) -> list[Outcome]:
        return self.recorder.record(items, request, seconds)

    def verdicts(self, *items: Event | Rejection, request: str = "request-1", seconds: float = 30) -> list[Verdict]:
        return [one.verdict for one in self.record(*items, request=request, seconds=seconds)]

    def in_ledger(self) -> list[tuple[str, str]]:
        """Return the ids in the ledger with their amounts."""
        return sorted((values["id"], values["amount"]) for values in self.tables.ledger.values())

    def commissions(self) -> dict[str, str]:
        """Return the commissions in the ledger by the ids of their events."""
        return {values["id"]: values["commission"] for values in self.tables.ledger.values()}

    def voids(self) -> list[SegmentKey]:
        """Return the keys of the voids."""
        return [key for key, postings in self.tables.segments.items() if not postings]

    def claimed_together(self, *events: Event) -> PlannedSegment:
        """Write the claims of a segment without it, as a request does that ends before its append."""
        claimed = [(claim(one, clock.now()), one) for one in events]
        (planned,) = plan_segments(claimed, RecordingRequest(OTHER_REQUEST, clock.now(), settings()), clock.now())
        for one in planned.claims:
            self.tables.claim_one(one, OTHER_REQUEST)
        return planned

    def crashed_after_claiming(self, *events: Event) -> None:
        """Write claims without their events, as a request does that ends between the two."""
        for one in events:
            self.tables.claim_one(claim(one, clock.now()), OTHER_REQUEST)


@pytest.fixture
def desk(hands: ManualClock) -> Desk:
    assert hands.now() == AT
    return Desk(Tables())


def refund(amount: str = "-1.00", id_: str = "r1", of: str = "order-1", **changed: object) -> Event:
    return event(id_, "sale.refunded", amount=amount, refers_to=of, **changed)


SALE = event(amount="10.00")


# ---------------------------------------------------------------- one request


def test_an_event_that_needs_approval_is_held_before_its_agency_is_looked_up(hands: ManualClock) -> None:
    desk = Desk(Tables(), registered_only=True)
    desk.registrations = {"42": Registration.ACTIVE}
    recorded = replace(event("a1", "adjustment.recorded", amount="-1"), recorded_by="fay", needs_approval=True)
    (outcome,) = desk.record(recorded)
    assert (outcome.verdict, outcome.reason) == (HELD, HeldReason.NEEDS_APPROVAL)
    assert (desk.looked_up, desk.tables.ledger) == ([], {})
    hands.advance(timedelta(minutes=15))
    (outcome,) = desk.record(replace(recorded, needs_approval=False, approved_by="bob"))
    assert outcome.verdict is RECORDED
    (values,) = desk.tables.ledger.values()
    assert (values["recorded_by"], values["approved_by"]) == ("fay", "bob")


def test_a_new_event_is_recorded_at_the_position_in_its_receipt(desk: Desk) -> None:
    (outcome,) = desk.record(SALE)
    ((partition, position),) = desk.tables.ledger
    assert outcome.verdict is RECORDED
    assert outcome.receipt == {"recorded_at": iso_millis(AT), "partition": partition, "position": position}
    (values,) = desk.tables.ledger.values()
    assert (values["id"], values["commission_rate"], values["commission"]) == ("order-1", "0.10", "1.0000")


def test_outcomes_are_in_the_order_of_the_items(desk: Desk) -> None:
    outcomes = desk.record(rejection("bad"), event("b"), event("a"), rejection("worse"))
    assert [one.id for one in outcomes] == ["bad", "b", "a", "worse"]
    assert [one.verdict for one in outcomes] == [REJECTED, RECORDED, RECORDED, REJECTED]


def test_a_request_without_a_valid_item_makes_no_call(desk: Desk) -> None:
    assert desk.verdicts(rejection()) == [REJECTED]
    assert (desk.tables.calls, desk.queries) == ([], [])


def test_a_retry_gets_the_receipt_of_the_first_try(desk: Desk, hands: ManualClock) -> None:
    (first,) = desk.record(SALE)
    hands.advance(timedelta(hours=3))
    (again,) = desk.record(SALE, request="request-2")
    assert (again.verdict, again.receipt) == (DUPLICATE, first.receipt)
    assert desk.in_ledger() == [("order-1", "10.00")]


def test_an_event_is_recorded_though_the_response_of_dynamodb_was_lost(desk: Desk) -> None:
    desk.tables.claim_one(claim(SALE), "request-1")
    assert desk.verdicts(SALE, request="request-1") == [RECORDED]
    assert desk.in_ledger() == [("order-1", "10.00")]


@pytest.mark.parametrize(
    "other",
    [
        event(amount="10.01"),
        event(amount="10.00", currency="EUR"),
        event(amount="10.00", commission_rate="0.2"),
        event(amount="10.00", product="tea"),
    ],
)
def test_other_content_under_the_same_id_is_a_conflict(desk: Desk, other: Event) -> None:
    assert desk.verdicts(SALE, other) == [RECORDED, CONFLICT]
    assert desk.verdicts(other, request="request-2") == [CONFLICT]
    assert desk.in_ledger() == [("order-1", "10.00")]


def test_an_adjustment_with_another_commission_under_the_same_id_is_a_conflict(desk: Desk) -> None:
    first, other = (event("a", "adjustment.recorded", amount="0", commission=text) for text in ("1.50", "1.51"))
    assert desk.verdicts(first) == [RECORDED]
    assert desk.verdicts(other, first, request="request-2") == [CONFLICT, DUPLICATE]
    assert [values["commission"] for values in desk.tables.ledger.values()] == ["1.50"]


def test_an_event_that_is_twice_in_a_request_is_recorded_once(desk: Desk) -> None:
    assert desk.verdicts(SALE, SALE) == [RECORDED, DUPLICATE]
    assert desk.in_ledger() == [("order-1", "10.00")]


# ---------------------------------------------------------------- the control items


def test_the_reports_are_prepared_once_for_all_requests_of_a_process(desk: Desk) -> None:
    desk.record(SALE)
    desk.record(event("b"))
    assert desk.tables.prepared == [(1, QUARTER_HOUR.previous)]
    assert desk.tables.calls[:2] == ["prepare", "claim"]


def test_the_next_request_prepares_the_reports_where_that_failed(desk: Desk) -> None:
    desk.tables.down = {"prepare"}
    with pytest.raises(UnavailableError):
        desk.record(SALE)
    desk.tables.down = set()
    assert desk.verdicts(SALE) == [RECORDED]
    assert desk.tables.prepared == [(1, QUARTER_HOUR.previous)]


def test_no_event_is_claimed_in_a_quarter_hour_before_the_reports_begin(desk: Desk, hands: ManualClock) -> None:
    desk.tables.after["prepare"] = lambda: hands.advance_to(utc("01:45:01"))
    (outcome,) = desk.record(SALE, seconds=3600)
    assert outcome.receipt
    assert outcome.receipt["recorded_at"] == iso_millis(utc("01:45:01"))


# ---------------------------------------------------------------- the time limit


@pytest.mark.parametrize(("passed", "verdict"), [(4.999, RECORDED), (5, UNAVAILABLE), (6, UNAVAILABLE)])
@pytest.mark.parametrize("call", ["prepare", "claim"])
def test_items_that_are_not_written_in_time_are_unavailable(
    desk: Desk, hands: ManualClock, call: str, passed: float, verdict: Verdict
) -> None:
    desk.tables.after[call] = lambda: hands.advance(timedelta(seconds=passed))
    assert desk.verdicts(SALE, seconds=5) == [verdict]
    assert bool(desk.tables.ledger) == (verdict is RECORDED)
    assert bool(desk.tables.claimed) == (verdict is RECORDED or call == "claim")


def test_no_refund_is_claimed_after_the_time_is_over(desk: Desk, hands: ManualClock) -> None:
    assert desk.verdicts(SALE) == [RECORDED]
    desk.tables.calls.clear()
    desk.tables.after["claim"] = lambda: hands.advance(timedelta(seconds=5))
    assert desk.verdicts(event("b"), refund(), request="request-2", seconds=5) == [UNAVAILABLE, UNAVAILABLE]
    assert "claims" not in desk.tables.calls
    assert "claim_linked" not in desk.tables.calls
    assert desk.tables.left(SALE.identity) == Decimal("10.00")


# ---------------------------------------------------------------- after a crash


def test_a_claim_that_a_crash_left_moves_to_a_new_segment_behind_a_void(desk: Desk, hands: ManualClock) -> None:
    desk.crashed_after_claiming(SALE)
    hands.advance(timedelta(minutes=1))
    (outcome,) = desk.record(SALE)
    assert outcome.verdict is DUPLICATE
    assert outcome.receipt
    assert outcome.receipt["recorded_at"] == iso_millis(hands.now())
    assert desk.in_ledger() == [("order-1", "10.00")]
    assert desk.voids() == [claim(SALE, AT).segment]


def test_a_slow_writer_cannot_append_behind_the_void_of_a_retry(desk: Desk) -> None:
    """It has claimed and stops; a retry puts a void and appends; then the writer goes on."""

    def retry() -> None:
        assert desk.verdicts(SALE, event("b"), request="request-2") == [DUPLICATE, DUPLICATE]

    desk.tables.before["append"] = retry
    assert desk.verdicts(SALE, event("b"), request="request-1") == [UNAVAILABLE, UNAVAILABLE]
    assert desk.in_ledger() == [("b", "12.50"), ("order-1", "10.00")]
    assert desk.verdicts(SALE, event("b"), request="request-3") == [DUPLICATE, DUPLICATE]


def test_a_retry_waits_up_to_a_second_for_a_segment_that_is_on_its_way(desk: Desk) -> None:
    waits = Waits()
    later = desk.claimed_together(SALE, event("b"))

    def arrive() -> None:
        if sum(waits.waited) > 0.3:
            desk.tables.segments[later.key] = postings_of(segment_item(later.key, 2, later.events))
        else:
            desk.tables.before["look_up"] = arrive

    desk.tables.before["look_up"] = arrive
    with clock.using(waits):
        assert desk.verdicts(SALE, event("b")) == [DUPLICATE, DUPLICATE]
    assert 0.3 < sum(waits.waited) < 1
    assert desk.voids() == []


def test_a_retry_does_not_wait_for_a_writer_that_has_ended(desk: Desk, hands: ManualClock) -> None:
    desk.crashed_after_claiming(SALE)
    hands.advance(timedelta(seconds=36))
    desk.tables.calls.clear()
    assert desk.verdicts(SALE) == [DUPLICATE]
    assert desk.tables.calls.count("look_up") == 1


def test_a_segment_that_arrives_before_the_void_is_found_by_it(desk: Desk) -> None:
    later = desk.claimed_together(SALE, event("b"))
    desk.tables.before["fence"] = lambda: desk.tables.segments.update(
        {later.key: postings_of(segment_item(later.key, 2, later.events))}
    )
    outcomes = desk.record(SALE, event("b"))
    assert [one.verdict for one in outcomes] == [DUPLICATE, DUPLICATE]
    assert [one.receipt for one in outcomes] == [one.receipt for one in later.claims]
    assert desk.voids() == []


def test_of_two_retries_each_event_is_appended_by_the_one_that_moved_its_claim(desk: Desk) -> None:
    desk.claimed_together(SALE, event("b"))

    def other() -> None:
        assert desk.verdicts(event("b"), request="request-3") == [DUPLICATE]

    desk.tables.before["move"] = other
    assert desk.verdicts(SALE, event("b"), request="request-2") == [DUPLICATE, UNAVAILABLE]
    assert desk.in_ledger() == [("b", "12.50"), ("order-1", "10.00")]


def test_a_retry_that_stops_after_its_void_leaves_the_claims_to_the_next(desk: Desk) -> None:
    left = desk.claimed_together(SALE, event("b"))
    desk.tables.down = {"move"}
    with pytest.raises(UnavailableError):
        desk.record(SALE, event("b"), request="request-2")
    desk.tables.down = set()
    assert desk.verdicts(SALE, event("b"), request="request-3") == [DUPLICATE, DUPLICATE]
    assert desk.voids() == [left.key]


def test_a_retry_that_stops_after_moving_some_claims_leaves_them_to_the_next(desk: Desk) -> None:
    desk.claimed_together(SALE, event("b"))
    desk.tables.down = {"append"}
    with pytest.raises(UnavailableError):
        desk.record(SALE, event("b"), request="request-2")
    desk.tables.down = set()
    assert desk.verdicts(SALE, event("b"), request="request-3") == [DUPLICATE, DUPLICATE]
    assert len(desk.voids()) == 2
    assert desk.in_ledger() == [("b", "12.50"), ("order-1", "10.00")]


def test_a_claim_whose_segment_was_appended_without_it_moves_without_a_void(desk: Desk) -> None:
    """The response to its insertion was lost, and the claim could not be read: its writer appended the others."""
    left = desk.claimed_together(SALE, event("b"))
    (_, second) = postings_of(segment_item(left.key, 2, left.events))
    desk.tables.segments[left.key] = [second]
    outcomes = desk.record(SALE, event("b"), request="request-2")
    assert [one.verdict for one in outcomes] == [DUPLICATE, DUPLICATE]
    assert outcomes[1].receipt == left.claims[1].receipt
    assert desk.voids() == []
    assert desk.in_ledger() == [("b", "12.50"), ("order-1", "10.00")]


def test_a_request_may_repeat_events_of_several_segments_and_bring_new_ones(desk: Desk) -> None:
    desk.record(SALE, event("b"), request="request-1")
    desk.record(event("c"), event("d"), request="request-2")
    desk.claimed_together(event("e"))
    sent = [event("new"), event("b"), event("d"), event("e"), SALE]
    assert desk.verdicts(*sent, request="request-3") == [RECORDED, DUPLICATE, DUPLICATE, DUPLICATE, DUPLICATE]
    assert [id_ for id_, _ in desk.in_ledger()] == ["b", "c", "d", "e", "new", "order-1"]


def test_the_events_of_a_request_share_a_segment_in_the_order_of_their_indexes(desk: Desk) -> None:
    receipts = [one.receipt for one in desk.record(SALE, event("b"), event("c")) if one.receipt]
    (key,) = desk.tables.segments
    assert [one["position"] for one in receipts] == [f"{key.position}.{index:04d}" for index in range(3)]
    assert {one["partition"] for one in receipts} == {str(key.partition)}


@pytest.mark.parametrize("at", [utc("01:46:25"), utc("01:46:59.999")])
def test_a_claimed_event_in_a_closing_quarter_hour_waits(desk: Desk, hands: ManualClock, at: datetime) -> None:
    desk.crashed_after_claiming(SALE)
    hands.advance_to(at)
    assert desk.verdicts(SALE, event("b")) == [UNAVAILABLE, RECORDED]
    assert [id_ for id_, _ in desk.in_ledger()] == ["b"]
    assert desk.tables.claimed[SALE.identity][0] == claim(SALE, AT)


def test_a_claimed_event_is_moved_when_its_quarter_hour_is_final(desk: Desk, hands: ManualClock) -> None:
    desk.crashed_after_claiming(SALE)
    hands.advance_to(utc("01:47:00"))
    (outcome,) = desk.record(SALE)
    assert outcome.verdict is DUPLICATE
    assert desk.voids() == []
    assert [values["recorded_at"] for values in desk.tables.ledger.values()] == [iso_millis(utc("01:47:00"))]


def test_of_two_that_move_an_event_only_one_appends_it(desk: Desk, hands: ManualClock) -> None:
    desk.crashed_after_claiming(SALE)
    hands.advance_to(utc("01:50"))

    def faster() -> None:
        hands.advance(timedelta(seconds=1))
        assert Desk(desk.tables).verdicts(SALE, request="request-2") == [DUPLICATE]

    desk.tables.before["move"] = faster
    assert desk.verdicts(SALE) == [UNAVAILABLE]
    assert desk.in_ledger() == [("order-1", "10.00")]
    (outcome,) = desk.record(SALE, request="request-3")
    assert outcome.verdict is DUPLICATE
    assert outcome.receipt
    assert outcome.receipt["recorded_at"] == iso_millis(utc("01:50:01"))


def test_an_event_is_recorded_once_though_a_retry_stalls_after_its_look_up(desk: Desk, hands: ManualClock) -> None:
    """The look-up finds nothing, the first ingest appends, and the quarter-hour is final when the retry continues."""
    later = desk.claimed_together(SALE)
    (first,) = later.claims

    def stall() -> None:
        desk.tables.segments[later.key] = postings_of(segment_item(later.key, 1, later.events))
        hands.advance_to(utc("01:50"))

    desk.tables.after["look_up"] = stall
    (outcome,) = desk.record(SALE, request="request-2", seconds=3600)
    assert (outcome.verdict, outcome.receipt) == (DUPLICATE, first.receipt)
    assert desk.in_ledger() == [("order-1", "10.00")]


def test_no_void_is_put_into_a_quarter_hour_that_closes_while_a_retry_waits(desk: Desk, hands: ManualClock) -> None:
    hands.advance_to(utc("01:44:59"))
    desk.crashed_after_claiming(SALE)
    desk.tables.after["look_up"] = lambda: hands.advance_to(utc("01:46:25"))
    assert desk.verdicts(SALE, seconds=3600) == [UNAVAILABLE]
    assert desk.voids() == []
    hands.advance_to(utc("01:47"))
    assert desk.verdicts(SALE, request="request-2") == [DUPLICATE]


def test_nothing_is_appended_to_a_quarter_hour_that_closed_after_the_claim(desk: Desk, hands: ManualClock) -> None:
    desk.tables.after["claim"] = lambda: hands.advance_to(utc("01:46:25"))
    assert desk.verdicts(SALE, seconds=3600) == [UNAVAILABLE]
    assert desk.tables.ledger == {}


def test_new_events_are_recorded_and_retries_wait_while_the_ledger_cannot_be_read(desk: Desk) -> None:
    desk.crashed_after_claiming(SALE)
    desk.tables.down = {"look_up"}
    assert desk.verdicts(SALE, event("b")) == [UNAVAILABLE, RECORDED]
    assert [id_ for id_, _ in desk.in_ledger()] == ["b"]


def test_what_was_found_counts_though_a_later_look_for_the_rest_fails(desk: Desk) -> None:
    (first,) = desk.record(SALE)
    desk.claimed_together(event("b"))
    desk.tables.after["look_up"] = lambda: desk.tables.down.add("look_up")
    found, rest = desk.record(SALE, event("b"), request="request-2")
    assert (found.verdict, found.receipt) == (DUPLICATE, first.receipt)
    assert rest.verdict is DUPLICATE
    assert desk.tables.calls.count("look_up") > 1
    assert desk.in_ledger() == [("b", "12.50"), ("order-1", "10.00")]


def test_only_events_with_an_earlier_claim_are_looked_up(desk: Desk) -> None:
    desk.record(SALE)
    assert "look_up" not in desk.tables.calls


# ---------------------------------------------------------------- prices


def rate_cards_of(**versions: str) -> RateCards:
    """Return the rate cards of agencies, each with one version in force since October."""
    october = datetime(2026, 10, 1, tzinfo=UTC)
    percents = {f"rate-card:{agency.removeprefix('_')}": percent for agency, percent in versions.items()}
    return RateCards(
        {document: (Start(3, october),) for document in percents},
        {(document, 3): rate_card({"percent": percent}) for document, percent in percents.items()},
    )


def test_an_event_is_priced_by_the_rate_card_in_force_at_its_own_time_or_now(hands: ManualClock) -> None:
    desk = Desk(Tables(), rate_cards_of(_42="20"))
    early = replace(event("early", amount="10"), time=datetime(2026, 9, 30, tzinfo=UTC))
    assert desk.verdicts(event("now", amount="10"), early) == [RECORDED, RECORDED]
    assert desk.queries == [{("42", hands.now()), ("42", early.time)}]
    paid = {values["id"]: (values["terms"], values["commission_rate"]) for values in desk.tables.ledger.values()}
    assert paid == {"now": ("card 3", "0.20"), "early": ("default", "0.10")}


def test_an_agency_is_looked_up_once_a_minute_while_it_is_active(desk: Desk, hands: ManualClock) -> None:
    desk.registrations = {"7": Registration.CLOSED}
    for number in range(2):
        other = event(f"other-{number}")
        assert desk.verdicts(event(f"e{number}"), replace(other, account=Account("7", "GBP"))) == [RECORDED, HELD]
    assert desk.looked_up == [["42", "7"], ["7"]]
    hands.advance(timedelta(minutes=1))
    assert desk.verdicts(event("later")) == [RECORDED]
    assert desk.looked_up[2:] == [["42"]]


@pytest.mark.usefixtures("hands")
def test_only_sales_wait_while_registrations_cannot_be_read() -> None:
    desk = Desk(Tables())
    desk.registrations = UnavailableError("no registrations")
    fixed = event("fixed", "adjustment.recorded", amount="0", commission="7")
    assert desk.verdicts(event("named", commission_rate="0.3"), fixed) == [UNAVAILABLE, RECORDED]


@pytest.mark.usefixtures("hands")
def test_only_events_that_need_a_rate_card_wait_while_rate_cards_cannot_be_read() -> None:
    desk = Desk(Tables(), UnavailableError("no cards"))
    named = event("named", amount="10", commission_rate="0.3")
    fixed = event("fixed", "adjustment.recorded", amount="0", commission="7")
    assert desk.verdicts(SALE, named, fixed) == [UNAVAILABLE, RECORDED, RECORDED]
    assert {values["id"]: values["commission"] for values in desk.tables.ledger.values()} == {
        "named": "3.0",
        "fixed": "7",
    }
    assert SALE.identity not in desk.tables.claimed


@pytest.mark.usefixtures("hands")
def test_an_event_whose_commission_would_be_too_long_is_rejected_and_the_others_are_recorded() -> None:
    desk = Desk(Tables(), commission_rate=LONG_RATE)
    outcomes = desk.record(event("long", amount=LONG), event("short", amount="1"))
    assert [one.verdict for one in outcomes] == [REJECTED, RECORDED]
    assert [problem.field for problem in outcomes[0].problems] == ["data.amount"]
    assert [id_ for id_, _ in desk.in_ledger()] == ["short"]


@pytest.mark.usefixtures("hands")
def test_an_event_recorded_at_a_shorter_price_is_a_duplicate_at_a_longer_one() -> None:
    tables = Tables()
    long = event("long", amount=LONG)
    assert Desk(tables).verdicts(long) == [RECORDED]
    later = Desk(tables, commission_rate=LONG_RATE)
    assert later.verdicts(long, long, request="request-2") == [DUPLICATE, DUPLICATE]
    assert later.verdicts(event("long", amount=LONG + 1), request="request-3") == [CONFLICT]
    assert later.in_ledger() == [("long", str(LONG))]


@pytest.mark.usefixtures("hands")
def test_claims_are_read_only_for_events_with_a_commission_that_is_too_long() -> None:
    desk = Desk(Tables())
    desk.record(SALE)
    assert "claims" not in desk.tables.calls


# ---------------------------------------------------------------- linked refunds


@pytest.mark.parametrize("items", [(SALE, refund()), (refund(), SALE)], ids=["sale first", "refund first"])
def test_one_request_may_hold_a_sale_and_its_refund(desk: Desk, items: tuple[Event, Event]) -> None:
    assert desk.verdicts(*items) == [RECORDED, RECORDED]
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-1.00")]
    assert desk.tables.left(SALE.identity) == Decimal("9.00")


def test_a_refund_is_recorded_now_at_the_commission_rate_of_its_sale(desk: Desk, hands: ManualClock) -> None:
    desk.record(event(amount="10.00", commission_rate="0.5"))
    hands.advance(timedelta(seconds=7))
    (outcome,) = desk.record(refund("-2"), request="request-2")
    assert outcome.receipt
    assert outcome.receipt["recorded_at"] == iso_millis(AT + timedelta(seconds=7))
    paid = {values["id"]: values["commission"] for values in desk.tables.ledger.values()}
    assert paid == {"order-1": "5.000", "r1": "-1.0"}


def test_the_same_refund_twice_in_a_request_is_recorded_once(desk: Desk) -> None:
    desk.record(SALE)
    outcomes = desk.record(refund(), refund(), request="request-2")
    assert [one.verdict for one in outcomes] == [RECORDED, DUPLICATE]
    assert outcomes[0].receipt == outcomes[1].receipt
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-1.00")]
    assert desk.tables.left(SALE.identity) == Decimal("9.00")


@pytest.mark.parametrize("amount", ["-1.00", "-10.00"])
def test_a_refund_that_is_sent_again_reduces_its_sale_once(desk: Desk, hands: ManualClock, amount: str) -> None:
    (first,) = desk.record(SALE, refund(amount))[1:]
    hands.advance(timedelta(hours=1))
    (again,) = desk.record(refund(amount), request="request-2")
    assert (again.verdict, again.receipt) == (DUPLICATE, first.receipt)
    assert desk.tables.left(SALE.identity) == Decimal("10.00") + Decimal(amount)


def test_refunds_of_one_request_together_never_exceed_their_sale(desk: Desk) -> None:
    items = [SALE, refund("-6", "r1"), refund("-5", "r2"), refund("-4", "r3"), refund("-0.01", "r4")]
    outcomes = desk.record(*items)
    assert [one.verdict for one in outcomes] == [RECORDED, RECORDED, REJECTED, RECORDED, REJECTED]
    assert [problem.field for problem in outcomes[2].problems] == ["data.amount"]
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-6"), ("r3", "-4")]


def test_refunds_of_different_sales_are_claimed_side_by_side_and_those_of_one_sale_in_turn(desk: Desk) -> None:
    sold = [event(str(number), amount="10.00") for number in range(30)]
    desk.record(*sold)
    desk.tables.calls.clear()
    refunds = [refund(f"-{part}", f"{one.identity.id}-{part}", one.identity.id) for part in (6, 5, 4) for one in sold]
    assert desk.verdicts(*refunds, request="request-2") == [RECORDED] * 30 + [REJECTED] * 30 + [RECORDED] * 30
    assert desk.tables.calls.count("claims") == 3, "a round for each refund of a sale"
    assert {desk.tables.left(one.identity) for one in sold} == {Decimal(0)}


def test_a_refund_that_loses_its_race_holds_up_no_other(desk: Desk) -> None:
    desk.record(SALE, event("other"))
    left = iter(range(90, 0, -1))

    def change() -> None:
        desk.tables.before["claim_linked"] = change
        desk.tables.reduce(SALE.identity, Decimal(next(left)) / 10)

    desk.tables.before["claim_linked"] = change
    items = [refund(), refund("-1", "r2", "other")]
    assert desk.verdicts(*items, request="request-2") == [UNAVAILABLE, RECORDED]


def test_a_refund_may_have_the_id_of_another_refunds_sale(desk: Desk) -> None:
    desk.record(SALE)
    items = [refund(id_="r1", of="r2"), refund(id_="r2")]
    assert desk.verdicts(*items, request="request-2") == [REJECTED, RECORDED]


def test_a_refund_of_a_sale_that_is_rejected_for_good_is_no_held_event(desk: Desk) -> None:
    desk.record(event("fee", "adjustment.recorded", amount="1"))
    (outcome,) = desk.record(refund(of="fee"), request="request-2")
    assert (outcome.verdict, [one.field for one in outcome.problems]) == (REJECTED, ["data.refers_to"])
    assert (desk.tables.reserved, desk.tables.held) == ({}, {})


def test_one_request_can_hold_a_sale_and_what_corrects_it_and_each_retry_is_a_duplicate(desk: Desk) -> None:
    adjusted = event("a1", "adjustment.recorded", amount="0", commission="-0.5", refers_to="order-1")
    items = [void("v1"), refund("-4"), adjusted, SALE, void("v2")]
    assert desk.verdicts(*items) == [RECORDED, REJECTED, RECORDED, RECORDED, REJECTED]
    assert desk.verdicts(*items, request="request-2") == [DUPLICATE, REJECTED, DUPLICATE, DUPLICATE, REJECTED]
    assert sorted(desk.in_ledger()) == [("a1", "0"), ("order-1", "10.00"), ("v1", "-10.00")]
    assert {(str(sale), str(linked)) for sale, linked in desk.tables.listed} == {
        ("shop#order-1", "shop#v1"),
        ("shop#order-1", "shop#a1"),
    }


def test_a_void_with_other_content_is_a_conflict(desk: Desk) -> None:
    desk.record(SALE, void())
    assert desk.verdicts(void(reason="another"), request="request-2") == [CONFLICT]


def test_a_void_that_loses_against_another_void_is_rejected(desk: Desk) -> None:
    desk.record(SALE)
    desk.tables.before["claim_linked"] = lambda: Desk(desk.tables).record(void("v1"), request="request-2")
    (outcome,) = desk.record(void("v2"), request="request-3")
    assert [one.problem for one in outcome.problems] == ["was voided before, by shop#v1"]


def test_an_adjustment_of_a_sale_is_priced_by_its_agencys_rate_card(hands: ManualClock) -> None:
    desk = Desk(Tables(), rate_cards_of(_42="20"))
    desk.record(SALE, event("a1", "adjustment.recorded", amount="5", refers_to="order-1"))
    assert [values["commission"] for values in desk.tables.ledger.values() if values["id"] == "a1"] == ["1.00"]
    assert hands.now() == AT


def test_an_adjustment_of_a_sale_with_a_commission_that_is_too_long_is_rejected(hands: ManualClock) -> None:
    desk = Desk(Tables(), commission_rate=LONG_RATE)
    long = event("a1", "adjustment.recorded", amount=LONG, refers_to="order-1")
    assert desk.verdicts(SALE, long) == [RECORDED, REJECTED]
    assert hands.now() == AT


def test_a_refund_of_a_sale_that_is_not_in_the_ledger_yet_waits(desk: Desk) -> None:
    desk.crashed_after_claiming(SALE)
    assert desk.verdicts(refund()) == [UNAVAILABLE]
    assert desk.tables.left(SALE.identity) == Decimal("10.00")
    assert desk.verdicts(SALE, refund(), request="request-2") == [DUPLICATE, RECORDED]


def test_a_refund_of_the_rest_is_recorded_with_the_amount_left(desk: Desk) -> None:
    desk.record(SALE, refund("-4"))
    assert desk.verdicts(replace(refund("-10.00", "r2"), rest=True), request="request-2") == [RECORDED]
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-4"), ("r2", "-6.00")]


def test_a_claimed_refund_is_appended_by_a_retry(desk: Desk) -> None:
    desk.record(SALE)
    desk.tables.down = {"append"}
    with pytest.raises(UnavailableError):
        desk.record(refund(), request="request-2")
    assert desk.in_ledger() == [("order-1", "10.00")]
    desk.tables.down = set()
    assert desk.verdicts(refund(), request="request-3") == [DUPLICATE]
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-1.00")]
    assert desk.tables.left(SALE.identity) == Decimal("9.00")


def test_a_refund_with_the_id_of_a_sale_of_its_request_is_a_conflict(desk: Desk) -> None:
    desk.record(SALE)
    assert desk.verdicts(event("x"), refund(id_="x"), request="request-2") == [RECORDED, CONFLICT]
    assert desk.tables.left(SALE.identity) == Decimal("10.00")


@pytest.mark.parametrize("appended", [True, False], ids=["appended", "not appended"])
def test_a_refund_that_was_claimed_under_the_identity_of_a_sale_of_the_request_is_a_duplicate(
    desk: Desk, *, appended: bool
) -> None:
    desk.record(SALE)
    if not appended:
        desk.tables.down = {"append"}
    with nullcontext() if appended else pytest.raises(UnavailableError):
        desk.record(refund(id_="x"), request="request-2")
    desk.tables.down = set()
    assert desk.verdicts(event("x"), refund(id_="x"), request="request-3") == [CONFLICT, DUPLICATE]
    assert desk.in_ledger() == [("order-1", "10.00"), ("x", "-1.00")]


def test_a_refund_is_recorded_though_one_before_it_under_the_same_identity_is_rejected(desk: Desk) -> None:
    """Then other content is recorded under the identity of the first, which is a conflict, now and on each retry."""
    items = [SALE, refund("-11"), refund("-12"), refund("-2"), refund("-3"), refund("-4", "r2")]
    assert desk.verdicts(*items) == [RECORDED, CONFLICT, CONFLICT, RECORDED, CONFLICT, RECORDED]
    again = [DUPLICATE, CONFLICT, CONFLICT, DUPLICATE, CONFLICT, DUPLICATE]
    assert desk.verdicts(*items, request="request-2") == again
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-2"), ("r2", "-4")]
    assert desk.tables.left(SALE.identity) == Decimal("4.00")


def test_refunds_of_one_identity_that_are_all_rejected_keep_their_reasons(desk: Desk) -> None:
    outcomes = desk.record(SALE, refund("-11"), refund("-12"), refund("-11"))
    assert [one.verdict for one in outcomes[1:]] == [REJECTED] * 3
    assert [one.problems[0].problem.split(",")[0] for one in outcomes[1:]] == ["is -11", "is -12", "is -11"]


def test_a_refund_after_a_rejected_one_of_its_identity_is_held_if_its_sale_is_unknown(desk: Desk) -> None:
    assert desk.verdicts(SALE, refund("-11"), refund("-2", of="nothing")) == [RECORDED, CONFLICT, HELD]


def test_a_refund_after_a_rejected_one_of_its_identity_is_unavailable_once_the_time_is_over(
    desk: Desk, hands: ManualClock
) -> None:
    desk.record(SALE)
    desk.tables.after["postings"] = lambda: hands.advance(timedelta(seconds=31))
    assert desk.verdicts(refund("-11"), refund("-2"), request="request-2") == [REJECTED, UNAVAILABLE]


def test_a_refund_whose_sale_changes_is_planned_again(hands: ManualClock) -> None:
    waits = Waits()
    desk = Desk(Tables())
    desk.record(SALE)
    desk.tables.before["claim_linked"] = lambda: desk.tables.reduce(SALE.identity, Decimal(3))
    with clock.using(waits):
        assert desk.verdicts(refund("-2"), request="request-2") == [RECORDED]
    assert desk.tables.left(SALE.identity) == Decimal(1)
    assert len(waits.waited) == 1
    assert hands.now() == AT


RATE_CARDS = RateCards({}, {("rate-card:42", 2): rate_card({"percent": "20"})})


def test_a_rerating_whose_sale_is_refunded_in_between_charges_what_is_left(hands: ManualClock) -> None:
    desk = Desk(Tables(), RATE_CARDS)
    desk.record(SALE)
    desk.tables.before["claim_linked"] = lambda: desk.record(refund("-4.00"), request="another")
    with clock.using(Waits()):
        assert desk.verdicts(rerating(version=2), request="request-2") == [RECORDED]
    assert desk.commissions() == {"order-1": "1.0000", "r1": "-0.4000", "rr1": "0.6000"}
    assert hands.now() == AT


def test_a_rerating_that_crashed_before_its_append_is_completed_with_what_its_claim_fixed(desk: Desk) -> None:
    desk = Desk(Tables(), RATE_CARDS)
    desk.record(SALE)
    desk.tables.down = {"append"}
    with pytest.raises(UnavailableError):
        desk.record(rerating(version=2), request="request-2")
    desk.tables.down = set()
    desk.record(refund("-4.00"), request="request-3")
    assert desk.verdicts(rerating(version=2), request="request-4") == [DUPLICATE]
    assert desk.commissions() == {"order-1": "1.0000", "r1": "-0.8000", "rr1": "1.0000"}


def test_only_reratings_wait_while_their_rate_cards_cannot_be_read(desk: Desk) -> None:
    desk.record(SALE)
    waiting = Desk(desk.tables, UnavailableError("the Entity table is down"))
    assert waiting.verdicts(rerating(version=2), refund("-4.00")) == [UNAVAILABLE, RECORDED]


def test_a_refund_whose_sale_keeps_changing_is_given_up_after_some_attempts(desk: Desk) -> None:
    desk.record(SALE)
    left = iter(range(90, 0, -1))

    def change() -> None:
        desk.tables.before["claim_linked"] = change
        desk.tables.reduce(SALE.identity, Decimal(next(left)) / 10)

    desk.tables.before["claim_linked"] = change
    assert desk.verdicts(refund(), request="request-2") == [UNAVAILABLE]
    assert desk.tables.calls.count("claim_linked") == ATTEMPTS


def test_a_refund_that_another_request_claims_at_the_same_time_is_a_duplicate(desk: Desk) -> None:
    desk.record(SALE)
    desk.tables.before["claim_linked"] = lambda: Desk(desk.tables).record(refund(), request="request-2")
    assert desk.verdicts(refund(), request="request-3") == [DUPLICATE]
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-1.00")]
    assert desk.tables.left(SALE.identity) == Decimal("9.00")


@pytest.mark.parametrize("call", ["claims", "postings", "claim_linked"])
def test_only_the_refund_waits_whose_sale_cannot_be_reached(desk: Desk, call: str) -> None:
    desk.record(SALE)
    desk.tables.down = {call}
    assert desk.verdicts(refund(), event("b"), request="request-2") == [UNAVAILABLE, RECORDED]
    assert desk.tables.left(SALE.identity) == Decimal("10.00")


# ---------------------------------------------------------------- retention of identities


def test_an_identity_is_known_for_its_retention_or_for_ever(hands: ManualClock) -> None:
    kept = Desk(Tables(), retention=timedelta(days=2)).recorder
    for_ever = Desk(Tables()).recorder
    hands.advance_to(AT + timedelta(days=2) - timedelta(microseconds=1))
    assert kept.remembers(AT)
    hands.advance_to(AT + timedelta(days=2))
    assert (kept.remembers(AT), for_ever.remembers(AT)) == (False, True)


# ---------------------------------------------------------------- held events


def test_a_refund_of_an_unknown_sale_is_held_and_in_no_ledger(desk: Desk) -> None:
    (outcome,) = desk.record(refund())
    assert (outcome.verdict, outcome.reason) == (HELD, HeldReason.UNKNOWN_SALE)
    assert [one.field for one in outcome.problems] == ["data.refers_to"]
    assert (desk.tables.claimed, desk.tables.ledger) == ({}, {})
    assert desk.tables.held == {refund().identity: refund()}


def test_a_held_refund_that_is_sent_again_is_still_held_and_other_content_is_a_conflict(desk: Desk) -> None:
    desk.record(refund())
    other = event("r1", amount="5")
    assert desk.verdicts(refund(), refund("-2"), other, request="request-2") == [HELD, CONFLICT, CONFLICT]
    assert desk.tables.calls.count("hold") == 1
    assert desk.tables.held == {refund().identity: refund()}


def test_a_held_refund_that_is_sent_again_with_its_sale_is_recorded_once(desk: Desk) -> None:
    desk.record(refund())
    assert desk.verdicts(refund(), SALE, request="request-2") == [RECORDED, RECORDED]
    assert desk.verdicts(refund(), SALE, request="request-3") == [DUPLICATE, DUPLICATE]
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-1.00")]
    assert desk.tables.left(SALE.identity) == Decimal("9.00")
    assert (desk.tables.reserved, desk.tables.held) == ({}, {})


def test_a_held_refund_is_completed_after_a_crash_between_claim_and_append(desk: Desk) -> None:
    desk.record(refund())
    desk.record(SALE, request="request-2")
    desk.tables.down = {"append"}
    with pytest.raises(UnavailableError):
        desk.record(refund(), request="request-3")
    assert desk.tables.held, "its content is kept until it is in the ledger"
    desk.tables.down = set()
    assert desk.verdicts(refund(), request="request-4") == [DUPLICATE]
    assert desk.in_ledger() == [("order-1", "10.00"), ("r1", "-1.00")]


def test_a_held_refund_of_more_than_its_sale_stays_held_with_the_reason(desk: Desk) -> None:
    desk.record(refund("-11"))
    desk.record(SALE, request="request-2")
    (outcome,) = desk.record(refund("-11"), request="request-3")
    assert (outcome.verdict, [one.field for one in outcome.problems]) == (HELD, ["data.amount"])
    assert desk.in_ledger() == [("order-1", "10.00")]


@pytest.mark.parametrize("together", [True, False])
def test_of_two_refunds_that_refer_to_each_other_the_later_one_is_rejected(desk: Desk, *, together: bool) -> None:
    pair = [refund(id_="a", of="b"), refund(id_="b", of="a")]
    verdicts = desk.verdicts(*pair) if together else [desk.verdicts(one)[0] for one in pair]
    assert verdicts == [HELD, REJECTED]
    assert [identity.id for identity in desk.tables.held] == ["a"]


def test_a_refund_that_cannot_be_held_now_is_unavailable(desk: Desk) -> None:
    desk.tables.down = {"hold"}
    assert desk.verdicts(refund()) == [UNAVAILABLE]
    assert (desk.tables.reserved, desk.tables.held) == ({}, {})


def test_a_refund_that_is_recorded_by_another_request_just_before_it_is_held_is_a_duplicate(desk: Desk) -> None:
    def other() -> None:
        assert Desk(desk.tables).verdicts(SALE, refund(), request=OTHER_REQUEST) == [RECORDED, RECORDED]

    desk.tables.before["hold"] = other
    assert desk.verdicts(refund()) == [DUPLICATE]
    assert desk.tables.held == {}


def test_a_released_refund_of_an_unknown_sale_is_recorded_without_its_reference(desk: Desk) -> None:
    desk.record(refund())
    assert desk.verdicts(replace(refund(), without_sale=True), request="request-2") == [RECORDED]
    (values,) = desk.tables.ledger.values()
    assert (values["id"], values["terms"], "refers_to" in values) == ("r1", "default", False)
    assert desk.verdicts(refund(), request="request-3") == [DUPLICATE]
    assert desk.verdicts(refund("-2"), request="request-3") == [CONFLICT]
    assert (desk.tables.reserved, desk.tables.held) == ({}, {})


def test_a_released_refund_that_crashed_before_its_append_is_completed_with_the_same_bytes(desk: Desk) -> None:
    desk.record(refund())
    desk.tables.down = {"append"}
    with pytest.raises(UnavailableError):
        desk.record(replace(refund(), without_sale=True), request="request-2")
    desk.tables.down = set()
    desk.record(SALE, request="request-3")
    assert desk.verdicts(refund(), request="request-4") == [DUPLICATE]
    assert ["refers_to" in values for values in desk.tables.ledger.values() if values["id"] == "r1"] == [False]
    assert desk.tables.left(SALE.identity) == Decimal("10.00")


def test_a_released_refund_is_linked_if_its_sale_is_known_by_then(desk: Desk) -> None:
    desk.record(refund())
    desk.record(SALE, request="request-2")
    assert desk.verdicts(replace(refund(), without_sale=True), request="request-3") == [RECORDED]
    assert desk.tables.left(SALE.identity) == Decimal("9.00")


def test_a_discarded_event_is_rejected_with_the_operators_reason(desk: Desk) -> None:
    desk.record(refund())
    reservation = desk.tables.reserved[refund().identity]
    desk.tables.reserved[refund().identity] = replace(reservation, discarded="sent by a test")
    desk.record(SALE, request="request-2")
    for again in (refund(), replace(refund(), without_sale=True)):
        (outcome,) = desk.record(again, request="request-3")
        assert outcome.verdict is REJECTED
        assert "sent by a test" in outcome.problems[0].problem
    assert desk.in_ledger() == [("order-1", "10.00")]


# ---------------------------------------------------------------- the vault


def test_an_event_whose_customer_gets_no_token_is_unavailable_and_no_name_is_stored() -> None:
    tokens = {"ann": f"ct_{'a' * 22}"}
    desk = Desk(Tables(), tokens=tokens)
    items = [event("s1", customer="ann"), event("s2", customer="ben"), event("s3")]
    assert desk.verdicts(*items) == [Verdict.RECORDED, Verdict.UNAVAILABLE, Verdict.RECORDED]
    stored = {values["id"]: values.get("customer") for values in desk.tables.ledger.values()}
    assert stored == {"s1": tokens["ann"], "s3": None}
    tokens["ben"] = f"ct_{'b' * 22}"
    assert desk.verdicts(*items, request="2") == [Verdict.DUPLICATE, Verdict.RECORDED, Verdict.DUPLICATE]
