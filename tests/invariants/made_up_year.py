"""A made-up year of a marketplace, drawn from a seed: rate cards of all kinds, and what happens to its events.

Requests race and die, deliveries repeat, runs die: ``Year`` plays it to a deployment, and tells a ``Computation`` what
was answered as recorded.
"""

from calendar import monthrange
from collections.abc import Callable, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.computation import (
    ADJUSTMENT,
    REFUND,
    SALE,
    VOID,
    Charged,
    Computation,
    Sold,
    is_valid,
    rule_for,
)
from tests.invariants.made_up_rate_cards import RateCards
from tests.invariants.trial import Trial
from tests.support.agencies import ANYWHERE, tax
from tests.support.events import Cloud, adjustment, payment, refund, rerating, sale, void

if TYPE_CHECKING:
    from tests.invariants.computation import (
        Content,
    )

ZONE: Final = "Europe/Amsterdam"
GRACE_DAYS: Final = 3
DEFAULT_RATE: Final = "0.125"
AGENCIES: Final = ("a", "b", "c", "d", "e")
LATER: Final = "2026-10-09T22:00:00Z"
"""The beginning of the day from which the last agency is registered."""
NORTH: Final = "North & West"
SOUTH: Final = "South"
CURRENCIES: Final = ("GBP", "EUR", "JPY")
KILLS: Final = (FaultKind.KILL_BEFORE, FaultKind.RESET_AFTER, FaultKind.KILL_AFTER, FaultKind.THROTTLE)
_RANK: Final = {SALE: 0, ADJUSTMENT: 1, REFUND: 2, VOID: 3}


class Size(NamedTuple):
    """How long and busy a year is: its months, and the requests of each."""

    months: int
    requests: int


