"""The routes of sales by location and of a source's events, which answer from what the reports wrote."""

from collections.abc import Iterator

import pytest

from tests.support.system import World, opened

DAY = {"from_": "2026-10-23", "to": "2026-10-24"}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """Three sales a minute apart at three locations, reported."""
    with opened() as world:
        for amount, location in (("1.00", "GB#London"), ("2.00", "GB#Leeds"), ("4.00", "FR#Paris")):
            world.sell(amount, location=location)
            world.pass_time(minutes=1)
        world.pass_time(hours=1)
        world.report()
        yield world


def locations(world: World, path: str, **parameters: object) -> list[str]:
    return sorted(one["location"] for one in world.all(path, **DAY, **parameters))


def test_sales_are_shown_by_country_by_location_and_within_one(world: World) -> None:
    assert locations(world, "/locations") == ["FR", "GB"]
    assert locations(world, "/locations", level=2) == ["FR#Paris", "GB#Leeds", "GB#London"]
    assert locations(world, "/locations/GB") == ["GB"]
    assert locations(world, "/locations/GB", level=2) == ["GB#Leeds", "GB#London"]
    assert locations(world, "/locations/GB%23London") == ["GB#London"]


def test_a_level_above_the_location_or_a_malformed_location_is_refused(world: World) -> None:
    assert world.refused("/locations/GB%23London", **DAY, level=1)["field"] == "level"
    assert world.refused("/locations/%23", **DAY)["field"] == "location"


def test_a_sources_events_are_read_in_a_span_after_or_before_an_instant(world: World) -> None:
    first, second, third = (one["receipt"]["recorded_at"] for one in world.recorded)

    def ids(**parameters: str) -> list[str]:
        return [one["id"] for one in world.all("/sources/shop/events", **parameters)]

    assert ids(after=first) == ["e1", "e2"]
    assert ids(before=third) == ["e0", "e1"]
    assert ids(from_=second, to=third) == ["e1"]
    assert world.refused("/sources/shop/events", after="x")["field"] == "after"
    assert world.refused("/sources/shop/events", before="x")["field"] == "before"
