"""Fees that an order pays once: whichever line comes first, whatever is voided, refunded or priced again."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from tests.support.events import refund, rerating, sale, void
from tests.support.requests import post, put, verdicts
from tests.support.system import World, opened
from tests.support.tables import ledger


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as world:
        yield world


FEE = {"name": "payment fee", "percent": "1", "fixed": "0.25", "fixed_per": "order"}


def write(world: World, seen: int = 0, **fee: str) -> None:
    charges = [{"name": "commission", "percent": "10"}, {**FEE, **fee}]
    rules = [{"currency": "GBP", "charges": charges}, {"currency": "GBP", "category": "toys", "percent": "20"}]
    put(
        world,
        "/documents/rate-card:42",
        {"seen": seen, "content": {"valid_from": "2026-01-01T00:00:00Z", "rules": rules}},
    )


def line(id_: str, order: str = "7", **data: Any) -> dict[str, Any]:
    return sale(id_, "100", order_id=order, **data)


def charged(world: World) -> dict[str, str]:
    return {one["id"]: one.get("charges", one["commission"]) for one in ledger(world)}


def fees(world: World) -> float:
    """Return what all lines together are charged as payment fee, less 1 % of what is left of the sales."""
    posted = ledger(world)
    named = [dict(one.split(":") for one in line["charges"].split(";")) for line in posted if "charges" in line]
    percent = sum(float(one["amount"]) for one in posted if "charges" in one) / 100
    return round(sum(float(one.get("payment fee", 0)) for one in named) - percent, 9)


@pytest.mark.parametrize("together", [True, False], ids=["in one request", "one by one"])
def test_the_line_that_is_recorded_first_bears_the_fee(world: World, *, together: bool) -> None:
    write(world)
    lines = [line("a"), line("b"), line("c"), line("other", "8"), line("toys", "7", category="toys")]
    for some in [lines] if together else [[one] for one in lines]:
        post(world, some)
    post(world, lines)
    assert charged(world) == {
        "a": "commission:10.00;payment fee:1.25",
        "b": "commission:10.00;payment fee:1.00",
        "c": "commission:10.00;payment fee:1.00",
        "other": "commission:10.00;payment fee:1.25",
        "toys": "20.00",
    }


def test_a_sale_in_no_order_is_an_order_by_itself(world: World) -> None:
    write(world)
    post(world, [sale("a", "100", quantity=3), sale("b", "100")])
    assert charged(world) == dict.fromkeys("ab", "commission:10.00;payment fee:1.25")


@pytest.mark.parametrize("order", list(permutations("abc")), ids="".join)
def test_the_fee_stays_until_the_last_line_is_voided(world: World, order: tuple[str, ...]) -> None:
    write(world)
    for one in "abc":
        post(world, line(one))
    left = []
    for one in order:
        post(world, void(f"v{one}", one))
        left.append(fees(world))
    assert left == [0.25, 0.25, 0.0]
    assert sum(float(one["commission"]) for one in ledger(world)) == 0


def test_a_line_after_the_whole_order_was_voided_bears_the_fee_again(world: World) -> None:
    write(world)
    post(world, [line("a"), void("va", "a"), line("a")])
    assert fees(world) == 0
    post(world, [line("b"), line("c")])
    assert fees(world) == 0.25


@pytest.mark.parametrize(
    ("keeps", "after"), [("share", [0.125, 0.125, 0.0]), ("keep_fixed", [0.25, 0.25, 0.0]), ("keep", [0.25, 0.25, 0.0])]
)
def test_refunds_of_the_line_take_off_their_share_and_what_is_left_stays(
    world: World, keeps: str, after: list[float]
) -> None:
    write(world, refund=keeps, percent="0")
    post(world, [line("a"), line("b")])
    left = []
    for sent in (refund("r", "-50", of="a"), void("va", "a"), void("vb", "b")):
        post(world, sent)
        named = [dict(one.split(":") for one in each["charges"].split(";")) for each in ledger(world)]
        left.append(sum(float(one.get("payment fee", 0)) for one in named))
    assert left == after


def test_a_refund_that_is_taken_back_after_the_void_charges_no_fee_again(world: World) -> None:
    write(world)
    post(world, [line("a"), line("b"), refund("r", "-50", of="a"), void("va", "a"), void("back", "r"), void("vb", "b")])
    assert fees(world) == 0


def test_a_line_that_is_priced_again_bears_the_fee_of_the_new_rate_card_once(world: World) -> None:
    put(
        world,
        "/documents/rate-card:42",
        {"seen": 0, "content": {"valid_from": "2026-01-01T00:00:00Z", "rules": [{"percent": "10"}]}},
    )
    post(world, [line("a"), line("b")])
    write(world, 1)
    post(world, [rerating("ra", "a", version=2), rerating("rb", "b", version=2)])
    by_id = charged(world)
    assert sorted([by_id["ra"], by_id["rb"]]) == ["payment fee:1.00", "payment fee:1.25"]
    post(world, [void("va", "a"), void("vb", "b")])
    assert sum(float(one["commission"]) for one in ledger(world)) == 0


def test_a_rate_card_without_such_a_fee_writes_nothing_for_orders(world: World) -> None:
    def orders() -> Iterator[str]:
        scanned = world.stack.dynamodb.scan(TableName=world.stack.ref("IdentityTable"))
        return (item["event"]["S"] for item in scanned["Items"] if item["event"]["S"].startswith("#"))

    post(world, [line("a"), line("b")])
    assert list(orders()) == []
    write(world)
    post(world, [line("c"), line("d"), line("e")])
    assert len(list(orders())) == 1


AGAIN = {"agency": "42", "rate_card": "rate-card:42", "from": "2026-10-01", "to": "2026-11-01", "reason": "contract"}


def preview(world: World, **changed: Any) -> tuple[float, float]:
    (account,) = world.read("/rerating", **AGAIN | changed)["accounts"]
    return float(account["commission"]), float(account["difference"])


def test_a_preview_charges_an_order_once_and_says_what_the_reratings_will_charge(world: World) -> None:
    put(
        world,
        "/documents/rate-card:42",
        {"seen": 0, "content": {"valid_from": "2026-01-01T00:00:00Z", "rules": [{"percent": "10"}]}},
    )
    post(world, [line("void"), line("a"), line("b"), line("other", "8"), void("v", "void")])
    write(world, 1, percent="0")
    assert preview(world) == (30.0, 0.5), "once for each of both orders"
    changes = world.read("/rerating", **AGAIN)["changes"]
    assert [one["id"] for one in changes] == ["a", "other"]
    assert verdicts(post(world, [one for change in changes for one in change["events"]])) == ["recorded"] * 2
    assert preview(world) == (30.5, 0.0)


def test_a_fee_that_stayed_with_its_order_is_left_alone_by_previews_and_reratings_alike(world: World) -> None:
    write(world, percent="0")
    post(world, [line("a"), line("b"), void("va", "a")])
    assert preview(world, version=1) == (10.25, 0.0)
    write(world, 1, percent="0", fixed="9")
    assert preview(world) == (10.25, 0.0), "b bears no fee, and what a has left stays"
    (refused,) = post(world, rerating("ra", "a", version=2)).json()["items"]
    assert (refused["verdict"], refused["errors"][0]["field"]) == ("rejected", "data.rerating")
    assert verdicts(post(world, void("vb", "b"))) == ["recorded"]
    assert preview(world) == (0.0, 0.0)
