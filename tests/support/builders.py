"""Events, claims, stream records and strategies that the core's tests are made of."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.ledger.postings.segments import SegmentKey, postings_of, segment_of
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.linked import Gathered, LinkedClaim, Target, linked_claim
from quarterhour.ledger.recording.pricing import has_terms_of_sale, terms_of
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.model import fields, texts
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.periods import Calendars, Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals
from quarterhour.registry.rate_cards.plan import Version
from quarterhour.registry.rate_cards.rate_card import RateCard
from quarterhour.web.access import Caller, Role
from tests.support import events
from tests.support.events import ABSENT, present

AT: Final = datetime(2026, 10, 23, 1, 30, 12, 345000, tzinfo=UTC)
"""When things happen here, unless they say otherwise: in the quarter-hour 202610230130."""
QUARTER_HOUR: Final = QuarterHour.parse("202610230130")
MACHINE: Final = Caller("shop", None)


def person(*agencies: str, name: str = "ann") -> Caller:
    """Return a person of these agencies."""
    return Caller(name, frozenset({Role.AGENCY}), frozenset(agencies))


def one_of_staff(*roles: Role) -> Caller:
    """Return a person of the marketplace with these roles."""
    return Caller("fay", frozenset(roles))


def utc(text: str) -> datetime:
    """Return an instant of 23 October 2026: ``01:30``, ``01:30:00.5``."""
    return datetime.fromisoformat(f"2026-10-23T{text}+00:00")


def sale(**changed: object) -> dict[str, Any]:
    """Return a CloudEvent of a sale, parsed, with other fields at the top."""
    return present({**events.sale(), **changed})


def data(**changed: object) -> dict[str, Any]:
    """Return the data of a sale with other fields."""
    return present({**events.sale()["data"], **changed})


def sale_of(**changed: object) -> dict[str, Any]:
    """Return a CloudEvent of a sale, parsed, with other fields in its data."""
    return sale(data=data(**changed))


def event(id_: str = "order-1", type_: str = "sale.recorded", **changed: object) -> Event:
    """Return a valid event with other fields in its data."""
    read = read_event(sale(id=id_, type=type_, data=data(**changed)))
    assert isinstance(read, Event), read
    return read


def void(id_: str = "v1", of: str = "order-1", **changed: Any) -> Event:
    """Return a void of a sale."""
    read = read_event(events.void(id_, of, **changed))
    assert isinstance(read, Event), read
    return read


def payment(id_: str = "p1", amount: str = "100.00", **changed: Any) -> Event:
    """Return a payment."""
    read = read_event(events.payment(id_, amount, **changed))
    assert isinstance(read, Event), read
    return read


def rerating(id_: str = "rr1", version: int = 1, **changed: Any) -> Event:
    """Return a re-rating of a sale by a version of its agency's rate card."""
    read = read_event(events.rerating(id_, version=Decimal(version), **changed))
    assert isinstance(read, Event), read
    return read


def rejection(id_: str = "order-1") -> Rejection:
    """Return an item that is no event."""
    read = read_event({**sale_of(amount=ABSENT), "id": id_})
    assert isinstance(read, Rejection)
    return read


def settings(**changed: object) -> RecordingSettings:
    """Return a deployment's settings: 2 minutes of grace, ingests of at most 30 seconds."""
    all_settings: dict[str, Any] = {
        "shards": 1,
        "commission_rate": Decimal("0.10"),
        "grace": timedelta(seconds=120),
        "longest_run": timedelta(seconds=30),
        "retention": None,
        **changed,
    }
    if "calendar" in all_settings:
        all_settings["calendars"] = Calendars.always(all_settings.pop("calendar"))
    return RecordingSettings(**all_settings)


def claim(of: Event | None = None, at: datetime = AT, **changed: object) -> Claim:
    """Return the claim of an event at an instant."""
    agreed = settings(**changed)
    claimed = of or event()
    return alone(Claim.of(claimed, at, agreed, terms_of(claimed, (), agreed.commission_rate)), agreed.shards)


def alone(made: Claim, shards: int = 1) -> Claim:
    """Return a claim placed alone in a segment."""
    digest, at = made.identity.hash, made.position.recorded_at
    return made.placed(SegmentKey(Partition.of(digest, at, shards), Position.of(digest, at)), 0)


def linked_of(
    sent: Event, sale: Claim, at: datetime = AT, rate_cards: Mapping[Version, RateCard] | None = None, **facts: str
) -> LinkedClaim:
    """Return the claim of an event that refers to a sale, which must allow it."""
    planned = linked_to(sent, sale, at, rate_cards, **facts)
    assert isinstance(planned, LinkedClaim), planned
    return replace(planned, claim=alone(planned.claim))


