"""Snapshots: the newest state of each window, for any order of changes."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import window_index
from quarterhour.aws.items import to_item
from quarterhour.model.clock import iso_millis, iso_seconds
from quarterhour.snapshots.keys import window_start
from quarterhour.snapshots.layers import parse_layers
from quarterhour.snapshots.plan import Snapshot, snapshots
from tests.support.builders import AT, record, utc

LAYERS = parse_layers("change=1h,5m=24h,1h=31d")
WINDOWS = parse_layers("5m=24h,1h=31d")
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


class Stored:
    """The stored snapshots, with DynamoDB's condition on writes."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], dict[str, Any]] = {}

    def put(self, snapshot: Snapshot) -> None:
        place = snapshot.values["pk"], snapshot.values["sk"]
        if place not in self.items or self.items[place]["version"] < snapshot.values["version"]:
            self.items[place] = snapshot.values

    def state(self, sk: str, pk: str = PK) -> int:
        return int(self.items[pk, sk]["version"])


# ---------------------------------------------------------------- the newest state wins


@given(
    pauses=st.lists(st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 40 * 60 * 1000)), min_size=1, max_size=12),
    data=st.data(),
)
def test_each_window_ends_with_its_newest_state_for_any_order_and_number_of_deliveries(
    pauses: list[tuple[str, int]], data: st.DataObject
) -> None:
    changed, at = [], AT
    versions = {"a": 0, "b": 0}
    for pk, pause in pauses:
        at += timedelta(milliseconds=pause)
        versions[pk] += 1
        changed.append((pk, versions[pk], at))
    records = [record(i, latest(version, at, pk), "MODIFY") for i, (pk, version, at) in enumerate(changed)]
    repeated = data.draw(st.lists(st.sampled_from(records)))
    order = data.draw(st.permutations([*records, *repeated]))

    stored = Stored()
    while order:
        size = data.draw(st.integers(1, len(order)))
        states, poison = snapshots(order[:size], LAYERS)
        assert not poison
        for state in states:
            stored.put(state)
        order = order[size:]

    expected: dict[tuple[str, str], int] = {}
    for pk, version, at in changed:
        expected[pk, f"change#{iso_millis(at)}#{version:012d}"] = version
        for name, length in (("5m", timedelta(minutes=5)), ("1h", timedelta(hours=1))):
            expected[pk, f"{name}#{iso_seconds(window_start(at, length))}"] = version
    assert {place: int(item["version"]) for place, item in stored.items.items()} == expected


# ---------------------------------------------------------------- one batch


def test_several_changes_of_one_window_in_a_batch_are_one_write_of_the_newest() -> None:
    records = [record(i, latest(i, utc("01:31") + i * timedelta(seconds=1)), "MODIFY") for i in (2, 3, 1)]
    states, _ = snapshots(records, WINDOWS)
    assert [(one.values["sk"], one.values["version"]) for one in states] == [
        ("5m#2026-10-23T01:30:00Z", 3),
        ("1h#2026-10-23T01:00:00Z", 3),
    ]


@pytest.mark.parametrize("order", [(9, 10), (10, 9), (99, 100), (100, 99)])
def test_the_tenth_state_of_a_window_is_newer_than_the_ninth(order: tuple[int, int]) -> None:
    records = [record(i, latest(i, utc("01:31")), "MODIFY") for i in order]
    states, _ = snapshots(records, WINDOWS)
    assert {one.values["version"] for one in states} == {max(order)}


def test_a_failed_state_is_reported_by_the_first_record_of_its_window() -> None:
    records = [record(i, latest(i, utc("01:31"), pk="a"), "MODIFY") for i in (9, 8, 10)]
    records.append(record(7, latest(1, utc("01:31"), pk="b"), "INSERT"))
    states, _ = snapshots(records, parse_layers("1h=31d"))
    assert {one.values["pk"]: int(one.seq) for one in states} == {"a": 8, "b": 7}


def test_a_change_at_the_edge_of_a_window_belongs_to_the_new_window() -> None:
    before, at = utc("01:34:59.999"), utc("01:35:00")
    states, _ = snapshots([record(1, latest(1, before)), record(2, latest(2, at), "MODIFY")], parse_layers("5m=1d"))
    assert {one.values["sk"]: one.values["version"] for one in states} == {
        "5m#2026-10-23T01:30:00Z": 1,
        "5m#2026-10-23T01:35:00Z": 2,
    }


