"""Interleavings of clients, clocks, calendars, deliveries, reports, statements and faults: then, the invariants.

A longer profile: ``pytest tests/invariants/test_state_machine.py --hypothesis-profile=long``.
"""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from quarterhour.orders.plan import TRANSITIONS
from quarterhour_tools.emulator.engines import DYNAMODB_LOCAL, EMBEDDED
from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.corrections import RateCard
from tests.invariants.orders import OrderBook, order
from tests.invariants.trial import START, on_trial
from tests.support.events import Cloud, adjustment, payment, refund, rerating, sale, view, void

SOURCES = {"e": "shop", "t": "till"}
"""The source of an event, by the first letter of its id."""
SALES = ["e0", "e1", "e2", "e3", "t0", "t1"]
CORRECTIONS = ["e4", "e5", "e6", "e7", "e8", "t2", "t3"]
IDS = [*SALES, *CORRECTIONS]
OF_SALES = st.sampled_from([*SALES * 4, *CORRECTIONS])
"""The ids that sales have, and corrections refer to, more often than not; any other id may be one, too."""
OF_CORRECTIONS = st.sampled_from([*SALES, *CORRECTIONS * 3])
AMOUNTS = ["10.00", "0.001", "12345678901234567890.12", "0"]
AGENCIES = ["42", "42", "42", "ünï 7"]
AGENCIES_OF_ORDERS = ["0", "1"]
POLICIES = ["open", "registered"]
KINDS = [
    *["sale"] * 5,
    *["refund"] * 3,
    "void of a refund",
    *["rerating"] * 2,
    *["payment"] * 2,
    "void",
    "adjustment",
    "unlinked",
    "view",
]
RATE_CARD = "rate-card:default"
RATE_CARDS = [RateCard("10"), RateCard("8", fixed="0.30", minimum="0.50", maximum="20"), RateCard("12.5")]
"""The last one is in force; re-ratings apply any of them."""
TIMES = ["", "", "2026-09-30T23:59:59Z", "2026-10-31T23:59:59Z", "2026-11-01T00:00:00Z", "2027-03-01T00:00:00Z"]
STARTS = [START, datetime(2026, 11, 3, 23, 40, tzinfo=UTC)]
"""The second is shortly before the cut-off of October."""
CORRECTED = ["void", "other void", "refund", "other refund", "taken back", "rerating", "other rerating"]
"""How a sale is corrected, once each."""
ORDERS = ["o1", "o2"]
CONTENTS = [("10.00", "0.001"), ("7",), ("1.5",) * 30]
PARTS = ["-4", "-0.001", "-7"]
STEPS = [(before, after) for before, following in TRANSITIONS.items() for after in following]
DAYS = [timedelta(days=1), timedelta(days=9)]
"""Two of the second reach from the beginning past the next cut-off."""
ADVANCES = [timedelta(seconds=seconds) for seconds in (1, 40, 85, 119, 121, 840, 901, 3600)]


@st.composite
def an_event(draw: st.DrawFn) -> Cloud:
    """An event of a small world, so that retries, conflicts and refunds of the same sales are frequent."""
    event = draw(an_event_without_time())
    time = draw(st.sampled_from(TIMES))
    return {**event, "time": time} if time else event


@st.composite
def an_event_without_time(draw: st.DrawFn) -> Cloud:
    """An event that counts in the month in which it is recorded."""
    kind, of, agency = draw(st.sampled_from(KINDS)), draw(OF_SALES), draw(st.sampled_from(AGENCIES))
    id_ = draw(OF_SALES if kind == "sale" else OF_CORRECTIONS)
    match kind:
        case "sale":
            customer: dict[str, Any] = draw(st.sampled_from([{}, {"customer": "bob"}, {"customer": "eve"}]))
            sent = sale(id_, draw(st.sampled_from(AMOUNTS)), agency=agency, **customer)
        case "refund":
            amount = draw(st.sampled_from(["-4", "-10.00", "-0.001"]))
            sent = refund(id_, amount, of, agency=agency, **from_another(id_, of))
        case "void of a refund":
            refunded = draw(st.sampled_from(CORRECTIONS))
            sent = void(id_, refunded, agency=agency, **from_another(id_, refunded))
        case "void":
            sent = void(id_, of, agency=agency, **from_another(id_, of))
        case "rerating":
            version = draw(st.integers(1, len(RATE_CARDS)))
            sent = rerating(id_, of, version, RATE_CARD, agency=agency, **from_another(id_, of))
        case "adjustment":
            sent = adjustment(id_, "0.25", of, agency=agency, **from_another(id_, of))
        case "payment":
            sent = payment(id_, draw(st.sampled_from(["100.00", "-0.01"])), agency=agency)
        case "unlinked":
            sent = draw(st.sampled_from([refund(id_, "-3.5", None, agency=agency), adjustment(id_, "-2")]))
        case _:
            sent = view(id_, "/index", draw(st.sampled_from(["bob", "eve"])))
    return {**sent, "source": SOURCES[id_[0]]}


