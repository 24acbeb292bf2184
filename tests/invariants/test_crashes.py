"""A crash before each AWS call and after the last: recovery as Lambda would do it keeps the invariants."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import count

import pytest

from quarterhour.model.quarter_hours import QuarterHour
from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.crashing import Crashes, Numbers
from tests.invariants.trial import GRACE, Trial, on_trial
from tests.support.events import adjustment, payment, refund, rerating, sale, view, void
from tests.support.tables import postings_in
from tests.unit.registry.rate_cards.builders import content


def batch(n: int) -> list[dict[str, object]]:
    """A request with a sale, a refund of it, one that goes too far, a retry, a conflict, a view, a payment, and more.

    The last refund is held. The customer and the viewer are new each time, so that each batch makes the same calls.
    """
    return [
        sale(f"s{n}", "10.00", customer=f"bob {n}"),
        sale(f"t{n}", "0.001", agency="ünï 7"),
        refund(f"r{n}", "-4", of=f"s{n}"),
        refund(f"x{n}", "-7", of=f"s{n}"),
        sale(f"s{n}", "10.00", customer=f"bob {n}"),
        sale(f"t{n}", "9.99", agency="ünï 7"),
        view(f"v{n}", "/index", f"viewer {n}"),
        payment(f"p{n}", "5.00"),
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


def test_an_ingest_of_corrections_may_die_at_any_call(there: Trial, number: Numbers, crashes: Crashes) -> None:
    def send(place: Trial) -> None:
        place.send(corrections(number()))

    crashes.at_each_call(
        "corrections", there, prepare=lambda place: place.stack.cold_start("ingest"), act=send, recover=Trial.send_again
    )
    there.stories_agree()


def taken_back(n: int) -> list[dict[str, object]]:
    """A sale, a refund of it, the void of the refund, another refund, and two that come too late."""
    return [
        sale(f"s{n}", "10.00"),
        refund(f"r{n}", "-10.00", of=f"s{n}"),
        void(f"b{n}", f"r{n}", reason="returned by the bank"),
        refund(f"q{n}", "-7", of=f"s{n}"),
        void(f"c{n}", f"r{n}"),
        refund(f"x{n}", "-7", of=f"s{n}"),
    ]


def test_an_ingest_that_takes_a_refund_back_may_die_at_any_call(
    there: Trial, number: Numbers, crashes: Crashes
) -> None:
    def send(place: Trial) -> None:
        place.send(taken_back(number()))

    crashes.at_each_call(
        "a refund taken back",
        there,
        prepare=lambda place: place.stack.cold_start("ingest"),
        act=send,
        recover=Trial.send_again,
    )
    there.stories_agree()


def test_a_refund_that_is_taken_back_and_another_one_at_once_both_count_though_one_of_them_dies(
    there: Trial, number: Numbers, crashes: Crashes
) -> None:
    def prepare(place: Trial) -> None:
        place.send(taken_back(number())[:2])

    def act(place: Trial) -> None:
        _, _, back, again, *_ = taken_back(number.last)
        place.faults.meanwhile(2, lambda: place.send([again]))
        place.send([back])

    crashes.at_each_call("a void of a refund and a refund", there, prepare, act, recover=Trial.send_again)
    there.stories_agree()


def test_two_that_void_a_sale_at_once_void_it_once_though_one_of_them_dies(
    there: Trial, number: Numbers, crashes: Crashes
) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        place.send([sale(f"s{n}", "10.00"), refund(f"r{n}", "-4", of=f"s{n}")])

    def act(place: Trial) -> None:
        n = number.last
        place.faults.meanwhile(2, lambda: place.send([void(f"w{n}", f"s{n}")]))
        place.send([void(f"v{n}", f"s{n}")])

    crashes.at_each_call("two voids", there, prepare, act, recover=Trial.send_again)


def test_a_watch_that_posts_the_events_of_a_new_agency_may_die_at_any_call(
    engine: str, number: Numbers, crashes: Crashes
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
        crashes.at_each_call("events of a new agency", place, prepare, act, recover=act)


def test_an_ingest_may_die_at_any_call(place: Trial, number: Numbers, crashes: Crashes) -> None:
    def send(place: Trial) -> None:
        place.send(batch(number()))

    crashes.at_each_call(
        "ingest", place, prepare=lambda place: place.stack.cold_start("ingest"), act=send, recover=Trial.send_again
    )


# ---------------------------------------------------------------- segments


BEFORE_APPEND = 2
"""The calls that an ingest which knows the agencies and the customer makes for some sales before it appends them."""


def some_sales(n: int) -> list[dict[str, object]]:
    return [sale(f"{kind}{n}", "1.50", agency=str(at % 2), customer="bob") for at, kind in enumerate("abc")]


def warm_up(place: Trial, n: int) -> None:
    """Let the function know the agencies and the customer of ``some_sales``."""
    place.send([sale(f"warm{at}-{n}", "1", agency=str(at), customer="bob") for at in range(2)])


def left_by_a_crash(place: Trial, n: int) -> None:
    """Let an ingest claim some sales and die before it appends their segment."""
    warm_up(place, n)
    place.faults.arm(FaultKind.KILL_BEFORE, BEFORE_APPEND)
    place.send(some_sales(n))
    assert place.faults.struck[-1][0].operation == "PutItem"


def test_a_retry_of_claims_without_their_segment_may_die_or_lose_a_response_at_any_call(
    there: Trial, number: Numbers, crashes: Crashes
) -> None:
    """At the look-up, at the void, at each move, at the new segment."""

    def prepare(place: Trial) -> None:
        left_by_a_crash(place, number())

    retry = Trial.send_again
    crashes.at_each_later_call(
        "claims that a crash left", there, prepare, retry, recover=retry, loses_responses=True, first=0
    )


def test_a_slow_ingest_may_be_overtaken_by_a_retry_at_any_call_and_go_on(there: Trial, number: Numbers) -> None:
    """The retry puts a void, or finds the segment, or claims before the first; then the first one goes on."""
    overtaken = partial(overtakings, there, number)
    overtaken(lambda n: [some_sales(n)])
    overtaken(lambda n: [some_sales(n), some_sales(n)])
    overtaken(lambda n: [[*some_sales(n)[1:], sale(f"new{n}", "2")], some_sales(n)[:2]])


def overtakings(place: Trial, number: Numbers, others: Callable[[int], list[list[dict[str, object]]]]) -> None:
    for after in count():
        n = number()
        ran: list[int] = []

        def meanwhile(n: int = n, ran: list[int] = ran) -> None:
            ran.append(n)
            for some in others(n):
                place.send(some)

        place.faults.meanwhile(after, meanwhile)
        place.send(some_sales(n))
        place.faults.disarm()
        place.send_again()
        if not ran:
            break
    place.drain()
    place.check()


def test_a_slow_ingest_may_go_on_after_a_retry_that_died_at_any_call(
    there: Trial, number: Numbers, crashes: Crashes
) -> None:
    """The first one stops before its append. A retry dies; the first goes on; a second retry completes what is left."""

    def prepare(place: Trial) -> None:
        n = number()
        warm_up(place, n)

        def overtake() -> None:
            assert [call.operation for call in place.faults.calls[-2:]] == ["BatchExecuteStatement", "PutItem"]
            place.send(some_sales(n))

        place.faults.meanwhile(BEFORE_APPEND, overtake)

    def act(place: Trial) -> None:
        place.send(some_sales(number.last))

    crashes.at_each_later_call(
        "a retry during a slow ingest",
        there,
        prepare,
        act,
        recover=Trial.send_again,
        loses_responses=True,
        first=BEFORE_APPEND + 1,
    )


def test_a_quarter_hour_may_close_at_any_call_of_an_ingest_or_a_retry(there: Trial, number: Numbers) -> None:
    """At any call, the clock passes the last instant for appends, or the function has no time left."""
    for crashed in (False, True):
        for seconds in (20, 86, 121):
            for after in count():
                n = number()
                at = there.clock.now()
                there.clock.advance_to(QuarterHour.at(at).next.end)
                if crashed:
                    left_by_a_crash(there, n)
                ran: list[int] = []

                def pass_time(seconds: int = seconds, ran: list[int] = ran) -> None:
                    ran.append(seconds)
                    there.clock.advance(timedelta(seconds=seconds))

                there.clock.advance(timedelta(seconds=70))
                there.faults.meanwhile(after, pass_time)
                there.send(some_sales(n))
                there.faults.disarm()
                there.send_again()
                if not ran:
                    break
            there.drain()
            there.check()


def test_a_watch_that_posts_held_events_may_die_at_any_call(there: Trial, number: Numbers, crashes: Crashes) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        courier = adjustment(f"a{n}", "0.25", of=f"s{n}", refers_to_source="shop")
        place.send([refund(f"h{n}", "-1", of=f"s{n}"), void(f"v{n}", f"s{n}"), {**courier, "source": "till"}])
        place.send([sale(f"s{n}", "10.00")])
        place.stack.cold_start("watch")

    def act(place: Trial) -> None:
        place.tick()

    crashes.at_each_call("held events", there, prepare, act, recover=act)


def test_a_request_that_posts_a_held_event_may_die_at_any_call(there: Trial, number: Numbers, crashes: Crashes) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        place.send([refund(f"h{n}", "-1", of=f"s{n}")])

    def act(place: Trial) -> None:
        n = number.last
        place.send([refund(f"h{n}", "-1", of=f"s{n}"), sale(f"s{n}", "10.00")])

    crashes.at_each_call("posting a held event", there, prepare, act, recover=Trial.send_again)


def test_a_request_that_rerates_a_refunded_sale_and_refunds_it_again_may_die_at_any_call(
    place: Trial, number: Numbers, crashes: Crashes
) -> None:
    for seen, percent in enumerate(("10", "20")):
        written = {
            "seen": seen,
            "content": content(
                {"currency": "GBP", "charges": [{"name": "commission", "percent": percent, "fixed": "0.07"}]}
            ),
        }
        assert place.request("write", "PUT", "/documents/rate-card:42", written)

    def prepare(place: Trial) -> None:
        n = number()
        place.send([sale(f"s{n}", "10.00"), refund(f"r{n}", "-3.33", of=f"s{n}")])

    def act(place: Trial) -> None:
        n, of = number.last, f"s{number.last}"
        place.send(
            [rerating(f"a{n}", of, version=1), refund(f"q{n}", "-1.11", of=of), rerating(f"b{n}", of, version=2)]
        )

    crashes.at_each_call("re-rating", place, prepare, act, recover=Trial.send_again)
    paid: defaultdict[str, Decimal] = defaultdict(Decimal)
    for item in place.ledger():
        paid[item.get("refers_to", item["id"])] += Decimal(item["commission"])
    assert set(paid.values()) == {Decimal("1.15092")}, "20 % and 0.07 of 10.00, less its part for 4.44"


def test_an_ingest_that_holds_an_event_may_die_at_any_call_and_an_operator_discard_the_event_before_a_retry(
    there: Trial, number: Numbers, crashes: Crashes
) -> None:
    def prepare(place: Trial) -> None:
        number()
        place.stack.cold_start("ingest")

    def act(place: Trial) -> None:
        place.send([refund(f"h{number.last}", "-1", of=f"none{number.last}")])

    def recover(place: Trial) -> None:
        place.decide("discard", f"h{number.last}")
        place.send_again()

    crashes.at_each_call("holding and discarding", there, prepare, act, recover)


@pytest.mark.parametrize("decision", ["release", "discard"])
def test_an_operators_decision_may_die_at_any_call(
    there: Trial, number: Numbers, crashes: Crashes, decision: str
) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        place.send([refund(f"h{n}", "-1", of=f"none{n}")])

    def act(place: Trial) -> None:
        place.decide(decision, f"h{number.last}")

    crashes.at_each_call(f"{decision} a held event", there, prepare, act, recover=act)


@pytest.mark.parametrize("kind", [FaultKind.STATEMENTS_BEFORE, FaultKind.STATEMENTS_AFTER])
def test_claims_may_fail_in_part_and_the_ingest_die_at_any_later_call(
    place: Trial, number: Numbers, crashes: Crashes, kind: FaultKind
) -> None:
    def prepare(place: Trial) -> None:
        place.stack.cold_start("ingest")
        place.faults.arm(kind)

    def act(place: Trial) -> None:
        place.send(batch(number()))

    crashes.at_each_later_call(f"claims, {kind.value}", place, prepare, act, recover=Trial.send_again)


@pytest.mark.parametrize("kind", [FaultKind.STATEMENTS_BEFORE, FaultKind.STATEMENTS_AFTER])
def test_markers_of_customers_may_fail_in_part_and_the_function_die_at_any_later_call(
    place: Trial, number: Numbers, crashes: Crashes, kind: FaultKind
) -> None:
    place.lanes_a_stream = 1

    def prepare(place: Trial) -> None:
        n = number()
        place.send([sale(f"{n}-{i}", "1.5", customer=f"{n if i else 0}-{i}") for i in range(3)])
        place.read_streams()
        place.faults.arm(kind)

    def deliver(place: Trial, repeat: int = 0) -> None:
        (lane,) = (lane for lane in place.lanes.values() if lane.function == "counters")
        place.deliver(lane, lane.left, repeat)

    recover = partial(deliver, repeat=2)
    crashes.at_each_later_call(f"markers, {kind.value}", place, prepare, deliver, recover)


def test_a_stream_batch_may_die_at_any_call(place: Trial, number: Numbers, crashes: Crashes) -> None:
    place.lanes_a_stream = 1

    def prepare(place: Trial) -> None:
        n = number()
        sales = [sale(f"{n}-{i}", f"{i}.5", agency=str(i % 2), customer=f"{n}-{i}") for i in range(3)]
        place.send([*sales, payment(f"{n}-p", "-2.5", agency="1")])
        place.read_streams()

    def act(place: Trial) -> None:
        for lane in list(place.lanes.values()):
            place.deliver(lane, lane.left, repeat=2)
        place.read_streams()

    crashes.at_each_call("stream batch", place, prepare, act, recover=act)


def counted(place: Trial, *ids: str) -> None:
    """Hand the records of these events to the function that counts, in this order."""
    records = [record for lane in place.lanes.values() if lane.function == "counters" for record in lane.records]
    by_id = {one["id"]: record for record in records for one in postings_in(record["dynamodb"]["NewImage"])}
    batch = {one["dynamodb"]["SequenceNumber"]: one for one in map(by_id.__getitem__, ids)}
    place.invoke("counters", {"Records": list(batch.values())})


def opened(place: Trial, agency: int) -> list[str]:
    """Return the kinds of the windows that the account item of an agency holds."""
    places = {(item["pk"]["S"], item["sk"]["S"]): item for item in place.entities()}
    return sorted(sk.partition("#")[0] for sk in places[f"ACCOUNT#{agency}#GBP", "latest"]["open"]["M"])


NEW = ["CUSTOMERS", "DAY", "PERIOD", "QUARTER"]
"""The kinds of windows that an account item holds after a sale to a new customer."""
LAST_OF_OCTOBER = datetime(2026, 10, 31, 23, 50, tzinfo=UTC)
ENOUGH = 30


def test_a_stream_batch_with_which_windows_leave_may_die_at_any_call(
    engine: str, number: Numbers, crashes: Crashes
) -> None:
    """A quarter-hour, its day, its period and both numbers of customers leave, of another account at each crash."""

    def prepare(place: Trial) -> None:
        n = number()
        place.send([sale(f"b{n}", "0.25", agency=str(n), customer="b")])
        place.read_streams()
        assert opened(place, n) == ["CUSTOMERS", *NEW]
        place.stack.cold_start("counters")

    def act(place: Trial) -> None:
        counted(place, f"b{number.last}")

    def recover(place: Trial) -> None:
        counted(place, *(f"{kind}{number.last}" for kind in "apb"))
        assert opened(place, number.last) == NEW

    with on_trial(engine, start=LAST_OF_OCTOBER) as place:
        agencies = [str(n + 1) for n in range(ENOUGH)]
        place.send([sale(f"a{of}", "1.5", agency=of, customer="a") for of in agencies])
        place.send([payment(f"p{of}", "-2.5", agency=of) for of in agencies])
        place.read_streams()
        counted(place, *(f"{kind}{of}" for kind in "ap" for of in agencies))
        place.clock.advance(timedelta(minutes=15))
        crashes.at_each_call("leaving windows", place, prepare, act, recover, loses_responses=True)


def test_a_late_record_of_windows_that_have_left_may_die_at_any_call(
    there: Trial, number: Numbers, crashes: Crashes
) -> None:
    def prepare(place: Trial) -> None:
        n = number()
        for kind, passes in (("a", timedelta(seconds=1)), ("late", timedelta(days=1)), ("b", timedelta())):
            place.send([sale(f"{kind}{n}", "1.5", agency=str(n), customer=kind)])
            place.clock.advance(passes)
        place.read_streams()
        for kind in "ab":
            counted(place, f"{kind}{n}")
        assert opened(place, n) == NEW
        place.stack.cold_start("counters")

    def act(place: Trial) -> None:
        counted(place, f"late{number.last}")

    def recover(place: Trial) -> None:
        counted(place, *(f"{kind}{number.last}" for kind in ("a", "late", "b")))
        assert opened(place, number.last) == NEW

    crashes.at_each_call("late records of windows that have left", there, prepare, act, recover, loses_responses=True)


def test_a_report_in_parts_may_die_at_any_call(number: Numbers, crashes: Crashes) -> None:
    def prepare(place: Trial) -> None:
        place.send(batch(number()))
        place.clock.advance(timedelta(minutes=15) + GRACE)

    with on_trial(shards=9) as place:
        crashes.at_each_call("report in parts", place, prepare, act=Trial.report, recover=Trial.report)


def test_a_report_may_die_at_any_call(place: Trial, number: Numbers, crashes: Crashes) -> None:
    def prepare(place: Trial) -> None:
        for _ in range(2):
            place.send(batch(number()))
            place.clock.advance(timedelta(minutes=15))
        place.clock.advance(GRACE)

    crashes.at_each_call("report", place, prepare, act=Trial.report, recover=Trial.report)
