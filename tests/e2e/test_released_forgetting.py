"""Data of 0.2.0 name customers: with the vault on, nothing is doubled, lost or counted again, and names are moved."""

from typing import Any

import pytest

from quarterhour.proof.verify import verify
from tests.support.events import sale
from tests.support.released import Release, updated
from tests.support.requests import post
from tests.support.system import World
from tests.support.tables import all_counters, items

pytestmark = pytest.mark.slow

RELEASE = Release("0.2.0")
WHY = {"by": "ann", "reason": "request 17"}


def counted(world: World) -> dict[str, int]:
    """Return the number of distinct customers of each account."""
    return {pk: int(one["customers"]) for (pk, sk), one in all_counters(world).items() if sk == "CUSTOMERS"}


def repair(world: World, **event: Any) -> dict[str, Any]:
    result: dict[str, Any] = world.stack.invoke("repair", event)
    return result


def test_a_stack_of_0_2_0_turns_the_vault_on_moves_its_customers_and_forgets_one() -> None:
    with updated(RELEASE, "vault", {"CustomerVault": "on"}) as world:
        world.stack.invoke("watch", {})
        sent = [(event, item) for event, item in RELEASE.sent() if item["verdict"] == "recorded"]
        answers = post(world, [event for event, _ in sent]).json()["items"]
        assert {one["verdict"] for one in answers} == {"duplicate"}
        assert [one["receipt"] for one in answers] == [item["receipt"] for _, item in sent]
        for event in RELEASE.died.values():
            assert post(world, event).json()["items"][0]["verdict"] in {"recorded", "duplicate", "unavailable"}
        world.drain()
        before = counted(world)
        named = {
            (event["subject"], event["data"]["currency"], event["data"]["customer"])
            for event, _ in sent
            if "customer" in event["data"] and "currency" in event["data"]
        }
        # Each customer comes again, before anything is moved and after.
        again = [
            sale(f"again-{number}", "1", agency=agency, currency=currency, customer=customer)
            for number, (agency, currency, customer) in enumerate(sorted(named))
        ]
        post(world, again[::2])
        world.drain()
        assert counted(world) == before
        assert repair(world, action="move-customers")["complete"] is None
        while (moved := repair(world, action="move-customers"))["complete"] is None:
            world.pass_time(hours=6)
            world.report()
        assert moved["lines"] > 0, "sealed files keep their names"
        post(world, again[1::2])
        world.drain()
        assert counted(world) == before

        customer = again[0]["data"]["customer"]
        token = repair(world, action="forget", customer=customer, **WHY)["token"]
        assert token
        world.pass_time(hours=1)
        world.report()
        assert customer not in {one.get("customer") for one in items(world, "EntityTable")}
        assert f"CUSTOMER#{customer}" not in {one.get("gsi1pk") for one in items(world, "EntityTable")}
        assert repair(world, action="rebuild", **{"from": "2026-12-01"})["repaired"] == 0
        assert counted(world) == before
        objects = world.stack.bucket
        assert list(verify(objects.open, objects.keys()).problems) == []
