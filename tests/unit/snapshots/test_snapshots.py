"""Snapshots: the last state of each window that an entity leaves, for any order of changes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Values
from quarterhour.aws.items import from_item, to_item
from quarterhour.aws.streams import Poison, Record
from quarterhour.counters.plan import epoch
from quarterhour.model.charge_totals import ChargeTotals
from quarterhour.model.clock import iso_millis, iso_seconds
from quarterhour.model.totals import Totals, figures
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.snapshots import plan
from quarterhour.snapshots.keys import window_index, window_start
from quarterhour.snapshots.layers import LAYERS, Layer
from quarterhour.snapshots.plan import STATE, Snapshot, state_in, states_of_parked
from tests.support.builders import AT, change_record, record, utc
from tests.support.cases import cases

WINDOWS = LAYERS[1:]
PK = "ACCOUNT#42#GBP"


def latest(version: int, at: datetime, pk: str = PK, **more: object) -> dict[str, Any]:
    """Return the image of an account's current state."""
    return to_item(
        {
            "pk": pk,
            "sk": "latest",
            "events": version,
            "gross": f"{version}.00",
            "version": version,
            "last_updated": iso_millis(at),
            **window_index("latest", pk),
            **more,
        }
    )


def changes(*images: dict[str, Any]) -> list[Record]:
    """Return the stream records of an entity that gets these images one after the other."""
    return [change_record(number, old, new) for number, (old, new) in enumerate(zip((None, *images), images))]  # noqa: B905 - the last image is of no later change


def snapshots(
    records: Sequence[Record], layers: Sequence[Layer] = LAYERS, now: datetime = AT
) -> tuple[list[Snapshot], list[Poison]]:
    return plan.snapshots(records, layers, now)


def written(records: Sequence[Record], layers: Sequence[Layer] = LAYERS, now: datetime = AT) -> dict[str, int]:
    """Return the version of each state to write, by its sort key."""
    states, poison = snapshots(records, layers, now)
    assert not poison
    return {one.values["sk"]: int(one.values["version"]) for one in states}


