"""What has expired is never shown, though the table still holds it."""

from datetime import timedelta

from tests.support.requests import account
from tests.support.system import START, World

SNAPSHOTS = account(part="snapshots")


def test_expired_states_are_not_shown(world: World) -> None:
    world.sell("1.00")
    world.pass_time(minutes=5)
    world.sell("2.00")
    world.drain()
    ends = START + timedelta(minutes=5, hours=24)

    world.clock.advance_to(ends - timedelta(seconds=1))
    assert [one["gross"] for one in world.all(SNAPSHOTS, layer="5m", last=9)] == ["3.00", "1.00"]
    assert world.read("/windows/5m/2026-10-23T01:30:00Z")["items"]
    assert world.read(SNAPSHOTS, layer="5m", at="2026-10-23T01:30:00Z")["gross"] == "1.00"
    assert world.all(SNAPSHOTS, layer="change", last=9) == []

    world.clock.advance_to(ends)
    assert [one["gross"] for one in world.all(SNAPSHOTS, layer="5m", last=9)] == ["3.00"]
    assert [one["gross"] for one in world.all(SNAPSHOTS, layer="5m", date="2026-10-23", limit=1)] == ["3.00"]
    assert world.missing("/windows/5m/2026-10-23T01:30:00Z")
    assert world.missing(SNAPSHOTS, layer="5m", at="2026-10-23T01:34:00Z")
    assert world.read(account(part="trend"), layer="5m")["before"] is None
    assert world.read(account(part="trend"), layer="1h")["latest"]["gross"] == "3.00"


def test_many_expired_states_do_not_hide_the_living(world: World) -> None:
    for _ in range(30):
        world.sell("1.00")
        world.pass_time(minutes=5)
    world.clock.advance(timedelta(hours=23))
    living = [one["events"] for one in world.all(SNAPSHOTS, layer="5m", date="2026-10-23", limit=1)]
    assert living == list(range(31 - len(living), 31))
    assert 1 < len(living) < 30
    assert world.read(SNAPSHOTS, layer="5m", date="2026-10-23", limit=1)["items"][0]["events"] == living[0]
