"""A marketplace in December that sold in the last hour of October, which is due for the archive."""

from datetime import UTC, datetime
from typing import Any

from quarterhour.ledger.events.event import Event, read_event
from quarterhour.model.identifiers import Identity, Partition, Position
from tests.handlers.desk import paid
from tests.support.agencies import OWNER, tax
from tests.support.events import adjustment, payment, refund, sale, view
from tests.support.month_to_close import decide, sealed
from tests.support.requests import post, put, verdicts
from tests.support.system import World
from tests.support.tables import ledger, put_postings

PARAMETERS: dict[str, str | int] = {
    "LedgerRetentionMonths": 1,
    "release": "manual",
    "LedgerShards": 2,
    "grace_days": 0,
}
STARTS = datetime(2026, 10, 31, 22, 31, tzinfo=UTC)
DUE = datetime(2026, 12, 5, 0, 20, tzinfo=UTC)
DISPUTE = "/statements/42/GBP/2026-10/disputes"
SENT: list[dict[str, Any]] = [
    sale("s1", "80.00", customer="ann", product='=HYPERLINK("x"), second', location="GB/London", extra={"a": [1, "ü"]}),
    {**sale("s2", "0.001", customer="bob", order_id="-7"), "time": "2026-10-01T10:00:00Z"},
    refund("r1", "-30.00", of="s1"),
    refund("r2", "-1.00", of=None),
    adjustment("a1", "0.25", of="s1", reason="a coupon"),
    view("v1", "/index", "ann"),
    payment("p1", "5.00"),
    {**sale("s3", "7.00"), "traceparent": "00-abc"},
]
"""The events of October: three segments, as those that refer to one sale have a segment each."""
STORED_ALONE = {"single": {}, "kept": {"recorded_by": "fay"}}
"""Sales that are in segments of one; the line of the second does not hold all its values."""
ITEMS = 6
"""The ledger items of October."""


def fill_october(world: World) -> None:
    """Register the agency, record the events of October, and let it be December; October is sealed."""
    put(world, "/documents/owner", {"seen": 0, "content": OWNER})
    put(world, "/agencies/42", {"seen": 0, "content": tax(percent="20")})
    content = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "20"}]}
    put(world, "/documents/rate-card:42", {"seen": 0, "content": content})
    answer = post(world, SENT)
    assert set(verdicts(answer)) == {"recorded"}, answer.json()
    paid(world, "1001")
    for id_, more in STORED_ALONE.items():
        store_alone(world, id_, more)
    world.pass_time(hours=2)
    world.report()
    world.clock.advance_to(DUE)
    world.report()


def release_october(world: World) -> None:
    """Release the draft of October, which was made."""
    decide(world, "42", "GBP", "2026-10", "release")
    sealed(world)


def store_alone(world: World, id_: str, more: dict[str, str]) -> None:
    """Store a sale like ``s3`` in a segment of its own, with its claim."""
    like = next(one for one in ledger(world) if one["id"] == "s3")
    identity = Identity("shop", id_)
    at = Position.parse(like["position"]).recorded_at
    position = Position.of(identity.hash, at).at(0)
    place = {"quarter_hour": str(Partition.of(identity.hash, at, 2)), "position": str(position)}
    put_item = world.stack.dynamodb.put_item
    put_postings(world, {**like, **more, **place, "id": id_})
    claims, key = world.stack.ref("IdentityTable"), {"event": {"S": "shop#s3"}}
    claim = world.stack.dynamodb.get_item(TableName=claims, Key=key)["Item"]
    event = read_event(alone(id_))
    assert isinstance(event, Event)
    own = {"event": str(identity), "digest": event.digest, **place}
    put_item(TableName=claims, Item={**claim, **{name: {"S": value} for name, value in own.items()}})


def alone(id_: str) -> dict[str, Any]:
    """Return a sale like ``s3``."""
    return {**SENT[-1], "id": id_}