class Stored:
    """The stored snapshots, with DynamoDB's condition on writes."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Values] = {}

    def put(self, values: Values) -> None:
        place = values["pk"], values["sk"]
        if place not in self.items or self.items[place]["version"] < values["version"]:
            self.items[place] = values

    def versions(self) -> dict[tuple[str, str], int]:
        return {place: int(item["version"]) for place, item in self.items.items()}


# ---------------------------------------------------------------- the last state of a window that is left


@given(
    pauses=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 40 * 60 * 1000)), min_size=1, max_size=12),
    data=st.data(),
)
def test_each_window_that_is_left_keeps_its_last_state_for_any_order_and_number_of_deliveries(
    pauses: list[tuple[str, int]], data: st.DataObject
) -> None:
    at = AT
    images: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
    for pk, pause in pauses:
        at += timedelta(milliseconds=pause)
        images[pk].append(latest(len(images[pk]) + 1, at, pk))
    records = [one for some in images.values() for one in changes(*some)]
    repeated = data.draw(st.lists(st.sampled_from(records)))
    order = data.draw(st.permutations([*records, *repeated]))

    stored = Stored()
    while order:
        size = data.draw(st.integers(1, len(order)))
        states, poison = snapshots(order[:size])
        assert not poison
        for state in states:
            stored.put(state.values)
        order = order[size:]

    expected: dict[tuple[str, str], int] = {}
    for pk, some in images.items():
        present = {(pk, sk) for sk in sks(some[-1])} if some else set()
        for version, image in enumerate(some, 1):
            expected |= {(pk, sk): version for sk in sks(image) if (pk, sk) not in present}
    assert stored.versions() == expected


def sks(image: dict[str, Any]) -> list[str]:
    """Return the sort keys of a state in all layers."""
    at = image["last_updated"]["S"]
    windows = [
        f"{name}#{iso_seconds(window_start(datetime.fromisoformat(at), length))}"
        for name, length in (("5m", timedelta(minutes=5)), ("1h", timedelta(hours=1)))
    ]
    return [f"change#{at}#{int(image['version']['N']):012d}", *windows]


# ---------------------------------------------------------------- one batch


def test_a_change_within_a_window_writes_nothing_there() -> None:
    assert written(changes(*(latest(i, utc("01:31") + i * timedelta(seconds=1)) for i in (1, 2, 3))), WINDOWS) == {}


def test_the_first_change_in_a_later_window_writes_the_last_state_of_the_window_before() -> None:
    assert written(changes(*(latest(i, utc(at)) for i, at in enumerate(("01:31", "01:32", "01:36"), 1))), WINDOWS) == {
        "5m#2026-10-23T01:30:00Z": 2
    }
    assert written(changes(latest(1, utc("01:59")), latest(2, utc("02:00"))), WINDOWS) == {
        "5m#2026-10-23T01:55:00Z": 1,
        "1h#2026-10-23T01:00:00Z": 1,
    }


def test_the_first_write_of_an_entity_leaves_no_window() -> None:
    assert written(changes(latest(1, AT))) == {}


@pytest.mark.parametrize("older", [(9, 10), (10, 9), (99, 100), (100, 99)])
def test_the_tenth_state_of_a_window_is_newer_than_the_ninth(older: tuple[int, int]) -> None:
    left = utc("01:36")
    records = [change_record(i, latest(i, utc("01:31")), latest(i + 1, left)) for i in older]
    assert written(records, WINDOWS) == {"5m#2026-10-23T01:30:00Z": max(older)}


def test_a_failed_state_is_reported_by_the_first_record_that_brings_it() -> None:
    leaving = [change_record(i, latest(9, utc("01:31"), "a"), latest(10, utc("02:31"), "a")) for i in (9, 8, 10)]
    records = [*leaving, change_record(7, latest(1, utc("01:31"), "b"), latest(2, utc("02:31"), "b"))]
    states, _ = snapshots(records, LAYERS[2:])
    assert {one.values["pk"]: int(one.seq) for one in states} == {"a": 8, "b": 7}


def test_a_change_at_the_edge_of_a_window_belongs_to_the_new_window() -> None:
    images = [latest(i, utc(at)) for i, at in enumerate(("01:34:59.999", "01:35:00", "01:39:59.999", "01:40"), 1)]
    assert written(changes(*images), LAYERS[1:2]) == {
        "5m#2026-10-23T01:30:00Z": 1,
        "5m#2026-10-23T01:35:00Z": 3,
    }


def test_every_single_change_is_kept_even_within_the_same_millisecond() -> None:
    assert written(changes(*(latest(i, AT) for i in (1, 2, 3))), LAYERS[:1]) == {
        "change#2026-10-23T01:30:12.345Z#000000000001": 1,
        "change#2026-10-23T01:30:12.345Z#000000000002": 2,
    }


# ---------------------------------------------------------------- the state


def test_a_snapshot_expires_after_its_window_and_the_retention_of_its_layer() -> None:
    states, _ = snapshots(changes(latest(1, AT), latest(2, AT + timedelta(hours=2))))
    expires = {one.values["sk"].split("#")[0]: one.values["expires_at"] for one in states}
    assert expires == {
        "change": epoch(AT + timedelta(hours=1)),
        "5m": epoch(utc("01:35") + timedelta(hours=24)),
        "1h": epoch(utc("02:00") + timedelta(days=31)),
    }


def test_a_state_that_has_expired_when_its_window_is_left_is_not_written() -> None:
    records = changes(latest(1, AT), latest(2, AT + timedelta(days=40)))
    for passed, kept in ((59, 3), (60, 2), (24 * 60, 2), (24 * 60 + 5, 1), (32 * 24 * 60, 0)):
        assert len(written(records, now=AT + timedelta(minutes=passed))) == kept, passed


def test_a_snapshot_is_the_state_alone_under_its_own_keys() -> None:
    working: dict[str, Any] = {
        "gsi2pk": "x",
        "gsi2sk": "y",
        "expires_at": 5,
        "open": {"2026-10": {"events": 1}},
        "schema": 3,
    }
    image = {**latest(7, AT, **working), "packed": {"B": "AAA="}, "shards": {"SS": ["00"]}}
    states, poison = snapshots(changes(image, latest(8, utc("02:31"))), LAYERS[::2])
    assert not poison
    change, window = (one.values for one in states)
    state = {"events": 7, "gross": "7.00", "version": 7, "last_updated": iso_millis(AT)}
    assert change == {**state, "pk": PK, "sk": change["sk"], "expires_at": change["expires_at"]}
    indexed = window_index("1h#2026-10-23T01:00:00Z", PK)
    assert window == {**state, **indexed, "pk": PK, "sk": "1h#2026-10-23T01:00:00Z", "expires_at": window["expires_at"]}


def test_all_that_is_shown_of_an_account_or_a_rate_is_in_its_state() -> None:
    rate = ExchangeRate(Decimal("0.8"), "ECB", "EUR", AT).values(1)
    charged = Totals(charges=ChargeTotals.of_event("commission:1;fee:2;tiered:9@month/x", Decimal(3), "p"))
    assert {"version", "last_updated", *figures(charged), *rate} - {"net"} == STATE


# ---------------------------------------------------------------- records that are not changes of an entity


def test_snapshots_never_trigger_snapshots() -> None:
    states, _ = snapshots(changes(latest(1, AT), latest(2, utc("02:31"))))
    assert len(states) == 3
    again = [change_record(i, {}, to_item(one.values)) for i, one in enumerate(states)]
    assert snapshots(again) == ([], [])


@pytest.mark.parametrize("sk", ["QUARTER#202610230130#00", "DAY#2026-10-23", "checkpoint", "latest#x", "LATEST"])
def test_only_a_latest_state_is_kept(sk: str) -> None:
    before, after = ({**latest(i, utc(at)), "sk": {"S": sk}} for i, at in ((1, "01:31"), (2, "02:31")))
    assert snapshots([change_record(1, before, after)]) == ([], [])


def test_the_removal_of_an_entity_changes_no_snapshot() -> None:
    removal = {**change_record(1, latest(1, AT), latest(1, AT)), "eventName": "REMOVE"}
    assert snapshots([removal]) == ([], [])
    assert states_of_parked(removal, LAYERS, AT) == []


# ---------------------------------------------------------------- records that cannot be applied


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in latest(2, utc("01:31")).items() if key != name}


BAD = [
    without("last_updated"),
    without("version"),
    {**latest(2, AT), "last_updated": {"S": "yesterday"}},
    {**latest(2, AT), "last_updated": {"N": "5"}},
    {**latest(2, AT), "last_updated": {"S": "9999-12-31T23:59:59.000Z"}},
    {**latest(2, AT), "version": {"S": "two"}},
    {**latest(2, AT), "version": {"NULL": True}},
]


@cases("layers", [LAYERS, WINDOWS])
@cases("bad", BAD)
def test_an_item_that_is_not_a_state_parks_both_records_that_hold_it_and_blocks_no_others(
    bad: dict[str, Any], layers: Sequence[Layer]
) -> None:
    records = changes(latest(1, utc("01:30")), bad, latest(3, utc("01:32")), latest(4, utc("01:36")))
    states, poison = snapshots(records, layers)
    assert [one.record for one in poison] == records[1:3]
    assert all(one.reason for one in poison)
    versions = {one.values["sk"]: one.values["version"] for one in states}
    assert versions["5m#2026-10-23T01:30:00Z"] == 3


def test_the_state_before_one_that_is_none_is_kept_as_if_its_windows_were_left() -> None:
    states, _ = snapshots(changes(latest(1, utc("01:30")), without("version"), latest(3, utc("02:32"))))
    assert {one.values["sk"]: one.values["version"] for one in states} == {
        "change#2026-10-23T01:30:00.000Z#000000000001": 1,
        "5m#2026-10-23T01:30:00Z": 1,
        "1h#2026-10-23T01:00:00Z": 1,
    }


@pytest.mark.parametrize("missing", ["NewImage", "OldImage"])
def test_a_record_without_an_image_is_poison(missing: str) -> None:
    bad = change_record(1, latest(1, AT), latest(2, AT))
    del bad["dynamodb"][missing]
    ((poison,), states) = snapshots([bad])[::-1]
    assert poison.record == bad
    assert missing.removesuffix("Image").lower() in poison.reason
    assert {one.values["version"] for one in states} == ({1} if missing == "NewImage" else set())


def test_a_version_beyond_any_machine_number_is_still_the_newest() -> None:
    left = latest(1, utc("02:31"))
    records = [
        change_record(i, {**latest(1, AT), "version": {"N": str(10**20 + i)}}, left | {"version": {"N": str(10**21)}})
        for i in (2, 1)
    ]
    states, _ = snapshots(records, WINDOWS)
    assert {one.values["version"] for one in states} == {Decimal(10**20 + 2)}


@given(
    pauses=st.lists(st.integers(0, 10 * 60 * 1000), min_size=2, max_size=8),
    unreadable=st.sets(st.integers(0, 7)),
    data=st.data(),
)
def test_each_state_is_in_two_records_so_all_that_was_parked_is_kept_once_it_can_be_read(
    pauses: list[int], unreadable: set[int], data: st.DataObject
) -> None:
    at, images = AT, []
    for version, pause in enumerate(pauses, 1):
        at += timedelta(milliseconds=pause)
        images.append(latest(version, at))
    broken = [without("version") if number in unreadable else image for number, image in enumerate(images)]
    stored, expected = Stored(), Stored()
    for number, image in enumerate(images):
        if number not in unreadable and number < len(images) - 1:
            for layer in LAYERS:
                expected.put(state_in(layer, from_item(image)))

    states, poison = snapshots(changes(*broken))
    for one in states:
        stored.put(one.values)
    own = set(sks(images[-1]))
    left = {place: version for place, version in expected.versions().items() if place[1] not in own}
    assert {place: version for place, version in stored.versions().items() if place[1] not in own} == left

    repaired = changes(*images)
    parked = data.draw(st.permutations([repaired[int(one.record["dynamodb"]["SequenceNumber"])] for one in poison]))
    for again in parked:
        for values in states_of_parked(again, LAYERS, AT) or ():
            stored.put(values)
    for image in images[:-1]:
        for layer in LAYERS:
            expected.put(state_in(layer, from_item(image)))
    left = {place: version for place, version in expected.versions().items() if place[1] not in own}
    assert {place: version for place, version in stored.versions().items() if place[1] not in own} == left


@pytest.mark.parametrize("bad", BAD)
def test_a_parked_record_stays_parked_until_both_images_can_be_read(bad: dict[str, Any]) -> None:
    assert states_of_parked(change_record(1, bad, latest(3, AT)), LAYERS, AT) is None
    assert states_of_parked(change_record(1, latest(1, AT), bad), LAYERS, AT) is None
    assert states_of_parked(record(1, bad), LAYERS, AT) is None


def test_a_record_that_0_2_0_parked_is_applied_though_the_records_around_it_are() -> None:
    states = states_of_parked(change_record(2, latest(1, utc("01:31")), latest(2, utc("01:36"))), WINDOWS, AT)
    assert states is not None
    assert [(one["sk"], one["version"]) for one in states] == [
        ("5m#2026-10-23T01:30:00Z", 1),
        ("1h#2026-10-23T01:00:00Z", 1),
        ("5m#2026-10-23T01:35:00Z", 2),
        ("1h#2026-10-23T01:00:00Z", 2),
    ]
    assert states_of_parked(change_record(2, latest(1, AT), latest(2, AT)), LAYERS, AT + timedelta(days=40)) == []