class Year:
    """A deployment, what it is sent, and the computation of it. ``raced``: the ids of events that another one raced."""

    def __init__(self, place: Trial, seed: int, rounding: str) -> None:
        self.place = place
        self.random = Random(seed)  # noqa: S311 - reproducible, not secret
        self.computation = Computation(ZONE, GRACE_DAYS, rounding, DEFAULT_RATE)
        self.raced: set[str] = set()
        self._rate_cards = RateCards(self.random)
        self._number = 0
        self._strikes = 0
        self.cancelled: tuple[tuple[str, str], str] = ("", ""), ""
        """The account and the month of the statement that was cancelled and issued again."""
        self._only_voids: set[str] = set()
        """Sales of which it is open which one bears the fee of their order."""

    # ------------------------------------------------------------ documents

    def begin(self) -> None:
        """Register the agencies, and write rate cards for each, for groups and for all."""
        self.place.write("/documents/owner", ANYWHERE)
        rated = {"by_charge": {"listing fee": {"scheme": "standard", "percent": "5"}}}
        registered: dict[str, dict[str, Any]] = {
            "a": {"group": NORTH, "tax": {"scheme": "standard", "percent": "20", **rated}},
            "b": {"group": NORTH, "tax": {"scheme": "exempt"}},
            "c": {"group": NORTH, "tax": {"scheme": "standard", "percent": "19.5"}, "collects": "marketplace"},
            "d": {"group": None, "tax": {"scheme": "standard", "percent": "7"}},
            "e": {"group": SOUTH, "tax": {"scheme": "standard", "percent": "20"}, "valid_from": LATER},
        }
        for agency, content in registered.items():
            self.register(agency, {"valid_from": "2026-01-01T00:00:00Z", **content})
        for name in ("default", f"group/{NORTH}", f"group/{SOUTH}", "a", "d"):
            self.write_rate_card(name, "2026-01-01T00:00:00Z")

    def on(self, day: int, hour: int = 12) -> str:
        """Return an instant of the month of the clock."""
        return f"{self.place.clock.now():%Y-%m}-{day:02d}T{hour:02d}:00:00Z"

    def register(self, agency: str, changed: dict[str, Any]) -> None:
        """Write a version of an agency's registration."""
        versions = self.computation.documents[f"agency:{agency}"]
        before: Content = versions.all[-1] if versions.all else {**tax(), "legal_name": f"Agency {agency}"}
        content = {name: value for name, value in {**before, **changed}.items() if value is not None}
        self.place.write(f"/agencies/{agency}", content, len(versions.all))
        versions.write(content)

    def write_rate_card(self, name: str, valid_from: str, valid_to: str | None = None) -> None:
        """Write a version of a rate card, drawn at random."""
        document = f"rate-card:{name}"
        content = {"valid_from": valid_from, "rules": self._rate_cards.rules()}
        content |= {"valid_to": valid_to} if valid_to else {}
        versions = self.computation.documents[document]
        self.place.write(f"/documents/{quote(quote(document, safe=''), safe='')}", content, len(versions.all))
        versions.write(content)
        self.place.clock.advance(timedelta(minutes=2))  # all functions know it then

    # ------------------------------------------------------------ months

    def play(self, size: Size) -> None:
        """Play all months, and make the statements of each after its cut-off. One is cancelled, and issued again."""
        self.begin()
        for number in range(size.months):
            self._month(number, size.requests)
        line = next(one for one in self.computation.lines.values() if one.type == SALE)
        self.cancelled = line.account, line.period
        self._cancel(*self.cancelled)

    def _month(self, number: int, requests: int) -> None:
        now = self.place.clock.now()
        days = monthrange(now.year, now.month)[1]
        last = datetime(now.year, now.month, days, 20, tzinfo=UTC)
        at = sorted(self.random.uniform(0, (last - now).total_seconds()) for _ in range(requests))
        changes = dict(zip(self.random.sample(range(requests), 3), self._changes(number), strict=False))
        for index, seconds in enumerate(at):
            if (instant := now + timedelta(seconds=seconds)) > self.place.clock.now():
                self.place.clock.advance_to(instant)
            if index in changes:
                changes[index]()
            self._request()
            if index % 7 == 0:
                self._run(self._deliver)
            if index % 11 == 5:
                self._run(lambda: self.place.report() and None)
        self.close()

    def _changes(self, number: int) -> list[Callable[[], None]]:
        """Return what changes in a month, at some time of it: groups, rate cards, profiles, who collects."""
        other = SOUTH if number % 2 == 0 else NORTH
        some = [
            lambda: self.register("c", {"group": other, "valid_from": self.on(self.random.randint(5, 25))}),
            lambda: self.write_rate_card(self.random.choice(("default", f"group/{NORTH}", "a")), self._later()),
            lambda: self.write_rate_card("b", self._later(1), self._later(9)),
            lambda: self.register("d", {"tax": self._tax(), "valid_from": self._later()}),
            lambda: self.register("c", {"collects": self._collector(), "valid_from": self._later()}),
        ]
        self.random.shuffle(some)
        return some

    def _tax(self) -> dict[str, str]:
        return {"scheme": "standard", "percent": self.random.choice(("7", "9"))}

    def _collector(self) -> str:
        return self.random.choice(("agency", "marketplace"))

    def _later(self, days: int = 0) -> str:
        instant = self.place.clock.now() + timedelta(days=days, hours=self.random.randint(1, 30))
        return f"{instant:%Y-%m-%dT%H:00:00Z}"

    def close(self) -> None:
        """Pass the cut-off, with events that come late, and make the statements."""
        now = self.place.clock.now()
        following = (now.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        for instant in (following + timedelta(days=1), following + timedelta(days=GRACE_DAYS, minutes=30)):
            self.place.clock.advance_to(instant)
            for _ in range(2):
                self._request()
        self.place.drain()
        self._run(self.place.make_statements)
        self.place.make_statements()

    def _cancel(self, account: tuple[str, str], period: str) -> None:
        """Cancel a statement, and issue it again."""
        path = f"/drafts/{account[0]}/{account[1]}/{period}"
        for decision in ("cancel", "release"):
            body = {"decision": decision, "reason": "a wrong address", "seen": self.place.read(path)["seen"]}
            answer = self.place.request("write", "PUT", path, body)
            assert answer, "nothing fails here"
            assert answer.status == 200, answer.body
            self.place.clock.advance(timedelta(hours=1))
            self.place.report()
            self._run(self.place.make_statements)
            self.place.make_statements()

    # ------------------------------------------------------------ requests

    def _request(self) -> None:
        """Send a request: it may race with another one, die at any call, and be sent again."""
        some, other = self._drawn()
        if other:
            self.place.faults.meanwhile(self.random.randint(0, 12), lambda: self.place.send(other))
            self.raced.update(one["id"] for one in (*some, *other))
        if not other or self.random.random() < 0.3:
            self._arm(14)
        self.place.send(some)
        self.place.faults.disarm()
        self.place.clock.advance(timedelta(seconds=self.random.randint(1, 5)))
        if other and not any(one["id"] in self.place.sent for one in other):
            self.place.send(other)
        if self.random.random() < 0.3:
            self._arm(14)
        self.place.send_again()
        self.place.faults.disarm()
        self.place.clock.advance(timedelta(seconds=1))
        self.place.send_again()
        self._take([*some, *other], in_turns=not other)

    def _arm(self, calls: int) -> None:
        """Let a fault strike at one of the next calls, each in turns."""
        self.place.faults.arm(KILLS[self._strikes % len(KILLS)], self._strikes // len(KILLS) % calls)
        self._strikes += 1

    def _run(self, act: Callable[[], object]) -> None:
        """Run something that may die at any of its calls."""
        self._arm(60)
        act()
        self.place.faults.disarm()

    def _deliver(self) -> None:
        self.place.read_streams()
        for lane in list(self.place.lanes.values()):
            self.place.deliver(lane, lane.left, self.random.randint(0, 4))

    def _take(self, events: Sequence[Cloud], *, in_turns: bool) -> None:
        """Tell the computation what was recorded."""
        assert not self.place.outbox
        refused = []
        for event in events if in_turns else sorted(events, key=lambda one: _RANK.get(one["type"], 1)):
            receipt = self.place.receipts.get(event["id"])
            if receipt is None:
                refused.append(event)
            elif event["id"] not in self.computation.lines:
                self.computation.record(event, datetime.fromisoformat(receipt["recorded_at"]))
        for event in refused:
            self._refused(event, in_turns=in_turns)

    def _refused(self, event: Cloud, *, in_turns: bool) -> None:
        (problems,) = (found for one, found in self.place.turned_away if one["id"] == event["id"])
        if "changes nothing" in problems[0]:
            tried = deepcopy(self.computation)
            changed = tried.record(event, self.place.clock.now()).charged
            assert changed == Charged(), f"{event} changes {changed}"
        else:
            assert not in_turns, f"{event} was refused: {problems}"

    # ------------------------------------------------------------ what is sent

    def _drawn(self) -> tuple[list[Cloud], list[Cloud]]:
        """Draw a request, and another one that races with it, if any."""
        if self.random.random() < 0.25:
            return self._race()
        touched: set[str] = set()
        found: list[Cloud] = []
        for _ in range(self.random.randint(1, 5)):
            draw = self.random.choices((self._sale, self._correction, self._other), (5, 4, 1))[0]
            found += draw(touched)
        return found or self._sale(touched), []

    def _id(self, kind: str) -> str:
        self._number += 1
        return f"{kind}{self._number}"

    def _agency(self) -> str:
        return self.random.choice([one for one in AGENCIES if self._is_registered(one)])

    def _is_registered(self, agency: str) -> bool:
        return self.computation.documents[f"agency:{agency}"].at(self.place.clock.now()) is not None

    def _sale(self, touched: set[str], **facts: Any) -> list[Cloud]:
        """Draw a sale; perhaps with a refund or a void of it in the same request; or a refund without a sale."""
        currency = self.random.choice(CURRENCIES)
        size = self.random.choice((5, 50, 500, 5000)) * (100 if currency == "JPY" else 1)
        number = self.random.randint(1, size * 100)
        amount = f"{number}" if currency == "JPY" else self._amount(number)
        facts = {**self._facts(amount), **facts, "agency": facts.get("agency") or self._agency(), "currency": currency}
        if self.random.random() < 0.08:
            facts.update({name: f"-{facts[name]}" for name in ("tax", "shipping") if name in facts})
            return [self._dated(refund(self._id("u"), f"-{amount}", None, **facts))]
        sold = self._dated(sale(self._id("s"), amount, **facts))
        touched.add(sold["id"])
        account = {"agency": facts["agency"], "currency": currency}
        more = []
        if self.random.random() < 0.1:
            more.append(refund(self._id("r"), f"-{amount}", sold["id"], **account))
        elif self.random.random() < 0.05:
            more.append(void(self._id("v"), sold["id"], **account))
        return [sold, *more]

    def _amount(self, number: int) -> str:
        return f"{number / 1000:.3f}" if self.random.random() < 0.1 else f"{number / 100:.2f}"

    def _facts(self, amount: str) -> dict[str, Any]:
        """Draw what a sale says of itself."""
        draw = self.random.random
        facts: dict[str, Any] = {}
        if draw() < 0.4:
            facts["category"] = self.random.choice(("books", "maps", "toys"))
        if draw() < 0.3:
            facts["product"] = self.random.choice(("Atlas", "Globe"))
        if draw() < 0.3:
            facts["location"] = self.random.choice(("GB", "GB#London", "DE"))
        if draw() < 0.3:
            facts["quantity"] = self.random.choice(("2", "3", "10"))
        if draw() < 0.5:
            facts["order_id"] = f"o{self.random.randint(0, 40)}"
        if draw() < 0.05:
            facts["commission_rate"] = "0.2"
        places = len(amount.partition(".")[2])
        for name in ("tax", "shipping"):
            if draw() < 0.5:
                facts[name] = f"{float(amount) * self.random.uniform(0, 0.4):.{places}f}"
        return facts

    def _dated(self, event: Cloud) -> Cloud:
        """Date an event: now, or some time before, in an open month or in one that is cut off."""
        if self.random.random() < 0.6 or self.place.clock.now().month == 10:
            return event
        back = self.random.choice((timedelta(hours=5), timedelta(days=4), timedelta(days=20), timedelta(days=45)))
        at = max(self.place.clock.now() - back, datetime(2026, 10, 10, tzinfo=UTC))
        return {**event, "time": f"{at:%Y-%m-%dT%H:%M:%SZ}"}

    def _sales(self, touched: set[str]) -> list[Sold]:
        """Return the sales of which something is left to correct."""
        some = [one for one in self.computation.sold.values() if one.event["type"] == SALE and one.left.amount > 0]
        return [one for one in some if one.line.id not in touched | self._only_voids]

    def _correction(self, touched: set[str]) -> list[Cloud]:
        refunds = self._refunds(touched)
        if refunds and self.random.random() < 0.2:
            return [self._taken_back(self.random.choice(refunds), touched)]
        raced = sorted(one for one in self._only_voids if self._may_be_voided(one))
        if raced and self.random.random() < 0.4:
            return [self._void_of_raced(self.random.choice(raced), touched)]
        some = self._sales(touched)
        return [self._correction_of(self.random.choice(some), touched)] if some else []

    def _correction_of(self, sold: Sold, touched: set[str]) -> Cloud:
        touched.add(sold.line.id)
        how = self.random.choices(("refund", "void", "rerating", "adjustment"), (5, 2, 3, 1))[0]
        if how == "rerating" and (rerated := self._rerating(sold)):
            return rerated
        if how == "void":
            return self._void(sold)
        if how == "adjustment":
            return adjustment(self._id("x"), "-1.25", sold.line.id, **account_of(sold))
        return self._refund(sold)

    def _void_of_raced(self, id_: str, touched: set[str]) -> Cloud:
        self._only_voids.remove(id_)
        touched.add(id_)
        found = self._void(self.computation.sold[id_])
        self.raced.add(found["id"])
        return found

    def _may_be_voided(self, id_: str) -> bool:
        return id_ in self.computation.sold and self.computation.sold[id_].left.amount > 0

    def _refunds(self, touched: set[str]) -> list[str]:
        """Return the refunds that can be taken back: their sale is not void, and its parts are in proportion."""
        found = []
        for id_, (of, _) in self.computation.refunds.items():
            sold = self.computation.sold[of]
            if not sold.left.is_void and sold.left.tax is None and of not in touched | self._only_voids:
                found.append(id_)
        return found

    def _taken_back(self, id_: str, touched: set[str]) -> Cloud:
        of, _ = self.computation.refunds[id_]
        touched.add(of)
        return void(self._id("b"), id_, "returned by the bank", **account_of(self.computation.sold[of]))

    def _void(self, sold: Sold) -> Cloud:
        return void(self._id("v"), sold.line.id, **account_of(sold))

    def _refund(self, sold: Sold) -> Cloud:
        """Draw a refund: of all that is left or of a part, which may say its own parts."""
        left, places = sold.left, 0 if sold.line.account[1] == "JPY" else 2
        amount = round(left.amount * self.random.choice((100, 100, 10, 50, 33)) / 100, places) or left.amount
        amount = min(amount, left.amount)
        facts: dict[str, Any] = account_of(sold)
        if self.random.random() < 0.2 and left.tax is None and left.shipping is None and not left.is_void:
            whole = sold.basis("amount")
            if left.amount == whole and sold.basis("goods") >= amount and sold.basis("goods") != whole:
                facts |= {"tax": "0", "shipping": "0"}
        return refund(self._id("r"), f"-{float(amount):.{3 if places else 0}f}", sold.line.id, **facts)

    def _rerating(self, sold: Sold) -> Cloud | None:
        if not sold.has_own_terms:
            return None
        named = [
            (name, version)
            for name in (f"rate-card:{sold.line.account[0]}", "rate-card:default", f"rate-card:group/{NORTH}")
            for version, content in enumerate(self.computation.documents[name].all, 1)
            if is_valid(content, sold.at) and rule_for(content, sold.event)
        ]
        if not named:
            return None
        name, version = self.random.choice(named)
        return rerating(self._id("m"), sold.line.id, version, name, **account_of(sold))

    def _other(self, touched: set[str]) -> list[Cloud]:
        facts = {"agency": self._agency(), "currency": self.random.choice(CURRENCIES)}
        draw = self.random.random()
        if draw < 0.4:
            return [payment(self._id("p"), self.random.choice(("100", "-3", "12")), **facts)]
        if draw < 0.7:
            return [self._dated(adjustment(self._id("x"), "2.5", **facts))]
        return [adjustment(self._id("x"), "40", kind="opening", **facts)] if touched else []

    # ------------------------------------------------------------ races

    def _race(self) -> tuple[list[Cloud], list[Cloud]]:
        """Draw two requests that are under way at once."""
        some = self._sales(set())
        kind = self.random.choice(("order", "order", "refunds", "refund and void", "refund and rerating", "retry"))
        if kind == "order" or not some:
            return self._two_lines_of_an_order()
        if kind == "retry":
            sent = self._sale(set())
            return sent, sent
        sold = self.random.choice(some)
        one = self._refund(sold)
        one["data"] = {name: value for name, value in one["data"].items() if name not in {"tax", "shipping"}}
        if sold.left.tax is not None:  # what a refund takes then depends on the order
            return [one], [one]
        if kind == "refunds":
            return [one], [{**one, "id": self._id("r")}]
        if kind == "refund and rerating" and (rerated := self._rerating(sold)):
            return [one], [rerated]
        return [one], [self._void(sold)]

    def _two_lines_of_an_order(self) -> tuple[list[Cloud], list[Cloud]]:
        """Draw two equal lines of an order, of which either one may bear its fee."""
        order = f"order of {self._id('')}"
        (one, *_) = self._sale(set(), order_id=order, agency=self._agency())
        if one["type"] != SALE:
            return [one], [one]
        other = {**one, "id": self._id("s")}
        self._only_voids |= {one["id"], other["id"]}
        return [one], [other]


def account_of(sold: Sold) -> dict[str, str]:
    """Return the account of a sale as events name it."""
    agency, currency = sold.line.account
    return {"agency": agency, "currency": currency}
