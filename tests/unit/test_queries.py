"""The queries without AWS: the requests to the tables, and the results that they make of the responses."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Range, is_live
from quarterhour.aws.entity_table import range_request, window_request
from quarterhour.counters.queries import ACCOUNT_STATES, state
from quarterhour.ledger.reading.event_pages import Bounds, EventPage, PartitionPage, bounds, merge_pages
from quarterhour.ledger.reading.queries import events_request
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Partition, Position
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.reports.queries import all_files, link_request, manifest_request, shown_run
from quarterhour.snapshots.api import Changes
from quarterhour.snapshots.keys import change_sk, window_name, window_start
from quarterhour.snapshots.layers import LAYERS, Layer
from quarterhour.snapshots.queries import Layers, as_of, before, before_latest, not_before, trend
from tests.support.cases import cases
from tests.support.names import near

AT = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
CHANGE, FIVE, HOUR = LAYERS
near_instants = st.integers(0, 4 * 3600 * 1_000_000).map(lambda micros: AT + timedelta(microseconds=micros))
aligned = st.integers(0, 240).map(lambda minutes: AT + timedelta(minutes=minutes))
instants = st.one_of(near_instants, aligned)
SUFFIX = "1" * 16


# ---------------------------------------------------------------- the Entity table


def test_a_range_is_read_within_its_partition() -> None:
    assert range_request("Entity", Range("ACCOUNT#42#GBP", "DAY#a", "DAY#b"), 11) == {
        "TableName": "Entity",
        "KeyConditionExpression": "pk = :pk AND sk BETWEEN :low AND :high",
        "ExpressionAttributeValues": {":pk": {"S": "ACCOUNT#42#GBP"}, ":low": {"S": "DAY#a"}, ":high": {"S": "DAY#b"}},
        "ScanIndexForward": True,
        "ConsistentRead": False,
        "Limit": 11,
    }


def test_a_range_continues_after_a_key_of_its_partition() -> None:
    request = range_request("Entity", Range("P", "a", "c", descending=True, after="b"), 2)
    assert request["ExclusiveStartKey"] == {"pk": {"S": "P"}, "sk": {"S": "b"}}
    assert request["ScanIndexForward"] is False


def test_a_window_is_read_for_one_kind_of_entity() -> None:
    request = window_request("Entity", "5m#2026-10-23T01:30:00Z#0", "ACCOUNT#", 11, None)
    assert request == {
        "TableName": "Entity",
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :window AND begins_with(gsi1sk, :kind)",
        "ExpressionAttributeValues": {":window": {"S": "5m#2026-10-23T01:30:00Z#0"}, ":kind": {"S": "ACCOUNT#"}},
        "Limit": 11,
    }
    key = {"gsi1pk": "w#0", "gsi1sk": "p", "pk": "p", "sk": "w"}
    continued = window_request("Entity", "w#0", "ACCOUNT#", 11, key)
    assert continued["ExclusiveStartKey"] == {name: {"S": value} for name, value in key.items()}


def test_an_item_is_live_until_the_second_in_which_it_expires() -> None:
    expires = Decimal(int(AT.timestamp()))
    assert is_live({"expires_at": expires}, AT - timedelta(microseconds=1))
    assert not is_live({"expires_at": expires}, AT)
    assert is_live({}, AT)


def test_a_state_is_shown_without_its_keys() -> None:
    values = {"pk": "p", "sk": "s", "gsi1pk": "x", "expires_at": Decimal(1), "version": Decimal(3)}
    assert state({**values, **Totals(2, Decimal("1.50"), Decimal("-0.5")).as_dict(), "last_updated": "t"}) == {
        "events": 2,
        "gross": "1.50",
        "refunds": "-0.5",
        "commission": "0",
        "payments": "0",
        "net": "1.00",
        "version": 3,
        "last_updated": "t",
    }


# ---------------------------------------------------------------- snapshots


@given(st.sampled_from([FIVE, HOUR]), instants, instants, instants)
def test_a_window_is_in_a_span_where_its_start_is(layer: Layer, start: datetime, end: datetime, at: datetime) -> None:
    assert layer.window
    window = window_start(at, layer.window)
    inside = not_before(layer, start) <= window_name(layer, window) <= before(layer, end)
    assert inside == (start <= window < end)


@given(instants, instants, instants, st.integers(1, 10**12 - 1))
def test_a_change_is_in_a_span_where_its_instant_is(start: datetime, end: datetime, at: datetime, version: int) -> None:
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    sk = change_sk(CHANGE, iso_millis(at), version)
    assert (not_before(CHANGE, start) <= sk <= before(CHANGE, end)) == (start <= at < end)
    assert (sk <= as_of(CHANGE, start)) == (at <= start)


@given(st.sampled_from([FIVE, HOUR]), instants)
def test_as_of_an_instant_is_the_window_that_holds_it(layer: Layer, at: datetime) -> None:
    assert layer.window
    assert as_of(layer, at) == window_name(layer, window_start(at, layer.window))


@given(instants, st.integers(1, 1000))
def test_before_the_latest_state_is_everything_but_its_own_window_or_change(at: datetime, version: int) -> None:
    changed = iso_millis(at)
    latest = {"last_updated": changed, "version": Decimal(version)}
    assert before_latest(FIVE, latest) == window_name(
        FIVE, window_start(at - timedelta(minutes=5), timedelta(minutes=5))
    )
    assert before_latest(CHANGE, latest) < change_sk(CHANGE, changed, version)
    assert before_latest(CHANGE, latest) >= change_sk(CHANGE, changed, version - 1)


def compared(now: Totals, then: Totals | None) -> Changes[str]:
    figures = ACCOUNT_STATES.figures
    return trend(figures({**now.as_dict()}), figures({**then.as_dict()}) if then else None, ACCOUNT_STATES.main)


def test_a_trend_is_exact_in_38_digits() -> None:
    huge = Decimal("99999999999999999999999999999999999.999")
    figures = compared(Totals(2, huge), Totals(1, Decimal("0.001")))["figures"]
    assert figures["gross"]["change"] == "99999999999999999999999999999999999.998"
    assert compared(Totals(2, huge), Totals(2, huge))["trend"] == "stable"
    assert compared(Totals(2, huge, -huge), Totals(1, huge))["trend"] == "down"
    assert compared(Totals(), None)["trend"] is None


def test_layers_are_found_by_name() -> None:
    layers = Layers([CHANGE, HOUR, FIVE])
    assert (layers.named("change"), layers.named("1h"), layers.with_windows("5m")) == (CHANGE, HOUR, FIVE)
    assert (layers.expected, layers.expected_windows) == ("one of change, 1h, 5m", "one of 1h, 5m")
    assert layers.shortest == FIVE
    assert Layers([CHANGE]).shortest == CHANGE
    for search, name in ((layers.named, "2h"), (layers.with_windows, "change")):
        with pytest.raises(ValueError, match=name):
            search(name)


# ---------------------------------------------------------------- the ledger


@given(instants, instants, instants)
def test_an_event_is_in_a_span_where_it_was_recorded(start: datetime, end: datetime, at: datetime) -> None:
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    bounds_ = bounds(start, end)
    assert (bounds_.low <= str(Position(at, SUFFIX)) <= bounds_.high) == (start <= at < end)


def test_events_are_read_from_one_partition_with_strong_consistency() -> None:
    request = events_request("Ledger", Partition(QuarterHour.at(AT), 3), Bounds("a", "c", "b"), 5)
    assert request == {
        "TableName": "Ledger",
        "KeyConditionExpression": "quarter_hour = :partition AND #position BETWEEN :low AND :high",
        "ExpressionAttributeNames": {"#position": "position"},
        "ExpressionAttributeValues": {":partition": {"S": "202610230130#03"}, ":low": {"S": "a"}, ":high": {"S": "c"}},
        "ConsistentRead": True,
        "Limit": 5,
        "ExclusiveStartKey": {"quarter_hour": {"S": "202610230130#03"}, "position": {"S": "b"}},
    }
    assert "ExclusiveStartKey" not in events_request("Ledger", Partition(QuarterHour.at(AT), 3), Bounds("a", "c"), 5)


def test_the_rest_of_a_segment_is_read_with_its_item_and_what_follows_it() -> None:
    item = "2026-10-23T01:30:12.345Z." + SUFFIX
    request = events_request("Ledger", Partition(QuarterHour.at(AT), 3), Bounds("a", "c", f"{item}.0017"), 5)
    assert request["ExpressionAttributeValues"][":low"] == {"S": item}
    assert "ExclusiveStartKey" not in request


def event(position: str, agency: str = "42") -> dict[str, str]:
    others = ("recorded_at", "source", "id", "type", "currency", "amount", "commission_rate", "commission")
    return {"quarter_hour": "q", "position": position, "agency": agency, **dict.fromkeys(others, "")}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6)), unique_by=lambda one: one[1]), st.integers(1, 5))
def test_partitions_are_merged_as_far_as_all_are_known(events: list[tuple[int, int]], each: int) -> None:
    shards = [sorted(f"{number:07d}" for at, number in events if at == shard) for shard in range(4)]
    answers = [
        PartitionPage([event(one) for one in some[:each]], some[each - 1] if len(some) >= each else "", each, each)
        for some in shards
    ]
    items, known = merge_pages(answers)
    found = [item["position"] for item in items]
    whole = sorted(one for some in shards for one in some)
    assert found == whole[: len(found)]
    assert found == [one for one in whole if not known or one <= known]
    if any(len(some) >= each for some in shards):
        assert found[-1] == known


def test_a_page_is_full_at_its_limit_and_holds_only_matching_events() -> None:
    page = EventPage(2, {}, dict)
    page.add(event("a"))
    assert not page.full
    page.add(event("b"))
    assert page.full
    page = EventPage(2, {"agency": "42", "order_id": "7"}, dict)
    page.add(event("a", "43"))
    page.add(event("b", "42"))
    assert (page.items, page.full) == ([], False)


@cases("name", near("42"))
def test_a_page_of_one_agency_holds_no_event_of_a_nearly_equal_one(name: str) -> None:
    for only, found in (("42", name), (name, "42")):
        page = EventPage(2, {"agency": only}, dict)
        page.add(event("a", found))
        assert page.items == []


def test_a_filtered_page_reads_twice_as_much_each_time_and_any_other_what_it_lacks() -> None:
    page = EventPage(100, {"agency": "42"}, dict)
    reads = []
    for _ in range(6):
        reads.append(page.to_examine(1000))
        page.examined += reads[-1]
    assert reads == [100, 100, 200, 400, 800, 1000]
    page = EventPage(100, {}, dict, examined=1000)
    page.add(event("a"))
    assert page.to_examine(1000) == 99


# ---------------------------------------------------------------- reports


def test_a_run_is_shown_with_what_it_covers() -> None:
    run = {
        "pk": "RUN",
        "sk": "2026-10-23T2330-2400",
        "planned_at": "2026-10-24T00:15:00.000Z",
        "quarter_hours": Decimal(2),
        "lines": Decimal(0),
        "default_rate_events": Decimal(0),
        "counters": "verified",
        "manifest_sha256": "f",
    }
    shown = shown_run(run)
    assert (shown["from"], shown["to"]) == ("2026-10-23T23:30:00Z", "2026-10-24T00:00:00Z")
    manifest = {"files": [{"key": "s"}], "quarter_hours": [{"files": []}, {"files": [{"key": "l"}]}]}
    assert [file["key"] for file in all_files(run, manifest, 1)] == [
        "reports/2026/10/23/2330-2400/manifest.json",
        "s",
        "l",
    ]


def test_links_allow_to_read_one_object_for_15_minutes() -> None:
    assert link_request("bucket", "key") == {
        "ClientMethod": "get_object",
        "Params": {"Bucket": "bucket", "Key": "key"},
        "ExpiresIn": 900,
    }
    manifest = manifest_request("bucket", "2026-10-23T0130-0145")
    assert manifest == {"Bucket": "bucket", "Key": "reports/2026/10/23/0130-0145/manifest.json"}
    with pytest.raises(ValueError, match="no run"):
        manifest_request("bucket", "../x")
