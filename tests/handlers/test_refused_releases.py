"""Drafts whose parties change after it was decided to release them: checked again before they get a number."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.proof.verify import verify
from quarterhour.statements.releases.run import ReleasePublisher, ReleaseRunner
from tests.handlers.desk import send
from tests.handlers.test_releases import (
    CUT_OFF,
    DRAFT,
    MANUAL,
    NEXT_CUT_OFF,
    RATED,
    decide,
    decided,
    document,
    documents,
    failed,
    marketplace,
    three_drafts,
)
from tests.handlers.test_statement_runs import LONDON, NOTHING, OCTOBER, Marketplace
from tests.support.agencies import FULL, OWNER, tax
from tests.support.copies import OnACopy
from tests.support.events import sale
from tests.support.system import opened

NO_PROFILE = {name: value for name, value in FULL.items() if name != "tax"} | {"collects": "agency"}
IN_BERLIN: dict[str, str | int] = {"time_zone": "Europe/Berlin", "grace_days": 1, "first_period": "2026-10"}
NO_TAX = "the agency has no tax profile on 2026-10-31: register one valid from then on"
REFUSED = f"not released: {NO_TAX}"


@pytest.fixture(scope="module")
def decided_drafts() -> Iterator[Marketplace]:
    """Three drafts that a person has released."""
    with three_drafts() as shop:
        for name in ("a1", "a2", "a3"):
            decided(shop, "release", 0, f"{name}/GBP/2026-10")
        yield shop


@pytest.fixture
def shop(decided_drafts: Marketplace, on_a_copy: OnACopy) -> Iterator[Marketplace]:
    """Three drafts that a person has released, for one test."""
    with on_a_copy(decided_drafts.world):
        yield decided_drafts


def states(shop: Marketplace, path: str = DRAFT) -> list[tuple[str, str, str]]:
    return [(one["state"], one["by"], one["reason"]) for one in shop.world.read(path)["decisions"]]


def dies(*_: Any) -> Any:
    raise RuntimeError("died")


def proved(shop: Marketplace) -> list[str]:
    bucket = shop.world.stack.bucket
    return list(verify(bucket.open, bucket.keys()).problems)


def test_a_draft_whose_profile_is_gone_takes_no_number_and_does_not_stop_the_others(shop: Marketplace) -> None:
    shop.write("/agencies/a2", NO_PROFILE, seen=1)
    assert shop.seal() == {**NOTHING, "releases": [1], "documents": 2}
    assert documents(shop, "agency", "number") == [("a1", "S-000001"), ("a3", "S-000002")]
    (listed,) = shop.world.read("/drafts")["items"]
    assert (listed["agency"], listed["state"], listed["seen"], listed["number"]) == ("a2", "open", 2, None)
    assert [(one["check"], one["message"]) for one in listed["checks"]] == [("tax", NO_TAX)]
    assert states(shop, "/drafts/a2/GBP/2026-10")[1] == ("open", "release", REFUSED)
    assert shop.seal() == NOTHING


def test_a_refused_draft_says_why_until_it_is_released_again(shop: Marketplace) -> None:
    shop.write("/agencies/a2", NO_PROFILE, seen=1)
    shop.seal()
    shop.write("/agencies/a2", tax(percent="20"), seen=2)
    assert shop.seal() == NOTHING, "a person must release it"
    (listed,) = shop.world.read("/drafts")["items"]
    message = f"it was {REFUSED}. Now it can be: release it"
    assert listed["checks"] == [{"check": "refused", "level": "warning", "message": message}]
    decided(shop, "release", 2, "a2/GBP/2026-10")
    shop.seal()
    assert documents(shop, "agency", "number")[-1] == ("a2", "S-000003")
    assert shop.world.read("/drafts/a2/GBP/2026-10")["checks"] == []
    assert not proved(shop)


def test_nothing_is_released_while_the_owner_lacks_what_an_invoice_needs(shop: Marketplace) -> None:
    shop.write("/documents/owner", {"legal_name": "Market Ltd"}, seen=1)
    assert shop.seal() == NOTHING
    lacks = "not released: the owner lacks address, country, vat_id: write them with `quarterhour owner`"
    assert states(shop)[1] == ("open", "release", lacks)
    assert shop.world.read("/releases")["items"] == []
    shop.write("/documents/owner", OWNER, seen=2)
    decided(shop, "release", 2)
    shop.seal()
    assert documents(shop, "agency", "number") == [("a1", "S-000001")]


def test_a_draft_that_was_held_is_held_again() -> None:
    with marketplace(MANUAL, "a1") as shop:
        shop.record(sale("s1", "100.00", agency="a1", **RATED))
        shop.until(CUT_OFF)
        shop.seal()
        assert decide(shop, "hold", 0, reason="the address is wrong").json()["state"] == "held"
        decided(shop, "release", 1)
        shop.write("/agencies/a1", NO_PROFILE, seen=1)
        assert shop.seal() == NOTHING
        assert failed(shop, DRAFT) == {"held": f"it is held: {REFUSED}", "tax": NO_TAX}
        shop.write("/agencies/a1", tax(percent="20"), seen=2)
        assert shop.seal() == NOTHING
        assert shop.world.read(DRAFT)["state"] == "held"


def test_a_later_month_is_refused_with_the_one_before() -> None:
    """October's profile is gone after both were decided; that of November is there."""
    with marketplace(MANUAL, "a1") as shop:
        for number, cut_off in enumerate((CUT_OFF, NEXT_CUT_OFF)):
            shop.record(sale(f"s{number}", "100.00", agency="a1", **RATED))
            shop.until(cut_off)
            shop.seal()
        november = "a1/GBP/2026-11"
        assert decided(shop, "release", 0) == decided(shop, "release", 0, november) == "releasing"
        shop.write("/agencies/a1", NO_PROFILE, seen=1)
        shop.write("/agencies/a1", {**tax(percent="20"), "valid_from": "2026-11-01T00:00:00Z"}, seen=2)
        assert shop.seal() == NOTHING
        assert states(shop)[1][2] == REFUSED
        order = "not released: the draft of 2026-10 comes first: release it"
        assert states(shop, f"/drafts/{november}")[1] == ("open", "release", order)
        assert shop.watch() is None
        assert shop.world.read("/releases")["items"] == []