def linked_to(
    sent: Event, sale: Claim, at: datetime = AT, rate_cards: Mapping[Version, RateCard] | None = None, **facts: str
) -> LinkedClaim | Rejection:
    """Return what becomes of an event that refers to a sale.

    ``rate_cards``: those that a re-rating can name. ``facts``: those of the sale in the ledger.
    """
    recorded_at = iso_millis(sale.position.recorded_at)
    own = {"type": "sale.recorded", "amount": "1", "recorded_at": recorded_at, "tax_point": str(sale.tax_point)}
    target = Target(sale, {**own, **facts})
    terms = {} if has_terms_of_sale(sent) else {sent.identity: terms_of(sent, (), settings().commission_rate)}
    return linked_claim(sent, target, Gathered({}, {}, terms, rate_cards or {}), at, settings())


def taken_back(sent: Event, refund: LinkedClaim, amount: str = "-2.50") -> LinkedClaim:
    """Return the claim of a void that takes back the refund of an amount, the last change of its sale."""
    account = {"agency": sent.account.agency, "currency": sent.account.currency, "amount": amount}
    facts = {**account, "type": "sale.refunded", "tax_point": str(refund.claim.tax_point)}
    claims = {refund.after.identity: refund.after}
    sales = {refund.after.identity: {"amount": "1"}}
    planned = linked_claim(sent, Target(refund.claim, facts), Gathered(claims, sales, {}), AT, settings())
    assert isinstance(planned, LinkedClaim), planned
    return replace(planned, claim=alone(planned.claim))


def posting_values(account: str = "42#GBP", amount: str = "12.50", **changed: str) -> dict[str, str]:
    """Return the values of a posting; its period is the month of its position, unless it is given."""
    agency, currency = account.split("#")
    values = {
        "quarter_hour": str(Partition(QUARTER_HOUR, 0)),
        "position": str(Position.of(Identity("shop", "order-1").hash, AT).at(0)),
        "recorded_at": iso_millis(AT),
        "source": "shop",
        "id": "order-1",
        "type": "sale.refunded" if amount.startswith("-") else "sale.recorded",
        "agency": agency,
        "currency": currency,
        "amount": amount,
        "commission_rate": "0.10",
        "commission": "1.25",
        "period": changed.get("recorded_at", iso_millis(AT))[: len("2026-10")],
        **changed,
    }
    return {"period": str(Period.of(Position.parse(values["position"]).recorded_at)), **values}


def posting_item(account: str = "42#GBP", amount: str = "12.50", **changed: str) -> dict[str, Any]:
    """Return the item of a segment with one posting."""
    return segment_of([posting_values(account, amount, **changed)])


def with_values(item: Mapping[str, Any], **changed: str | None) -> dict[str, Any]:
    """Return the item of a segment with one posting with other values of the posting; ``None`` leaves one out."""
    (posting,) = postings_of(dict(item))
    return segment_of([{name: value for name, value in {**posting, **changed}.items() if value is not None}])


def in_own_month(quarter_hour: QuarterHour, totals: Totals) -> PeriodTotals:
    """Return totals of a quarter-hour that count in its own month."""
    return {Period.of(quarter_hour.day): totals}


def record(seq: str | int, image: Mapping[str, Any] | None, name: str = "INSERT", **more: object) -> dict[str, Any]:
    """Return a stream record, as Lambda hands it over, of an item of any table."""
    dynamodb: dict[str, Any] = {"SequenceNumber": str(seq)}
    if image is not None:
        key = ("pk", "sk") if "pk" in image else ("quarter_hour", "position")
        dynamodb |= {"Keys": {part: image[part] for part in key if part in image}, "NewImage": dict(image)}
    return {"eventID": f"event-{seq}", "eventName": name, "eventSource": "aws:dynamodb", "dynamodb": dynamodb, **more}


def change_record(seq: str | int, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stream record of an item that is written for the first time, or (``before``) changed."""
    if before is None:
        return record(seq, after)
    change = record(seq, after, "MODIFY")
    return {**change, "dynamodb": {**change["dynamodb"], "OldImage": dict(before)}}


names: Final = (
    st.text(
        st.one_of(st.characters(exclude_categories=["C", "Z"], exclude_characters="#"), st.just(" ")),
        min_size=1,
        max_size=30,
    )
    .map(texts.of_name)
    .filter(fields.is_name)
)
"""Sources, ids, agencies: as they are stored."""
currencies: Final = st.sampled_from(["GBP", "EUR", "JPY", "KWD"])
instants: Final = st.datetimes(datetime(2000, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis wants naive bounds
millis: Final = instants.map(lambda instant: instant.replace(microsecond=instant.microsecond // 1000 * 1000))
quarter_hours: Final = instants.map(QuarterHour.at)
partitions: Final = st.builds(Partition, quarter_hours, st.integers(0, 63))
identities: Final = st.builds(Identity, names, names)
accounts: Final = st.builds(Account, names, currencies)


@st.composite
def amounts(draw: st.DrawFn, digits: int = 38) -> Decimal:
    """Draw amounts of any sign and scale, of at most so many digits as written out."""
    scale = draw(st.integers(0, digits - 1))
    whole = draw(st.integers(0, 10 ** draw(st.integers(1, digits)) - 1))
    negative = draw(st.booleans()) and whole > 0
    return Decimal((int(negative), tuple(map(int, str(whole))), -scale))
