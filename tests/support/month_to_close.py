"""A marketplace in December, whose November has drafts that finance has to decide about."""

from datetime import UTC, datetime
from typing import Any, Final

from tests.handlers.desk import send
from tests.support.agencies import OWNER, tax
from tests.support.events import ABSENT, payment, refund
from tests.support.requests import post, put, verdicts
from tests.support.system import World

STARTS: Final = datetime(2026, 10, 30, 12, tzinfo=UTC)
PERIOD: Final = "2026-11"
PARAMETERS: Final = {"release": "manual", "base_currency": "EUR"}
NAMES: Final = {"harbour": "Harbour Books Ltd", "quay": "Quay & Sons", "lamp": "Lamplight GmbH", "mill": "Mill SARL"}
"""The legal names of the agencies that are registered; al-mina is not."""


def decide(world: World, agency: str, currency: str, period: str, decision: str, **more: Any) -> None:
    """Decide about a draft over the API, as a machine."""
    path = f"/drafts/{agency}/{currency}/{period}"
    body = {"decision": decision, "seen": world.read(path)["seen"], **more}
    assert send(world, "PUT", path, body).status == 200


def sealed(world: World) -> None:
    """Seal what is due, and make the drafts and statements of it."""
    world.report()
    world.stack.invoke("statements", {})
    world.drain()


def owner_and_agencies(world: World) -> None:
    """Write the owner, and register the agencies with names."""
    put(world, "/documents/owner", {"seen": 0, "content": OWNER})
    for agency, name in NAMES.items():
        put(world, f"/agencies/{agency}", {"seen": 0, "content": {**tax(percent="20"), "legal_name": name}})


def month_to_close(world: World) -> None:
    """Fill the marketplace: October is released, November has seven drafts.

    Four drafts are ready, two in GBP and two in EUR. That of ``harbour`` has grown fourfold, and one of ``mill`` is
    at the default rate. ``al-mina`` is not registered, and its two drafts cannot be released.
    """
    owner_and_agencies(world)
    put(world, "/exchange-rates/USD", {"units_per_base": "1.1", "source": "ECB", "as_of": "2026-10-23T14:15:00Z"})
    world.sell("100.00", "harbour")
    world.sell("1000.00", "quay")
    world.pass_time(days=5)
    sealed(world)
    for agency in ("harbour", "quay"):
        decide(world, agency, "GBP", "2026-10", "release")
    sealed(world)
    world.sell("400.0123", "harbour")
    world.sell("1100.00", "quay")
    world.sell("90.00", "lamp")
    world.sell("80.00", "al-mina")
    world.sell("7000.00", "al-mina", "EUR")
    world.sell("70.00", "quay", "EUR")
    world.sell("60.00", "mill", "EUR", commission_rate=ABSENT)
    world.pass_time(days=31)
    sealed(world)
    assert verdicts(post(world, [refund("r1", "-1.00", "none", agency="lamp")])) == ["held"]
    assert verdicts(post(world, [payment("p1", "5.00", agency="lamp")])) == ["recorded"]
    disputed = {"source": "shop", "id": "e1", "reason": "this parcel came back"}
    assert send(world, "POST", "/statements/quay/GBP/2026-10/disputes", disputed).status == 201
    world.drain()