def test_every_single_change_is_kept_even_within_the_same_millisecond() -> None:
    records = [record(i, latest(i, AT), "MODIFY") for i in (1, 2)]
    states, _ = snapshots(records, parse_layers("change=1h"))
    assert [one.values["sk"] for one in states] == [
        "change#2026-10-23T01:30:12.345Z#000000000001",
        "change#2026-10-23T01:30:12.345Z#000000000002",
    ]


def test_a_snapshot_expires_after_its_window_and_the_retention_of_its_layer() -> None:
    states, _ = snapshots([record(1, latest(1, AT))], LAYERS)
    expires = {one.values["sk"].split("#")[0]: one.values["expires_at"] for one in states}
    assert expires == {
        "change": int((AT + timedelta(hours=1)).timestamp()),
        "5m": int((utc("01:35") + timedelta(hours=24)).timestamp()),
        "1h": int((utc("02:00") + timedelta(days=31)).timestamp()),
    }


def test_a_snapshot_is_the_state_under_its_own_keys() -> None:
    image = latest(7, AT, expires_at=5, gsi2pk="x", gsi2sk="y", note="kept")
    change, window = snapshots([record(1, image)], parse_layers("change=1h,1h=31d"))[0]
    for one in (change, window):
        assert {name: one.values[name] for name in ("events", "gross", "version", "note")} == {
            "events": 7,
            "gross": "7.00",
            "version": 7,
            "note": "kept",
        }
        assert one.values["last_updated"] == iso_millis(AT)
        assert not {"gsi2pk", "gsi2sk"} & one.values.keys()
    assert "gsi1pk" not in change.values
    assert window.values["gsi1pk"].startswith("1h#2026-10-23T01:00:00Z#")
    assert window.values["gsi1sk"] == PK


# ---------------------------------------------------------------- records that are not changes of an entity


def test_snapshots_never_trigger_snapshots() -> None:
    states, _ = snapshots([record(1, latest(1, AT))], LAYERS)
    again = [record(i, to_item(one.values)) for i, one in enumerate(states)]
    assert snapshots(again, LAYERS) == ([], [])


@pytest.mark.parametrize("sk", ["QUARTER#202610230130#00", "DAY#2026-10-23", "checkpoint", "latest#x", "LATEST"])
def test_only_a_latest_state_is_kept(sk: str) -> None:
    assert snapshots([record(1, {**latest(1, AT), "sk": {"S": sk}})], LAYERS) == ([], [])


def test_the_removal_of_an_entity_changes_no_snapshot() -> None:
    assert snapshots([record(1, latest(1, AT), "REMOVE")], LAYERS) == ([], [])


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in latest(2, AT).items() if key != name}


@pytest.mark.parametrize("layers", [LAYERS, WINDOWS])
@pytest.mark.parametrize(
    "image",
    [
        without("last_updated"),
        without("version"),
        {**latest(2, AT), "last_updated": {"S": "yesterday"}},
        {**latest(2, AT), "last_updated": {"N": "5"}},
        {**latest(2, AT), "last_updated": {"S": "9999-12-31T23:59:59.000Z"}},
        {**latest(2, AT), "version": {"S": "two"}},
        {**latest(2, AT), "version": {"NULL": True}},
    ],
)
def test_an_item_that_is_not_a_state_is_poison_and_does_not_block_others(image: dict[str, Any], layers: Any) -> None:
    bad = record(2, image, "MODIFY")
    states, poison = snapshots([record(1, latest(1, AT)), bad, record(3, latest(3, AT), "MODIFY")], layers)
    assert [one.record for one in poison] == [bad]
    assert poison[0].reason
    stored = Stored()
    for one in states:
        stored.put(one)
    assert stored.state("5m#2026-10-23T01:30:00Z") == 3


def test_a_record_without_an_image_is_poison() -> None:
    bad = record(1, latest(1, AT))
    del bad["dynamodb"]["NewImage"]
    assert [one.record for one in snapshots([bad], LAYERS)[1]] == [bad]


def test_a_version_beyond_any_machine_number_is_still_the_newest() -> None:
    records = [record(i, {**latest(1, AT), "version": {"N": str(10**20 + i)}}, "MODIFY") for i in (2, 1)]
    states, _ = snapshots(records, WINDOWS)
    assert {one.values["version"] for one in states} == {Decimal(10**20 + 2)}
