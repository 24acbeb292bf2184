"""The request builders: their conditions, and that AWS accepts their form."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import botocore.session
import pytest
from botocore.validate import ParamValidator

from quarterhour.aws.items import from_item, to_item
from quarterhour.aws.plan_store import PlanStore, finish_request, move_request
from quarterhour.aws.tables import ItemUpdate, insert_items_request, put_items_request, update_items_request
from quarterhour.counters import store as counters
from quarterhour.counters.distinct import marker_sets
from quarterhour.counters.keys import latest_key
from quarterhour.counters.plan import CounterChange, Retention
from quarterhour.ledger.keys import CHECKPOINT_KEY, SEALED_THROUGH
from quarterhour.ledger.postings.partitions import partition_request
from quarterhour.ledger.postings.segments import SegmentKey, packed, postings_of, segment_item, void_item
from quarterhour.ledger.recording import claim_store, segment_store
from quarterhour.ledger.recording.claim_items import claim_item, request_hash
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.reports import store as reports
from quarterhour.reports.keys import Part
from quarterhour.reports.plan import Plan
from quarterhour.snapshots import store as snapshots
from quarterhour_tools.emulator.dynamodb.statements import parsed
from tests.support.builders import QUARTER_HOUR, alone, claim, event, linked_of, settings, taken_back, utc, void
from tests.support.cases import cases

SALE = claim()
MOVED = alone(SALE.moved(event(), utc("02:00"), settings()))
REFUND = linked_of(event("refund-1", "sale.refunded", amount="-2.50", refers_to="order-1"), SALE)
VOID = linked_of(void("void-1"), REFUND.after)
BACK = taken_back(void("back", "refund-1"), REFUND)
PLAN = Plan(
    QUARTER_HOUR,
    QUARTER_HOUR.next,
    "2026-10-23T02:05:00.000Z",
    "1.0",
    1,
    ("run-0", "hash-0"),
    (QUARTER_HOUR, QUARTER_HOUR.next),
)
NO_CLIENT: Any = None
PLANS = PlanStore(NO_CLIENT, "Entity", CHECKPOINT_KEY, SEALED_THROUGH)
FINISHED = {SEALED_THROUGH: str(PLAN.last), "previous": [PLAN.run, "hash-1"]}
NEW = CounterChange({"pk": "ACCOUNT#42#GBP", "sk": "latest", "events": 1, "version": 1}, None)
TRANSITIONS = CounterChange({"pk": "ACCOUNT#42#GBP", "sk": "DAY#2026-10-23", "events": 2, "version": 2}, 1)
LIFETIME_MARKERS, DAY_MARKERS = marker_sets(
    Account("42", "GBP"), QUARTER_HOUR.day, {"c1", "c2"}, Retention(timedelta(days=35), timedelta(days=800))
)
SEGMENT = SegmentKey(SALE.partition, SALE.position.of_item)
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "claim": (
        "BatchExecuteStatement",
        insert_items_request("Identity", [claim_item(SALE, "request-1")]),
    ),
    "refund": ("TransactWriteItems", claim_store.linked_request(("Identity", "Entity"), REFUND, "request-1")),
    "void of a sale": ("TransactWriteItems", claim_store.linked_request(("Identity", "Entity"), VOID, "request-1")),
    "void of a refund": (
        "TransactWriteItems",
        claim_store.linked_request(("Identity", "Entity"), BACK, "request-1"),
    ),
    "move": ("UpdateItem", claim_store.move_request("Identity", SALE, MOVED)),
    "shards": ("UpdateItem", segment_store.shards_request("Entity", 4)),
    "first checkpoint": ("PutItem", segment_store.first_checkpoint_request("Entity", QUARTER_HOUR.previous)),
    "append": (
        "PutItem",
        segment_store.insert_segment_request(
            "Ledger", segment_item(SEGMENT, 1, packed([ledger_values(event(), SALE)]))
        ),
    ),
    "void": ("PutItem", segment_store.insert_segment_request("Ledger", void_item(SEGMENT))),
    "projections": ("BatchWriteItem", put_items_request("Entity", [to_item({"pk": "a", "sk": "b"})])),
    "count": ("TransactWriteItems", counters.write_request("Entity", [NEW, TRANSITIONS])),
    "markers": ("TransactWriteItems", counters.markers_request("Entity", DAY_MARKERS)),
    "markers of the lifetime": ("TransactWriteItems", counters.markers_request("Entity", LIFETIME_MARKERS)),
    "counted": (
        "Query",
        counters.counted_request("Entity", Account("42", "GBP"), QUARTER_HOUR.next, QUARTER_HOUR.next.next),
    ),
    "count by one write": ("PutItem", counters.put_request("Entity", TRANSITIONS)),
    "count together": (
        "BatchExecuteStatement",
        update_items_request("Entity", [ItemUpdate(latest_key(Account("42", "GBP")), {"version": {"N": "2"}}, 1)]),
    ),
    "snapshot": ("PutItem", snapshots.put_request("Entity", {"pk": "a", "sk": "5m#x", "version": Decimal(7)})),
    "partition": ("Query", partition_request("Ledger", PLAN.partitions(Part(QUARTER_HOUR))[0], 100)),
    "fix": ("UpdateItem", move_request(PLANS, {"plan": PLAN.as_dict()}, str(PLAN.first.previous))),
    "fix the first": ("UpdateItem", move_request(PLANS, {"plan": PLAN.as_dict()}, None)),
    "finish": ("UpdateItem", finish_request(PLANS, PLAN.as_dict(), str(PLAN.first.previous), FINISHED)),
    "pending": ("Query", reports.pending_request("Entity")),
}


@cases(("operation", "request_"), REQUESTS.values(), ids=REQUESTS)
def test_each_request_is_valid_for_aws(operation: str, request_: dict[str, Any]) -> None:
    """The clients do not validate parameters, so this test does."""
    shape = botocore.session.get_session().get_service_model("dynamodb").operation_model(operation).input_shape
    assert shape is not None
    assert ParamValidator().validate(request_, shape).generate_report() == ""


@cases("request_", [request for _, request in REQUESTS.values()], ids=REQUESTS)
def test_each_placeholder_of_a_request_is_defined_and_used(request_: dict[str, Any]) -> None:
    writes = [part for write in request_.get("TransactItems", []) for part in write.values()] or [request_]
    for write in writes:
        text = " ".join(str(value) for name, value in write.items() if name.endswith("Expression"))
        defined = {*write.get("ExpressionAttributeNames", {}), *write.get("ExpressionAttributeValues", {})}
        used = {word.strip("(),").split(".")[0] for word in text.replace("(", " ").split()}
        assert {word for word in used if word[0] in ":#"} == defined


def of(name: str) -> dict[str, Any]:
    return REQUESTS[name][1]


def test_an_event_is_claimed_by_a_statement_that_fails_where_a_claim_exists() -> None:
    (statement,) = of("claim")["Statements"]
    table, item = parsed(statement)[:2]
    assert table == "Identity"
    assert from_item(item) == {
        "event": "shop#order-1",
        "quarter_hour": "202610230130#00",
        "position": str(SALE.position),
        "digest": event().digest[:32],
        "commission_rate": "0.10",
        "terms": "default",
        "request": request_hash("request-1"),
        "account": "42#GBP",
        "left": "12.50",
        "period": "2026-10",
    }


def test_a_claim_is_moved_only_if_unchanged_and_keeps_its_other_attributes() -> None:
    request = of("move")
    assert request["Key"] == {"event": {"S": "shop#order-1"}}
    assert request["UpdateExpression"] == "SET #quarter_hour = :quarter_hour, #position = :position"
    assert request["ConditionExpression"] == "attribute_exists(event) AND #position = :old_position"
    assert from_item(request["ExpressionAttributeValues"]) == {
        ":quarter_hour": "202610230200#00",
        ":position": str(MOVED.position),
        ":old_position": str(SALE.position),
    }


def test_a_claim_that_moves_past_a_cut_off_and_midnight_has_the_period_expiry_and_tax_point_of_then() -> None:
    sold = replace(event(), time=utc("01:00"))
    made = claim(sold, retention=timedelta(days=30))._replace(expires_at=1, period=Period.parse("2026-09"))
    moved = made._replace(prior_period=True, expires_at=2, period=Period.parse("2026-10"), tax_point=date(2026, 10, 24))
    moved = moved._replace(position=MOVED.position)
    assert claim_store.move_request("Identity", made, moved)["UpdateExpression"] == (
        "SET #position = :position, #expires_at = :expires_at, #period = :period, #prior_period = :prior_period, "
        "#tax_point = :tax_point"
    )
    back = claim_store.move_request("Identity", moved, made._replace(expires_at=None))["UpdateExpression"]
    assert back == ("SET #position = :position, #period = :period REMOVE #expires_at, #prior_period, #tax_point")


def test_a_refund_is_claimed_together_with_the_remainder_of_its_sale() -> None:
    put, listed, update = (next(iter(write.values())) for write in of("refund")["TransactItems"])
    assert put["ConditionExpression"] == "attribute_not_exists(event)"
    assert put["Item"]["event"] == {"S": "shop#refund-1"}
    assert update["Key"] == {"event": {"S": "shop#order-1"}}
    assert (
        from_item(listed["Item"]).items() >= {"pk": "LINKED#shop#order-1", "source": "shop", "id": "refund-1"}.items()
    )
    assert update["UpdateExpression"] == "SET #left = :left, #changes = :changes"
    assert update["ConditionExpression"] == "attribute_exists(event) AND attribute_not_exists(#changes)"
    assert from_item(update["ExpressionAttributeValues"]) == {":left": "10.00", ":changes": 1}


def test_a_void_marks_the_claim_of_its_sale() -> None:
    *_, update = (next(iter(write.values())) for write in of("void of a sale")["TransactItems"])
    assert from_item(update["ExpressionAttributeValues"]) == {
        ":left": "0.00",
        ":voided": "shop#void-1",
        ":old_changes": 1,
        ":changes": 2,
    }


def test_a_void_of_a_refund_marks_it_and_is_listed_with_the_sale_that_has_its_amount_again() -> None:
    _, listed, *updates = (next(iter(write.values())) for write in of("void of a refund")["TransactItems"])
    assert from_item(listed["Item"]).items() >= {"pk": "LINKED#shop#order-1", "id": "back", "left": "12.50"}.items()
    assert [from_item(one["ExpressionAttributeValues"]) for one in updates] == [
        {":left": "12.50", ":old_changes": 1, ":changes": 2},
        {":voided": "shop#back", ":changes": 1},
    ]
    assert [one["Key"]["event"]["S"] for one in updates] == ["shop#order-1", "shop#refund-1"]
    assert updates[1]["ConditionExpression"] == "attribute_exists(event) AND attribute_not_exists(#changes)"


def test_an_adjustment_leaves_the_claim_of_its_sale() -> None:
    adjusted = linked_of(event("a-1", "adjustment.recorded", amount="0", refers_to="order-1"), SALE)
    put, listed = claim_store.linked_request(("Identity", "Entity"), adjusted, "request-1")["TransactItems"]
    assert (put["Put"]["TableName"], listed["Put"]["TableName"]) == ("Identity", "Entity")


def test_an_append_puts_the_event_at_its_claimed_key_unless_it_has_an_item() -> None:
    (posting,) = postings_of(of("append")["Item"])
    assert (posting["quarter_hour"], posting["position"]) == SALE.key
    assert postings_of(of("void")["Item"]) == []
    for request in (of("append"), of("void")):
        assert request["ConditionExpression"] == "attribute_not_exists(quarter_hour)"
        assert {name: request["Item"][name]["S"] for name in ("quarter_hour", "position")} == SEGMENT.values


@pytest.mark.parametrize("name", ["markers", "markers of the lifetime"])
def test_new_customers_are_counted_together_with_their_markers_and_only_if_none_of_them_stands(name: str) -> None:
    *markers, count = of(name)["TransactItems"]
    assert [put["Put"]["ConditionExpression"] for put in markers] == ["attribute_not_exists(pk)"] * 2
    assert len({put["Put"]["Item"]["pk"]["S"] for put in markers}) == 2
    assert count["Update"]["UpdateExpression"].startswith("ADD customers :new")
    assert count["Update"]["ExpressionAttributeValues"][":new"] == {"N": "2"}
    expiring = ["expires_at" in put["Put"]["Item"] for put in markers] + [
        "expires_at" in count["Update"]["UpdateExpression"]
    ]
    assert expiring == [name == "markers"] * 3


def test_the_counters_of_quarter_hours_are_read_with_strong_consistency() -> None:
    request = of("counted")
    assert request["ConsistentRead"] is True
    values = from_item(request["ExpressionAttributeValues"])
    first, last = QUARTER_HOUR.next, QUARTER_HOUR.next.next
    within = [f"QUARTER#{one}" for one in (first, last)]
    assert all(values[":first"] <= sk <= values[":last"] for sk in within)
    others = [f"QUARTER#{one}" for one in (QUARTER_HOUR, last.next)]
    outside = [*others, "latest", "DAY#2026-10-23", "CUSTOMERS"]
    assert not any(values[":first"] <= sk <= values[":last"] for sk in outside)


def test_a_state_is_written_unless_its_window_holds_a_newer_one() -> None:
    assert of("snapshot")["ConditionExpression"] == "attribute_not_exists(version) OR version < :version"
    assert of("snapshot")["ExpressionAttributeValues"] == {":version": {"N": "7"}}


def test_a_partition_is_read_with_strong_consistency() -> None:
    assert of("partition")["ConsistentRead"] is True
    assert of("partition")["ExpressionAttributeValues"] == {":partition": {"S": "202610230130#00"}}