def test_an_automatic_release_checks_again_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run dies after it has decided, before it has numbered anything."""
    with marketplace(LONDON, "a1") as shop:
        shop.record(sale("s1", "100.00", agency="a1", **RATED))
        shop.until(CUT_OFF)
        monkeypatch.setattr(ReleaseRunner, "_number", dies)
        with pytest.raises(RuntimeError, match="died"):
            shop.seal()
        monkeypatch.undo()
        assert shop.world.read(DRAFT)["state"] == "releasing"
        shop.write("/agencies/a1", NO_PROFILE, seen=1)
        assert shop.seal() == {**NOTHING, "releases": [1]}, "it was planned, and has no document"
        assert states(shop) == [("releasing", "release", ""), ("open", "release", REFUSED)]
        assert not proved(shop)
        shop.write("/agencies/a1", tax(percent="20"), seen=2)
        decided(shop, "release", 2)
        assert shop.seal() == {**NOTHING, "releases": [2], "documents": 1}
        assert documents(shop, "number") == [("S-000001",)]
        assert not proved(shop)


def test_an_automatic_release_says_why_it_leaves_a_draft_to_a_person() -> None:
    with marketplace(LONDON) as shop:
        shop.record(sale("s1", "100.00", agency="a1", **RATED))
        shop.until(CUT_OFF)
        assert shop.seal()["documents"] == 0
        ((state, by, reason),) = states(shop)
        assert (state, by) == ("open", "release")
        assert reason == f"not released: the agency is not registered at the end of 2026-10: register it; {NO_TAX}"


def test_a_release_that_is_numbered_goes_on_with_the_parties_that_it_was_numbered_with(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run dies before it publishes. A profile goes at the very instant of the plan: only its version is later."""
    monkeypatch.setattr(ReleasePublisher, "publish", dies)
    with pytest.raises(RuntimeError, match="died"):
        shop.seal()
    monkeypatch.undo()
    written = shop.files("statements/2026-10/a")
    shop.write("/agencies/a2", NO_PROFILE, seen=1)
    shop.write("/documents/owner", {**OWNER, "legal_name": "Else Ltd"}, seen=1)
    for key in ("a1", "a2"):  # as if it had died while it wrote
        shop.world.stack.engine.s3().delete_object(
            Bucket=shop.world.stack.ref("ReportBucket"), Key=f"statements/2026-10/{key}/GBP/statement.json"
        )
    for key in list(shop.files("work/releases/000001/written")):
        shop.world.stack.engine.s3().delete_object(Bucket=shop.world.stack.ref("ReportBucket"), Key=key)
    assert shop.seal() == {**NOTHING, "releases": [1], "documents": 3}
    assert shop.files("statements/2026-10/a") == written
    found = document(shop, "2026-10/a2/GBP")
    assert (found["tax"], found["owner"]["legal_name"]) == ("5.00", "Market Ltd")
    assert not proved(shop)


