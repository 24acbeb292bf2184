"""Events that say which row of a file they are: a row is recorded under one id alone."""

from typing import Any

import pytest

from tests.support.events import refund, sale
from tests.support.requests import post, verdicts
from tests.support.system import World, faulty
from tests.support.tables import items, ledger


def row(id_: str, key: str = "a:1", **facts: Any) -> dict[str, Any]:
    return {**sale(id_, **facts), "rowkey": key}


def ids(world: World) -> list[str]:
    return sorted(one["id"] for one in ledger(world))


def test_a_row_is_recorded_under_one_id(world: World) -> None:
    assert verdicts(post(world, [row("o:1"), row("o:2", "a:2")])) == ["recorded"] * 2
    answer = post(world, [row("o:1"), row("o:3", "a:2"), row("o:4", "a:3")])
    assert verdicts(answer) == ["duplicate", "rejected", "recorded"]
    (problem,) = answer.json()["items"][1]["errors"]
    assert (problem["field"], "recorded as 'o:2'" in problem["problem"]) == ("id", True)
    assert ids(world) == ["o:1", "o:2", "o:4"]


def test_two_ids_for_one_row_in_one_request_are_one_sale(world: World) -> None:
    assert verdicts(post(world, [row("o:1"), row("o:2"), row("o:1")])) == ["recorded", "rejected", "duplicate"]
    assert ids(world) == ["o:1"]


def test_a_row_of_another_source_is_another_row(world: World) -> None:
    assert verdicts(post(world, [row("o:1"), {**row("o:2"), "source": "other"}])) == ["recorded"] * 2


def test_the_row_of_an_event_that_was_rejected_may_be_recorded_under_another_id(world: World) -> None:
    assert verdicts(post(world, sale("s", "10.00"))) == ["recorded"]
    too_much = {**refund("r:1", "-99.00", of="s"), "rowkey": "a:1"}
    assert verdicts(post(world, too_much)) == ["rejected"]
    assert verdicts(post(world, row("o:2"))) == ["recorded"]
    assert verdicts(post(world, row("o:3"))) == ["rejected"]


def test_a_row_is_recorded_under_one_id_whatever_fails() -> None:
    with faulty("throttle=0.2,reset-after=0.2,statements-after=0.2,seed=7") as (world, faults):
        for number in range(40):
            with faults.at_work():
                post(world, row(f"o:{number}", f"a:{number // 2}"))
        for number in range(40):
            post(world, row(f"o:{number}", f"a:{number // 2}"))
        assert len(ids(world)) == 20


@pytest.mark.parametrize("key", [True, 7, ""])
def test_what_is_no_key_of_a_row_is_kept_as_any_other_attribute(world: World, key: object) -> None:
    assert verdicts(post(world, [{**sale(one), "rowkey": key} for one in ("a", "b")])) == ["recorded"] * 2
    assert not [one for one in items(world, "IdentityTable") if one["event"].startswith("#row#")]