def from_another(id_: str, of: str) -> dict[str, str]:
    """Return the source of a sale that is not the source of the event that refers to it."""
    return {} if id_[0] == of[0] else {"refers_to_source": SOURCES[of[0]]}


def corrected(how: str, of: str, agency: str) -> Cloud:
    """Return a correction of a sale, with an id made of the sale's id and the kind of correction."""
    facts = {"agency": agency, "refers_to_source": SOURCES[of[0]]}
    match how:
        case "refund" | "other refund":
            return refund(f"{of}-{how}", "-0.001" if how == "refund" else "-10.00", of, **facts)
        case "taken back":
            return void(f"{of}-{how}", f"{of}-refund", agency=agency)
        case "rerating" | "other rerating":
            return rerating(f"{of}-{how}", of, 2 if how == "rerating" else 1, RATE_CARD, **facts)
        case _:
            return void(f"{of}-{how}", of, **facts)


faults = st.one_of(st.none(), st.tuples(st.sampled_from(list(FaultKind)), st.integers(0, 12)))


class Marketplace(RuleBasedStateMachine):
    """One deployment under everything that AWS, clients and operators can do to it."""

    engine = EMBEDDED

    def __init__(self) -> None:
        super().__init__()
        self._open = ExitStack()

    @initialize(
        shards=st.sampled_from([1, 2, 3, 9]),
        start=st.sampled_from(STARTS),
        policy=st.sampled_from(POLICIES),
        rate_cards=st.sampled_from([RATE_CARDS, RATE_CARDS, []]),
    )
    def deploy(self, shards: int, start: datetime, policy: str, rate_cards: list[RateCard]) -> None:
        self.place = self._open.enter_context(on_trial(self.engine, shards=shards, start=start, policy=policy))
        self.book = OrderBook(self.place)
        for agency in AGENCIES_OF_ORDERS:
            self.place.register(agency)
        self.place.write_rate_card(RATE_CARD, *rate_cards)

    @rule(events=st.lists(an_event(), min_size=1, max_size=6), fault=faults)
    def send(self, events: list[Cloud], fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.send(events)

    @rule(fault=faults)
    def retry(self, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.send_again()

    @rule(
        events=st.lists(an_event(), min_size=1, max_size=6),
        others=st.lists(st.lists(an_event(), max_size=3), max_size=2),
        again=st.booleans(),
        after=st.integers(0, 14),
        seconds=st.sampled_from([0, 0, 1, 20, 40]),
        fault=faults,
    )
    def an_ingest_is_slow_and_overtaken(  # noqa: PLR0913 - all that can happen meanwhile
        self,
        events: list[Cloud],
        others: list[list[Cloud]],
        after: int,
        seconds: int,
        fault: tuple[FaultKind, int] | None,
        *,
        again: bool,
    ) -> None:
        """It stops before any of its calls; others, or a retry, send some of its events; then it goes on."""

        def meanwhile() -> None:
            self.place.clock.advance(timedelta(seconds=seconds))
            if fault:
                self.place.faults.arm(*fault)
            for some in [events, *others] if again else others:
                self.place.send([*some, events[0]])

        self.place.faults.meanwhile(after, meanwhile)
        self.place.send(events)
        self.place.faults.disarm()

    @rule(by=st.sampled_from(ADVANCES))
    def time_passes(self, by: timedelta) -> None:
        self.place.clock.advance(by)

    @rule(by=st.sampled_from(DAYS))
    def days_pass(self, by: timedelta) -> None:
        self.place.clock.advance(by)
        self.place.report()
        self.place.invoke("statements", {})

    @rule(lane=st.integers(0, 20), length=st.integers(1, 12), repeat=st.integers(0, 12), fault=faults)
    def lambda_delivers(self, lane: int, length: int, repeat: int, fault: tuple[FaultKind, int] | None) -> None:
        self.place.read_streams()
        lanes = list(self.place.lanes.values())
        if lanes:
            with self._struck_by(fault):
                self.place.deliver(lanes[lane % len(lanes)], length, repeat)

    @rule(after=st.integers(0, 12), repeat=st.integers(0, 12))
    def two_deliveries_overlap(self, after: int, repeat: int) -> None:
        self.place.read_streams()
        lanes = [lane for lane in self.place.lanes.values() if lane.function == "counters"]
        for lane, other in pairwise(lanes):
            self.place.faults.meanwhile(after, partial(self.place.deliver, other, other.left, repeat))
            self.place.deliver(lane, lane.left, repeat)
        self.place.faults.disarm()

    @rule(fault=faults)
    def an_operator_rebuilds_the_counters(self, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.invoke("repair", {"action": "rebuild"})

    @rule(fault=faults)
    def the_watch_ticks(self, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.tick()

    @rule(events=st.lists(an_event(), min_size=1, max_size=4), after=st.integers(0, 12))
    def a_client_sends_amid_a_tick(self, events: list[Cloud], after: int) -> None:
        def other() -> None:
            self.place.send(events)

        self.place.faults.meanwhile(after, other)
        self.place.tick()
        self.place.faults.disarm()

    @rule(id_=st.sampled_from(IDS), action=st.sampled_from(["release", "discard"]), fault=faults)
    def an_operator_decides_about_a_held_event(
        self, id_: str, action: str, fault: tuple[FaultKind, int] | None
    ) -> None:
        with self._struck_by(fault):
            self.place.decide(action, id_, SOURCES[id_[0]])

    @rule(id_=st.sampled_from(IDS), action=st.sampled_from(["release", "discard"]), after=st.integers(0, 12))
    def an_operator_decides_amid_a_tick(self, id_: str, action: str, after: int) -> None:
        self.place.faults.meanwhile(after, partial(self.place.decide, action, id_, SOURCES[id_[0]]))
        self.place.tick()
        self.place.faults.disarm()

    @rule(agency=st.sampled_from(AGENCIES), fault=faults)
    def an_agency_is_registered(self, agency: str, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.register(agency)

    @rule(agency=st.sampled_from(AGENCIES), after=st.integers(0, 12))
    def an_agency_is_registered_amid_a_tick(self, agency: str, after: int) -> None:
        self.place.faults.meanwhile(after, partial(self.place.register, agency))
        self.place.tick()
        self.place.faults.disarm()

    @rule()
    def items_expire(self) -> None:
        self.place.expire()

    @rule(fault=faults)
    def the_schedule_fires(self, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.report()

    @rule(fault=faults)
    def the_statements_are_made(self, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.place.invoke("statements", {})

    @rule(events=st.lists(an_event(), min_size=1, max_size=4), after=st.integers(0, 10))
    def two_clients_race(self, events: list[Cloud], after: int) -> None:
        def other() -> None:
            self.place.send(events)

        self.place.faults.meanwhile(after, other)
        self.place.send(events)
        self.place.faults.disarm()

    @rule(of=OF_SALES, how=st.permutations(CORRECTED), agency=st.sampled_from(AGENCIES), fault=faults)
    def a_sale_is_corrected_in_one_request(
        self, of: str, how: list[str], agency: str, fault: tuple[FaultKind, int] | None
    ) -> None:
        sold = {**sale(of, "10.00", agency=agency), "source": SOURCES[of[0]]}
        with self._struck_by(fault):
            self.place.send([sold, *(corrected(one, of, agency) for one in how[:4])])

    @rule(of=OF_SALES, how=st.permutations(CORRECTED), agency=st.sampled_from(AGENCIES), after=st.integers(0, 6))
    def a_sale_is_corrected_by_two_at_once(self, of: str, how: list[str], agency: str, after: int) -> None:
        one, other = (corrected(one, of, agency) for one in how[:2])
        self.place.faults.meanwhile(after, partial(self.place.send, [other]))
        self.place.send([one])
        self.place.faults.disarm()

    @rule(after=st.integers(0, 20))
    def two_reports_overlap(self, after: int) -> None:
        self.place.faults.meanwhile(after, self.place.report)
        self.place.report()
        self.place.faults.disarm()

    @rule(part=st.integers(0, 7), after=st.integers(0, 20))
    def a_part_is_sealed_once_more_amid_a_report(self, part: int, after: int) -> None:
        plan = self.place.plan()
        if plan and plan.parts > 1:
            name = str(plan.all_parts[part % len(plan.all_parts)])

            def other() -> None:
                self.place.invoke("report", {"seal": {"run": plan.run, "part": name}})

            self.place.faults.meanwhile(after, other)
            self.place.report()
            self.place.faults.disarm()
            other()

    @rule(seconds=st.sampled_from([1.0, 900.0]))
    def the_schedule_fires_with_little_time(self, seconds: float) -> None:
        self.place.report(seconds)

    @rule(shards=st.integers(1, 4))
    def the_owner_changes_the_shards(self, shards: int) -> None:
        self.place.set_environment("ingest", "LEDGER_SHARDS", str(shards))

    @rule(rate=st.sampled_from(["0.10", "0.125", "1"]))
    def the_owner_changes_the_commission(self, rate: str) -> None:
        self.place.change_settings(commission_rate=rate)

    @rule(
        zone=st.sampled_from(["UTC", "Asia/Tokyo", "America/Los_Angeles"]),
        days=st.integers(0, 9),
        first=st.sampled_from(["", "2026-10", "2026-11"]),
        later=st.sampled_from([timedelta(0), timedelta(minutes=10), timedelta(days=1)]),
    )
    def finance_changes_the_calendar(self, zone: str, days: int, first: str, later: timedelta) -> None:
        self.place.change_calendar(zone, days, first, later)

    @rule(id_=st.sampled_from(ORDERS), amounts=st.sampled_from(CONTENTS), fault=faults)
    def a_client_orders(self, id_: str, amounts: tuple[str, ...], fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.book.create(order(id_, *amounts))

    @rule(id_=st.sampled_from(ORDERS), step=st.sampled_from(STEPS), fault=faults)
    def an_order_goes_on(self, id_: str, step: tuple[str, str], fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.book.change(id_, *step)

    @rule(id_=st.sampled_from(ORDERS), amount=st.sampled_from(PARTS), number=st.integers(0, 2), fault=faults)
    def a_part_of_an_order_is_given_back(
        self, id_: str, amount: str, number: int, fault: tuple[FaultKind, int] | None
    ) -> None:
        with self._struck_by(fault):
            self.book.give_back(id_, amount, number)

    @rule(id_=st.sampled_from(ORDERS), fault=faults)
    def a_line_of_an_order_is_voided(self, id_: str, fault: tuple[FaultKind, int] | None) -> None:
        with self._struck_by(fault):
            self.book.void_line(id_)

    @rule(id_=st.sampled_from(ORDERS), amount=st.sampled_from(PARTS), after=st.integers(0, 12))
    def a_part_is_given_back_while_the_orders_are_billed(self, id_: str, amount: str, after: int) -> None:
        def other() -> None:
            self.book.give_back(id_, amount)

        self.place.read_streams()
        for lane in self.place.lanes.values():
            if lane.function == "billing":
                self.place.faults.meanwhile(after, other)
                self.place.deliver(lane, lane.left)
        self.place.faults.disarm()

    @rule()
    def readers_look_at_the_orders(self) -> None:
        self.book.look()

    def teardown(self) -> None:
        with self._open:
            if hasattr(self, "place"):
                self.book.look()
                self.place.drain()
                self.book.expect()
                self.place.check()
                self.place.stories_agree()
                self.place.close_all_months()

    def _struck_by(self, fault: tuple[FaultKind, int] | None) -> ExitStack:
        armed = ExitStack()
        if fault:
            self.place.faults.arm(*fault)
            armed.callback(self.place.faults.disarm)
        return armed


LONG = settings.get_current_profile_name() == "long"
pytestmark = [pytest.mark.timeout(7200)] if LONG else []
"""Seconds. The long profile takes a quarter of an hour on an idle core."""

TestMarketplace = Marketplace.TestCase
TestMarketplace.settings = settings.get_profile("long" if LONG else "bounded")


class MarketplaceOnDynamoDBLocal(Marketplace):
    """The same on the other engine, which takes longer."""


@pytest.fixture
def on_dynamodb_local(dynamodb_local_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MarketplaceOnDynamoDBLocal, "engine", dynamodb_local_url)


TestMarketplaceOnDynamoDBLocal = pytest.mark.engine(DYNAMODB_LOCAL)(
    pytest.mark.usefixtures("on_dynamodb_local")(MarketplaceOnDynamoDBLocal.TestCase)
)
TestMarketplaceOnDynamoDBLocal.settings = settings(TestMarketplace.settings, max_examples=50 if LONG else 5)