def test_a_cancellation_shows_the_parties_of_its_statement_whatever_was_written_since(shop: Marketplace) -> None:
    shop.seal()
    for seen in (1, 2):
        shop.write("/agencies/a1", {**tax(percent="20"), "legal_name": f"Name {seen}"}, seen=seen)
    shop.world.clock.advance_to(datetime.fromisoformat("2026-12-03T09:00:00Z"))
    assert send(shop.world, "PUT", DRAFT, {"decision": "cancel", "seen": 2, "reason": "wrong"}).status == 200
    shop.seal()
    cancelled = document(shop, "2026-10/a1/GBP/2")
    assert (cancelled["customer"]["legal_name"], cancelled["closing"]) == (FULL["legal_name"], "0.00")
    assert not proved(shop)


def test_a_doubtful_tax_profile_waits_for_a_person_who_says_why_it_is_right() -> None:
    """91 % instead of 19 %, reverse charge at home, and a VAT id of the owner's country in the EC sales list."""
    german = {**OWNER, "country": "DE", "vat_id": "DE123456788"}
    typo = {"scheme": "standard", "percent": "91"}
    home = {"scheme": "reverse_charge", "vat_id": "DE136695976"}
    right = {**typo, "percent": "19"}
    profiles = {"typo": (typo, "DE"), "home": (home, "DE"), "list": (home, "FR"), "right": (right, "DE")}
    with opened(IN_BERLIN, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", german)
        for name, (profile, country) in profiles.items():
            shop.write(f"/agencies/{name}", {**NO_PROFILE, "valid_from": None, "country": country, "tax": profile})
            shop.record(sale(f"s-{name}", "1000", agency=name, currency="EUR", commission_rate="0.10"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.watch()
        waiting = {one["agency"]: one for one in world.read("/drafts")["items"]}
        checks = {name: [(each["check"], each["level"]) for each in one["checks"]] for name, one in waiting.items()}
        assert checks == {
            "typo": [("tax_percent", "failed")], "home": [("tax_place", "failed")], "list": [("tax_vat_id", "failed")],
        }  # fmt: skip

        def release(name: str, reason: str | None = None) -> int:
            path = f"/drafts/{name}/EUR/2026-10"
            body = {"decision": "release", "seen": world.read(path)["seen"], "reason": reason}
            return send(world, "PUT", path, body).status

        assert [release(name) for name in checks] == [409] * 3
        assert [release(name, "§ 13b Abs. 5 UStG") for name in ("home", "list")] == [200, 409]
        shop.seal()
        assert shop.statement(OCTOBER, "home", "EUR")["taxes"][0]["scheme"] == "reverse_charge"
        assert {one["agency"] for one in world.read("/drafts")["items"]} == {"typo", "list"}
        decided = world.read("/drafts/home/EUR/2026-10")["decisions"][-2:]
        assert "§ 13b Abs. 5 UStG" in [one["reason"] for one in decided]
