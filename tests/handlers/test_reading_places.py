"""The routes of sales by place and of a source's events, which answer from what the reports wrote."""

from collections.abc import Iterator

import pytest

from tests.support.system import World, opened

DAY = {"from_": "2026-10-23", "to": "2026-10-24"}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Three sales a minute apart at two places, reported."""
    with opened() as world:
        for amount, place in (("1.00", "GB#London"), ("2.00", "GB#Leeds"), ("4.00", "FR#Paris")):
            world.sell(amount, location=place)
            world.pass_time(minutes=1)
        world.pass_time(hours=1)
        world.report()
        yield world


def places(world: World, path: str, **parameters: object) -> list[str]:
    return sorted(one["place"] for one in world.all(path, **DAY, **parameters))


def test_sales_are_shown_by_country_by_place_and_at_a_place(world: World) -> None:
    assert places(world, "/locations") == ["FR", "GB"]
    assert places(world, "/locations", level=2) == ["FR#Paris", "GB#Leeds", "GB#London"]
    assert places(world, "/locations/GB") == ["GB"]
    assert places(world, "/locations/GB", level=2) == ["GB#Leeds", "GB#London"]
    assert places(world, "/locations/GB%23London") == ["GB#London"]


def test_a_level_above_the_place_or_a_place_that_is_none_is_refused(world: World) -> None:
    assert world.refused("/locations/GB%23London", **DAY, level=1)["field"] == "level"
    assert world.refused("/locations/%23", **DAY)["field"] == "place"


def test_a_sources_events_are_read_in_a_span_after_or_before_an_instant(world: World) -> None:
    first, second, third = (one["receipt"]["recorded_at"] for one in world.recorded)

    def ids(**parameters: str) -> list[str]:
        return [one["id"] for one in world.all("/sources/shop/events", **parameters)]

    assert ids(after=first) == ["e1", "e2"]
    assert ids(before=third) == ["e0", "e1"]
    assert ids(from_=second, to=third) == ["e1"]
    assert world.refused("/sources/shop/events", after="x")["field"] == "after"
    assert world.refused("/sources/shop/events", before="x")["field"] == "before"
