"""A crash at every AWS call, before and after its effect: recovery as Lambda would do it keeps the invariants."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import count

import pytest

from quarterhour_tools.emulator.faults import Kind
from tests.invariants.crashing import DEATHS, Record, each_call
from tests.invariants.trial import GRACE, Trial, on_trial
from tests.support.events import adjustment, refund, rerating, sale, view, void
from tests.unit.rate_cards.builders import content


def batch(n: int) -> list[dict[str, object]]:
    """A request with a sale, a refund of it, one that goes too far, a retry, a conflict, a view and a held refund."""
    return [
        sale(f"s{n}", "10.00", customer="bob"),
        sale(f"t{n}", "0.001", agency="ünï 7"),
        refund(f"r{n}", "-4", of=f"s{n}"),
        refund(f"x{n}", "-7", of=f"s{n}"),
        sale(f"s{n}", "10.00", customer="bob"),
        sale(f"t{n}", "9.99", agency="ünï 7"),
        view(f"v{n}", "/index", f"viewer {n}"),
        refund(f"h{n}", "-1", of=f"later{n}"),
    ]


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial() as made:
        yield made


@pytest.fixture
def there(engine: str) -> Iterator[Trial]:
    """The system on one engine, then on the other."""
    with on_trial(engine) as made:
        yield made


@pytest.fixture
def number() -> Callable[[], int]:
    return count().__next__


def corrections(n: int) -> list[dict[str, object]]:
    """A sale, a refund of a part, an adjustment from another source, two voids, and a refund that comes too late."""
    courier = adjustment(f"a{n}", "0.25", of=f"s{n}", refers_to_source="shop")
    return [
        sale(f"s{n}", "10.00"),
        refund(f"r{n}", "-4", of=f"s{n}"),
        {**courier, "source": "till"},
        void(f"v{n}", f"s{n}"),
        void(f"w{n}", f"s{n}"),
        refund(f"x{n}", "-1", of=f"s{n}"),
    ]


def test_an_ingest_of_corrections_may_die_at_any_call(
    there: Trial, number: Callable[[], int], record_property: Record
) -> None:
    def send(place: Trial) -> None:
        place.send(corrections(number()))

    points = each_call(
        there, prepare=lambda place: place.stack.cold_start("ingest"), act=send, recover=Trial.send_again
    )
    there.stories_agree()
    record_property("corrections", f"{points} crash points tried, 0 violations")


def test_two_that_void_a_sale_at_once_void_it_once_though_one_of_them_dies(
    there: Trial, number: Callable[[], int], record_property: Record
) -> None:
    n = 0

    def prepare(place: Trial) -> None:
        nonlocal n
        n = number()
        place.send([sale(f"s{n}", "10.00"), refund(f"r{n}", "-4", of=f"s{n}")])

    def act(place: Trial) -> None:
        place.faults.meanwhile(2, lambda: place.send([void(f"w{n}", f"s{n}")]))
        place.send([void(f"v{n}", f"s{n}")])

    points = each_call(there, prepare, act, recover=Trial.send_again)
    record_property("two voids", f"{points} crash points tried, 0 violations")


def test_a_watch_that_posts_the_events_of_a_new_agency_may_die_at_any_call(
    engine: str, number: Callable[[], int], record_property: Record
) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        late = [refund(f"r{n}", "-1", of=f"s{n}"), void(f"v{n}", f"s{n}"), sale(f"s{n}", "10.00")]
        place.send([{**one, "subject": f"agency {n}"} for one in late])
        place.register(f"agency {n}")
        place.stack.cold_start("watch")

    def act(place: Trial) -> None:
        place.tick()

    with on_trial(engine, policy="registered") as place:
        points = each_call(place, prepare, act, recover=act)
    record_property("events of a new agency", f"{points} crash points tried, 0 violations")


def test_an_ingest_may_die_at_any_call(place: Trial, number: Callable[[], int], record_property: Record) -> None:
    def send(place: Trial) -> None:
        place.send(batch(number()))

    points = each_call(
        place,
        prepare=lambda place: place.stack.cold_start("ingest"),
        act=send,
        recover=Trial.send_again,
    )
    record_property("ingest", f"{points} crash points tried, 0 violations")


def test_a_watch_that_posts_held_events_may_die_at_any_call(
    there: Trial, number: Callable[[], int], record_property: Record
) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        courier = adjustment(f"a{n}", "0.25", of=f"s{n}", refers_to_source="shop")
        place.send([refund(f"h{n}", "-1", of=f"s{n}"), void(f"v{n}", f"s{n}"), {**courier, "source": "till"}])
        place.send([sale(f"s{n}", "10.00")])
        place.stack.cold_start("watch")

    def act(place: Trial) -> None:
        place.tick()

    points = each_call(there, prepare, act, recover=act)
    record_property("held events", f"{points} crash points tried, 0 violations")


def test_a_request_that_posts_a_held_event_may_die_at_any_call(
    there: Trial, number: Callable[[], int], record_property: Record
) -> None:
    n = 0

    def prepare(place: Trial) -> None:
        nonlocal n
        n = number()
        place.send([refund(f"h{n}", "-1", of=f"s{n}")])

    def act(place: Trial) -> None:
        place.send([refund(f"h{n}", "-1", of=f"s{n}"), sale(f"s{n}", "10.00")])

    points = each_call(there, prepare, act, recover=Trial.send_again)
    record_property("posting a held event", f"{points} crash points tried, 0 violations")


def test_a_request_that_rerates_a_refunded_sale_and_refunds_it_again_may_die_at_any_call(
    place: Trial, number: Callable[[], int], record_property: Record
) -> None:
    n = 0
    for seen, percent in enumerate(("10", "20")):
        written = {"seen": seen, "content": content({"percent": percent, "currency": "GBP", "fixed": "0.07"})}
        assert place.request("documents", "PUT", "/documents/rate-card:42", written)

    def prepare(place: Trial) -> None:
        nonlocal n
        n = number()
        place.send([sale(f"s{n}", "10.00"), refund(f"r{n}", "-3.33", of=f"s{n}")])

    def act(place: Trial) -> None:
        of = f"s{n}"
        place.send(
            [rerating(f"a{n}", of, version=1), refund(f"q{n}", "-1.11", of=of), rerating(f"b{n}", of, version=2)]
        )

    points = each_call(place, prepare, act, recover=Trial.send_again)
    paid: defaultdict[str, Decimal] = defaultdict(Decimal)
    for item in place.ledger():
        paid[item.get("refers_to", item["id"])] += Decimal(item["commission"])
    assert set(paid.values()) == {Decimal("1.15092")}, "20 % and 0.07 of 10.00, less its part for 4.44"
    record_property("re-rating", f"{points} crash points tried, 0 violations")


@pytest.mark.parametrize("decision", ["release", "discard"])
def test_an_operators_decision_may_die_at_any_call(
    there: Trial, number: Callable[[], int], record_property: Record, decision: str
) -> None:
    n = 0

    def prepare(place: Trial) -> None:
        nonlocal n
        n = number()
        place.send([refund(f"h{n}", "-1", of=f"none{n}")])

    def act(place: Trial) -> None:
        place.decide(decision, f"h{n}")

    points = each_call(there, prepare, act, recover=act)
    record_property(f"{decision} a held event", f"{points} crash points tried, 0 violations")


@pytest.mark.parametrize("kind", [Kind.STATEMENTS_BEFORE, Kind.STATEMENTS_AFTER])
def test_claims_may_fail_in_part_and_the_ingest_die_at_any_later_call(
    place: Trial, number: Callable[[], int], record_property: Record, kind: Kind
) -> None:
    points = 0
    for death in DEATHS:
        for after in count(1):
            place.stack.cold_start("ingest")
            place.faults.arm(kind)
            place.faults.arm(death, after)
            struck = len(place.faults.struck)
            place.send(batch(number()))
            died = death in {one for _, one in place.faults.struck[struck:]}
            place.faults.disarm()
            place.send_again()
            if not died:  # the request had ended before
                break
            points += 1
        place.drain()
        place.check()
    record_property(f"claims, {kind.value}", f"{points} crash points tried, 0 violations")


@pytest.mark.parametrize("kind", [Kind.STATEMENTS_BEFORE, Kind.STATEMENTS_AFTER])
def test_markers_of_customers_may_fail_in_part_and_the_function_die_at_any_later_call(
    place: Trial, number: Callable[[], int], record_property: Record, kind: Kind
) -> None:
    place.lanes_a_stream = 1
    points = 0
    for death in DEATHS:
        for after in count(1):
            n = number()
            place.send([sale(f"{n}-{i}", "1.5", customer=f"{n if i else 0}-{i}") for i in range(3)])
            place.read_streams()
            (lane,) = (lane for lane in place.lanes.values() if lane.function == "counters")
            place.faults.arm(kind)
            place.faults.arm(death, after)
            struck = len(place.faults.struck)
            place.deliver(lane, lane.left)
            died = death in {one for _, one in place.faults.struck[struck:]}
            place.faults.disarm()
            place.deliver(lane, lane.left, repeat=2)
            if not died:  # the batch had ended before
                break
            points += 1
        place.drain()
        place.check()
    record_property(f"markers, {kind.value}", f"{points} crash points tried, 0 violations")


def test_a_stream_batch_may_die_at_any_call(place: Trial, number: Callable[[], int], record_property: Record) -> None:
    place.lanes_a_stream = 1

    def prepare(place: Trial) -> None:
        n = number()
        place.send([sale(f"{n}-{i}", f"{i}.5", agency=str(i % 2), customer=f"{n}-{i}") for i in range(3)])
        place.read_streams()

    def act(place: Trial) -> None:
        for lane in list(place.lanes.values()):
            place.deliver(lane, lane.left, repeat=2)
        place.read_streams()

    points = each_call(place, prepare, act, recover=act)
    record_property("stream batch", f"{points} crash points tried, 0 violations")


def test_a_report_in_parts_may_die_at_any_call(number: Callable[[], int], record_property: Record) -> None:
    def prepare(place: Trial) -> None:
        place.send(batch(number()))
        place.clock.advance(timedelta(minutes=15) + GRACE)

    with on_trial(shards=9) as place:
        points = each_call(place, prepare, act=Trial.report, recover=Trial.report)
    record_property("report in parts", f"{points} crash points tried, 0 violations")


def test_a_report_may_die_at_any_call(place: Trial, number: Callable[[], int], record_property: Record) -> None:
    def prepare(place: Trial) -> None:
        for _ in range(2):
            place.send(batch(number()))
            place.clock.advance(timedelta(minutes=15))
        place.clock.advance(GRACE)

    points = each_call(place, prepare, act=Trial.report, recover=Trial.report)
    record_property("report", f"{points} crash points tried, 0 violations")
