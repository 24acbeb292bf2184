"""Previews and balances beside drafts and releases: each line counts once, whatever is released or cancelled."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.handlers.desk import send
from tests.handlers.test_statement_runs import LONDON, Marketplace, payment
from tests.support.agencies import tax
from tests.support.copies import OnACopy
from tests.support.events import sale
from tests.support.system import opened

OCTOBER, NOVEMBER, DECEMBER = (f"/statements/42/GBP/2026-{month}" for month in (10, 11, 12))
BALANCE = "/accounts/42/GBP/balance"
RATED = {"commission_rate": "0.125"}
OWNER = {"legal_name": "Market Ltd", "address": "1 Quay", "country": "GB", "vat_id": "GB980780684"}


@pytest.fixture(scope="module")
def drafts() -> Iterator[Marketplace]:
    """The drafts of October, of 100.00 and a payment of 5; nothing is released yet. November has a sale of 10.00."""
    with opened({**LONDON, "release": "manual"}, start=datetime(2026, 10, 31, 22, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", OWNER)
        shop.write("/agencies/42", tax(percent="20"))
        shop.record(sale("s1", "100.00", **RATED), payment("p1", "5"))
        shop.until(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
        assert shop.seal()["drafts"] == 1
        shop.record(sale("s2", "10.00", **RATED))
        world.drain()
        yield shop


@pytest.fixture
def shop(drafts: Marketplace, on_a_copy: OnACopy) -> Iterator[Marketplace]:
    """The drafts of October, for one test."""
    with on_a_copy(drafts.world):
        yield drafts


def decide(shop: Marketplace, decision: str, seen: int, period: str = "2026-10", agency: str = "42") -> None:
    body = {"decision": decision, "seen": seen, "reason": "checked"}
    answer = send(shop.world, "PUT", f"/drafts/{agency}/GBP/{period}", body)
    assert answer.status == 200, answer.json()


def release(shop: Marketplace, decision: str, seen: int, period: str = "2026-10") -> None:
    decide(shop, decision, seen, period)
    assert shop.seal()["documents"] == 1
    shop.world.drain()


def shown(found: dict[str, Any]) -> tuple[str, ...]:
    return tuple(found[name] for name in ("opening", "commission", "tax", "payments", "closing"))


def test_the_preview_of_a_drafted_period_is_that_of_its_draft_and_the_next_one_continues_it(shop: Marketplace) -> None:
    october, november = shop.world.read(OCTOBER), shop.world.read(NOVEMBER)
    assert (october["preview"], october["state"], october["lines"]) == (True, "sealed", 2)
    assert shown(october) == ("0", "12.50", "2.50", "5", "10.00")
    assert (october["gross"], october["refunds"], october["net"]) == ("100.00", "0", "100.00")
    assert (november["state"], november["lines"], shown(november)) == (
        ("open", 1, ("10.00", "1.25", "0.25", "0", "11.50"))  # 1.25: a commission of 1.25000, half even
    )


def test_the_preview_of_a_draft_is_the_statement_that_is_released(shop: Marketplace) -> None:
    before = shop.world.read(OCTOBER)
    release(shop, "release", 0)
    after = shop.world.read(OCTOBER)
    assert (after["preview"], after["number"]) == (False, "S-000001")
    assert shown(before) == shown(after)
    assert shop.world.read(NOVEMBER)["opening"] == "10.00"


def test_a_balance_is_the_closing_balance_of_the_last_document_and_what_is_on_no_statement(shop: Marketplace) -> None:
    found = shop.world.read(BALANCE)
    assert (found["statement"], found["balance"]) == (None, "11.50")  # 12.50 + 2.50 - 5 + 1.25 + 0.25
    release(shop, "release", 0)
    found = shop.world.read(BALANCE)
    assert (found["statement"]["number"], found["statement"]["closing"]) == ("S-000001", "10.00")
    assert (found["balance"], found["unbilled"]["commission"]) == ("11.50", "1.25")
    release(shop, "cancel", 2)
    found = shop.world.read(BALANCE)
    assert (found["statement"]["number"], found["statement"]["closing"]) == ("C-000001", "-5.00")
    assert found["unbilled"] == {"commission": "13.75", "tax": "2.75", "proceeds": "0.00", "payments": "0"}
    release(shop, "release", 4)
    found = shop.world.read(BALANCE)
    assert (found["statement"]["number"], found["balance"]) == ("S-000002", "11.50")


def test_a_balance_of_the_past_counts_a_document_from_its_release_on(shop: Marketplace) -> None:
    def at(time: str) -> tuple[Any, str]:
        found = shop.world.read(BALANCE, at=f"2026-11-02T{time}:00Z")
        return (found["statement"] or {}).get("number"), found["balance"]

    shop.world.clock.advance_to(datetime(2026, 11, 2, 1, 10, tzinfo=UTC))
    release(shop, "release", 0)
    shop.world.clock.advance_to(datetime(2026, 11, 2, 2, 10, tzinfo=UTC))
    release(shop, "cancel", 2)
    shop.world.clock.advance_to(datetime(2026, 11, 2, 3, 10, tzinfo=UTC))
    release(shop, "release", 4)
    shop.world.clock.advance_to(datetime(2026, 11, 2, 4, 10, tzinfo=UTC))
    assert at("01:00") == (None, "11.50")
    assert at("01:15") == ("S-000001", "11.50")
    assert at("02:15") == ("C-000001", "11.50")
    assert at("03:15") == ("S-000002", "11.50")


def test_a_cancelled_statement_of_an_earlier_period_counts_in_the_previews_after_it(shop: Marketplace) -> None:
    world = shop.world
    release(shop, "release", 0)
    shop.until(datetime(2026, 12, 2, 0, 20, tzinfo=UTC))
    assert shop.seal()["drafts"] == 1
    release(shop, "release", 0, "2026-11")
    release(shop, "cancel", 2)
    shop.record(sale("s3", "20.00", **RATED))
    world.drain()
    # 11.50 less 15.00; what was paid stays paid. Then comes October again, and December with 20 % of tax.
    assert world.read(BALANCE)["statement"]["closing"] == "-3.50"
    assert shown(world.read(DECEMBER)) == ("11.50", "2.50", "0.50", "0", "14.50")
    assert (world.read(OCTOBER)["status"], world.read(NOVEMBER)["status"]) == ("cancelled", "issued")
